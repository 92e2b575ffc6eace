import { Type, type Static } from '@sinclair/typebox'

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
