import type { RouteOptions } from 'fastify'
import { errorResponses, statusDescriptions } from '../../schemas/shared.ts'

type Route = Pick<RouteOptions, 'method' | 'url' | 'config'>

const takesBody = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Tokens that the route refuses with 403, by access; undefined if the token is never the reason. */
const tokenRefusals = {
  public: undefined,
  self: 'The token belongs to an MCP client',
  user: 'The token belongs to an MCP client, or lacks the scope',
  call: 'The token belongs to an MCP client or an auditor, or lacks the scope',
  auditor: 'The token belongs to neither an auditor nor an administrator, or lacks the scope',
  admin: 'The token does not belong to an administrator, or lacks the scope',
  client: 'The personal access token lacks the scope'
} as const

/** Adds the refused tokens to the reasons for a 403 that all routes have. */
function forbiddenDescription(tokenRefusal: string | undefined): string {
  const common = statusDescriptions[403]
  return tokenRefusal === undefined ? common : `${tokenRefusal}, t${common.slice(1)}`
}

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
  const refused = { ...answers[403], description: forbiddenDescription(tokenRefusals[access]) }
  return { ...answers, 403: refused }
}
