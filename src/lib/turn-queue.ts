/** Runs long steps one by one, in order of arrival, so that other work gets its turn of the event loop between them. */
export interface TurnQueue {
  /** Resolves when the next step may begin. */
  next(): Promise<void>
}

/** Milliseconds from the start of a step to the next turn, beyond which that turn had other work too. */
const BUSY_MS = 3
const PASSED_TURNS = 3

/**
 * Creates a function that creates queues which share the turns of the event loop: a turn has one step, of the queues in
 * rotation. `passes`: turns between two steps while other work makes them long, so that the steps delay the other work of
 * fewer turns. `now` in milliseconds; tests replace it.
 */
export function createTurns(passes = PASSED_TURNS, now = () => performance.now()): () => TurnQueue {
  /** Steps that wait, of each queue that has any; the queue of the next step first. */
  const queues: (() => void)[][] = []
  let passed = 0
  let last = -Infinity
  const takeNext = () => {
    const queue = queues.shift()!
    const step = queue.shift()!
    if (queue.length > 0) queues.push(queue)
    step()
  }
  const runTurn = () => {
    const at = now()
    const isBusy = at - last > BUSY_MS
    last = at
    if (isBusy && passed < passes) passed++
    else {
      passed = 0
      takeNext()
    }
    if (queues.length > 0) setImmediate(runTurn)
  }
  return () => {
    const waiting: (() => void)[] = []
    return {
      next: () =>
        new Promise((resolve) => {
          if (waiting.push(resolve) > 1 || queues.push(waiting) > 1) return
          // the first step after a pause has nothing to give way to
          last = now()
          setImmediate(runTurn)
        })
    }
  }
}

/**
 * Creates a queue that shares the turns of the event loop with all others of the process: many kinds of long steps, each
 * once in a turn, would make it long.
 */
export const createTurnQueue = createTurns()
