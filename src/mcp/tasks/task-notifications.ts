import { RateLimiter } from '../../protocol/notifications.ts'

/** Length of the states that wait to be sent, together. */
const MAX_WAITING_CHARACTERS = 1_048_576
/** Time after which states that exceed the rate limit are sent. */
const DELAY_MS = 1_000

/** A state of a task that a server has sent. */
export interface ReceivedState {
  readonly handle: string
  /** Length of its JSON text. */
  readonly characters: number
  /** True if the task does not change any more. */
  readonly isFinal: boolean
  send(): void
}

/**
 * States of tasks on their way to one client: the newest of each task. Those that arrive before the acknowledgement or
 * above the rate limit wait; the end of a task is sent at once. What follows the end of a task is dropped.
 */
export class TaskNotifications {
  readonly #waiting = new Map<string, ReceivedState>()
  readonly #ended = new Set<string>()
  readonly #lost = new Set<string>()
  #characters = 0
  #isStarted = false
  #timer: NodeJS.Timeout | undefined

  /** Returns a function that takes the states of one server, which have a rate limit of their own. */
  receiver(): (state: ReceivedState) => void {
    const limiter = new RateLimiter()
    return (state) => {
      const { handle, isFinal } = state
      if (this.#ended.has(handle)) return
      if (isFinal) this.#ended.add(handle)
      const isHeld = !this.#isStarted || (!isFinal && (this.#waiting.has(handle) || !limiter.take(0)))
      if (isHeld) return this.#keep(state)
      this.#drop(handle)
      state.send()
    }
  }

  /** Returns true if the newest state of a task was too long to wait for the start. */
  hasLost(handle: string): boolean {
    return this.#lost.has(handle)
  }

  /** Sends the states that have arrived so far, and all later ones. */
  start(): void {
    this.#isStarted = true
    this.#sendAll()
  }

  /** Drops the states that wait; to be called when no more arrive. */
  close(): void {
    clearTimeout(this.#timer)
    for (const handle of [...this.#waiting.keys()]) this.#drop(handle)
  }

  #keep(state: ReceivedState): void {
    const { handle, characters } = state
    this.#drop(handle)
    if (this.#characters + characters > MAX_WAITING_CHARACTERS) return void this.#lost.add(handle)
    this.#lost.delete(handle)
    this.#characters += characters
    this.#waiting.set(handle, state)
    if (this.#isStarted) this.#timer ??= setTimeout(() => this.#sendAll(), DELAY_MS).unref()
  }

  #drop(handle: string): void {
    this.#characters -= this.#waiting.get(handle)?.characters ?? 0
    this.#waiting.delete(handle)
  }

  #sendAll(): void {
    this.#timer = undefined
    for (const state of [...this.#waiting.values()]) {
      this.#drop(state.handle)
      state.send()
    }
  }
}
