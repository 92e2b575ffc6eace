import { createTurnQueue, type TurnQueue } from './turn-queue.ts'

const SLICE_MS = 1

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

/** Runs a loop to its end, a few milliseconds per turn of the event loop. It yields after each step. */
export async function completeInSlices<T>(steps: Generator<void, T>, slice = createTimeSlice()): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (slice.isOver) await slice.next()
  }
}

/** Runs a loop to its end at once. */
export function complete<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Smaller texts are read at once: they take a few milliseconds, and a promise has a cost too. */
export const MIN_SLICED_BYTES = 262_144

/** Runs works that hold large texts in slices, while what they hold together stays within a limit. */
export interface SlicedWork {
  /**
   * Runs `steps` for a text of so many bytes; undefined if the work must be done at once, because it is small, or because
   * others hold too much.
   */
  tryRun<T>(bytes: number, steps: () => Generator<void, T>): Promise<T> | undefined
}

/** Creates a runner of works that hold at most `maxBytes` together. */
export function createSlicedWork(maxBytes: number): SlicedWork {
  let held = 0
  const run = async <T>(bytes: number, steps: Generator<void, T>) => {
    held += bytes
    try {
      return await completeInSlices(steps)
    } finally {
      held -= bytes
    }
  }
  return {
    tryRun: (bytes, steps) => (bytes < MIN_SLICED_BYTES || held + bytes > maxBytes ? undefined : run(bytes, steps()))
  }
}
