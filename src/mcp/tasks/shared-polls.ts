import { callerDisconnected } from '../../protocol/upstream-failure.ts'
import type { Call, UpstreamAnswer } from '../../upstream/transport/call.ts'

/** A request for the state of a task, for everybody who asked for the same at the same time. */
export interface SharedPoll {
  readonly answer: Promise<UpstreamAnswer>
  /** Leaves the request, because the caller has disconnected; the last one to leave cancels it. */
  leave(): void
}

interface Poll {
  readonly call: Call
  readonly answer: Promise<UpstreamAnswer>
  waiting: number
}

/** Requests for the states of tasks that are in flight (mcp-proxy.md#tasks). */
export interface SharedPolls {
  /** Joins an equal request; undefined if there is none. */
  join(key: string): SharedPoll | undefined
  /** Sends a request that others with the same key can join until it is answered. */
  start(key: string, call: Call, send: () => Promise<UpstreamAnswer>): SharedPoll
}

export function createSharedPolls(): SharedPolls {
  const polls = new Map<string, Poll>()
  const memberOf = (key: string, poll: Poll): SharedPoll => ({
    answer: poll.answer,
    leave() {
      if (--poll.waiting > 0) return
      // the next caller needs a request of its own
      if (polls.get(key) === poll) polls.delete(key)
      poll.call.stop(callerDisconnected())
    }
  })
  return {
    join(key) {
      const poll = polls.get(key)
      if (!poll) return undefined
      poll.waiting++
      return memberOf(key, poll)
    },
    start(key, call, send) {
      const end = () => {
        if (polls.get(key) === poll) polls.delete(key)
      }
      const answer = send().finally(end)
      const poll: Poll = { call, answer, waiting: 1 }
      polls.set(key, poll)
      return memberOf(key, poll)
    }
  }
}
