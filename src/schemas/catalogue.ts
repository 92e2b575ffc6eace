import { SESSION_MODES } from '../domain/session-modes.ts'
import { Type, type Static } from '@sinclair/typebox'
import { TRANSPORTS } from '../domain/transports.ts'
import { StringEnum, Text } from './shared.ts'

/** Members of a server of the catalogue in lists and details. */
const members = {
  name: Type.String({ description: 'Name in the MCP registry, `namespace/name`' }),
  title: Type.Optional(Type.String()),
  description: Type.String(),
  version: Type.String(),
  publisher: Type.String({ description: 'Namespace of the name, which the registry verifies' }),
  repository: Type.Optional(Type.String({ description: 'http(s) URL' })),
  website: Type.Optional(Type.String({ description: 'http(s) URL' })),
  is_deprecated: Type.Optional(Type.Boolean({ description: 'Only if true' })),
  suggested_name: Type.String({ description: 'Valid name to register it under' })
}

export const CatalogueServer = Type.Object(
  {
    ...members,
    options: Type.Array(Type.String(), { description: 'Ids of the ways to install it that this gateway supports' })
  },
  { $id: 'CatalogueServer' }
)
export type CatalogueServer = Static<typeof CatalogueServer>

const Source = Type.Object({
  registry: Type.Optional(Type.String({ description: 'URL of the MCP registry; absent for the list of the package' })),
  read_at: Type.String({ description: 'Date of the list of the package, or time at which the registry was read' }),
  problem: Type.Optional(Type.String({ description: 'Failure of the last attempt to read the registry' }))
})

export const CataloguePage = Type.Object(
  {
    servers: Type.Array(Type.Unsafe<CatalogueServer>(Type.Ref('CatalogueServer'))),
    total: Type.Integer({ description: 'Number of matching servers' }),
    next_cursor: Type.Optional(Type.String({ description: 'Absent on the last page' })),
    source: Source
  },
  { $id: 'CataloguePage' }
)
export type CataloguePage = Static<typeof CataloguePage>

export const CatalogueQuery = Type.Object({
  search: Type.Optional(
    Text({ maxLength: 200, description: 'Words that must all occur in name, title or description' })
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default: 30' })),
  cursor: Type.Optional(Text({ minLength: 1, maxLength: 1_024, description: '`next_cursor` of the previous page' }))
})

export const CatalogueInput = Type.Object({
  name: Type.String({ description: 'Key in `values`' }),
  label: Type.String({ description: 'Argument, environment variable, header or address that it is for' }),
  description: Type.Optional(Type.String()),
  is_required: Type.Boolean(),
  is_secret: Type.Boolean(),
  is_repeated: Type.Boolean({ description: 'Several values may be given' }),
  format: StringEnum(['string', 'number', 'boolean', 'filepath']),
  default: Type.Optional(Type.String()),
  placeholder: Type.Optional(Type.String({ description: 'Example' })),
  choices: Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Type.String())))
})
export type CatalogueInput = Static<typeof CatalogueInput>

const ShownValues = (description: string) =>
  Type.Unsafe<Readonly<Record<string, string>>>(Type.Record(Type.String(), Type.String(), { description }))
/** Pairs beside the command or URL of a preview; a publisher may have fixed any of them. */
const pairMembers = {
  env: ShownValues('Variables that the program would get, with their values; values of secret inputs are `***`'),
  headers: ShownValues('Headers that would be sent, with their values; values of secret inputs are `***`')
}

const Digest = Type.String({
  description: 'Digest of all that the entry decides, whatever the values; to be sent with the installation'
})

const CatalogueOption = Type.Object({
  id: Type.String({
    description: '`remote`, `npm`, `pypi`, `oci` or `nuget`; with a number for further ones, `npm-2`'
  }),
  target: Type.String({ description: 'Package with its version, or URL' }),
  preview: Type.Optional(
    Type.String({
      description:
        'Command or URL, with `<NAME>` for required values; `preview`, `env`, `headers` and `digest` are absent with `problem`'
    })
  ),
  env: Type.Optional(pairMembers.env),
  headers: Type.Optional(pairMembers.headers),
  digest: Type.Optional(Digest),
  problem: Type.Optional(Type.String({ description: 'Reason why this gateway cannot install it' })),
  inputs: Type.Array(CatalogueInput)
})
export type CatalogueOption = Static<typeof CatalogueOption>

export const CatalogueDetails = Type.Object(
  { ...members, options: Type.Array(CatalogueOption, { description: 'Ways to install it, best first' }) },
  { $id: 'CatalogueDetails' }
)
export type CatalogueDetails = Static<typeof CatalogueDetails>

const Value = Text({ maxLength: 65_536 })

export const CatalogueInstall = Type.Object(
  {
    name: Text({ minLength: 1, maxLength: 200, description: 'Name in the catalogue' }),
    version: Type.Optional(Text({ description: '409 if the catalogue now has another version' })),
    option: Type.Optional(
      Text({ maxLength: 64, description: 'Id of an option; default: the first that is supported' })
    ),
    digest: Type.Optional(
      Text({ maxLength: 64, description: '`digest` of the option or plan that was shown; 409 if it would differ now' })
    ),
    server_name: Type.Optional(Text({ maxLength: 64, description: 'Default: `suggested_name`' })),
    values: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string | readonly string[]>>>({
        type: 'object',
        description: 'Values of the inputs, by name; a list for repeated ones',
        propertyNames: { type: 'string', maxLength: 256 },
        additionalProperties: { anyOf: [Value, { type: 'array', maxItems: 100, items: Value }] },
        maxProperties: 500
      })
    ),
    session_mode: Type.Optional(StringEnum(SESSION_MODES)),
    oauth_redirect_uri: Type.Optional(Text({ description: 'As in a registration' }))
  },
  { $id: 'CatalogueInstall', additionalProperties: false }
)
export type CatalogueInstall = Static<typeof CatalogueInstall>

export const CataloguePlan = Type.Object(
  {
    server_name: Type.String(),
    option: Type.String(),
    transport: StringEnum(TRANSPORTS),
    preview: Type.String({ description: 'Command that the gateway would run, or URL; secret values are masked' }),
    ...pairMembers,
    digest: Digest,
    missing: Type.Array(Type.String(), { description: 'Required inputs without a value' }),
    problems: Type.Array(Type.String(), { description: 'Problems of given values' })
  },
  { $id: 'CataloguePlan', description: 'What an installation would register' }
)
export type CataloguePlan = Static<typeof CataloguePlan>

export const InstallQuery = Type.Object({
  force: Type.Optional(Type.Boolean({ description: 'Replace a server with the same name' })),
  dry_run: Type.Optional(Type.Boolean({ description: 'Register nothing and return the plan' }))
})
