import { timeLeft } from '../../domain/timers.ts'
import { createQuota } from '../../lib/quota.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

/**
 * True if an idle session of this holder (undefined: a spare session) may be closed to free its slot for another one.
 */
export type MayReclaim = (holder: string | undefined) => boolean

/** A limited number of slots with a limited queue, for processes and for sessions (docs/reference/limits.md). */
export interface SlotPool {
  /**
   * Waits for a slot until `deadline` (`performance.now()`). Resolves with its release. Rejects with `overloaded` if
   * the queue is full, with `limited` if the holder has used its share, with `cancelled` once `isWanted` is false.
   */
  acquire(deadline: number, holder?: string, isWanted?: () => boolean): Promise<() => void>
  /**
   * Returns the release of a slot for a spare session, undefined if none is free: the last quarter is kept for calls.
   */
  tryAcquire(): (() => void) | undefined
  /** Counts a spare session's slot, given by its release, towards the holder from now on. */
  assign(release: () => void, holder: string): void
  /** True if the holder has used its share. */
  isLimited(holder: string): boolean
  readonly used: number
  /** Number of requests waiting for a slot. */
  readonly waiting: number
  /** Tries to free a slot for a waiting request. Call when a session has become idle. */
  reclaimForWaiting(): void
}

export interface SlotPoolOptions {
  /** Closes an idle session that `mayReclaim` allows; returns false if there is none. */
  readonly reclaim?: (mayReclaim: MayReclaim) => boolean
  /** Slots per holder. Default: all of them, in which case idle sessions of anybody may be closed. */
  readonly share?: number
  /** Plural noun for messages. */
  readonly noun?: string
}

interface Waiter {
  readonly holder: string | undefined
  readonly isWanted: () => boolean
  readonly grant: () => void
  readonly cancel: () => void
  readonly timer: NodeJS.Timeout
}

const SPARE_SHARE = 3 / 4

/**
 * Creates a pool that serves waiting requests in order of arrival, skipping holders that have used their share.
 * Releasing a slot twice has no effect.
 */
export function createSlotPool(
  limit: number,
  queueLimit: number,
  { reclaim = () => false, share = Infinity, noun = 'processes' }: SlotPoolOptions = {}
): SlotPool {
  const queue: Waiter[] = []
  const shares = createQuota(share)
  const holders = new WeakMap<() => void, string>()
  let used = 0

  const isLimited = (holder: string | undefined) => holder !== undefined && shares.heldBy(holder) >= share
  const isFree = (holder: string | undefined) => used < limit && !isLimited(holder)
  const grant = (holder: string | undefined) => {
    let isActive = true
    used++
    const release = () => {
      if (!isActive) return
      isActive = false
      used--
      const known = holders.get(release)
      if (known !== undefined) shares.release(known)
      grantNext()
    }
    if (holder !== undefined) assign(release, holder)
    return release
  }
  const assign = (release: () => void, holder: string) => {
    if (!holders.has(release) && shares.acquire(holder)) holders.set(release, holder)
  }
  /** Removes requests that nobody waits for any more: they must take neither places nor slots. */
  const removeUnwanted = () => {
    for (const waiter of queue.filter(({ isWanted }) => !isWanted())) {
      queue.splice(queue.indexOf(waiter), 1)
      clearTimeout(waiter.timer)
      waiter.cancel()
    }
  }
  function grantNext(): void {
    removeUnwanted()
    while (used < limit) {
      const at = queue.findIndex(({ holder }) => !isLimited(holder))
      if (at < 0) return
      const [next] = queue.splice(at, 1)
      clearTimeout(next!.timer)
      next!.grant()
    }
  }
  /**
   * A holder with no more than an equal part of all slots keeps them; a holder with its full share can only replace its
   * own.
   */
  const mayReclaimFor = (holder: string | undefined): MayReclaim => {
    if (share === Infinity || holder === undefined) return () => true
    if (isLimited(holder)) return (other) => other === holder
    const equalPart = Math.max(1, Math.floor(limit / (shares.holders + (shares.heldBy(holder) === 0 ? 1 : 0))))
    return (other) => other === undefined || other === holder || shares.heldBy(other) > equalPart
  }
  /** A holder without any slot gets one even at the expense of others' idle sessions, so that nobody is locked out. */
  const makeRoom = (holder: string | undefined): boolean =>
    reclaim(mayReclaimFor(holder)) || (holder !== undefined && shares.heldBy(holder) === 0 && reclaim(() => true))
  const refusal = (holder: string | undefined, otherwise: string) =>
    isLimited(holder)
      ? new UpstreamFailure('limited', `too many of your ${noun} are in use`, { maybeProcessed: false })
      : new UpstreamFailure('overloaded', otherwise, { maybeProcessed: false })
  const enqueue = (deadline: number, holder: string | undefined, isWanted: () => boolean) =>
    new Promise<() => void>((resolve, reject) => {
      const giveUp = () => {
        queue.splice(queue.indexOf(waiter), 1)
        reject(refusal(holder, `none of the ${noun} became free in time`))
      }
      const timer = setTimeout(giveUp, timeLeft(deadline))
      const waiter: Waiter = {
        ...{ holder, timer, isWanted },
        grant: () => resolve(grant(holder)),
        cancel: () => reject(new UpstreamFailure('cancelled', 'nobody waits for it', { maybeProcessed: false }))
      }
      queue.push(waiter)
      makeRoom(holder)
    })
  /** One holder may fill at most half of the queue. */
  const mayQueue = (holder: string | undefined) => {
    removeUnwanted()
    if (queue.length >= queueLimit) return false
    if (share === Infinity || holder === undefined) return true
    return queue.filter((each) => each.holder === holder).length < Math.ceil(queueLimit / 2)
  }
  return {
    async acquire(deadline, holder, isWanted = () => true) {
      if (isFree(holder)) return grant(holder)
      if (mayQueue(holder)) return enqueue(deadline, holder, isWanted)
      // without a queue, a session closed right now frees its slot right now
      if (queueLimit === 0 && makeRoom(holder) && isFree(holder)) return grant(holder)
      throw refusal(holder, `too many calls are waiting for one of the ${noun}`)
    },
    tryAcquire() {
      if (queue.length > 0 || used >= Math.floor(limit * SPARE_SHARE)) return undefined
      return grant(undefined)
    },
    assign,
    isLimited,
    reclaimForWaiting() {
      for (const holder of new Set(queue.map((each) => each.holder))) if (makeRoom(holder)) return
    },
    get waiting() {
      return queue.length
    },
    get used() {
      return used
    }
  }
}
