import { isAtLeastLevel } from '../../domain/log-levels.ts'
import { members, stringOf, withMembers } from '../../json/json.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import type { Scope } from '../../catalog/scope.ts'

/** Prefixes `logger` with the server's name (mcp-proxy.md#logging). */
function withLogger(params: string, server: string): string {
  const found = members(params)
  const given = stringOf(params, found, 'logger')
  const rest = withMembers(params, { logger: null }, found).slice(1)
  const logger = JSON.stringify(given === undefined ? server : `${server}/${given}`)
  return `{"logger":${logger}${rest === '}' ? '' : ','}${rest}`
}

/** Returns a server's log message for the client; undefined if malformed or below the client's level. */
export function logMessage(
  params: string,
  server: string,
  { isBare }: Pick<Scope, 'isBare'>,
  level: string | undefined
): string | undefined {
  if (!params.startsWith('{')) return undefined
  if (level !== undefined && !isAtLeastLevel(stringOf(params, members(params), 'level'), level)) return undefined
  return notificationText('notifications/message', isBare ? params : withLogger(params, server))
}
