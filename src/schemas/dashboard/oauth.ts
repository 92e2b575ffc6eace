import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from '../shared.ts'

/**
 * `GET /oauth/session/:id`, polled until `status` is not `pending`. A finished session becomes a 404 after some time.
 */
export const SignInSession = Type.Object({
  session_id: Type.String(),
  status: StringEnum(['pending', 'completed', 'failed', 'expired']),
  server_name: Type.Optional(Type.String()),
  expires_at: Type.Optional(Type.String({ description: 'ISO 8601' })),
  error: Type.Optional(Type.String({ description: 'Reason for the failure; may be text of the authorization server' }))
})
export type SignInSession = Static<typeof SignInSession>
