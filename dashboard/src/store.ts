import { batch, signal, type ReadonlySignal } from '@preact/signals'
import type { ChangeKind } from '../../src/schemas/dashboard/events.ts'
import { ApiError, send } from './api.ts'

/** GET request of the gateway, and the kinds of changes that make its answer stale. */
export interface Source<T> {
  readonly path: string
  readonly kinds: readonly ChangeKind[]
  /** Parses the answer; `JSON.parse` by default. */
  readonly parse?: (text: string) => unknown
  /** Never set; carries the type of the answer. */
  readonly answer?: T
}

export const source = <T>(
  path: string,
  kinds: readonly ChangeKind[],
  parse?: (text: string) => unknown
): Source<T> => ({ path, kinds, ...(parse && { parse }) })

/** Newest answer of a source. Old data stays while new data loads, and if loading fails. */
export interface Resource<T> {
  readonly data: ReadonlySignal<T | undefined>
  /** Error of the newest attempt; undefined once one succeeds. */
  readonly error: ReadonlySignal<ApiError | undefined>
  readonly loading: ReadonlySignal<boolean>
  /** Time when `data` was last confirmed, in milliseconds since the epoch; 0 before the first answer. */
  readonly checkedAt: ReadonlySignal<number>
  /** Loads again. Never rejects: failures are in `error`. */
  load(): Promise<void>
  /** Applies an optimistic change before the gateway has confirmed it. */
  patch(edit: (data: T) => T): void
}

/** Resource of no source: it has no data and requests nothing. */
export const nothing: Resource<never> = {
  data: signal(undefined),
  error: signal(undefined),
  loading: signal(false),
  checkedAt: signal(0),
  load: () => Promise.resolve(),
  patch() {}
}

/** Returns true until each resource has its first answer or an error. */
export const isPending = (...resources: readonly Resource<unknown>[]): boolean =>
  resources.some((each) => each !== nothing && each.data.value === undefined && each.error.value === undefined)

export interface Store {
  /** Returns the resource of a path; the same one each time, so that pages share answers. */
  open<T>(source: Source<T>): Resource<T>
  /** Keeps a resource up to date until the returned function is called. */
  watch<T>(source: Source<T>): () => void
  /** Reloads watched resources that may have changed; all of them without kinds. */
  refresh(kinds?: ReadonlySet<string>): Promise<void>
  /** Reloads watched resources answered before the event stream opened. Requests still in flight are new enough. */
  catchUp(): Promise<void>
  /**
   * Runs `work`, which deletes the subject of a source. The source is not loaded during the work, nor afterwards by
   * components that still show it, unless the work rejects.
   */
  whileDeleting<T>(source: Source<unknown>, work: () => Promise<T>): Promise<T>
  /** False after a request without an answer, until one succeeds. */
  readonly reachable: ReadonlySignal<boolean>
}

export type Fetch = typeof send

/** Maximum number of unwatched answers kept, so that going back shows them at once. */
const MAX_UNWATCHED = 50

export function createStore(fetch: Fetch = send): Store {
  const resources = new Map<string, Resource<unknown>>()
  const watched = new Map<string, { source: Source<unknown>; watchers: number }>()
  const reachable = signal(true)
  /** Paths whose subject is being deleted. */
  const ending = new Set<string>()

  const make = <T>({ path, parse }: Source<T>): Resource<T> => {
    const data = signal<T | undefined>(undefined)
    const error = signal<ApiError | undefined>(undefined)
    const loading = signal(false)
    const checkedAt = signal(0)
    let etag: string | undefined
    let running: Promise<void> | undefined
    let again = false
    /** Number of optimistic changes so far. */
    let patched = 0

    const loadOnce = async () => {
      loading.value = true
      const before = patched
      try {
        const answer = await fetch<T>('GET', path, { etag, ...(parse && { parse }) })
        // the answer may be older than the optimistic change
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
    // at most one request at a time, and one more for changes in between
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
      // optimistic data: accept any next answer
      etag = undefined
    }
    return { data, error, loading, checkedAt, load, patch }
  }

  const open = <T>(source: Source<T>): Resource<T> => {
    const known = resources.get(source.path) as Resource<T> | undefined
    const resource = known ?? make(source)
    // reinsert at the end, so that the first one is the least recently used
    resources.delete(source.path)
    resources.set(source.path, resource as Resource<unknown>)
    for (const path of resources.keys()) {
      if (resources.size <= MAX_UNWATCHED) break
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

  const end: Store['whileDeleting'] = async ({ path }, work) => {
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

  return { open, watch, refresh, catchUp, whileDeleting: end, reachable }
}
