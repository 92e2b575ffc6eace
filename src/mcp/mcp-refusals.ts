import { randomUUID } from 'node:crypto'
import { isPlain, wouldChange } from '../domain/policy/permit.ts'
import type { Effect, Mode, PolicyRule } from '../domain/policy/rule.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { splitName } from '../domain/names.ts'
import type { Refusal } from '../registry/model/model.ts'
import type { Catalog, CatalogServer } from '../catalog/catalog.ts'
import type { PolicyRequest } from './policy-gate.ts'
import type { RequestContext } from './sessions/request-context.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { anyByUri } from '../catalog/item-lookup.ts'
import { resourceOf } from '../catalog/resource-resolution.ts'
import { globalScope, permitOf } from '../catalog/scope.ts'
import type { FailureReason, UpstreamFailure } from '../protocol/upstream-failure.ts'

type Kind = 'tool' | 'prompt' | 'resource' | 'skill'
type Item = PolicyItem & { readonly enabled?: boolean }

/** Returns the item that a name or URI stands for, whoever asks; undefined if it exists on no server. */
function findInCatalog(catalog: Catalog, kind: Kind, name: string): Item | undefined {
  if (kind === 'skill') return anyByUri(catalog, 'skill', name) ?? findInCatalog(catalog, 'resource', name)
  if (kind === 'resource') {
    const item = anyByUri(catalog, 'resource', name) ?? anyByUri(catalog, 'template', name)
    const target = item ? undefined : globalScope(catalog).resolve(name, false)
    return item ?? (target && resourceOf(catalog, target.server.name, target.uri))
  }
  const split = splitName(name)
  return split && catalog.server(split.server)?.find(kind, split.name)
}

/** Writes refused MCP requests to the audit log. */
export interface McpRefusals {
  /**
   * Audits a request for an item outside the caller's scope. The caller is answered as if the item did not exist; a
   * name that exists on no server is not audited. Returns the server that has the item.
   */
  auditOutOfScope(request: RefusedRequest, kind: Kind, name: string): CatalogServer | undefined
  /** Audits a request that exceeded a limit per principal. */
  auditLimit(request: RefusedRequest, target: string, reason: string): void
  /** Audits a call that the gateway's own settings or limits kept from a server. */
  auditFailure(context: RequestContext, server: CatalogServer, failure: UpstreamFailure): void
}

/** Request that a refusal is recorded for. */
export type RefusedRequest = PolicyRequest

const actions: Partial<Record<FailureReason, string>> = { limited: 'request.refused', denied: 'upstream.refused' }

export function createMcpRefusals(
  catalog: () => Catalog,
  record: (refusal: Refusal) => void,
  onDecision: (effect: Effect, mode: Mode) => void,
  onObserved: (rule: PolicyRule, isChanged: boolean) => void
): McpRefusals {
  const audit = (
    { caller, endpoint, address, requestId }: RefusedRequest,
    action: string,
    target: string,
    reason: string,
    more: Pick<Refusal, 'policy' | 'decision'> = {}
  ) =>
    record({
      ...more,
      actor: { kind: caller.kind, name: caller.name },
      action,
      target,
      reason,
      endpoint: groupOf(endpoint) ?? 'global',
      address,
      requestId
    })
  const auditItem = (request: RefusedRequest, action: string, item: Item, name: string) => {
    const { caller } = request
    const { verdict, rule, observed } = permitOf(catalog(), caller).decide(item)
    if (item.enabled === false) return audit(request, action, name, 'it is disabled')
    // the arguments of a hidden item are not looked at
    for (const each of verdict === 'no' ? observed.filter(isPlain) : []) {
      onDecision(each.rule.effect, 'observe')
      onObserved(each.rule, wouldChange(each.rule.effect, 'deny', rule))
    }
    if (verdict !== 'no' || !rule) return audit(request, action, name, `the ${caller.kind} may not use it here`)
    onDecision('deny', 'enforce')
    audit(request, action, name, 'a policy denies it', { policy: rule.name, decision: randomUUID() })
  }
  return {
    auditOutOfScope(request, kind, name) {
      if (request.caller.kind === 'development') return undefined
      const item = findInCatalog(catalog(), kind, name)
      if (item) auditItem(request, `${kind}.refused`, item, name)
      return item && catalog().server(item.server.name)
    },
    auditLimit: (request, target, reason) => audit(request, 'request.refused', target, reason),
    auditFailure(context, { name }, { reason, message }) {
      const action = actions[reason]
      if (action !== undefined) audit(context, action, name, message)
    }
  }
}
