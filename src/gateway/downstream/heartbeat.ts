import { createSlotSet } from '../bag.ts'
import type { ResponseWriter } from './responder.ts'

/** Every reply is looked at once in this time, some at each tick: to write to thousands at once would hold up calls. */
const BEAT_MS = 1_000
const TICKS = 20

/** Keeps open replies alive, with one timer for all of them. */
export interface Heartbeat {
  add(reply: ResponseWriter): void
  delete(reply: ResponseWriter): void
  /** Gives up what is under way for these principals. */
  end(isOver: (principal: string) => boolean): void
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
    end(isOver) {
      for (const reply of replies) reply.revoke(isOver)
    },
    close() {
      stop()
      for (const reply of replies) if (reply.isStream) reply.close()
    }
  }
}
