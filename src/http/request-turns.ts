import { type AppError, unavailable } from '../lib/errors.ts'
import { noop } from '../lib/noop.ts'
import type { Quota } from '../lib/quota.ts'

/** Milliseconds per event-loop turn in which requests start; beyond it they wait for a later turn. */
const SLICE_MS = 2
/** Requests that start in one turn at most. Their steps are queued ahead; an idle one takes less than 1 µs. */
const STEPS = 32
/** Least cost of a request, so that a principal is charged for requests that take less than the clock shows. */
const LEAST_MS = 0.05
/** Principals without a waiting request whose use of time is remembered. */
const REMEMBERED = 1_000
const MAX_AGE_MS = 10_000

/** Starts the request, or refuses it with the error. */
type Start = (error?: AppError) => void

interface Waiting {
  readonly principal: Principal
  readonly key: string
  readonly bytes: number
  readonly since: number
  readonly start: Start
}

interface Principal {
  /** Virtual time at which its next request starts: grows by the time that its requests use. */
  due: number
  /** In order of arrival. */
  readonly waiting: Waiting[]
}

/**
 * Order in which requests start while the event loop is late. One turn of the loop reads all readable sockets, so the
 * requests that one caller sends at once would all start before the next caller's. Beyond 2 ms per turn, requests wait,
 * and the principal that has used the least time is served first (start-time fair queueing).
 */
export interface RequestTurns {
  /** True if a request may start at once, which is the usual case and takes about 0.1 µs. */
  isOnTime(): boolean
  /**
   * Calls `start` when it is the principal's turn, or with a 503 if too many of its requests wait or this one waited too
   * long. `bytes`: memory that the request holds. Returns a function that
   * removes it, for a client that disconnects.
   */
  wait(key: string, bytes: number, start: Start): () => void
  /** Number of waiting requests. */
  readonly size: number
}

export interface RequestTurnsOptions {
  /** Bytes of waiting requests. */
  readonly bytes: Quota
  /** Tests replace both. */
  readonly now?: () => number
  readonly setImmediate?: (work: () => void) => void
}

/** Removes an item, most often the first; false if it is not there. */
function removeItem<T>(items: T[], item: T): boolean {
  const at = items.indexOf(item)
  if (at < 0) return false
  if (at === 0) items.shift()
  else items.splice(at, 1)
  return true
}

/** Creates the turns of one process. */
export function createRequestTurns(options: RequestTurnsOptions): RequestTurns {
  const { bytes: quota, now = () => performance.now(), setImmediate: later = setImmediate } = options
  const principals = new Map<string, Principal>()
  /** Principals with a waiting request, in order of arrival. Arrays, and no `Set`, for the reason of `SlotSet`. */
  const active: Principal[] = []
  let size = 0
  let virtual = 0
  /** Start of this turn's first request, and of this turn's steps. */
  let begun: number | undefined
  let sliceBegun: number | undefined
  /** Principal of the step that ran last, and its start. */
  let served: { readonly principal: Principal; readonly at: number } | undefined
  let isScheduled = false

  const principalOf = (key: string): Principal => {
    const known = principals.get(key)
    if (known) return known
    if (principals.size >= active.length + REMEMBERED) forget()
    const principal: Principal = { due: virtual, waiting: [] }
    principals.set(key, principal)
    return principal
  }
  const forget = () => {
    for (const [key, { waiting }] of principals) if (waiting.length === 0) principals.delete(key)
  }
  const remove = (entry: Waiting) => {
    const { principal, key, bytes } = entry
    if (!removeItem(principal.waiting, entry)) return
    if (principal.waiting.length === 0) removeItem(active, principal)
    quota.release(key, bytes)
    size--
  }
  /** Returns the oldest request of the principal that has used the least time. */
  const next = (): Waiting | undefined => {
    let first: Principal | undefined
    for (const principal of active) if (first === undefined || principal.due < first.due) first = principal
    return first?.waiting[0]
  }
  /** Charges the last step to its principal: promises and ticks of a step run before the next one. */
  const charge = (at: number) => {
    if (served) served.principal.due += Math.max(LEAST_MS, at - served.at)
    served = undefined
  }
  const step = () => {
    const at = now()
    charge(at)
    sliceBegun ??= at
    if (at - sliceBegun > SLICE_MS) return
    const entry = next()
    if (!entry) return
    const { principal, since, start } = entry
    remove(entry)
    virtual = principal.due
    served = { principal, at }
    if (at - since > MAX_AGE_MS) start(unavailable('the gateway is overloaded; try again later'))
    else start()
  }
  const endTurn = () => {
    charge(now())
    sliceBegun = undefined
    isScheduled = false
    if (size > 0) schedule()
  }
  const schedule = () => {
    isScheduled = true
    // one step per immediate: the loop runs the ticks and promises of each before the next
    for (let at = 0; at < STEPS; at++) later(step)
    later(endTurn)
  }
  const forgetTurn = () => {
    begun = undefined
  }

  return {
    get size() {
      return size
    },
    isOnTime() {
      if (size > 0) return false
      if (begun !== undefined) return now() - begun <= SLICE_MS
      begun = now()
      later(forgetTurn)
      return true
    },
    wait(key, bytes, start) {
      if (!quota.acquire(key, bytes)) {
        later(() => start(unavailable('too many requests are waiting for their turn; try again later')))
        return noop
      }
      const principal = principalOf(key)
      if (principal.waiting.length === 0) {
        principal.due = Math.max(principal.due, virtual)
        active.push(principal)
      }
      const entry: Waiting = { principal, key, bytes, since: now(), start }
      principal.waiting.push(entry)
      size++
      if (!isScheduled) schedule()
      return () => remove(entry)
    }
  }
}
