const SLICE_MS = 4

/** Lets a long loop share the event loop: `if (slice.isOver) await slice.next()` after each step. */
export interface TimeSlice {
  /** The loop has run for some milliseconds without giving other work its turn. */
  readonly isOver: boolean
  /** Resolves after the event loop has served its sockets; begins the next slice. */
  next(): Promise<void>
}

/** Begins a slice of the event loop's time. Tests give another `now` than `performance.now`. */
export function createTimeSlice(now: () => number = () => performance.now()): TimeSlice {
  let begun = now()
  return {
    get isOver() {
      return now() - begun > SLICE_MS
    },
    async next() {
      await new Promise(setImmediate)
      begun = now()
    }
  }
}
