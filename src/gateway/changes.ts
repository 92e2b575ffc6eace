import type { ChangeKind } from '../schemas/dashboard/events.ts'
import type { Catalog } from './catalog.ts'

/** Tells pages that look that something is not what it was. */
export interface DashboardEvents {
  publish(...kinds: readonly ChangeKind[]): void
  /** `take` gets what has changed, several changes at a time; the answer ends it. */
  subscribe(take: (kinds: readonly ChangeKind[]) => void): () => void
  close(): void
}

/** Changes in quick succession are one; under load pages are told twice a second. */
const GATHER_MS = 500

export function createDashboardEvents(gatherMs = GATHER_MS): DashboardEvents {
  const listeners = new Set<(kinds: readonly ChangeKind[]) => void>()
  const pending = new Set<ChangeKind>()
  let timer: NodeJS.Timeout | undefined

  const flush = () => {
    timer = undefined
    const kinds = [...pending].sort()
    pending.clear()
    for (const take of listeners) take(kinds)
  }
  return {
    publish(...kinds) {
      if (listeners.size === 0) return
      for (const kind of kinds) pending.add(kind)
      timer ??= setTimeout(flush, gatherMs).unref()
    },
    subscribe(take) {
      listeners.add(take)
      return () => void listeners.delete(take)
    },
    close() {
      clearTimeout(timer)
      listeners.clear()
    }
  }
}

/** What of the pages differs between two catalogs. */
export function changedKinds(before: Catalog, next: Catalog): ChangeKind[] {
  const isSame = <T>(a: readonly T[], b: readonly T[]) => a.length === b.length && a.every((each, i) => each === b[i])
  if (!isSame(before.servers, next.servers)) return ['servers', 'tools', 'prompts', 'resources', 'tool_groups']
  return isSame(before.groups, next.groups) ? [] : ['tool_groups']
}
