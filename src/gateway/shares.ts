/** What each principal has of something, in numbers or bytes: none may take what the others need. */
export interface Shares {
  /** False where the principal, or all of them, would have more than they may. */
  take(principal: string, amount?: number): boolean
  /** Once for each `take` that was granted, with the same amount. */
  give(principal: string, amount?: number): void
  /** Principals that have something. */
  readonly holders: number
  /** What all of them have. */
  readonly size: number
  /** What one of them has. */
  of(principal: string): number
}

/** `limit` is of one principal, `total` of all. Holds those alone who have something. */
export function createShares(limit: number, total = Infinity): Shares {
  const counts = new Map<string, number>()
  let size = 0
  return {
    take(principal, amount = 1) {
      const count = (counts.get(principal) ?? 0) + amount
      if (count > limit || size + amount > total) return false
      counts.set(principal, count)
      size += amount
      return true
    },
    give(principal, amount = 1) {
      const count = counts.get(principal) ?? 0
      if (count > amount) counts.set(principal, count - amount)
      else counts.delete(principal)
      size -= amount
    },
    get holders() {
      return counts.size
    },
    get size() {
      return size
    },
    of: (principal) => counts.get(principal) ?? 0
  }
}

/** Makes the shares of one gateway. Without authentication all callers are one principal, whom only totals bound. */
export interface Quotas {
  /** Of which one principal may have so many. */
  shareOf(limit: number): Shares
  /** Of which all may have so many bytes, and one principal what `partOf` answers. */
  bytesOf(total: number): Shares
  /** What one principal may have of so many bytes: a quarter. */
  partOf(total: number): number
}

export function createQuotas(mode: 'development' | 'enterprise'): Quotas {
  const partOf = (total: number) => (mode === 'enterprise' ? total / 4 : total)
  return {
    shareOf: (limit) => createShares(mode === 'enterprise' ? limit : Infinity),
    bytesOf: (total) => createShares(partOf(total), total),
    partOf
  }
}
