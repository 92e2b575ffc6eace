import { setTimeout as delay } from 'node:timers/promises'
import { Backoff } from '../../lib/backoff.ts'
import { isBroadcast } from '../transport/inbound-requests.ts'
import { RECONNECTION } from '../transport/reconnection.ts'
import { methodNotFound, type Call, type Sink } from '../transport/call.ts'
import { SharedClock } from '../transport/shared-clock.ts'
import type { HttpConnection } from './connection.ts'

/** Time to wait for the stream to open: some servers send its response head only with the first event. */
const OPEN_MS = 250
/** Shorter wait, for the request to be sent, once a server has opened its streams late several times in a row. */
const LATE_MS = 25
const LATE_THRESHOLD = 3
/** Every 16th stream waits the full time again, in case the delays had another cause. */
const PROBE_EVERY = 16

/**
 * Statistics of the session streams of one upstream, shared by its sessions: stateless mode opens one stream per call.
 */
export interface SessionStreamStats {
  /** The upstream offers no such stream (405). */
  isUnsupported: boolean
  /** A request arrived on such a stream while calls were in flight, without naming its call. */
  hasRequests: boolean
  /** Number of streams in a row that did not open in time. */
  lateCount: number
}

export const createStreamStats = (): SessionStreamStats => ({ isUnsupported: false, hasRequests: false, lateCount: 0 })

const waitMs = ({ lateCount }: SessionStreamStats) =>
  lateCount >= LATE_THRESHOLD && lateCount % PROBE_EVERY !== 0 ? LATE_MS : OPEN_MS

/**
 * The stream of a legacy session outside its calls: messages go to the call that they must belong to, or to the
 * session's client.
 */
export interface SessionStream {
  /** Call before sending a call. Resolves when the stream can carry its requests. Never rejects. */
  add(call: Call): Promise<void> | void
  delete(call: Call): void
}

/**
 * Many servers send requests on the session's own stream instead of the call's (`elicitInput`, `createMessage` and
 * `listRoots` of the SDKs). Such a request goes to the session's client if one is attached; otherwise to the oldest
 * call in flight, or, if the session serves several clients (`isMultiClient`), only to a call that is alone.
 */
export function createSessionStream(
  connection: HttpConnection,
  isMultiClient: boolean,
  stats: SessionStreamStats
): SessionStream {
  const calls = new Set<Call>()
  const clock = new SharedClock(() => calls)
  const backoff = new Backoff(RECONNECTION)
  let opening: Promise<void> | null = null
  let wasOpen = false

  const owner = (): Call | undefined => (isMultiClient && calls.size > 1 ? undefined : calls.values().next().value)
  const sink: Sink = {
    capabilities: '{}',
    wantsProgress: false,
    notify(method, params) {
      if (method === 'notifications/progress') return connection.receiveProgress(params)
      const call = isBroadcast(method) ? undefined : owner()
      if (call) call.sink.notify(method, params)
      else connection.onNotification?.(method, params)
    },
    async request(method, params, inbound = { onCancel: null }) {
      if (calls.size > 0) stats.hasRequests = true
      const handler = connection.onRequest
      if (handler) return clock.pauseDuring(handler(method, params, inbound, [...calls]))
      return owner()?.sink.request(method, params, inbound) ?? methodNotFound
    }
  }
  const reopen = () => {
    if (!connection.closed) opening ??= open()
  }
  /** Reopens the stream after a delay if the session has a client, which needs the stream between calls too. */
  const scheduleReopen = (openMs: number) => {
    opening = null
    if (connection.closed || !connection.onRequest) return
    backoff.recordOpen(openMs)
    setTimeout(reopen, backoff.nextDelayMs()).unref()
  }
  const watch = async (): Promise<true> => {
    const startedAt = performance.now()
    try {
      wasOpen = await connection.openNotificationStream(sink, () => scheduleReopen(performance.now() - startedAt))
      stats.isUnsupported = !wasOpen
    } catch {
      // a server without such a stream sends its requests on the streams of its calls
      if (wasOpen) scheduleReopen(0)
    }
    return true
  }
  const open = async () => {
    const isInTime = await Promise.race([watch(), delay(waitMs(stats), false, { ref: false })])
    stats.lateCount = isInTime ? 0 : stats.lateCount + 1
  }
  // open the stream ahead of the first call
  if (!stats.isUnsupported) opening = open()
  return {
    add(call) {
      calls.add(call)
      clock.add(call)
      return stats.isUnsupported ? undefined : (opening ??= open())
    },
    delete(call) {
      calls.delete(call)
      clock.remove(call)
    }
  }
}
