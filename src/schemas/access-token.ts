import { Type } from '@sinclair/typebox'
import { roles, tokenScopes, type TokenScope } from '../domain/access/access.ts'
import { StringEnum } from './shared.ts'

const scopes = (description: string) =>
  Type.Unsafe<readonly TokenScope[]>(
    Type.Array(StringEnum(tokenScopes), { minItems: 1, maxItems: tokenScopes.length, description })
  )

const token = {
  id: Type.String(),
  name: Type.Optional(Type.String({ description: 'Absent for the static token' })),
  kind: StringEnum(['static', 'personal'], {
    description: 'static: issued by an administrator; personal: created by the user'
  }),
  scopes: Type.Optional(scopes('Absent: all rights of the user over REST, none at MCP endpoints')),
  expires_at: Type.Optional(Type.String({ description: 'ISO 8601; absent if it does not expire' })),
  created_at: Type.String({ description: 'ISO 8601' }),
  last_used_on: Type.Optional(Type.String({ description: 'Date, up to a minute late; absent if it was never used' })),
  current: Type.Boolean({ description: 'True for the token of this request' })
}

export const AccessToken = Type.Object(token, { $id: 'AccessToken' })

export const IssuedAccessToken = Type.Object(
  { ...token, access_token: Type.String({ description: 'Shown only once; the gateway stores only its hash' }) },
  { $id: 'IssuedAccessToken' }
)

/** Input of a personal access token (http-contract.md#personal-access-tokens). */
export const AccessTokenInput = Type.Object(
  {
    name: Type.String({ format: 'name', description: 'Unique among the tokens of the user' }),
    scopes: scopes(
      '`mcp`: MCP endpoints; `towpath:read`: read over REST; `towpath:call`: also call tools, render prompts and read resources over REST; `towpath:admin`: everything over REST. A token never has more rights than the role of its user.'
    ),
    expires_at: Type.Optional(
      Type.String({ format: 'moment', description: 'ISO 8601; if absent, the token does not expire' })
    )
  },
  { $id: 'AccessTokenInput', additionalProperties: false }
)

/** The authenticated user. */
export const Account = Type.Object(
  { name: Type.String(), role: StringEnum(roles), token: AccessToken },
  { $id: 'Account' }
)
