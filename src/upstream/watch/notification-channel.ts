import { setTimeout as wait } from 'node:timers/promises'
import { createSemaphore } from '../../lib/semaphore.ts'
import { noop } from '../../lib/noop.ts'
import { Call, type Sink } from '../transport/call.ts'
import type { Connection, TransportClient } from '../transport/connection.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import type { HttpConnection } from '../http/connection.ts'
import { readError } from '../transport/message.ts'
import { answerServerRequest, sendRequest, listingCapabilities, listingSink } from '../discovery/list-items.ts'

/** Notification channel: GET stream or `subscriptions/listen` (mcp-proxy.md#upstream-sessions). */
export interface NotificationChannel {
  /** Resolves when the channel has ended. */
  readonly ended: Promise<void>
  /** Replaces the subscribed resources. Settles when the upstream has been told, or could not be. */
  subscribe(uris: ReadonlySet<string>): Promise<void>
  close(): void
}

export interface ChannelOptions {
  readonly client: TransportClient
  readonly connectMs: number
  readonly onNotification: (method: string, params: string) => void
}

/** A stream whose response head arrives only with its first event counts as open after this time. */
const STREAM_MS = 5_000
const METHOD_NOT_FOUND = -32601
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

const isHttp = (connection: Connection): connection is HttpConnection => 'openNotificationStream' in connection
const deadlineIn = (ms: number) => performance.now() + ms

/** Runs work one after the other; resolves when it has ended, also if it failed. */
function createQueue() {
  const { run } = createSemaphore(1)
  return (work: () => Promise<unknown>): Promise<void> => run(work).then(noop, noop)
}

/** Opens the GET stream of an HTTP session; false if the upstream has none. */
async function openStream(connection: HttpConnection, sink: Sink): Promise<boolean> {
  const opened = connection.openNotificationStream(sink, () => connection.close())
  const stop = new AbortController()
  opened.then(
    (isThere) => void (isThere || connection.close()),
    () => connection.close()
  )
  try {
    return await Promise.race([opened, wait(STREAM_MS, true, { signal: stop.signal, ref: false })])
  } finally {
    stop.abort()
  }
}

/** Opens a session of the gateway's own, null if the upstream offers no stream for it. Rejects with UpstreamFailure. */
export async function openLegacyChannel({
  client,
  connectMs,
  onNotification
}: ChannelOptions): Promise<NotificationChannel | null> {
  const deadline = deadlineIn(connectMs)
  const connection = await client.open({ era: 'legacy', capabilities: listingCapabilities, deadline })
  const ended = new Promise<void>((resolve) => (connection.onClose = resolve))
  connection.onNotification = onNotification
  connection.onRequest = answerServerRequest
  if (isHttp(connection) && !(await openStream(connection, { ...listingSink, notify: onNotification }))) return null
  const queue = createQueue()
  const subscribed = new Set<string>()
  const sendSubscription = (method: string, uri: string) =>
    sendRequest(connection, `resources/${method}`, `"uri":${JSON.stringify(uri)}`, deadlineIn(connectMs))
  return {
    ended: connection.closed ? Promise.resolve() : ended,
    subscribe: (uris) =>
      queue(() => {
        const added = [...uris].filter((uri) => !subscribed.has(uri))
        const dropped = [...subscribed].filter((uri) => !uris.has(uri))
        for (const uri of added) subscribed.add(uri)
        for (const uri of dropped) subscribed.delete(uri)
        const responses = [
          ...added.map((uri) => sendSubscription('subscribe', uri)),
          ...dropped.map((uri) => sendSubscription('unsubscribe', uri))
        ]
        return Promise.allSettled(responses)
      }),
    close: () => connection.close()
  }
}

/** One `subscriptions/listen` request. */
export interface ListenRequest {
  /** Resolves with true once the upstream has acknowledged the request, with false if the method is unknown. */
  readonly acknowledged: Promise<boolean>
  readonly ended: Promise<void>
  stop(): void
}

const isUnknown = (error: unknown) => error instanceof UpstreamFailure && (error.status === 404 || error.status === 405)

/** Sends `subscriptions/listen` for the notifications in `filter`; `acknowledge` resolves when it is acknowledged. */
export function startListenRequest(
  connection: Connection,
  sink: Sink,
  filter: object,
  acknowledge: Promise<unknown>
): ListenRequest {
  const members = `"notifications":${JSON.stringify(filter)}`
  const call = new Call({ method: 'subscriptions/listen', members, meta: '' }, sink)
  const refused = connection.send(call).then(
    (answer) => {
      if (answer.kind === 'result') throw new UpstreamFailure('unreachable', 'ended the subscription')
      const { code, message } = readError(answer)
      if (code === METHOD_NOT_FOUND) return false
      throw new UpstreamFailure('bad_response', `refused subscriptions/listen: ${message}`)
    },
    (error: unknown) => {
      if (isUnknown(error)) return false
      throw error
    }
  )
  const request: ListenRequest = {
    acknowledged: Promise.race([refused, acknowledge.then(() => true)]),
    ended: refused.then(noop, noop),
    stop: () => call.stop(new UpstreamFailure('cancelled', 'the subscription is no longer needed'))
  }
  return request
}

/** Subscribes without a session; null if the upstream does not support it. Rejects with UpstreamFailure. */
export async function openModernChannel({
  client,
  connectMs,
  onNotification
}: ChannelOptions): Promise<NotificationChannel | null> {
  const deadline = deadlineIn(connectMs)
  const connection = await client.open({ era: 'modern', capabilities: listingCapabilities, deadline })
  let acknowledge = noop
  let current: ListenRequest | null = null
  let end = noop
  const ended = new Promise<void>((resolve) => (end = resolve))
  const notify = (method: string, params: string) =>
    method === ACKNOWLEDGED ? acknowledge() : onNotification(method, params)
  const sink: Sink = { ...listingSink, notify }
  connection.onNotification = notify
  connection.onRequest = answerServerRequest
  connection.onClose = end

  const close = () => {
    current?.stop()
    connection.close()
    end()
  }
  /**
   * Filters are fixed per request: the new request is open before the old one is closed, so that no notification is
   * lost.
   */
  const listen = async (uris: ReadonlySet<string>): Promise<boolean> => {
    const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
    const filter = uris.size === 0 ? lists : { ...lists, resourceSubscriptions: [...uris] }
    const request = startListenRequest(
      connection,
      sink,
      filter,
      new Promise<void>((resolve) => (acknowledge = resolve))
    )
    const timer = setTimeout(request.stop, connectMs)
    try {
      if (!(await request.acknowledged)) return false
    } finally {
      clearTimeout(timer)
    }
    const old = current
    current = request
    void request.ended.then(() => void (current === request && close()))
    old?.stop()
    return true
  }
  try {
    if (!(await listen(new Set()))) return (close(), null)
  } catch (error) {
    close()
    throw error
  }
  const queue = createQueue()
  let subscribed: ReadonlySet<string> = new Set()
  const isSame = (uris: ReadonlySet<string>) =>
    uris.size === subscribed.size && [...uris].every((uri) => subscribed.has(uri))
  return {
    ended,
    subscribe: (uris) =>
      queue(async () => {
        if (isSame(uris) || !(await listen(uris))) return
        subscribed = uris
      }),
    close
  }
}
