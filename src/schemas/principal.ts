import { Type, type Static } from '@sinclair/typebox'
import type { KeySet } from '../domain/access/client-keys.ts'
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

const source = StringEnum(['static', 'local', 'jit', 'scim'], {
  description: 'Origin: an access token, an invitation, the first sign-in, or a SCIM client'
})
const groups = TextList({ description: 'Groups of the identity provider' })
const role_reason = StringEnum(['manual', 'groups', 'default'], {
  description: 'manual: an administrator gave the role; groups: those in `role_groups`; default: no group gives another'
})
const known = {
  display_name: Type.Optional(Type.String()),
  email: Type.Optional(Type.String()),
  groups_read_at: Type.Optional(Type.String({ description: 'Time of the sign-in at which the groups were read' })),
  role_groups: Type.Optional(TextList({ description: 'Groups of the identity provider that give the role' })),
  last_seen_on: Type.Optional(
    Type.String({
      description:
        'Last day on which an access token was used, a client connected or renewed, or the identity provider was asked; up to a minute late'
    })
  )
}

export const UserDetails = Type.Object(
  { ...user, source, groups, teams: TextList(), role_reason, ...known },
  { $id: 'UserDetails' }
)
export type UserDetails = Static<typeof UserDetails>

/** User in a list; all that `UserDetails` has with `include=details`. */
export const ListedUser = Type.Object(
  {
    ...user,
    source: Type.Optional(source),
    groups: Type.Optional(groups),
    teams: Type.Optional(TextList()),
    role_reason: Type.Optional(role_reason),
    ...known
  },
  { $id: 'ListedUser', description: 'A user; groups and everything else that is optional with `include=details`' }
)

export const ListUsersQuery = Type.Object({
  include: Type.Optional(
    StringEnum(['details'], { description: 'Also origin, groups, teams, and when they were seen' })
  )
})

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

export const InvitationInput = Type.Object(
  { role: Type.Optional(StringEnum(roles, { description: 'Role of a user who does not exist yet; default `user`' })) },
  { $id: 'InvitationInput', additionalProperties: false }
)

export const Invitation = Type.Object(
  {
    name: Type.String(),
    role: StringEnum(roles),
    created: Type.Optional(Type.Literal(true, { description: 'Present if the user did not exist' })),
    url: Type.String({ description: 'Page on which the user sets a password, once. Shown only in this answer' }),
    expires_at: Type.String({ description: 'ISO 8601' })
  },
  { $id: 'Invitation' }
)
export type Invitation = Static<typeof Invitation>

export const IssuedUser = Type.Object({ ...user, access_token: IssuedToken }, { $id: 'IssuedUser' })
export type IssuedUser = Static<typeof IssuedUser>

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

const keys = {
  jwks: Type.Optional(
    Type.Unsafe<object | null>({
      type: ['object', 'null'],
      description:
        'JSON Web Key Set of up to 10 public keys (RSA, EC, Ed25519), with which the client authenticates at the authorization server instead of with its token; null removes it'
    })
  ),
  jwks_uri: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'text',
      maxLength: 2_048,
      description: 'Address of the key set, `https`, instead of `jwks`; null removes it'
    })
  )
}

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
    ...keys,
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
    ...keys,
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
  allow_list: Type.Unsafe<readonly string[]>(Type.Array(Type.String(), mcpJungleAlias('allowed_servers'))),
  jwks: Type.Optional(
    Type.Unsafe<KeySet>({ type: 'object', additionalProperties: true, description: 'Public keys of the client' })
  ),
  jwks_uri: Type.Optional(Type.String({ description: 'Address of the public keys' }))
}

export const Client = Type.Object(record, { $id: 'Client' })
export type Client = Static<typeof Client>

export const IssuedClient = Type.Object({ ...record, access_token: IssuedToken }, { $id: 'IssuedClient' })
