import { setTimeout as delay } from 'node:timers/promises'

/** Delays between attempts, in milliseconds. */
export interface BackoffPolicy {
  readonly firstMs: number
  /** Each delay is twice the one before, up to this one. */
  readonly longestMs: number
  /** A connection that was open for this long was stable: the next delay is the first one again. Default: 0. */
  readonly stableMs?: number
}

/** Counts failed attempts and computes the delays between them. */
export class Backoff {
  readonly #policy: BackoffPolicy
  #failures = 0

  constructor(policy: BackoffPolicy) {
    this.#policy = policy
  }

  /** Number of delays since the start or the last stable connection. */
  get failures(): number {
    return this.#failures
  }

  /** Returns the next delay. Half of it is random, so that clients that failed together do not retry together. */
  nextDelayMs(): number {
    const { firstMs, longestMs } = this.#policy
    return Math.min(longestMs, firstMs * 2 ** this.#failures++) * (0.5 + Math.random() / 2)
  }

  /** Records that a connection was open for `openMs`. */
  recordOpen(openMs: number): void {
    if (openMs >= (this.#policy.stableMs ?? 0)) this.#failures = 0
  }
}

/**
 * Repeats `attempt`, with a delay after each, until it resolves with true or `signal` aborts. The delays do not keep the
 * process alive. Rejects with the error of an attempt.
 */
export async function retryForever(
  attempt: (backoff: Backoff) => Promise<boolean>,
  { signal, ...policy }: BackoffPolicy & { readonly signal: AbortSignal }
): Promise<void> {
  const backoff = new Backoff(policy)
  while (!signal.aborted) {
    if (await attempt(backoff)) return
    // rejects only when `signal` aborts
    await delay(backoff.nextDelayMs(), undefined, { signal, ref: false }).catch(() => {})
  }
}
