import type { Call } from './call.ts'

/**
 * The clocks of all calls under way in one session of an upstream. A question on a pipe or on the session's own stream does
 * not say which call asks it: while one is open each of them may be the one that waits for a person.
 */
export class CommonClock {
  readonly #calls: () => Iterable<Call>
  readonly #held = new Set<Call>()
  #open = 0

  constructor(calls: () => Iterable<Call>) {
    this.#calls = calls
  }

  /** A call has begun. */
  begin(call: Call): void {
    if (this.#open > 0) this.#hold(call)
  }

  /** A call is over. */
  end(call: Call): void {
    if (this.#held.delete(call)) call.resume()
  }

  /** Stops all clocks until a question has its answer. */
  async during<T>(answer: Promise<T>): Promise<T> {
    if (this.#open++ === 0) for (const call of this.#calls()) this.#hold(call)
    try {
      return await answer
    } finally {
      if (--this.#open === 0) for (const call of this.#held) this.end(call)
    }
  }

  #hold(call: Call): void {
    this.#held.add(call)
    call.hold()
  }
}
