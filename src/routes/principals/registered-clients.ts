import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { invalid } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { OAuthGrantPage, OAuthGrantQuery, RegisteredClient } from '../../schemas/oauth-client.ts'
import type { GrantPlace } from '../../registry/repositories/oauth-grants.ts'
import { errorResponses, ref, Text } from '../../schemas/shared.ts'

const tags = ['oauth clients']
const config = { access: 'admin' } as const
const params = Type.Object({ id: Text({ minLength: 1 }) })
const MAX_PAGE = 1_000

type App = Parameters<FastifyPluginAsyncTypebox>[0]

const encodeCursor = ({ at, id }: GrantPlace) => Buffer.from(JSON.stringify([at, id])).toString('base64url')

/** Returns whether a text is a time that PostgreSQL reads: neither 30 February nor the year 0. */
const isTime = (text: string) =>
  /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().slice(0, 19) === text.slice(0, 19)

/** Throws AppError 400 for a text that is not a cursor. */
function decodeCursor(cursor: string): GrantPlace {
  try {
    const [at, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (typeof at === 'string' && isTime(at) && typeof id === 'string' && /^\w+:[0-9a-f]{64}$/.test(id))
      return { at, id }
  } catch {
    // answered below
  }
  throw invalid('"cursor" is not valid')
}

function addGrants(app: App): void {
  app.get(
    '/oauth_grants',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'listOauthGrants',
        summary: 'List what people gave to OAuth clients',
        description: 'Grants that can be renewed or are younger than an hour, of all users, the newest first.',
        querystring: OAuthGrantQuery,
        response: { 200: ref(OAuthGrantPage), ...errorResponses(400) }
      }
    },
    async ({ query: { cursor, limit = 100, ...filter } }) => {
      const after = cursor === undefined ? {} : { after: decodeCursor(cursor) }
      const { grants, next } = await app.gateway.connectedClients.listGrants({ ...filter, limit, ...after })
      return { grants, ...(next && { next_cursor: encodeCursor(next) }) }
    }
  )
}

/** Routes of OAuth clients that registered themselves, and of grants. */
export const registeredClients: FastifyPluginAsyncTypebox = async (app) => {
  addGrants(app)
  app.get(
    '/oauth_clients',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'listOauthClients',
        summary: 'List the OAuth clients that registered themselves',
        description: 'The last registered first. Clients whose id is the URL of their metadata are not registered.',
        querystring: Type.Object({
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 100 })),
          offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 }))
        }),
        response: { 200: Type.Array(ref(RegisteredClient)) }
      }
    },
    ({ query }) => app.gateway.registeredClients.list({ limit: query.limit ?? 100, offset: query.offset ?? 0 })
  )

  app.post(
    '/oauth_clients/:id/approve',
    {
      config,
      schema: {
        tags,
        operationId: 'approveOauthClient',
        summary: 'Approve an OAuth client, so that people can let it in',
        description: 'Counts with `TOWPATH_OAUTH_DCR=approve`.',
        params,
        response: { 200: ref(RegisteredClient), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.registeredClients.approve(callerOf(request), request.params.id)
  )

  app.delete(
    '/oauth_clients/:id',
    {
      config,
      schema: {
        tags,
        operationId: 'deleteOauthClient',
        summary: 'Remove an OAuth client',
        description: 'Ends what all people gave to it: tokens, sessions, streams and calls.',
        params,
        response: { 204: Type.Null(), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      await app.gateway.registeredClients.remove(callerOf(request), request.params.id)
      return reply.code(204).send(null)
    }
  )
}
