import { UpstreamFailure } from './failure.ts'

export type BreakerState = 'closed' | 'open' | 'half-open'

/**
 * Spares callers the wait for an upstream to which connecting times out again and again
 * (security-model.md#fault-isolation).
 */
export interface Breaker {
  /** `half-open`: the outcome of a probe is waited for. */
  readonly state: BreakerState
  /** Before something that may have to connect. Throws UpstreamFailure while the upstream is given a rest. */
  admit(): void
  /** Connecting or initialising took longer than it may. */
  timedOut(): void
  /** The upstream has shown a sign of life, a refusal included: that fails at once by itself. */
  reacted(): void
}

const TIMEOUTS = 5
const REST_MS = 10_000

const refusal = (waitMs: number) =>
  new UpstreamFailure('unreachable', 'connecting timed out several times in a row; it is tried again shortly', {
    taken: false,
    retryAfter: Math.ceil(waitMs / 1000)
  })

export function createBreaker(onOpen = () => {}, now = () => performance.now()): Breaker {
  let timeouts = 0
  let restsUntil = 0
  let isProbing = false

  return {
    get state() {
      if (timeouts < TIMEOUTS) return 'closed'
      return isProbing ? 'half-open' : 'open'
    },
    admit() {
      if (timeouts < TIMEOUTS) return
      const at = now()
      if (at < restsUntil) throw refusal(restsUntil - at)
      isProbing = true
      // the others go on waiting; where nothing comes of this one, another may try then
      restsUntil = at + REST_MS
    },
    timedOut() {
      isProbing = false
      if (++timeouts < TIMEOUTS) return
      restsUntil = now() + REST_MS
      onOpen()
    },
    reacted() {
      isProbing = false
      timeouts = 0
    }
  }
}
