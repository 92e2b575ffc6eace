import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

export type BreakerState = 'closed' | 'open' | 'half-open'

/**
 * Circuit breaker for one upstream: after several connect timeouts in a row, calls fail at once instead of waiting for
 * the next timeout (security-model.md#fault-isolation).
 */
export interface Breaker {
  /** `half-open`: one probe is under way. */
  readonly state: BreakerState
  /** Call before any work that may connect. Throws UpstreamFailure while the breaker is open. */
  assertClosed(): void
  /** Records that connecting or initialising timed out. */
  recordTimeout(): void
  /** Records any response of the upstream, a refusal included: a refusal fails fast by itself. */
  recordResponse(): void
}

const TIMEOUT_THRESHOLD = 5
const OPEN_MS = 10_000

const openFailure = (waitMs: number) =>
  new UpstreamFailure('unreachable', 'connecting timed out several times in a row; it is tried again shortly', {
    maybeProcessed: false,
    retryAfter: Math.ceil(waitMs / 1000)
  })

export function createBreaker(onOpen = () => {}, now = () => performance.now()): Breaker {
  let timeouts = 0
  let openUntil = 0
  let isProbing = false

  return {
    get state() {
      if (timeouts < TIMEOUT_THRESHOLD) return 'closed'
      return isProbing ? 'half-open' : 'open'
    },
    assertClosed() {
      if (timeouts < TIMEOUT_THRESHOLD) return
      const at = now()
      if (at < openUntil) throw openFailure(openUntil - at)
      isProbing = true
      // other callers keep failing; if this probe never reports back, the next one may start after the same pause
      openUntil = at + OPEN_MS
    },
    recordTimeout() {
      isProbing = false
      if (++timeouts < TIMEOUT_THRESHOLD) return
      openUntil = now() + OPEN_MS
      onOpen()
    },
    recordResponse() {
      isProbing = false
      timeouts = 0
    }
  }
}
