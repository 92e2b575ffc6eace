import { listenForChanges } from './listen.ts'
import type { RegistryState } from './model.ts'
import { loadState, readVersion } from './state.ts'
import type { Store } from './store.ts'

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
export function createStateFollower({ store: { db, listener }, onError }: StateFollowerOptions) {
  const report = createOutageReporter(onError)
  const waiters = new Set<{ version: bigint; resolve: () => void }>()
  let apply: ((state: RegistryState) => void) | undefined
  let current: RegistryState | undefined
  let isOutdated = false
  let running: Promise<void> | undefined
  let closed = false
  let stopListening = () => {}
  let poll: NodeJS.Timeout | undefined
  let confirmedAt = performance.now()

  const confirm = () => {
    confirmedAt = performance.now()
    report.recovered()
  }
  const advance = async () => {
    const state = await loadState(db, current)
    if (state === current || closed) return
    apply?.(state)
    current = state
    for (const waiter of waiters) if (BigInt(state.version) >= waiter.version) waiter.resolve()
  }

  // Runs one load at a time; further triggers during it cause only one more.
  const run = async () => {
    try {
      while (isOutdated && !closed) {
        isOutdated = false
        await advance()
        confirm()
      }
    } catch (error) {
      if (closed) return
      report.failed(error)
      // With PostgreSQL the poll retries.
      if (!listener) poll = setTimeout(trigger, POLL_MS).unref()
    } finally {
      running = undefined
    }
  }
  const trigger = () => {
    isOutdated = true
    running ??= run()
  }

  const check = async () => {
    try {
      if ((await readVersion(db)) !== current?.version) trigger()
      else confirm()
    } catch (error) {
      if (!closed) report.failed(error)
    }
    schedulePoll()
  }
  const schedulePoll = () => {
    if (!closed) poll = setTimeout(() => void check(), POLL_MS).unref()
  }

  return {
    /**
     * Starts following. `follower` must not throw. Resolves after the first `apply` and, with PostgreSQL, the first
     * LISTEN attempt; rejects if the state cannot be read.
     */
    async follow(
      follower: (state: RegistryState) => void,
      onAnnouncement: (text: string) => void = () => {},
      /** Called whenever listening begins: earlier announcements were lost */
      onListening: () => void = () => {}
    ): Promise<void> {
      if (apply) throw new Error('the registry has one follower')
      apply = follower
      try {
        running = advance()
        await running
        confirm()
      } catch (error) {
        apply = undefined
        throw error
      } finally {
        running = undefined
      }
      if (isOutdated) trigger()
      if (!listener) return
      const onChange = (version?: string) => {
        if (version === undefined) onListening()
        if (version === undefined || version !== current?.version) trigger()
      }
      const listening = listenForChanges({ connect: listener, onChange, onAnnouncement, onError })
      stopListening = listening.stop
      schedulePoll()
      // Announcements are not stored: those sent before listening begins are lost.
      await listening.ready
    },

    /** Returns 0 with the embedded store, since all changes come from this process. */
    unconfirmedMs: () => (listener ? performance.now() - confirmedAt : 0),

    /** Resolves when the follower has applied the version, or after the limit; the change is committed either way. */
    async waitForVersion(version: string, limitMs: number): Promise<void> {
      if (!apply) return
      const target = BigInt(version)
      if (current && BigInt(current.version) >= target) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => done(), limitMs)
        const waiter = { version: target, resolve: () => done() }
        const done = () => {
          clearTimeout(timer)
          waiters.delete(waiter)
          resolve()
        }
        waiters.add(waiter)
        trigger()
      })
    },

    async close(): Promise<void> {
      closed = true
      clearTimeout(poll)
      for (const waiter of waiters) waiter.resolve()
      stopListening()
      await running
    }
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
