/** Typical durations at one server, in milliseconds. */
export interface StartTimes {
  /** From the start of a process, or of the handshake, until calls can be sent. */
  readonly startMs: number
  /** From sending a call until its result. */
  readonly callMs: number
}

/** Durations of each kind that are kept. */
const WINDOW = 32
/** Starts and calls before anything is said: a first start may have to load the program from disk. */
const MIN_COUNT = 5

/** The last durations of one kind. Recording one is a store and an addition, because calls do it. */
class RecentTimes {
  readonly #times = new Float64Array(WINDOW)
  #count = 0

  record(ms: number): void {
    this.#times[this.#count++ % WINDOW] = ms
  }

  /** The median: a call that waited for a person, or a start on a busy machine, does not move it. */
  median(): number | undefined {
    if (this.#count < MIN_COUNT) return undefined
    const sorted = this.#times.slice(0, this.#count).sort()
    return sorted[sorted.length >> 1]
  }
}

/** Measures what sessions that serve one call each cost to open, and what the calls themselves take. */
export class StartMeter {
  readonly #starts = new RecentTimes()
  readonly #calls = new RecentTimes()

  recordStart(ms: number): void {
    this.#starts.record(ms)
  }

  recordCall(ms: number): void {
    this.#calls.record(ms)
  }

  /** Returns undefined until there were several of both. */
  times(): StartTimes | undefined {
    const startMs = this.#starts.median()
    const callMs = this.#calls.median()
    return startMs === undefined || callMs === undefined ? undefined : { startMs, callMs }
  }
}
