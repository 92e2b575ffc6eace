import { createSlotSet } from '../../lib/slot-set.ts'
import type { ResponseWriter } from './response-writer.ts'

/** Interval in which every reply is checked, spread over ticks: thousands of writes at once would delay calls. */
const BEAT_MS = 1_000
const TICKS = 20

/** Sends keep-alives on open replies, with one timer for all. */
export interface Heartbeat {
  add(reply: ResponseWriter): void
  delete(reply: ResponseWriter): void
  /** Ends the open replies of the matching principals. */
  revoke(isRevoked: (principal: string) => boolean): void
  /** Ends every open stream. */
  close(): void
}

export function createHeartbeat(): Heartbeat {
  const replies = createSlotSet<ResponseWriter>()
  let timer: NodeJS.Timeout | null = null
  let next = 0
  const stop = () => {
    if (timer) clearInterval(timer)
    timer = null
  }
  const beat = () => {
    const now = performance.now()
    for (let left = Math.ceil(replies.size / TICKS); left > 0; left--) {
      if (next >= replies.size) next = 0
      replies.at(next++)?.beat(now)
    }
    if (replies.size === 0) stop()
  }
  return {
    add(reply) {
      replies.add(reply)
      timer ??= setInterval(beat, BEAT_MS / TICKS).unref()
    },
    delete: (reply) => replies.delete(reply),
    revoke(isRevoked) {
      for (const reply of replies) reply.endIfRevoked(isRevoked)
    },
    close() {
      stop()
      for (const reply of replies) if (reply.isStream) reply.close()
    }
  }
}
