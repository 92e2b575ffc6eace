import { listenForChanges } from './store/listen.ts'
import type { RegistryState } from './model/model.ts'
import { loadState, readVersion } from './state.ts'
import type { Store } from './store/store.ts'

const POLL_MS = 1_000

export interface StateFollowerOptions {
  readonly store: Pick<Store, 'db' | 'listener'>
  /** Called once per outage, when the registry cannot be read or followed */
  readonly onError: (error: unknown) => void
}

/**
 * Keeps one follower at the registry's version: after own commits, by NOTIFY and, if that fails, by polling the
 * version.
 */
export const createStateFollower = (options: StateFollowerOptions) => new StateFollower(options)

class StateFollower {
  readonly #store: StateFollowerOptions['store']
  readonly #onError: (error: unknown) => void
  readonly #report: ReturnType<typeof createOutageReporter>
  readonly #waiters = new Set<{ version: bigint; resolve: () => void }>()
  #apply: ((state: RegistryState) => void | Promise<void>) | undefined
  #current: RegistryState | undefined
  #isOutdated = false
  #running: Promise<void> | undefined
  #isClosed = false
  #stopListening = () => {}
  #poll: NodeJS.Timeout | undefined
  #confirmedAt = performance.now()

  constructor({ store, onError }: StateFollowerOptions) {
    this.#store = store
    this.#onError = onError
    this.#report = createOutageReporter(onError)
  }

  /**
   * Starts following. `follower` must neither throw nor reject. Resolves after the first `apply` and, with PostgreSQL, the first
   * LISTEN attempt; rejects if the state cannot be read.
   */
  async follow(
    follower: (state: RegistryState) => void | Promise<void>,
    onAnnouncement: (text: string) => void = () => {},
    /** Called whenever listening begins: earlier announcements were lost */
    onListening: () => void = () => {},
    onApproval: (id: string) => void = () => {}
  ): Promise<void> {
    if (this.#apply) throw new Error('the registry has one follower')
    this.#apply = follower
    try {
      this.#running = this.#advance()
      await this.#running
      this.#confirm()
    } catch (error) {
      this.#apply = undefined
      throw error
    } finally {
      this.#running = undefined
    }
    if (this.#isOutdated) this.#trigger()
    const { listener } = this.#store
    if (!listener) return
    const onChange = (version?: string) => {
      if (version === undefined) onListening()
      if (version === undefined || version !== this.#current?.version) this.#trigger()
    }
    const listening = listenForChanges({
      connect: listener,
      onChange,
      onAnnouncement,
      onApproval,
      onError: this.#onError
    })
    this.#stopListening = listening.stop
    this.#schedulePoll()
    // Announcements are not stored: those sent before listening begins are lost.
    await listening.ready
  }

  /** Returns 0 with the embedded store, since all changes come from this process. */
  unconfirmedMs(): number {
    return this.#store.listener ? performance.now() - this.#confirmedAt : 0
  }

  /** Resolves when the follower has applied the version, or after the limit; the change is committed either way. */
  async waitForVersion(version: string, limitMs: number): Promise<void> {
    if (!this.#apply) return
    const target = BigInt(version)
    if (this.#current && BigInt(this.#current.version) >= target) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => done(), limitMs)
      const waiter = { version: target, resolve: () => done() }
      const done = () => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
        resolve()
      }
      this.#waiters.add(waiter)
      this.#trigger()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#poll)
    for (const waiter of this.#waiters) waiter.resolve()
    this.#stopListening()
    await this.#running
  }

  #trigger(): void {
    this.#isOutdated = true
    this.#running ??= this.#run()
  }

  /** Runs one load at a time; further triggers during it cause only one more. */
  async #run(): Promise<void> {
    try {
      while (this.#isOutdated && !this.#isClosed) {
        this.#isOutdated = false
        await this.#advance()
        this.#confirm()
      }
    } catch (error) {
      if (this.#isClosed) return
      this.#report.failed(error)
      // With PostgreSQL the poll retries.
      if (!this.#store.listener) this.#poll = setTimeout(() => this.#trigger(), POLL_MS).unref()
    } finally {
      this.#running = undefined
    }
  }

  async #advance(): Promise<void> {
    const state = await loadState(this.#store.db, this.#current)
    if (state === this.#current || this.#isClosed) return
    await this.#apply?.(state)
    this.#current = state
    for (const waiter of this.#waiters) if (BigInt(state.version) >= waiter.version) waiter.resolve()
  }

  #confirm(): void {
    this.#confirmedAt = performance.now()
    this.#report.recovered()
  }

  async #check(): Promise<void> {
    try {
      if ((await readVersion(this.#store.db)) !== this.#current?.version) this.#trigger()
      else this.#confirm()
    } catch (error) {
      if (!this.#isClosed) this.#report.failed(error)
    }
    this.#schedulePoll()
  }

  #schedulePoll(): void {
    if (!this.#isClosed) this.#poll = setTimeout(() => void this.#check(), POLL_MS).unref()
  }
}

function createOutageReporter(onError: (error: unknown) => void) {
  let down = false
  const failed = (error: unknown) => {
    if (!down) onError(error)
    down = true
  }
  const recovered = () => {
    down = false
  }
  return { failed, recovered }
}
