import { principalIdOf } from '../../catalog/caller.ts'
import { createQuota } from '../../lib/quota.ts'
import type { Approvals, StoredApproval } from '../../registry/approvals.ts'

/** A call that waits for a decision. */
export interface ApprovalWait {
  /** Resolves with the decided request; undefined if the time is over or the wait was cancelled. */
  readonly decided: Promise<StoredApproval | undefined>
  cancel(): void
}

/** Caller whose call waits, and the length of its request in memory. */
export interface Waiting {
  readonly holder: string
  readonly bytes: number
}

/** Waits for decisions on requests for approval, which any replica may take. */
export interface ApprovalWaits {
  /** Number of calls that wait. */
  readonly size: number
  /** Returns undefined if too many calls wait, or too large ones. */
  wait(id: string, ms: number, waiting: Waiting): ApprovalWait | undefined
  /** Looks at a request again, because a decision on it was announced. */
  announce(id: string): void
  /** Ends all waits. */
  close(): void
}

/** Announcements can be lost with their connection. */
const POLL_MS = 1_000
/** Calls of a replica that wait at the same time; others are told at once to come back. */
const MAX_WAITS = 1_000
const MAX_WAITS_PER_CALLER = 50
const MAX_BYTES = 33_554_432

export function createApprovalWaits(store: Pick<Approvals, 'find'>): ApprovalWaits {
  const places = createQuota(MAX_WAITS_PER_CALLER, MAX_WAITS)
  const memory = createQuota(MAX_BYTES, MAX_BYTES)
  const waits = new Map<string, Set<(decided: StoredApproval | undefined) => void>>()
  let size = 0
  let timer: NodeJS.Timeout | undefined
  let isPolling = false
  const look = async (ids: readonly string[]) => {
    try {
      for (const approval of await store.find(ids)) {
        if (approval.status === 'pending') continue
        for (const resolve of waits.get(approval.id) ?? []) resolve(approval)
      }
    } catch {
      // without the database nobody says yes; the next look may succeed
    }
  }
  const poll = async () => {
    if (isPolling) return
    isPolling = true
    await look([...waits.keys()])
    isPolling = false
  }
  const stopIfEmpty = () => {
    if (size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  return {
    get size() {
      return size
    },
    wait(id, ms, { holder, bytes }) {
      const principal = principalIdOf(holder)
      if (!places.acquire(principal)) return undefined
      if (!memory.acquire('', bytes)) {
        places.release(principal)
        return undefined
      }
      let finish: (decided: StoredApproval | undefined) => void = () => {}
      const decided = new Promise<StoredApproval | undefined>((resolve) => {
        const group = waits.get(id) ?? new Set()
        const end = setTimeout(() => finish(undefined), ms).unref()
        finish = (approval) => {
          if (!group.delete(finish)) return
          clearTimeout(end)
          size--
          places.release(principal)
          memory.release('', bytes)
          if (group.size === 0) waits.delete(id)
          stopIfEmpty()
          resolve(approval)
        }
        group.add(finish)
        waits.set(id, group)
        size++
      })
      timer ??= setInterval(() => void poll(), POLL_MS).unref()
      return { decided, cancel: () => finish(undefined) }
    },
    announce(id) {
      if (waits.has(id)) void look([id])
    },
    close() {
      for (const group of [...waits.values()]) for (const finish of [...group]) finish(undefined)
    }
  }
}
