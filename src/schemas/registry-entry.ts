import { Type, type Static } from '@sinclair/typebox'
import { StringEnum, Text } from './shared.ts'

/**
 * Schemas of what an MCP registry answers: pages of `server.json` objects (schema 2025-12-11 and earlier ones). Unknown
 * members are ignored; every known one is limited in size.
 */
const Flag = Type.Optional(Type.Boolean())
const Short = Text({ maxLength: 512 })
const Name = Text({ minLength: 1, maxLength: 256 })
const Url = Text({ minLength: 1, maxLength: 2_048 })

const inputMembers = {
  description: Type.Optional(Text()),
  isRequired: Flag,
  isSecret: Flag,
  format: Type.Optional(StringEnum(['string', 'number', 'boolean', 'filepath'])),
  value: Type.Optional(Text()),
  default: Type.Optional(Text()),
  placeholder: Type.Optional(Text()),
  choices: Type.Optional(Type.Array(Short, { maxItems: 100 }))
}

const Variables = Type.Optional(
  Type.Record(Name, Type.Object(inputMembers), { maxProperties: 50, propertyNames: { maxLength: 256 } })
)

const Argument = Type.Object({
  ...inputMembers,
  type: StringEnum(['positional', 'named']),
  name: Type.Optional(Name),
  valueHint: Type.Optional(Name),
  isRepeated: Flag,
  variables: Variables
})

const Pair = Type.Object({ ...inputMembers, name: Name, variables: Variables })

const Arguments = Type.Optional(Type.Array(Argument, { maxItems: 100 }))

export const RegistryPackage = Type.Object({
  registryType: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }),
  registryBaseUrl: Type.Optional(Url),
  identifier: Type.String({ format: 'text', minLength: 1, maxLength: 1_024 }),
  version: Type.Optional(Text({ maxLength: 255 })),
  runtimeHint: Type.Optional(Text({ maxLength: 64 })),
  transport: Type.Optional(Type.Object({ type: StringEnum(['stdio', 'streamable-http', 'sse']) })),
  runtimeArguments: Arguments,
  packageArguments: Arguments,
  environmentVariables: Type.Optional(Type.Array(Pair, { maxItems: 100 }))
})
export type RegistryPackage = Static<typeof RegistryPackage>

export const RegistryRemote = Type.Object({
  type: StringEnum(['streamable-http', 'sse']),
  url: Url,
  variables: Variables,
  headers: Type.Optional(Type.Array(Pair, { maxItems: 50 }))
})
export type RegistryRemote = Static<typeof RegistryRemote>

/** A `server.json`. */
export const RegistryEntry = Type.Object({
  name: Type.String({ pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$', minLength: 3, maxLength: 200 }),
  title: Type.Optional(Text()),
  description: Text(),
  version: Text({ minLength: 1, maxLength: 255 }),
  websiteUrl: Type.Optional(Text()),
  repository: Type.Optional(Type.Object({ url: Type.Optional(Text()) })),
  packages: Type.Optional(Type.Array(RegistryPackage, { maxItems: 20 })),
  remotes: Type.Optional(Type.Array(RegistryRemote, { maxItems: 20 }))
})
export type RegistryEntry = Static<typeof RegistryEntry>

/** An answer of `GET /v0.1/servers`; each server is checked on its own. */
export const RegistryPage = Type.Object({
  servers: Type.Array(Type.Unknown(), { maxItems: 1_000 }),
  metadata: Type.Optional(
    Type.Object({ nextCursor: Type.Optional(Type.Union([Type.String({ maxLength: 1_024 }), Type.Null()])) })
  )
})
export type RegistryPage = Static<typeof RegistryPage>
