import { isCustomNotification, joinParams, parseExtraParams, type RateLimiter } from '../notifications.ts'
import type { Scope } from '../scope.ts'
import { needsAttribution } from './label.ts'

/**
 * A server's own notification as a client gets it: among several servers its `_meta` says whose it is. Undefined where it is
 * none, malformed or too much.
 */
export function customMessage(
  method: string,
  params: string,
  server: string,
  scope: Scope,
  allowance: RateLimiter
): string | undefined {
  if (!isCustomNotification(method)) return undefined
  const said = parseExtraParams(params)
  if (!said || !allowance.take(method.length + params.length)) return undefined
  const whose = needsAttribution(scope) ? `"towpath/upstream":{"server":${JSON.stringify(server)}}` : ''
  const shown = joinParams([said.members], [said.meta, whose])
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${shown}}`
}
