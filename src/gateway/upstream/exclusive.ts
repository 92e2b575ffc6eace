import type { Call } from './call.ts'

/** Gives the turn to the next. */
export type Done = () => void

/** Calls that share something by key: one at a time, the others in order. */
export interface Exclusive {
  /** Waits for the turn, but no longer than the call lives: then rejects with what stopped it. */
  take(key: string, call: Call): Promise<Done>
}

export function createExclusive(): Exclusive {
  /** A key is here while somebody has its turn. */
  const queues = new Map<string, (() => void)[]>()

  const wait = (queue: (() => void)[], call: Call) =>
    new Promise<void>((resolve, reject) => {
      const go = () => {
        call.onStop = null
        resolve()
      }
      queue.push(go)
      call.onStop = (failure) => {
        queue.splice(queue.indexOf(go), 1)
        reject(failure)
      }
    })
  return {
    async take(key, call) {
      const queue = queues.get(key)
      if (queue) await wait(queue, call)
      else queues.set(key, [])
      return () => {
        const next = queues.get(key)?.shift()
        if (next) next()
        else queues.delete(key)
      }
    }
  }
}
