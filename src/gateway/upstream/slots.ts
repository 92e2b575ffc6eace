import { createQuota } from '../shares.ts'
import { UpstreamFailure } from './failure.ts'

/** Whether something idle of this holder, undefined for a spare, may be ended for somebody else's sake. */
export type MayEnd = (holder: string | undefined) => boolean

/** A bounded number of places with a bounded queue before them, for processes and for sessions (docs/reference/limits.md). */
export interface Slots {
  /**
   * Waits for a place until `deadline` (`performance.now()`). Rejects with `overloaded` when the queue is full, with
   * `limited` where the holder has its share. Answers the release of the place.
   */
  take(deadline: number, holder?: string): Promise<() => void>
  /** A place for what nobody waits for, undefined where there is none: the last quarter is kept for those who come. */
  takeSpare(): (() => void) | undefined
  /** A spare's place, by its release, counts as this holder's from now on. */
  assign(release: () => void, holder: string): void
  /** Whether the holder has as many places as one may have. */
  isLimited(holder: string): boolean
  readonly used: number
  /** Those who wait for a place. */
  readonly waiting: number
  /** Somebody waits: asks again for a place to be made. To be called when something became idle. */
  relieve(): void
}

export interface SlotsOptions {
  /** Asked to end something idle that `mayEnd` allows; answers whether there was any. */
  readonly reclaim?: (mayEnd: MayEnd) => boolean
  /** Places of one holder. Default: all of them, and then idle ones of everybody may be ended. */
  readonly share?: number
  /** In the plural, for messages. */
  readonly what?: string
}

interface Waiting {
  readonly holder: string | undefined
  readonly give: () => void
  readonly timer: NodeJS.Timeout
}

const SHARE_OF_SPARES = 3 / 4

/** Fair in order of arrival among those below their share. A place is given back once, however often its release is called. */
export function createSlots(
  limit: number,
  queueLimit: number,
  { reclaim = () => false, share = Infinity, what = 'processes' }: SlotsOptions = {}
): Slots {
  const queue: Waiting[] = []
  const shares = createQuota(share)
  const holders = new WeakMap<() => void, string>()
  let used = 0

  const isLimited = (holder: string | undefined) => holder !== undefined && shares.heldBy(holder) >= share
  const isFree = (holder: string | undefined) => used < limit && !isLimited(holder)
  const grant = (holder: string | undefined) => {
    let isHeld = true
    used++
    const release = () => {
      if (!isHeld) return
      isHeld = false
      used--
      const known = holders.get(release)
      if (known !== undefined) shares.release(known)
      pump()
    }
    if (holder !== undefined) assign(release, holder)
    return release
  }
  const assign = (release: () => void, holder: string) => {
    if (!holders.has(release) && shares.acquire(holder)) holders.set(release, holder)
  }
  function pump(): void {
    while (used < limit) {
      const at = queue.findIndex(({ holder }) => !isLimited(holder))
      if (at < 0) return
      const [next] = queue.splice(at, 1)
      clearTimeout(next!.timer)
      next!.give()
    }
  }
  /** Whoever has no more than an equal part of all places keeps them; who has its share can only lose its own. */
  const mayEndFor = (holder: string | undefined): MayEnd => {
    if (share === Infinity || holder === undefined) return () => true
    if (isLimited(holder)) return (other) => other === holder
    const equalPart = Math.max(1, Math.floor(limit / (shares.holders + (shares.heldBy(holder) === 0 ? 1 : 0))))
    return (other) => other === undefined || other === holder || shares.heldBy(other) > equalPart
  }
  /** Whoever has none at all gets one before others keep idle ones: their number alone must not lock anybody out. */
  const makePlace = (holder: string | undefined): boolean =>
    reclaim(mayEndFor(holder)) || (holder !== undefined && shares.heldBy(holder) === 0 && reclaim(() => true))
  const refusal = (holder: string | undefined, otherwise: string) =>
    isLimited(holder)
      ? new UpstreamFailure('limited', `too many of your ${what} are in use`, { maybeProcessed: false })
      : new UpstreamFailure('overloaded', otherwise, { maybeProcessed: false })
  const enqueue = (deadline: number, holder: string | undefined) =>
    new Promise<() => void>((resolve, reject) => {
      const giveUp = () => {
        queue.splice(queue.indexOf(waiting), 1)
        reject(refusal(holder, `none of the ${what} became free in time`))
      }
      const timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()))
      const waiting: Waiting = { holder, timer, give: () => resolve(grant(holder)) }
      queue.push(waiting)
      makePlace(holder)
    })
  /** Half of the queue is for others. */
  const mayWait = (holder: string | undefined) => {
    if (queue.length >= queueLimit) return false
    if (share === Infinity || holder === undefined) return true
    return queue.filter((each) => each.holder === holder).length < Math.ceil(queueLimit / 2)
  }
  return {
    async take(deadline, holder) {
      if (isFree(holder)) return grant(holder)
      if (mayWait(holder)) return enqueue(deadline, holder)
      // what is ended at once leaves its place at once
      if (queueLimit === 0 && makePlace(holder) && isFree(holder)) return grant(holder)
      throw refusal(holder, `too many calls are waiting for one of the ${what}`)
    },
    takeSpare() {
      if (queue.length > 0 || used >= Math.floor(limit * SHARE_OF_SPARES)) return undefined
      return grant(undefined)
    },
    assign,
    isLimited,
    relieve() {
      for (const holder of new Set(queue.map((each) => each.holder))) if (makePlace(holder)) return
    },
    get waiting() {
      return queue.length
    },
    get used() {
      return used
    }
  }
}
