import { judge, type Decision } from '../domain/policy/permit.ts'
import type { Catalog, Item } from '../catalog/catalog.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { REST_ENDPOINT, type Observation } from '../observe/observation.ts'
import { permitOf, scopeAt, type Scope } from '../catalog/scope.ts'
import { members, valueOf } from '../json/json.ts'
import { factsOf } from './policy-gate.ts'
import { UpstreamFailure } from '../protocol/upstream-failure.ts'

/**
 * Failure of calls in progress whose permission was withdrawn. A single object, so that it is recognized by identity.
 */
export const permissionWithdrawn = new UpstreamFailure('cancelled', 'the call was ended: its item is no longer allowed')

type CallTarget = Pick<Observation, 'caller' | 'endpoint' | 'kind' | 'server' | 'item' | 'params'>

const scopeOf = (catalog: Catalog, { caller, endpoint }: CallTarget): Scope =>
  scopeAt(catalog, endpoint === REST_ENDPOINT ? undefined : groupOf(endpoint), permitOf(catalog, caller))

/**
 * Returns true if a call in progress would still be permitted by this catalog. A call of a tool or prompt that the
 * server itself no longer lists continues, because that is not a matter of permission.
 */
export function isStillAllowed(catalog: Catalog, call: CallTarget): boolean {
  const { kind, server: name, item } = call
  if (name === undefined || item === undefined) return true
  const scope = scopeOf(catalog, call)
  const server = scope.servers.find((each) => each.name === name)
  if (!server) return false
  if (kind === 'resource')
    return scope.resolveAt(name, item) !== undefined && meetsConditions(catalog, scope.decideUri(server, item), call)
  const found = kind === 'completion' ? undefined : server.find(kind, item)
  return found === undefined || (scope.includes(found) && meetsConditions(catalog, scope.decide(found), call, found))
}

/** Returns false if the conditions of policies refuse the arguments of a call in progress. */
function meetsConditions(
  { permits }: Catalog,
  decision: Decision,
  { caller, params, server, item }: CallTarget,
  found?: Item
): boolean {
  if (decision.verdict !== 'residual') return true
  const text = `{${params}}`
  const target = found ?? { kind: 'resource', server: { name: server! }, name: item!, alias: item! }
  const facts = factsOf(permits.subjectOf(caller), target, valueOf(text, members(text), 'arguments'))
  return judge(decision, facts).isAllowed
}
