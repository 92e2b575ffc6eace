import type { Call } from './call.ts'

/**
 * The deadlines of all calls in one upstream session. A request on a pipe or on the session's own stream does not name
 * its call, so while one is open, any call may be the one that waits for a person.
 */
export class SharedClock {
  readonly #calls: () => Iterable<Call>
  readonly #paused = new Set<Call>()
  #openRequests = 0

  constructor(calls: () => Iterable<Call>) {
    this.#calls = calls
  }

  /** Adds a call that was sent. */
  add(call: Call): void {
    if (this.#openRequests > 0) this.#pause(call)
  }

  /** Removes a call that has ended. */
  remove(call: Call): void {
    if (this.#paused.delete(call)) call.resumeClock()
  }

  /** Pauses the deadlines of all calls until `answer` settles. */
  async pauseDuring<T>(answer: Promise<T>): Promise<T> {
    if (this.#openRequests++ === 0) for (const call of this.#calls()) this.#pause(call)
    try {
      return await answer
    } finally {
      if (--this.#openRequests === 0) for (const call of this.#paused) this.remove(call)
    }
  }

  #pause(call: Call): void {
    this.#paused.add(call)
    call.pauseClock()
  }
}
