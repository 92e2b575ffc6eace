import { createTurnQueue, type TurnQueue } from './turn-queue.ts'

const SLICE_MS = 4

/** Lets a long loop share the event loop: `if (slice.isOver) await slice.next()` after each step. */
export interface TimeSlice {
  /** The loop has run for some milliseconds without giving other work its turn. */
  readonly isOver: boolean
  /** Resolves after the event loop has served its sockets, and long loops that waited before; begins the next slice. */
  next(): Promise<void>
}

/** Queue of all long loops of the process: however many run at once, a turn of the event loop has one slice of them. */
const allLoops = createTurnQueue()

/** Begins a slice of the event loop's time. Tests give another `now` than `performance.now`, and another queue. */
export function createTimeSlice(now: () => number = () => performance.now(), loops: TurnQueue = allLoops): TimeSlice {
  let begun = now()
  return {
    get isOver() {
      return now() - begun > SLICE_MS
    },
    async next() {
      await loops.next()
      begun = now()
    }
  }
}
