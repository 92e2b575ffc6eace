import type { RouteOptions } from 'fastify'
import { errorResponses, statusDescriptions } from '../../schemas/shared.ts'

type Route = Pick<RouteOptions, 'method' | 'url' | 'config'>

const takesBody = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** First part of the 403 description: tokens that the route refuses, besides cross-site requests. */
const tokenRefusals = {
  public: '',
  user: 'The token belongs to an MCP client, or: ',
  admin: 'The token is not that of an administrator, or: ',
  client: ''
} as const

/**
 * Returns the responses that a route has by its path, body and access. The route itself declares only those of its own
 * work.
 */
export function commonAnswers({ method, url, config = {} }: Route): Record<string, object> {
  const { access = 'admin', alwaysServed = false } = config
  const answers = errorResponses(
    ...([400, 403, 408, 431, 500] as const),
    ...(access === 'public' ? [] : ([401, 429] as const)),
    ...(url.includes(':') ? ([414] as const) : []),
    ...([method].flat().some((name) => takesBody.has(name)) ? ([413, 415] as const) : []),
    ...(alwaysServed ? [] : ([503] as const))
  )
  const refused = { ...answers[403], description: `${tokenRefusals[access]}${statusDescriptions[403]}` }
  return { ...answers, 403: refused }
}
