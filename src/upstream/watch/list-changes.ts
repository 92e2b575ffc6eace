import { listKinds, type ListKind } from '../../domain/mcp-constants.ts'

/** Lists that upstreams have reported as changed since their last refresh (mcp-proxy.md#list-changes). */
export interface ListChanges {
  /** Records a server's notification. Returns false if it is no `list_changed` notification. */
  record(id: string, method: string): boolean
  /** Returns and clears a server's changed lists. */
  take(id: string): ReadonlySet<ListKind>
}

const kindOf = (method: string) => listKinds.find((kind) => method === `notifications/${kind}/list_changed`)
/** Tests if a notification is a `list_changed` notification. */
export const isListChange = (method: string) => kindOf(method) !== undefined
const nothing: ReadonlySet<ListKind> = new Set()

export function createListChanges(): ListChanges {
  const changed = new Map<string, Set<ListKind>>()
  return {
    record(id, method) {
      const kind = kindOf(method)
      if (!kind) return false
      const kinds = changed.get(id) ?? new Set<ListKind>()
      changed.set(id, kinds.add(kind))
      return true
    },
    take(id) {
      const kinds = changed.get(id) ?? nothing
      changed.delete(id)
      return kinds
    }
  }
}
