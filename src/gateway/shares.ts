/** What each principal has of something (decisions "Limits"): none may take what the others need. */
export interface Shares {
  /** False where the principal has as many as one may have. */
  take(principal: string): boolean
  /** Once for each `take` that was granted. */
  give(principal: string): void
  /** What all of them have. */
  readonly size: number
}

/** Holds those alone who have something. */
export function createShares(limit: number): Shares {
  const counts = new Map<string, number>()
  let size = 0
  return {
    take(principal) {
      const count = counts.get(principal) ?? 0
      if (count >= limit) return false
      counts.set(principal, count + 1)
      size++
      return true
    },
    give(principal) {
      const count = counts.get(principal) ?? 0
      if (count > 1) counts.set(principal, count - 1)
      else counts.delete(principal)
      size--
    },
    get size() {
      return size
    }
  }
}
