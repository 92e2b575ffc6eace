import { callerDisconnected } from '../../protocol/upstream-failure.ts'
import type { Call, UpstreamAnswer } from '../../upstream/transport/call.ts'

/** A request for the state of a task, for everybody who asked for the same at the same time. */
export interface SharedPoll {
  readonly answer: Promise<UpstreamAnswer>
  /** Leaves the request, because the caller has disconnected; the last one to leave cancels it. */
  leave(): void
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

/** A class, because every request creates one. */
class Poll implements SharedPoll {
  readonly answer: Promise<UpstreamAnswer>
  readonly text: string
  readonly #call: Call
  readonly #end: (poll: Poll) => void
  #waiting = 0

  constructor(text: string, call: Call, answer: Promise<UpstreamAnswer>, end: (poll: Poll) => void) {
    this.answer = answer
    this.text = text
    this.#call = call
    this.#end = end
    const settle = () => end(this)
    answer.then(settle, settle)
  }

  join(): this {
    this.#waiting++
    return this
  }

  leave(): void {
    if (--this.#waiting > 0) return
    // the next caller needs a request of its own
    this.#end(this)
    this.#call.stop(callerDisconnected())
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
      const poll = new Poll(text, call, send(), end)
      if (!polls.has(key)) polls.set(key, poll)
      return poll.join()
    },
    close: (key) => void polls.delete(key)
  }
}
