/** Quota on a resource, in units or bytes, with a limit per principal and a total for all principals. */
export interface Quota {
  /** Acquires `amount`; false if that would exceed the limit of the principal or the total. */
  acquire(principal: string, amount?: number): boolean
  /** Releases `amount`; to be called once for each successful `acquire`, with the same amount. */
  release(principal: string, amount?: number): void
  /** Number of principals that hold a part of the quota. */
  readonly holders: number
  /** Amount that all principals hold together. */
  readonly size: number
  /** Returns the amount that a principal holds. */
  heldBy(principal: string): number
}

/** Creates a quota of `limit` per principal and `total` for all. Takes memory only for principals that hold a part. */
export function createQuota(limit: number, total = Infinity): Quota {
  const counts = new Map<string, number>()
  let size = 0
  return {
    acquire(principal, amount = 1) {
      const count = (counts.get(principal) ?? 0) + amount
      if (count > limit || size + amount > total) return false
      counts.set(principal, count)
      size += amount
      return true
    },
    release(principal, amount = 1) {
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
    heldBy: (principal) => counts.get(principal) ?? 0
  }
}

/** Creates the quotas of a gateway. In development mode all callers are one principal, so only totals apply. */
export interface Quotas {
  /** Creates a quota of `limit` units per principal. */
  forUnits(limit: number): Quota
  /** Creates a quota of `total` bytes for all principals, and of `limitOf(total)` for each. */
  forBytes(total: number): Quota
  /** Returns the limit of one principal out of `total` bytes: a quarter in enterprise mode, else all. */
  limitOf(total: number): number
}

/** `principalOf`: the principal that a holder counts as; by default each holder is one. */
export function createQuotas(
  mode: 'development' | 'enterprise',
  principalOf: (holder: string) => string = (holder) => holder
): Quotas {
  const byPrincipal = (quota: Quota): Quota => ({
    acquire: (holder, amount) => quota.acquire(principalOf(holder), amount),
    release: (holder, amount) => quota.release(principalOf(holder), amount),
    get holders() {
      return quota.holders
    },
    get size() {
      return quota.size
    },
    heldBy: (holder) => quota.heldBy(principalOf(holder))
  })
  const limitOf = (total: number) => (mode === 'enterprise' ? total / 4 : total)
  return {
    forUnits: (limit) => byPrincipal(createQuota(mode === 'enterprise' ? limit : Infinity)),
    forBytes: (total) => byPrincipal(createQuota(limitOf(total), total)),
    limitOf
  }
}
