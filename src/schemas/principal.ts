import { Type, type Static } from '@sinclair/typebox'
import { StringEnum, Text, TextList } from './shared.ts'

const Name = Type.String({ format: 'name', description: '`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`' })

const OwnToken = Type.Optional(
  Type.String({
    format: 'token',
    description: '16 to 1024 visible ASCII characters without white space; for testing. Absent: one is generated.'
  })
)

const IssuedToken = Type.String({ description: 'Shown this once; only its hash is kept' })

const roles = ['user', 'admin'] as const

export const Initialized = Type.Object(
  { status: StringEnum(['initialized']), admin_access_token: IssuedToken },
  { $id: 'Initialized' }
)

export const User = Type.Object({ name: Type.String(), role: StringEnum(roles) }, { $id: 'User' })

/** Contract 2.9; `access_token_ref` is for the command line, which reads the file or variable itself. */
export const UserInput = Type.Object(
  { name: Name, access_token: OwnToken, role: Type.Optional(StringEnum(roles, { default: 'user' })) },
  { $id: 'UserInput', additionalProperties: false }
)

export const IssuedUser = Type.Object(
  { name: Type.String(), role: StringEnum(roles), access_token: IssuedToken },
  { $id: 'IssuedUser' }
)

export const TokenInput = Type.Object({ access_token: OwnToken }, { $id: 'TokenInput', additionalProperties: false })

const configuration = {
  description: Type.Optional(Text({ maxLength: 65_536 })),
  allowed_servers: Type.Optional(
    TextList({
      description: 'Names of servers that the client may use; `*` as an entry of its own allows all. Absent: none.'
    })
  )
}

/** Contract 2.8. */
export const ClientInput = Type.Object(
  { name: Name, ...configuration, access_token: OwnToken },
  { $id: 'ClientInput', additionalProperties: false }
)

export const ClientPatch = Type.Object(
  {
    name: Type.Optional(Text({ description: 'If given, the name in the path' })),
    ...configuration,
    allowed_servers: Type.Optional(TextList({ description: 'The whole list; absent: it stays as it is' })),
    access_token: Type.Optional(
      Type.String({ format: 'token', description: 'Takes the place of the token; absent: the token stays' })
    )
  },
  { $id: 'ClientPatch', additionalProperties: false }
)
export type ClientPatch = Static<typeof ClientPatch>

const record = {
  name: Type.String(),
  description: Type.Optional(Type.String()),
  allowed_servers: Type.Unsafe<readonly string[]>(Type.Array(Type.String()))
}

export const Client = Type.Object(record, { $id: 'Client' })

export const IssuedClient = Type.Object({ ...record, access_token: IssuedToken }, { $id: 'IssuedClient' })
