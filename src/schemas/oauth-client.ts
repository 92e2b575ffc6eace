import { Type, type Static } from '@sinclair/typebox'
import { ref, Text } from './shared.ts'

const Endpoint = Type.Object({ url: Type.String(), scopes: Type.Array(Type.String()) })

/** OAuth client that acts for a user. */
export const ConnectedClient = Type.Object(
  {
    id: Type.String({ description: 'Names the client in paths' }),
    client_id: Type.String(),
    name: Type.Optional(Type.String({ description: 'As the client registered itself; absent if it did not' })),
    endpoints: Type.Array(Endpoint, { description: 'Endpoints that the client may use, with its scopes' }),
    connected_at: Type.String({ description: 'ISO 8601; the first consent that still counts' }),
    renewed_at: Type.Optional(
      Type.String({ description: 'ISO 8601; the last time that it renewed its access. Absent if it cannot' })
    )
  },
  { $id: 'ConnectedClient' }
)
export type ConnectedClient = Static<typeof ConnectedClient>

const { id, client_id, name, endpoints, connected_at, renewed_at } = ConnectedClient.properties

/** Consent of one user to one OAuth client. A client that a user let in again has several. */
export const OAuthGrant = Type.Object(
  {
    user: Type.String(),
    id: { ...id, description: 'Names the client in the paths of the user' },
    client_id,
    name,
    endpoints,
    connected_at: { ...connected_at, description: 'ISO 8601; the consent' },
    renewed_at
  },
  { $id: 'OAuthGrant' }
)
export type OAuthGrant = Static<typeof OAuthGrant>

export const OAuthGrantPage = Type.Object(
  {
    grants: Type.Array(ref(OAuthGrant), { description: 'Newest first. With a filter, fewer than `limit` may be here' }),
    next_cursor: Type.Optional(Type.String({ description: 'Absent on the last page' }))
  },
  { $id: 'OAuthGrantPage' }
)
export type OAuthGrantPage = Static<typeof OAuthGrantPage>

export const OAuthGrantQuery = Type.Object({
  user: Type.Optional(Text({ minLength: 1, description: 'Name of a user' })),
  client: Type.Optional(Text({ minLength: 1, description: '`client_id` of an OAuth client' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 100 })),
  cursor: Type.Optional(Text({ minLength: 1, maxLength: 1_024, description: '`next_cursor` of the previous page' }))
})

/** OAuth client that registered itself. */
export const RegisteredClient = Type.Object(
  {
    id: Type.String({ description: 'Its `client_id`' }),
    name: Type.Optional(Type.String({ description: 'As it registered itself, which nobody has checked' })),
    redirect_uris: Type.Array(Type.String()),
    approved: Type.Boolean({ description: 'Counts with `TOWPATH_OAUTH_DCR=approve`' }),
    registered_at: Type.Optional(Type.String({ description: 'ISO 8601; in lists' }))
  },
  { $id: 'RegisteredClient' }
)
export type RegisteredClient = Static<typeof RegisteredClient>
