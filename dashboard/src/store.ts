import { batch, signal, type ReadonlySignal } from '@preact/signals'
import type { ChangeKind } from '../../src/schemas/dashboard/events.ts'
import { ApiError, send } from './api.ts'

/** Something the gateway is asked for by GET, and what makes a new answer likely. */
export interface Source<T> {
  readonly path: string
  readonly kinds: readonly ChangeKind[]
  /** Reads the answer; without it as `JSON.parse` does. */
  readonly parse?: (text: string) => unknown
  /** Never set: carries the type of the answer. */
  readonly answer?: T
}

export const source = <T>(
  path: string,
  kinds: readonly ChangeKind[],
  parse?: (text: string) => unknown
): Source<T> => ({ path, kinds, ...(parse && { parse }) })

/** The newest answer of a source. Old data stays while new data loads, and when loading fails. */
export interface Resource<T> {
  readonly data: ReadonlySignal<T | undefined>
  /** Why the newest attempt failed; undefined once one succeeds. */
  readonly error: ReadonlySignal<ApiError | undefined>
  readonly loading: ReadonlySignal<boolean>
  /** When `data` was last known to be true, in milliseconds of the epoch; 0 before the first answer. */
  readonly checkedAt: ReadonlySignal<number>
  /** Asks again. Never rejects: failures are in `error`. */
  load(): Promise<void>
  /** Shows a change before the gateway has confirmed it. */
  patch(edit: (data: T) => T): void
}

export interface Store {
  /** The same resource for the same path, so that pages share answers. */
  open<T>(source: Source<T>): Resource<T>
  /** Keeps a resource up to date until the function that it returns is called. */
  watch<T>(source: Source<T>): () => void
  /** Loads what is watched and may have changed; without kinds all that is watched. */
  refresh(kinds?: ReadonlySet<string>): Promise<void>
  /** Loads what is watched and was answered before changes were told of; what is still being asked for is new enough. */
  catchUp(): Promise<void>
  /**
   * Runs what ends the thing that a source tells of: it is not asked for meanwhile, nor afterwards by whoever still shows it,
   * unless the work rejects.
   */
  ending<T>(source: Source<unknown>, work: () => Promise<T>): Promise<T>
  /** False after a request that reached nobody, until one succeeds. */
  readonly reachable: ReadonlySignal<boolean>
}

export type Fetch = typeof send

/** Answers that nobody watches are kept, up to so many: going back shows them at once. */
const KEPT = 50

export function createStore(fetch: Fetch = send): Store {
  const resources = new Map<string, Resource<unknown>>()
  const watched = new Map<string, { source: Source<unknown>; watchers: number }>()
  const reachable = signal(true)
  /** Paths of what is being ended. */
  const ending = new Set<string>()

  const make = <T>({ path, parse }: Source<T>): Resource<T> => {
    const data = signal<T | undefined>(undefined)
    const error = signal<ApiError | undefined>(undefined)
    const loading = signal(false)
    const checkedAt = signal(0)
    let etag: string | undefined
    let running: Promise<void> | undefined
    let again = false
    /** How often a change was shown before the gateway has confirmed it. */
    let patched = 0

    const loadOnce = async () => {
      loading.value = true
      const before = patched
      try {
        const answer = await fetch<T>('GET', path, { etag, ...(parse && { parse }) })
        // it may be from before the change that is shown meanwhile
        const isOld = patched !== before
        if (isOld) again = true
        batch(() => {
          if (!isOld && answer.status !== 304) data.value = answer.body
          if (!isOld) etag = answer.etag ?? etag
          error.value = undefined
          checkedAt.value = Date.now()
          reachable.value = true
          loading.value = false
        })
      } catch (failure) {
        batch(() => {
          error.value = failure instanceof ApiError ? failure : new ApiError(0, String(failure))
          reachable.value = error.value.status !== 0
          loading.value = false
        })
      }
    }
    // at most one request at a time, and one more for what came up meanwhile
    const load = (): Promise<void> => {
      if (ending.has(path)) return Promise.resolve()
      if (running) {
        again = true
        return running
      }
      const work = async () => {
        do {
          again = false
          await loadOnce()
        } while (again)
        running = undefined
      }
      running = work()
      return running
    }
    const patch = (edit: (data: T) => T) => {
      if (data.value === undefined) return
      data.value = edit(data.value)
      patched += 1
      // the gateway has not said so: its next answer counts, whatever it is
      etag = undefined
    }
    return { data, error, loading, checkedAt, load, patch }
  }

  const open = <T>(source: Source<T>): Resource<T> => {
    const known = resources.get(source.path) as Resource<T> | undefined
    const resource = known ?? make(source)
    // the newest last, so that the first is what was longest not asked for
    resources.delete(source.path)
    resources.set(source.path, resource as Resource<unknown>)
    for (const path of resources.keys()) {
      if (resources.size <= KEPT) break
      if (!watched.has(path)) resources.delete(path)
    }
    return resource
  }

  const watch = <T>(source: Source<T>) => {
    const entry = watched.get(source.path) ?? { source, watchers: 0 }
    entry.watchers += 1
    watched.set(source.path, entry)
    void open(source).load()
    return () => {
      entry.watchers -= 1
      if (entry.watchers === 0 && watched.get(source.path) === entry) watched.delete(source.path)
    }
  }

  const refresh = async (kinds?: ReadonlySet<string>) => {
    const due = [...watched.values()].filter(({ source }) => !kinds || source.kinds.some((kind) => kinds.has(kind)))
    await Promise.all(due.map(({ source }) => open(source).load()))
  }

  const catchUp = async () => {
    const answered = [...watched.values()].map(({ source }) => open(source)).filter(({ loading }) => !loading.value)
    await Promise.all(answered.map(({ load }) => load()))
  }

  const end: Store['ending'] = async ({ path }, work) => {
    ending.add(path)
    try {
      const result = await work()
      watched.delete(path)
      resources.delete(path)
      return result
    } finally {
      ending.delete(path)
    }
  }

  return { open, watch, refresh, catchUp, ending: end, reachable }
}
