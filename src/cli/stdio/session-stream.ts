import { setTimeout as delay } from 'node:timers/promises'
import { Backoff } from '../../lib/backoff.ts'
import { codes } from '../../protocol/jsonrpc.ts'
import { readMessages, type StreamPosition } from './endpoint.ts'
import { retryDelayMs, sessionHeaders, type BridgeContext, type SessionKey } from './context.ts'

/** Session that a stream belongs to. */
export interface StreamOwner {
  current(): SessionKey
  /** Opens a new session instead of an ended one, and its stream. */
  reopen(ended: SessionKey): Promise<void>
  /** Called when messages of the stream may have been lost. */
  restore(): Promise<void>
}

/** Stream of the messages that belong to no request of the client. */
export interface SessionStream {
  /** Keeps the stream of a session open until the bridge stops or the session is replaced. */
  open(session: SessionKey): void
}

/** Result of one attempt to read the stream. */
type Attempt = 'again' | 'refused' | 'replaced'

export function createSessionStream(
  { endpoint, output, log, stopped }: BridgeContext,
  owner: StreamOwner
): SessionStream {
  const position: StreamPosition = { lastEventId: null, retryMs: null }
  let hasMissed = false

  /** Decides what follows an HTTP error. */
  const handleRefusal = async (response: Response, session: SessionKey): Promise<Attempt> => {
    const { code, failure } = await endpoint.readRefusal(response)
    const { status } = response
    if (status === 404 && code === codes.sessionNotFound) {
      await owner.reopen(session)
      return 'replaced'
    }
    if (status === 400 && position.lastEventId !== null) {
      position.lastEventId = null
      hasMissed = true
      return 'again'
    }
    if (status >= 500 || status === 429 || status === 408) return 'again'
    if (status !== 405) log(`messages of the gateway between requests are not received: ${failure.message}`)
    return 'refused'
  }

  const readOnce = async (session: SessionKey, backoff: Backoff): Promise<Attempt> => {
    const { lastEventId } = position
    const headers = {
      ...sessionHeaders(session),
      ...(lastEventId === null ? {} : { 'last-event-id': lastEventId })
    }
    const response = await endpoint.send({ method: 'GET', headers, signal: stopped, canWait: false })
    if (!response.ok) return handleRefusal(response, session)
    backoff.recordOpen(0)
    if (hasMissed) {
      hasMissed = false
      // not awaited, so that the stream is read meanwhile
      owner.restore().catch((error: unknown) => log(textOf(error)))
    }
    const read = readMessages(response, position, (message) => output.write(message))
    await read.catch((error: unknown) => {
      if (stopped.aborted) throw error
    })
    // without an id, nothing says which messages came while the stream was closed
    hasMissed = position.lastEventId === null
    return 'again'
  }

  const run = async (session: SessionKey): Promise<void> => {
    const backoff = new Backoff({ firstMs: 200, longestMs: 5_000 })
    while (!stopped.aborted && owner.current() === session) {
      const attempt = await readOnce(session, backoff).catch((error: unknown): Attempt => {
        if (!stopped.aborted && backoff.failures === 0) log(textOf(error))
        // a gateway that was away may have restarted; it then opens a new stream for an old event id
        hasMissed = true
        return 'again'
      })
      if (attempt !== 'again') return
      const waitMs =
        backoff.failures > 0 ? backoff.nextDelayMs() : Math.min(retryDelayMs(position.retryMs), backoff.nextDelayMs())
      await delay(waitMs, undefined, { signal: stopped }).catch(() => {})
    }
  }

  return {
    open(session) {
      position.lastEventId = null
      hasMissed = false
      if (session.id !== undefined) void run(session)
    }
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
