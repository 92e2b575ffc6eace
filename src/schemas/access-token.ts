import { Type, type Static } from '@sinclair/typebox'
import { roles, tokenScopes, type TokenScope } from '../domain/access/access.ts'
import { POLICY_LIMITS } from '../domain/policy/rule.ts'
import { StringEnum } from './shared.ts'

const scopes = (description: string) =>
  Type.Unsafe<readonly TokenScope[]>(
    Type.Array(Type.String({ format: 'scope' }), {
      minItems: 1,
      maxItems: tokenScopes.length + POLICY_LIMITS.scopesInAll,
      description
    })
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
export type AccessToken = Static<typeof AccessToken>

export const IssuedAccessToken = Type.Object(
  { ...token, access_token: Type.String({ description: 'Shown only once; the gateway stores only its hash' }) },
  { $id: 'IssuedAccessToken' }
)
export type IssuedAccessToken = Static<typeof IssuedAccessToken>

/** Input of a personal access token (http-contract.md#personal-access-tokens). */
export const AccessTokenInput = Type.Object(
  {
    name: Type.String({ format: 'name', description: 'Unique among the tokens of the user' }),
    scopes: scopes(
      '`mcp`: MCP endpoints; `towpath:read`: read over REST; `towpath:call`: also call tools, render prompts and read resources over REST; `towpath:admin`: everything over REST; `mcp:` and a name: what policies reserve for tokens with this scope. A token never has more rights than the role of its user.'
    ),
    expires_at: Type.Optional(
      Type.String({ format: 'moment', description: 'ISO 8601; if absent, the token does not expire' })
    )
  },
  { $id: 'AccessTokenInput', additionalProperties: false }
)

/** Browser session of the caller. */
export const BrowserSession = Type.Object(
  {
    name: Type.String(),
    role: StringEnum(roles),
    method: StringEnum(['oidc', 'local', 'break_glass'], {
      description:
        'oidc: at the OpenID provider; local: with a password; break_glass: with a static access token, for an hour'
    }),
    expires_at: Type.String({ description: 'ISO 8601; later if the session is used' }),
    csrf_token: Type.String({ description: 'Value of the header `X-Towpath-CSRF` of requests that change something' })
  },
  { $id: 'BrowserSession' }
)
export type BrowserSession = Static<typeof BrowserSession>

/** The authenticated user. */
export const Account = Type.Object(
  {
    name: Type.String(),
    role: StringEnum(roles),
    token: Type.Optional(Type.Object(token, { description: 'Absent after a sign-in' })),
    sign_in: Type.Optional(
      Type.Object(
        {
          kind: StringEnum(['session', 'oauth'], { description: 'session: of a browser; oauth: of an OAuth client' }),
          client_id: Type.Optional(Type.String({ description: 'Absent for a browser session' })),
          scopes: Type.Optional(scopes('Absent: all rights of the role')),
          expires_at: Type.String({ description: 'ISO 8601' })
        },
        { description: 'Absent for an access token of the gateway' }
      )
    )
  },
  { $id: 'Account' }
)
