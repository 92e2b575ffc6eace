import { listKinds, type ListKind } from '../domain/protocol.ts'

/** What upstreams say of their lists, until those have been read again (mcp-proxy.md#list-changes). */
export interface ListChanges {
  /** A notification of a server; true where it says that a list has changed. */
  record(id: string, method: string): boolean
  /** The lists that a server said have changed since the last time. */
  take(id: string): ReadonlySet<ListKind>
}

const kindOf = (method: string) => listKinds.find((kind) => method === `notifications/${kind}/list_changed`)
/** Whether a notification says that a list has changed. */
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
