/** Runs long steps one per turn of the event loop, in order of arrival, so that other work gets its turn between them. */
export interface TurnQueue {
  /** Resolves when the next step may begin. */
  next(): Promise<void>
}

export interface TurnQueueOptions {
  /**
   * Turns of the event loop that pass between two steps while other work makes them long: the steps then delay the other
   * work of fewer turns. Default: 0.
   */
  readonly passes?: number
  /** Tests replace it. */
  readonly now?: () => number
}

/** Milliseconds from the start of a step to the next turn, beyond which that turn had other work too. */
const BUSY_MS = 3

/** Creates an empty queue. */
export function createTurnQueue({ passes = 0, now = () => performance.now() }: TurnQueueOptions = {}): TurnQueue {
  const waiting: (() => void)[] = []
  let passed = 0
  let last = -Infinity
  const runNext = () => {
    const at = now()
    const isBusy = at - last > BUSY_MS
    last = at
    if (isBusy && passed < passes) passed++
    else {
      passed = 0
      waiting.shift()?.()
    }
    if (waiting.length > 0) setImmediate(runNext)
  }
  return {
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve)
        if (waiting.length > 1) return
        // the first step after a pause has nothing to give way to
        last = now()
        setImmediate(runNext)
      })
  }
}
