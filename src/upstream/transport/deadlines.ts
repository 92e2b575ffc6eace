import { createSlotSet } from '../../lib/slot-set.ts'
import type { Call } from './call.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

export interface Deadlines {
  /** Stops the call with `timeout` after `idleTimeoutMs` without progress, or after `totalTimeoutMs`. */
  watch(call: Call, idleTimeoutMs: number, totalTimeoutMs: number): void
  forget(call: Call): void
  /** Stops the calls in progress that `isOver` selects. */
  stop(isOver: (call: Call) => boolean, failure: UpstreamFailure): void
  close(): void
}

const TICK_MS = 100

/** Uses one timer for all calls, since a timer per call is a measurable part of the call's cost. */
export function createDeadlines(): Deadlines {
  const calls = createSlotSet<Call>()
  let timer: NodeJS.Timeout | null = null

  const expire = () => {
    const now = performance.now()
    for (const call of calls) {
      if (now < call.idleDeadline && now < call.totalDeadline) continue
      calls.delete(call)
      const limit = now >= call.totalDeadline ? 'total time limit' : 'time limit without progress'
      call.stop(new UpstreamFailure('timeout', `the call exceeded its ${limit}`))
    }
    if (calls.size === 0) stopTimer()
  }
  const stopTimer = () => {
    if (timer) clearInterval(timer)
    timer = null
  }
  return {
    watch(call, idleTimeoutMs, totalTimeoutMs) {
      const now = performance.now()
      call.idleTimeoutMs = idleTimeoutMs
      call.idleDeadline = now + idleTimeoutMs
      call.totalDeadline = now + totalTimeoutMs
      calls.add(call)
      timer ??= setInterval(expire, TICK_MS)
    },
    forget: (call) => calls.delete(call),
    stop(isOver, failure) {
      for (const call of calls) if (isOver(call)) call.stop(failure)
    },
    close: stopTimer
  }
}
