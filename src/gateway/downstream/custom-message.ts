import { isCustom, paramsText, readSaid, type Allowance } from '../notifications.ts'
import type { Scope } from '../scope.ts'
import { needsLabel } from './label.ts'

/**
 * A server's own notification as a client gets it: among several servers its `_meta` says whose it is. Undefined where it is
 * none, malformed or too much.
 */
export function customMessage(
  method: string,
  params: string,
  server: string,
  scope: Scope,
  allowance: Allowance
): string | undefined {
  if (!isCustom(method)) return undefined
  const said = readSaid(params)
  if (!said || !allowance.take(method.length + params.length)) return undefined
  const whose = needsLabel(scope) ? `"towpath/upstream":{"server":${JSON.stringify(server)}}` : ''
  const shown = paramsText([said.members], [said.meta, whose])
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${shown}}`
}
