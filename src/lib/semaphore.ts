/** Longest wait for a semaphore, and the error of a longer one. */
export interface WaitLimit {
  readonly ms: number
  readonly error: () => Error
}

/** Limits how much work runs at a time; further work waits in order of arrival. */
export interface Semaphore {
  /** Runs `work` in turn. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Waits for a turn and returns the function that ends it; only its first call counts. */
  acquire(waitLimit?: WaitLimit): Promise<() => void>
}

/** Creates a semaphore for at most `limit` pieces of work at a time. */
export function createSemaphore(limit: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = limit

  const wait = (waitLimit?: WaitLimit) =>
    new Promise<void>((resolve, reject) => {
      const resume = () => {
        clearTimeout(timer)
        resolve()
      }
      const giveUp = () => {
        waiting.splice(waiting.indexOf(resume), 1)
        reject(waitLimit!.error())
      }
      const timer = waitLimit && setTimeout(giveUp, waitLimit.ms)
      waiting.push(resume)
    })
  const release = () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  return {
    async run(work) {
      if (free > 0) free--
      else await wait()
      try {
        return await work()
      } finally {
        release()
      }
    },
    async acquire(waitLimit) {
      if (free > 0) free--
      else await wait(waitLimit)
      let isReleased = false
      return () => {
        if (isReleased) return
        isReleased = true
        release()
      }
    }
  }
}
