import type { ChangeKind } from '../../schemas/dashboard/events.ts'
import type { Catalog } from '../../catalog/catalog.ts'

/** Notifies open dashboard pages that data changed. */
export interface DashboardEvents {
  publish(...kinds: readonly ChangeKind[]): void
  /** Calls `listener` with the kinds of data that changed, in batches. Returns a function that unsubscribes. */
  subscribe(listener: (kinds: readonly ChangeKind[]) => void): () => void
  /** Returns true while somebody listens. */
  isWatched(): boolean
  close(): void
}

/** Changes within this time are one event: under load, pages get two events a second. */
const BATCH_MS = 500

export function createDashboardEvents(batchMs = BATCH_MS): DashboardEvents {
  const listeners = new Set<(kinds: readonly ChangeKind[]) => void>()
  const pending = new Set<ChangeKind>()
  let timer: NodeJS.Timeout | undefined

  const flush = () => {
    timer = undefined
    const kinds = [...pending].sort()
    pending.clear()
    for (const listener of listeners) listener(kinds)
  }
  return {
    publish(...kinds) {
      if (listeners.size === 0) return
      for (const kind of kinds) pending.add(kind)
      timer ??= setTimeout(flush, batchMs).unref()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isWatched: () => listeners.size > 0,
    close() {
      clearTimeout(timer)
      listeners.clear()
    }
  }
}

/** Returns the kinds of data that differ between two catalogs. */
export function changedKinds(before: Catalog, next: Catalog): ChangeKind[] {
  const isSame = <T>(a: readonly T[], b: readonly T[]) => a.length === b.length && a.every((each, i) => each === b[i])
  const kinds: ChangeKind[] = isSame(before.policies, next.policies) ? [] : ['policies']
  if (!isSame(before.principals, next.principals) || !isSame(before.people.teams, next.people.teams))
    kinds.push('people')
  if (!isSame(before.servers, next.servers)) kinds.push('servers', 'tools', 'prompts', 'resources', 'tool_groups')
  else if (!isSame(before.groups, next.groups)) kinds.push('tool_groups')
  return kinds
}
