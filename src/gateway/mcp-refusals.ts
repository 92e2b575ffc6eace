import { splitName } from '../domain/names.ts'
import type { Refusal } from '../registry/model.ts'
import type { Catalog, Item, ServerBlock } from './catalog.ts'
import type { Exchange } from './downstream/exchange.ts'
import { groupOf } from './endpoint.ts'
import { anyByUri } from './scope.ts'
import type { Reason, UpstreamFailure } from './upstream/failure.ts'

type Kind = 'tool' | 'prompt' | 'resource'

function findAnywhere(catalog: Catalog, kind: Kind, name: string): Item | undefined {
  if (kind === 'resource') return anyByUri(catalog, 'resource', name) ?? anyByUri(catalog, 'template', name)
  const split = splitName(name)
  return split && catalog.server(split.server)?.find(kind, split.name)
}

/** What is refused over MCP, for the audit log. */
export interface McpRefusals {
  /**
   * A client that asks for what it may not have is told that there is no such thing; the audit log is told who asked for
   * what. What is nowhere is no refusal.
   */
  outOfScope(exchange: Exchange, kind: Kind, name: string): void
  /** The caller has as much as one may have. */
  limited(asking: Asking, what: string, reason: string): void
  /** Our own settings or limits came between the caller and a server. */
  failed(exchange: Exchange, server: ServerBlock, failure: UpstreamFailure): void
}

type Asking = Pick<Exchange, 'caller' | 'endpoint' | 'address' | 'requestId'>

const actions: Partial<Record<Reason, string>> = { limited: 'request.refused', denied: 'upstream.refused' }

export function createMcpRefusals(catalog: () => Catalog, record: (refusal: Refusal) => void): McpRefusals {
  const refuse = ({ caller, endpoint, address, requestId }: Asking, action: string, target: string, reason: string) =>
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
    outOfScope(exchange, kind, name) {
      if (exchange.caller.kind !== 'client') return
      const item = findAnywhere(catalog(), kind, name)
      if (!item) return
      refuse(exchange, `${kind}.refused`, name, item.enabled ? 'the client may not use it here' : 'it is disabled')
    },
    limited: (asking, what, reason) => refuse(asking, 'request.refused', what, reason),
    failed(exchange, { name }, { reason, message }) {
      const action = actions[reason]
      if (action !== undefined) refuse(exchange, action, name, message)
    }
  }
}
