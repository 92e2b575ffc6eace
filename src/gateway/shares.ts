/** How many calls each principal has under way (decisions "Limits"): none may take what the others need. */
export interface Shares {
  /** False where the principal has as many under way as one may have. */
  take(principal: string): boolean
  /** Once for each `take` that was granted. */
  give(principal: string): void
}

/** Holds those alone who have something under way. */
export function createShares(limit: number): Shares {
  const counts = new Map<string, number>()
  return {
    take(principal) {
      const count = counts.get(principal) ?? 0
      if (count >= limit) return false
      counts.set(principal, count + 1)
      return true
    },
    give(principal) {
      const count = counts.get(principal) ?? 0
      if (count > 1) counts.set(principal, count - 1)
      else counts.delete(principal)
    }
  }
}

/** Without authentication all callers are one principal, who is not held to one caller's share. */
export const noShares: Shares = { take: () => true, give() {} }
