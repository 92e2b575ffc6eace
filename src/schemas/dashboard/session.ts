import { Type, type Static } from '@sinclair/typebox'
import { roles } from '../../domain/access/access.ts'
import { StringEnum } from '../shared.ts'

/** `GET /session` of the console: who looks at it, and what they may do. */
export const ConsoleSession = Type.Object({
  mode: StringEnum(['enterprise']),
  version: Type.String(),
  public_url: Type.String({ description: 'Address of the gateway for clients' }),
  name: Type.String(),
  role: StringEnum(roles),
  teams: Type.Array(Type.String()),
  method: Type.Optional(
    StringEnum(['oidc', 'local', 'break_glass'], {
      description: 'How the browser signed in; absent for an access token'
    })
  ),
  expires_at: Type.Optional(Type.String({ description: 'End of the session unless it is used, ISO 8601' })),
  csrf_token: Type.Optional(
    Type.String({ description: 'Value of the header `X-Towpath-CSRF` of requests that change something' })
  ),
  may: Type.Object(
    { call: Type.Boolean(), audit: Type.Boolean(), administer: Type.Boolean() },
    { description: 'call: use tools; audit: read everything; administer: change everything' }
  ),
  sign_in: Type.Object(
    { password: Type.Boolean(), static_token: Type.Boolean() },
    { description: 'Ways in beside an identity provider that the settings leave on' }
  ),
  stdio: Type.Boolean({ description: 'False if the settings start no stdio servers, such as the demo server' }),
  approves_clients: Type.Boolean({
    description: 'True if people can let in a program that registered itself only once an administrator has approved it'
  }),
  administrators: Type.Array(Type.String(), { description: 'Names of some administrators, who can help' })
})
export type ConsoleSession = Static<typeof ConsoleSession>
