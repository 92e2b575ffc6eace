import type { Caller } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'

/** Callers of sign-ins that are kept; beyond it the one that was seen longest ago ends. */
const MAX_LEASES = 20_000
/** Time in which a caller that comes again keeps its place in the order, which would cost a hundredth of a call. */
const SEEN_MS = 1_000
/** Time after the expiry of a token in which its client can come with the next one. */
const GRACE_MS = 60_000

/**
 * Callers that signed in and may have sessions, streams or calls open here. Static and personal tokens are in the
 * catalog; tokens of the authorization server are not, so that each replica keeps those it has seen.
 */
export interface SignInLeases {
  /** Adds a caller, or prolongs the lease of its sign-in. */
  renew(caller: Caller): void
  /**
   * Removes the callers whose sign-in has ended, or whose token has expired without a newer one. Returns the keys that no
   * other sign-in has.
   */
  removeEnded(catalog: Pick<Catalog, 'currentCaller'>): ReadonlySet<string>
}

interface Lease {
  readonly caller: Caller
  expiresAt: number
  /** Time of its last renewal, in milliseconds since 1970. */
  seenAt: number
}

export function createSignInLeases(now: () => number = Date.now): SignInLeases {
  // in the order of their last renewal
  const leases = new Map<string, Lease>()
  const byCaller = new WeakMap<Caller, Lease>()
  const idOf = ({ key, signIn }: Caller) => `${key} ${Buffer.from(signIn!.credential).toString('hex')}`
  return {
    renew(caller) {
      const seenAt = now()
      const last = byCaller.get(caller)
      if (last && seenAt - last.seenAt < SEEN_MS) return
      const id = idOf(caller)
      const known = leases.get(id)
      leases.delete(id)
      if (known) byCaller.delete(known.caller)
      const expiresAt = Math.max(known?.expiresAt ?? 0, caller.signIn!.expiresAt)
      const lease = { caller, expiresAt, seenAt }
      leases.set(id, lease)
      byCaller.set(caller, lease)
      if (leases.size <= MAX_LEASES) return
      const [oldest] = leases.values()
      oldest!.expiresAt = 0
      byCaller.delete(oldest!.caller)
    },
    removeEnded(catalog) {
      const ended = new Set<string>()
      const kept = new Set<string>()
      const at = now()
      for (const [id, { caller, expiresAt }] of leases) {
        if (expiresAt + GRACE_MS > at && catalog.currentCaller(caller)) {
          kept.add(caller.key)
          continue
        }
        leases.delete(id)
        byCaller.delete(caller)
        ended.add(caller.key)
      }
      for (const key of kept) ended.delete(key)
      return ended
    }
  }
}
