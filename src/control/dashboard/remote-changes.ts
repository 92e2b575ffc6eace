import type { NewestRows } from '../../registry/logs/newest.ts'
import type { DashboardEvents } from './dashboard-events.ts'

export interface RemoteChangesOptions {
  readonly events: Pick<DashboardEvents, 'publish' | 'isWatched'>
  /** Reads marks that change when any replica adds something. */
  readonly newest: () => Promise<NewestRows>
  readonly everyMs?: number
}

/** Rarely enough that many open pages cost one small query in this time. */
const EVERY_MS = 2_000

const kinds = ['calls', 'audit', 'approvals', 'policies'] as const

/**
 * Tells open pages of rows that other replicas have added to logs. A notification for each batch of calls would let all
 * writers wait for each other; this asks the database, and only while somebody looks at a page.
 */
export function followReplicas({ events, newest, everyMs = EVERY_MS }: RemoteChangesOptions): { stop(): void } {
  let known: NewestRows | undefined
  let isReading = false
  const look = async () => {
    if (isReading || !events.isWatched()) return
    isReading = true
    try {
      const found = await newest()
      const changed = kinds.filter((kind) => found[kind] !== known?.[kind])
      known = found
      if (changed.length > 0) events.publish(...changed)
    } catch {
      // an unreachable database is reported by its follower
    } finally {
      isReading = false
    }
  }
  const timer = setInterval(() => void look(), everyMs).unref()
  return { stop: () => clearInterval(timer) }
}
