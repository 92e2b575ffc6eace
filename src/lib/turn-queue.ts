/** Runs long steps one per turn of the event loop, in order of arrival, so that other work gets its turn between them. */
export interface TurnQueue {
  /** Resolves when the next step may begin. */
  next(): Promise<void>
}

/** Creates an empty queue. */
export function createTurnQueue(): TurnQueue {
  const waiting: (() => void)[] = []
  const runNext = () => {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(runNext)
  }
  return {
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 1) setImmediate(runNext)
      })
  }
}
