import { splitName } from '../domain/names.ts'
import type { Refusal } from '../registry/model/model.ts'
import type { Catalog, Item, CatalogServer } from '../catalog/catalog.ts'
import type { RequestContext } from './sessions/request-context.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { anyByUri } from '../catalog/scope.ts'
import type { FailureReason, UpstreamFailure } from '../protocol/upstream-failure.ts'

type Kind = 'tool' | 'prompt' | 'resource'

function findInCatalog(catalog: Catalog, kind: Kind, name: string): Item | undefined {
  if (kind === 'resource') return anyByUri(catalog, 'resource', name) ?? anyByUri(catalog, 'template', name)
  const split = splitName(name)
  return split && catalog.server(split.server)?.find(kind, split.name)
}

/** Writes refused MCP requests to the audit log. */
export interface McpRefusals {
  /**
   * Audits a request for an item outside the client's scope. The client is answered as if the item did not exist; a
   * name that exists on no server is not audited.
   */
  auditOutOfScope(context: RequestContext, kind: Kind, name: string): void
  /** Audits a request that exceeded a limit per principal. */
  auditLimit(request: RefusedRequest, target: string, reason: string): void
  /** Audits a call that the gateway's own settings or limits kept from a server. */
  auditFailure(context: RequestContext, server: CatalogServer, failure: UpstreamFailure): void
}

/** Request that a refusal is recorded for. */
export type RefusedRequest = Pick<RequestContext, 'caller' | 'endpoint' | 'address' | 'requestId'>

const actions: Partial<Record<FailureReason, string>> = { limited: 'request.refused', denied: 'upstream.refused' }

export function createMcpRefusals(catalog: () => Catalog, record: (refusal: Refusal) => void): McpRefusals {
  const audit = (
    { caller, endpoint, address, requestId }: RefusedRequest,
    action: string,
    target: string,
    reason: string
  ) =>
    record({
      actor: { kind: caller.kind, name: caller.name },
      action,
      target,
      reason,
      endpoint: groupOf(endpoint) ?? 'global',
      address,
      requestId
    })
  return {
    auditOutOfScope(context, kind, name) {
      if (context.caller.kind !== 'client') return
      const item = findInCatalog(catalog(), kind, name)
      if (!item) return
      audit(context, `${kind}.refused`, name, item.enabled ? 'the client may not use it here' : 'it is disabled')
    },
    auditLimit: (request, target, reason) => audit(request, 'request.refused', target, reason),
    auditFailure(context, { name }, { reason, message }) {
      const action = actions[reason]
      if (action !== undefined) audit(context, action, name, message)
    }
  }
}
