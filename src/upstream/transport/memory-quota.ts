import type { Quota } from '../../lib/quota.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

/** Memory quota of one server in bytes, for unfinished answers and unanswered requests of the server. */
export interface MemoryQuota {
  /** Reserves bytes; returns false if the server, or all servers together, would exceed the limit. */
  reserve(bytes: number): boolean
  release(bytes: number): void
}

/** Quota without a limit, for connections that are not counted for any server. */
export const unlimitedMemory: MemoryQuota = { reserve: () => true, release() {} }

export const memoryQuota = (shares: Quota, server: string): MemoryQuota => ({
  reserve: (bytes) => shares.acquire(server, bytes),
  release: (bytes) => shares.release(server, bytes)
})

/** Limit of an answer to `initialize` or `server/discover`, which is kept as long as its session. */
const MAX_GREETING_BYTES = 1_048_576

/** Throws UpstreamFailure if the greeting is too long. `bytes`: length of the answer. */
export function checkGreeting(bytes: number): void {
  if (bytes <= MAX_GREETING_BYTES) return
  throw new UpstreamFailure('too_large', `answered the handshake with more than ${MAX_GREETING_BYTES} bytes`)
}

/** Answers up to this size are not counted; most are smaller. */
const UNCOUNTED_BYTES = 65_536

/** Memory currently reserved for one answer or stream. */
export class MemoryReservation {
  readonly #quota: MemoryQuota
  #bytes = 0

  constructor(quota: MemoryQuota) {
    this.#quota = quota
  }

  /** Replaces the reserved size. Returns false, without any change, if the quota would be exceeded. */
  resize(bytes: number): boolean {
    const counted = bytes > UNCOUNTED_BYTES ? bytes : 0
    const more = counted - this.#bytes
    if (more > 0 && !this.#quota.reserve(more)) return false
    if (more < 0) this.#quota.release(-more)
    this.#bytes = counted
    return true
  }

  release(): void {
    this.resize(0)
  }
}

export const TOO_MUCH_MEMORY = 'responses of this server in progress use too much memory in total'
