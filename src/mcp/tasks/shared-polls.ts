import { callerDisconnected } from '../../protocol/upstream-failure.ts'
import type { Call, UpstreamAnswer } from '../../upstream/transport/call.ts'

/** A request for the state of a task, for everybody who asked for the same at the same time. */
export interface SharedPoll {
  readonly answer: Promise<UpstreamAnswer>
  /**
   * Leaves the request, because the caller has disconnected; the last one to leave cancels it. Holds no answer, so it
   * may be kept longer than one.
   */
  readonly leave: () => void
}

/** Requests for the states of tasks that are in flight (mcp-proxy.md#tasks). */
export interface SharedPolls {
  /** Joins a request with the same key and text; undefined if there is none. */
  join(key: string, text: string): SharedPoll | undefined
  /** Sends a request that others can join until it is answered. Of several texts under one key the first is shared. */
  start(key: string, text: string, call: Call, send: () => Promise<UpstreamAnswer>): SharedPoll
  /** Lets nobody else join the request with this key, because the task may have changed since it was sent. */
  close(key: string): void
}

/** Call and answer of a request in flight. */
interface OpenRequest {
  readonly answer: Promise<UpstreamAnswer>
  readonly call: Call
}

/**
 * A request in the map. It forgets its call and its answer once it is answered: V8 allocates each table of an old map in
 * the old generation, so a table that the map has outgrown keeps its entries until a full collection (measured: of
 * results of 1 MB all, so that these collections took half of the CPU).
 */
class Poll {
  readonly text: string
  #open: OpenRequest | undefined
  readonly #end: (poll: Poll) => void
  #waiting = 0

  constructor(text: string, open: OpenRequest, end: (poll: Poll) => void) {
    this.text = text
    this.#open = open
    this.#end = end
    const settle = () => {
      this.#open = undefined
      end(this)
    }
    open.answer.then(settle, settle)
  }

  join(): SharedPoll | undefined {
    if (!this.#open) return undefined
    this.#waiting++
    return { answer: this.#open.answer, leave: () => this.#leave() }
  }

  #leave(): void {
    if (--this.#waiting > 0) return
    // the next caller needs a request of its own
    this.#end(this)
    this.#open?.call.stop(callerDisconnected())
  }
}

export function createSharedPolls(): SharedPolls {
  const polls = new Map<string, Poll>()
  return {
    join(key, text) {
      const poll = polls.get(key)
      return poll?.text === text ? poll.join() : undefined
    },
    start(key, text, call, send) {
      const end = (ended: Poll) => void (polls.get(key) === ended && polls.delete(key))
      const poll = new Poll(text, { answer: send(), call }, end)
      if (!polls.has(key)) polls.set(key, poll)
      return poll.join()!
    },
    close: (key) => void polls.delete(key)
  }
}
