import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../../domain/is-object.ts'
import type { Message } from '../../protocol/jsonrpc.ts'
import { EndpointFailure, lost, parseJson } from './endpoint-failure.ts'
import { discard, readMessages, type StreamPosition } from './endpoint.ts'
import { retryDelayMs, sessionHeaders, type BridgeContext } from './context.ts'
import type { OpenRequests } from './open-requests.ts'
import { createSessionLink } from './session-link.ts'

/** Session of a client that speaks a revision with `initialize`. */
export interface LegacySession {
  /** Sends requests and forwards what the gateway answers. Rejects with an EndpointFailure. */
  request(exchange: LegacyExchange): Promise<void>
  /** Sends a notification or a response. Rejects with an EndpointFailure. */
  notify(message: Message, body: Buffer): Promise<void>
  /** Ends the session at the gateway, within `ms`. */
  end(ms: number): Promise<void>
}

/** One HTTP request with the client's requests. */
export interface LegacyExchange {
  readonly body: Buffer
  /** Undefined for a batch. */
  readonly message: Message | undefined
  readonly open: OpenRequests
}

/** Methods that may be sent again after a response was lost: carrying them out twice changes nothing. */
const repeatable =
  /^(initialize|ping|.*\/list|.*\/read|prompts\/get|completion\/complete|logging\/setLevel|resources\/(un)?subscribe)$/
/** Requests to resume a stream before its requests fail. */
const MAX_RESUMPTIONS = 20

export function createLegacySession(context: BridgeContext): LegacySession {
  const { endpoint, output, stopped } = context
  const link = createSessionLink(context)
  let opening: Promise<void> = Promise.resolve()

  /** Continues the stream of a request whose connection was lost. Returns false if the gateway cannot. */
  const resume = async (position: StreamPosition, read: (response: Response) => Promise<void>): Promise<boolean> => {
    if (position.lastEventId === null) return false
    const headers = { ...sessionHeaders(link.current()), 'last-event-id': position.lastEventId }
    const response = await endpoint.send({ method: 'GET', headers, signal: stopped })
    if (response.ok) await read(response).catch(ignoreUnless(stopped))
    else await discard(response)
    return response.ok
  }

  const request = async ({ body, message, open }: LegacyExchange): Promise<void> => {
    const isHandshake = message?.method === 'initialize'
    const position: StreamPosition = { lastEventId: null, retryMs: null }
    let count = 0
    const read = (response: Response) =>
      readMessages(response, position, async (bytes) => {
        count++
        const received = open.receive(bytes)
        if (isHandshake && received.kind === 'result') link.adopt(response, bytes)
        if (message) link.remember(message, body, received)
        if (received.forwarded) await output.write(received.forwarded)
      })
    const sendOnce = async () => {
      const response = await link.send(body, isHandshake)
      if (!(response instanceof Response)) {
        const { forwarded } = open.receive(response)
        if (forwarded) await output.write(forwarded)
        return
      }
      await read(response).catch(ignoreUnless(stopped))
    }
    const isRepeatable = message !== undefined && repeatable.test(message.method)
    const sendAgain = async (error: unknown) => {
      if (!isRepeatable || !(error instanceof EndpointFailure) || error.reason !== 'lost') throw error
      await sendOnce()
    }
    await sendOnce().catch(sendAgain)
    for (let resumptions = 0; !open.isDone && resumptions < MAX_RESUMPTIONS; resumptions++) {
      if (position.lastEventId === null) break
      await delay(retryDelayMs(position.retryMs), undefined, { signal: stopped })
      if (!(await resume(position, read))) break
    }
    if (!open.isDone && count === 0 && isRepeatable) await sendOnce()
    if (!open.isDone) throw lost()
  }

  return {
    async request(exchange) {
      await opening
      if (exchange.message?.method !== 'initialize' || link.current().id !== undefined) return request(exchange)
      link.setHandshake(exchange.body)
      // what the client sends before the answer waits for the session
      const opened = request(exchange)
      opening = opened.catch(() => {})
      return opened
    },
    async notify(message, body) {
      await opening
      const response = await link.send(body, false)
      if (!(response instanceof Response)) throw new EndpointFailure('refused', errorMessageOf(response))
      await discard(response)
      if (message.method !== 'notifications/initialized') return
      link.listen()
    },
    async end(ms) {
      if (link.current().id === undefined) return
      const signal = AbortSignal.timeout(ms)
      const headers = sessionHeaders(link.current())
      await endpoint.send({ method: 'DELETE', headers, signal, canWait: false }).then(discard, () => {})
    }
  }
}

const errorMessageOf = (message: Buffer): string => {
  const body = parseJson(message.toString())
  const error = isObject(body) ? body['error'] : undefined
  return isObject(error) ? String(error['message']) : 'the gateway refused the message'
}

/** Returns a handler that ignores a lost connection, which may be resumed, and passes on every other error. */
const ignoreUnless =
  (stopped: AbortSignal) =>
  (error: unknown): void => {
    if (stopped.aborted || error instanceof EndpointFailure) throw error
  }
