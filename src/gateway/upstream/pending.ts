import type { Quota } from '../shares.ts'
import { UpstreamFailure } from './failure.ts'

/** What one server makes the gateway hold, in bytes: answers that have not ended, questions that nobody has answered. */
export interface Pending {
  /** False where the server, or all of them, would have more than they may. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** For what has no server of its own to be counted for. */
export const uncounted: Pending = { take: () => true, give() {} }

export const pendingOf = (shares: Quota, server: string): Pending => ({
  take: (bytes) => shares.acquire(server, bytes),
  give: (bytes) => shares.release(server, bytes)
})

/** An answer to `initialize` or `server/discover` is kept for as long as its session: a longer one is refused. */
const MAX_GREETING_BYTES = 1_048_576

/** Throws UpstreamFailure where a server says too much of itself. `bytes`: of its answer. */
export function checkGreeting(bytes: number): void {
  if (bytes <= MAX_GREETING_BYTES) return
  throw new UpstreamFailure('too_large', `says more than ${MAX_GREETING_BYTES} bytes of itself`)
}

/** Most answers are smaller: they cost nothing to count. */
const FREE_BYTES = 65_536

/** What one answer or stream holds at present. */
export class Holding {
  readonly #pending: Pending
  #bytes = 0

  constructor(pending: Pending) {
    this.#pending = pending
  }

  /** In place of what it was before. False: it would be too much, and nothing has changed. */
  set(bytes: number): boolean {
    const counted = bytes > FREE_BYTES ? bytes : 0
    const more = counted - this.#bytes
    if (more > 0 && !this.#pending.take(more)) return false
    if (more < 0) this.#pending.give(-more)
    this.#bytes = counted
    return true
  }

  release(): void {
    this.set(0)
  }
}

export const TOO_MUCH = 'answers of this server that are under way hold too much memory together'
