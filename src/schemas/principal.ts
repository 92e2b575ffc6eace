import { Type, type Static } from '@sinclair/typebox'
import { mcpJungleAlias, StringEnum, Text, TextList } from './shared.ts'

const Name = Type.String({ format: 'name', description: '`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`' })

const OwnToken = Type.Optional(
  Type.String({
    format: 'token',
    description:
      '16 to 1024 visible ASCII characters without white space; for testing. If absent, a token is generated.'
  })
)

const IssuedToken = Type.String({ description: 'Shown only once; the gateway stores only its hash' })

const roles = ['user', 'admin', 'auditor'] as const

export const Initialized = Type.Object(
  { status: StringEnum(['initialized']), admin_access_token: IssuedToken },
  { $id: 'Initialized' }
)

const user = {
  name: Type.String(),
  username: Type.String(mcpJungleAlias('name')),
  role: StringEnum(roles),
  suspended: Type.Optional(Type.Literal(true, { description: 'Present if none of the tokens is accepted' }))
}

export const User = Type.Object(user, { $id: 'User' })

const AliasName = Type.Optional(Type.String({ format: 'name', description: "Alias of `name` for MCPJungle's client" }))

/**
 * Input of a user (http-contract.md#clients-and-users). The command line resolves `access_token_ref` itself and sends
 * `access_token`.
 */
export const UserInput = Type.Object(
  {
    name: Type.Optional(Name),
    username: AliasName,
    access_token: OwnToken,
    role: Type.Optional(StringEnum(roles, { default: 'user' }))
  },
  { $id: 'UserInput', additionalProperties: false, description: '`name` or `username` is required.' }
)

export const RoleInput = Type.Object({ role: StringEnum(roles) }, { $id: 'RoleInput', additionalProperties: false })

export const IssuedUser = Type.Object({ ...user, access_token: IssuedToken }, { $id: 'IssuedUser' })

const PathName = Type.Optional(Text({ description: 'If given, must equal the name in the path' }))

export const TokenInput = Type.Object(
  { name: PathName, username: PathName, access_token: OwnToken },
  { $id: 'TokenInput', additionalProperties: false }
)

const AllowList = Type.Optional(
  Type.Unsafe<readonly string[] | null>({
    ...TextList(),
    type: ['array', 'null'],
    description: "Alias of `allowed_servers` for MCPJungle's client; null is the same as absent"
  })
)
const IsCustom = (description: string) => Type.Optional(Type.Boolean({ description }))

const configuration = {
  description: Type.Optional(Text({ maxLength: 65_536 })),
  allowed_servers: Type.Optional(
    TextList({
      description: 'Names of the servers that the client may use; the entry `*` allows all. If absent, none.'
    })
  )
}

/** Input of a client (http-contract.md#clients-and-users). */
export const ClientInput = Type.Object(
  {
    name: Name,
    ...configuration,
    allow_list: AllowList,
    access_token: OwnToken,
    is_custom_access_token: IsCustom("Sent by MCPJungle's client; true requires `access_token`")
  },
  { $id: 'ClientInput', additionalProperties: false }
)

export const ClientPatch = Type.Object(
  {
    name: PathName,
    ...configuration,
    allowed_servers: Type.Optional(TextList({ description: 'The whole list; if absent, unchanged' })),
    allow_list: AllowList,
    access_token: Type.Optional(Type.String({ format: 'token', description: 'New token; if absent, unchanged' })),
    is_custom_access_token: IsCustom(
      "Sent by MCPJungle's client to change only the token: true requires `access_token`, and an empty `description` leaves the description unchanged"
    )
  },
  { $id: 'ClientPatch', additionalProperties: false }
)
export type ClientPatch = Static<typeof ClientPatch>

const record = {
  name: Type.String(),
  description: Type.Optional(Type.String()),
  allowed_servers: Type.Unsafe<readonly string[]>(Type.Array(Type.String())),
  allow_list: Type.Unsafe<readonly string[]>(Type.Array(Type.String(), mcpJungleAlias('allowed_servers')))
}

export const Client = Type.Object(record, { $id: 'Client' })

export const IssuedClient = Type.Object({ ...record, access_token: IssuedToken }, { $id: 'IssuedClient' })
