import { setTimeout as delay } from 'node:timers/promises'
import { isBroadcast } from './asked.ts'
import { methodNotFound, type Call, type Sink } from './call.ts'
import { CommonClock } from './common-clock.ts'
import type { HttpConnection } from './http-connection.ts'

/** Some servers send the head of a stream with its first event only: they are waited for so long, */
const OPEN_MS = 250
/** and, once they were found to do so, for the stream to be asked for at least. */
const LATE_MS = 25
const LATE_TIMES = 3
/** What was slow for another reason is found out in the end. */
const PROBE_EVERY = 16

/** What the sessions of one upstream have shown of their streams: a stateless call opens one each. */
export interface Streams {
  /** The upstream has none (405). */
  isAbsent: boolean
  /** Something was asked on one while calls were under way: nothing says by which. */
  hasAsked: boolean
  /** How many in a row were not open in time. */
  late: number
}

export const unknownStreams = (): Streams => ({ isAbsent: false, hasAsked: false, late: 0 })

const waitMs = ({ late }: Streams) => (late >= LATE_TIMES && late % PROBE_EVERY !== 0 ? LATE_MS : OPEN_MS)
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** A stream that stayed open that long has worked: the next pause is a first one again. */
const STEADY_MS = 30_000

/** What a legacy session says outside the streams of its calls, given to the call that it must belong to, else home. */
export interface Hearing {
  /** A call is about to go out. Resolves when what it asks can be heard. Never rejects. */
  add(call: Call): Promise<void> | void
  delete(call: Call): void
}

/**
 * Many servers ask on the session's own stream, not on the call's (the SDKs' `elicitInput`, `createMessage`, `listRoots`).
 * A question goes home where somebody is; else it belongs to the oldest call under way, and `isMixed`, where calls may be of
 * several clients, to a call that is alone.
 */
export function createHearing(connection: HttpConnection, isMixed: boolean, streams: Streams): Hearing {
  const calls = new Set<Call>()
  const clock = new CommonClock(() => calls)
  let opening: Promise<void> | null = null
  let wasOpen = false
  let pauseMs = FIRST_PAUSE_MS

  const owner = (): Call | undefined => (isMixed && calls.size > 1 ? undefined : calls.values().next().value)
  const sink: Sink = {
    capabilities: '{}',
    wantsProgress: false,
    notify(method, params) {
      if (method === 'notifications/progress') return
      const call = isBroadcast(method) ? undefined : owner()
      if (call) call.sink.notify(method, params)
      else connection.onNotification?.(method, params)
    },
    async request(method, params, asking = { onWithdraw: null }) {
      if (calls.size > 0) streams.hasAsked = true
      const home = connection.onRequest
      if (home) return clock.during(home(method, params, asking, [...calls]))
      return owner()?.sink.request(method, params, asking) ?? methodNotFound
    }
  }
  const reopen = () => {
    if (!connection.closed) opening ??= open()
  }
  /** Who is at home needs it between calls too. */
  const ended = (openMs: number) => {
    opening = null
    if (connection.closed || !connection.onRequest) return
    if (openMs > STEADY_MS) pauseMs = FIRST_PAUSE_MS
    setTimeout(reopen, pauseMs).unref()
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)
  }
  const watch = async (): Promise<true> => {
    const startedAt = performance.now()
    try {
      wasOpen = await connection.watch(sink, () => ended(performance.now() - startedAt))
      streams.isAbsent = !wasOpen
    } catch {
      // a server without such a stream asks on those of its calls
      if (wasOpen) ended(0)
    }
    return true
  }
  const open = async () => {
    const isInTime = await Promise.race([watch(), delay(waitMs(streams), false, { ref: false })])
    streams.late = isInTime ? 0 : streams.late + 1
  }
  // a session that waits for its call has time for it
  if (!streams.isAbsent) opening = open()
  return {
    add(call) {
      calls.add(call)
      clock.begin(call)
      return streams.isAbsent ? undefined : (opening ??= open())
    },
    delete(call) {
      calls.delete(call)
      clock.end(call)
    }
  }
}
