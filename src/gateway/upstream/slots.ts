import { UpstreamFailure } from './failure.ts'

/** A bounded number of places with a bounded queue before them, for processes (decisions "Limits"). */
export interface Slots {
  /** Waits for a place until `deadline` (`performance.now()`); `overloaded` when the queue is full. Answers its release. */
  take(deadline: number): Promise<() => void>
  /** A place for what nobody waits for, undefined where there is none: the last quarter is kept for those who come. */
  takeSpare(): (() => void) | undefined
  readonly used: number
  /** Those who wait for a place. */
  readonly waiting: number
  /** Somebody waits: asks again for a place to be made. To be called when something became idle. */
  relieve(): void
}

interface Waiting {
  readonly give: () => void
  readonly timer: NodeJS.Timeout
}

const SHARE_OF_SPARES = 3 / 4

/**
 * Fair in order of arrival. A place is given back once, however often its release is called. `reclaim` is asked to end
 * something idle when somebody has to wait.
 */
export function createSlots(limit: number, queueLimit: number, reclaim: () => void = () => {}): Slots {
  const queue: Waiting[] = []
  let used = 0

  const release = () => {
    const next = queue.shift()
    if (!next) {
      used--
      return
    }
    clearTimeout(next.timer)
    next.give()
  }
  const once = () => {
    let isHeld = true
    return () => {
      if (isHeld) release()
      isHeld = false
    }
  }
  const enqueue = (deadline: number) =>
    new Promise<() => void>((resolve, reject) => {
      const giveUp = () => {
        queue.splice(queue.indexOf(waiting), 1)
        reject(new UpstreamFailure('overloaded', 'no process became free in time', { taken: false }))
      }
      const timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()))
      const waiting: Waiting = { timer, give: () => resolve(once()) }
      queue.push(waiting)
      reclaim()
    })
  return {
    async take(deadline) {
      if (used < limit) {
        used++
        return once()
      }
      if (queue.length >= queueLimit) {
        throw new UpstreamFailure('overloaded', 'too many calls are waiting for a process', { taken: false })
      }
      return enqueue(deadline)
    },
    takeSpare() {
      if (queue.length > 0 || used >= Math.floor(limit * SHARE_OF_SPARES)) return undefined
      used++
      return once()
    },
    relieve() {
      if (queue.length > 0) reclaim()
    },
    get waiting() {
      return queue.length
    },
    get used() {
      return used
    }
  }
}
