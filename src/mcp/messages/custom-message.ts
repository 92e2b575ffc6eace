import { notificationText } from '../../protocol/jsonrpc-text.ts'
import { isCustomNotification, joinParams, parseExtraParams, type RateLimiter } from '../../protocol/notifications.ts'
import type { Scope } from '../../catalog/scope.ts'
import { needsAttribution } from './server-attribution.ts'

/**
 * Returns a server's custom notification for the client, with the server's name in `_meta` if several servers are in
 * scope. Undefined if the method is not custom, the message is malformed, or the allowance is used up.
 */
export function customMessage(
  method: string,
  params: string,
  server: string,
  scope: Scope,
  allowance: RateLimiter
): string | undefined {
  if (!isCustomNotification(method)) return undefined
  const extraParams = parseExtraParams(params)
  if (!extraParams || !allowance.take(method.length + params.length)) return undefined
  const attribution = needsAttribution(scope) ? `"towpath/upstream":{"server":${JSON.stringify(server)}}` : ''
  const shown = joinParams([extraParams.members], [extraParams.meta, attribution])
  return notificationText(method, shown)
}
