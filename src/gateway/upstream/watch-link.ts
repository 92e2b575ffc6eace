import { setTimeout as wait } from 'node:timers/promises'
import { Call, type Sink } from './call.ts'
import type { Connection, TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import type { HttpConnection } from './http-connection.ts'
import { readError } from './http-message.ts'
import { answerServerRequest, sendRequest, listingCapabilities, listingSink } from './lists.ts'

/** An open way on which an upstream tells what it was not asked (mcp-proxy.md#upstream-sessions). */
export interface Link {
  /** Resolves when it carries nothing more. */
  readonly ended: Promise<void>
  /** The resources to be told of, in place of those before. Settles when the upstream knows, or could not be told. */
  follow(uris: ReadonlySet<string>): Promise<void>
  close(): void
}

export interface LinkOptions {
  readonly client: TransportClient
  readonly connectMs: number
  readonly onNotification: (method: string, params: string) => void
}

/** A stream whose head waits for the first event counts as open after that long. */
const STREAM_MS = 5_000
const METHOD_NOT_FOUND = -32601
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

const isHttp = (connection: Connection): connection is HttpConnection => 'openNotificationStream' in connection
const deadlineIn = (ms: number) => performance.now() + ms
const ignore = () => {}

/** One after the other; a failure concerns nobody but the one that it happens to. */
function createQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return (work: () => Promise<unknown>): Promise<void> => {
    const done = last.then(work).then(ignore, ignore)
    last = done
    return done
  }
}

/** Opens the event stream beside an HTTP session; false where the upstream has none. */
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

/** A session of the gateway's own, null where the upstream keeps no stream for it. Rejects with UpstreamFailure. */
export async function openLegacyLink({ client, connectMs, onNotification }: LinkOptions): Promise<Link | null> {
  const deadline = deadlineIn(connectMs)
  const connection = await client.open({ era: 'legacy', capabilities: listingCapabilities, deadline })
  const ended = new Promise<void>((resolve) => (connection.onClose = resolve))
  connection.onNotification = onNotification
  connection.onRequest = answerServerRequest
  if (isHttp(connection) && !(await openStream(connection, { ...listingSink, notify: onNotification }))) return null
  const queue = createQueue()
  const followed = new Set<string>()
  const tell = (method: string, uri: string) =>
    sendRequest(connection, `resources/${method}`, `"uri":${JSON.stringify(uri)}`, deadlineIn(connectMs))
  return {
    ended: connection.closed ? Promise.resolve() : ended,
    follow: (uris) =>
      queue(() => {
        const added = [...uris].filter((uri) => !followed.has(uri))
        const dropped = [...followed].filter((uri) => !uris.has(uri))
        for (const uri of added) followed.add(uri)
        for (const uri of dropped) followed.delete(uri)
        const told = [...added.map((uri) => tell('subscribe', uri)), ...dropped.map((uri) => tell('unsubscribe', uri))]
        return Promise.allSettled(told)
      }),
    close: () => connection.close()
  }
}

/** One `subscriptions/listen`. */
interface Listening {
  /** Resolves when the upstream has acknowledged it, with false where it does not know the method. */
  readonly acknowledged: Promise<boolean>
  readonly ended: Promise<void>
  stop(): void
}

const isUnknown = (error: unknown) => error instanceof UpstreamFailure && (error.status === 404 || error.status === 405)

function startListening(connection: Connection, sink: Sink, uris: ReadonlySet<string>, acknowledge: Promise<void>) {
  const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
  const filter = uris.size === 0 ? lists : { ...lists, resourceSubscriptions: [...uris] }
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
  const listening: Listening = {
    acknowledged: Promise.race([refused, acknowledge.then(() => true)]),
    ended: refused.then(ignore, ignore),
    stop: () => call.stop(new UpstreamFailure('cancelled', 'not listened to any more'))
  }
  return listening
}

/** Listens without a session, null where the upstream cannot be listened to. Rejects with UpstreamFailure. */
export async function openModernLink({ client, connectMs, onNotification }: LinkOptions): Promise<Link | null> {
  const deadline = deadlineIn(connectMs)
  const connection = await client.open({ era: 'modern', capabilities: listingCapabilities, deadline })
  let acknowledge = ignore
  let current: Listening | null = null
  let end = ignore
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
  /** Filters are fixed: the new one is open before the old one is closed, so that nothing is missed between them. */
  const listen = async (uris: ReadonlySet<string>): Promise<boolean> => {
    const listening = startListening(connection, sink, uris, new Promise<void>((resolve) => (acknowledge = resolve)))
    const timer = setTimeout(listening.stop, connectMs)
    try {
      if (!(await listening.acknowledged)) return false
    } finally {
      clearTimeout(timer)
    }
    const old = current
    current = listening
    void listening.ended.then(() => void (current === listening && close()))
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
  let followed: ReadonlySet<string> = new Set()
  const isSame = (uris: ReadonlySet<string>) =>
    uris.size === followed.size && [...uris].every((uri) => followed.has(uri))
  return {
    ended,
    follow: (uris) =>
      queue(async () => {
        if (isSame(uris) || !(await listen(uris))) return
        followed = uris
      }),
    close
  }
}
