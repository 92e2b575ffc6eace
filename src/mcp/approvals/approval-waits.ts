import type { Approvals, StoredApproval } from '../../registry/approvals.ts'

/** A call that waits for a decision. */
export interface ApprovalWait {
  /** Resolves with the decided request; undefined if the time is over or the wait was cancelled. */
  readonly decided: Promise<StoredApproval | undefined>
  cancel(): void
}

/** Waits for decisions on requests for approval, which any replica may take. */
export interface ApprovalWaits {
  /** Number of calls that wait. */
  readonly size: number
  wait(id: string, ms: number): ApprovalWait
  /** Looks at a request again, because a decision on it was announced. */
  announce(id: string): void
  /** Ends all waits. */
  close(): void
}

/** Announcements can be lost with their connection. */
const POLL_MS = 1_000

export function createApprovalWaits(store: Pick<Approvals, 'find'>): ApprovalWaits {
  const waits = new Map<string, Set<(decided: StoredApproval | undefined) => void>>()
  let size = 0
  let timer: NodeJS.Timeout | undefined
  const look = async (ids: readonly string[]) => {
    if (ids.length === 0) return
    try {
      for (const approval of await store.find(ids)) {
        if (approval.status === 'pending') continue
        for (const resolve of waits.get(approval.id) ?? []) resolve(approval)
      }
    } catch {
      // without the database nobody says yes; the next look may succeed
    }
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
    wait(id, ms) {
      let finish: (decided: StoredApproval | undefined) => void = () => {}
      const decided = new Promise<StoredApproval | undefined>((resolve) => {
        const group = waits.get(id) ?? new Set()
        const end = setTimeout(() => finish(undefined), ms).unref()
        finish = (approval) => {
          if (!group.delete(finish)) return
          clearTimeout(end)
          size--
          if (group.size === 0) waits.delete(id)
          stopIfEmpty()
          resolve(approval)
        }
        group.add(finish)
        waits.set(id, group)
        size++
      })
      timer ??= setInterval(() => void look([...waits.keys()]), POLL_MS).unref()
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
