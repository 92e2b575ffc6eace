/** Runs `work` at once, or in a later turn of the event loop if this turn has had its time. `work` must not throw. */
export type PacedWork = (work: () => void) => void

/**
 * Spreads work over turns of the event loop, in order: each turn begins no more of it after `ms` milliseconds, so that
 * other work runs between. `now` in milliseconds; tests replace it.
 */
export function createPacedWork(ms: number, now = () => performance.now()): PacedWork {
  const waiting: (() => void)[] = []
  let spent = 0
  let isIdle = true
  let isRunning = false
  const run = (work: () => void) => {
    const begun = now()
    isRunning = true
    try {
      work()
    } finally {
      isRunning = false
      spent += now() - begun
    }
  }
  const runTurn = () => {
    spent = 0
    let ran = 0
    while (ran < waiting.length && spent < ms) run(waiting[ran++]!)
    waiting.splice(0, ran)
    isIdle = ran === 0
    if (!isIdle) setImmediate(runTurn)
  }
  return (work) => {
    if (isIdle) setImmediate(runTurn)
    isIdle = false
    if (isRunning || waiting.length > 0 || spent >= ms) waiting.push(work)
    else run(work)
  }
}
