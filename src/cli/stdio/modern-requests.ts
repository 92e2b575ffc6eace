import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../../domain/is-object.ts'
import { listKinds, META } from '../../domain/mcp-constants.ts'
import { Backoff } from '../../lib/backoff.ts'
import { codes, type Message } from '../../protocol/jsonrpc.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import type { BridgeContext } from './context.ts'
import { EndpointFailure, lost, parseJson } from './endpoint-failure.ts'
import { readMessages } from './endpoint.ts'
import type { OpenRequests } from './open-requests.ts'
import { createParameterHeaders, standardHeaders } from './parameter-headers.ts'

/** A request of a client that speaks 2026-07-28. */
export interface ModernExchange {
  readonly body: Buffer
  readonly message: Message
  readonly open: OpenRequests
  /** Aborts when the client cancels the request, which closes its response stream. */
  readonly signal: AbortSignal
}

/** Methods whose requests may be sent again: carrying them out twice changes nothing. */
const repeatable = /^(server\/discover|.*\/list|resources\/read|prompts\/get|completion\/complete)$/
export const LISTEN = 'subscriptions/listen'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** Sends requests of 2026-07-28, each for itself: the revision has no sessions. */
export interface ModernRequests {
  /** Sends a request and forwards what the gateway answers. Rejects with an EndpointFailure. */
  request(exchange: ModernExchange): Promise<void>
}

export function createModernRequests({ endpoint, output, log }: BridgeContext): ModernRequests {
  const parameters = createParameterHeaders(endpoint)

  /** Resolves with a successful response, or with the message of a JSON-RPC error. */
  const send = async ({ body, message, signal }: ModernExchange): Promise<Response | Buffer> => {
    for (let attempt = 0; ; attempt++) {
      const headers = { ...standardHeaders(message), ...parameters.of(message) }
      const response = await endpoint.send({ method: 'POST', headers, body, signal })
      if (response.ok) return response
      const refusal = await endpoint.readRefusal(response)
      if (!refusal.message) throw refusal.failure
      const lacksHeaders = refusal.code === codes.headerMismatch && message.method === 'tools/call'
      if (!lacksHeaders || attempt > 0) return refusal.message
      await parameters.read(message, signal)
    }
  }

  /** Sends the request once and forwards the messages. Resolves with how many came. */
  const exchangeOnce = async (
    exchange: ModernExchange,
    onMessage: (message: Buffer, method: string) => Promise<void>
  ): Promise<number> => {
    const { open, signal } = exchange
    let count = 0
    const forward = async (bytes: Buffer) => {
      count++
      const { forwarded, method } = open.receive(bytes)
      if (forwarded) await onMessage(forwarded, method)
    }
    const response = await send(exchange)
    if (!(response instanceof Response)) await forward(response)
    else {
      await readMessages(response, { lastEventId: null, retryMs: null }, forward).catch((error: unknown) => {
        if (signal.aborted || error instanceof EndpointFailure) throw error
      })
    }
    return count
  }

  const request = async (exchange: ModernExchange): Promise<void> => {
    const { message, open } = exchange
    const forward = (bytes: Buffer) => output.write(bytes)
    const isRepeatable = repeatable.test(message.method)
    const first = await exchangeOnce(exchange, forward).catch((error: unknown) => {
      if (!isRepeatable || !(error instanceof EndpointFailure) || error.reason !== 'lost') throw error
      return 0
    })
    if (!open.isDone && first === 0 && isRepeatable) await exchangeOnce(exchange, forward)
    if (!open.isDone) throw lost()
  }

  /** Opens a stream of changes, again and again until it is answered. */
  const listen = async (exchange: ModernExchange): Promise<void> => {
    const { message, open, signal } = exchange
    const backoff = new Backoff({ firstMs: 200, longestMs: 5_000 })
    let acknowledged: string | undefined
    let reconnections = 0
    const onMessage = async (bytes: Buffer, method: string) => {
      if (method !== ACKNOWLEDGED) return output.write(bytes)
      backoff.recordOpen(0)
      const before = acknowledged
      acknowledged = acceptedOf(bytes)
      if (reconnections === 0) return output.write(bytes)
      // a client expects one acknowledgement, and cannot know what it missed
      if (acknowledged !== before)
        throw new EndpointFailure(
          'session',
          'the gateway restarted and now accepts another subscription; subscribe again'
        )
      log('the subscription was opened again')
      for (const text of possibleChanges(acknowledged, message.id)) await output.write(text)
    }
    while (!open.isDone) {
      await exchangeOnce(exchange, onMessage).catch((error: unknown) => {
        const isTransient =
          error instanceof EndpointFailure && ['unreachable', 'lost', 'overloaded'].includes(error.reason)
        if (acknowledged === undefined || !isTransient) throw error
      })
      if (open.isDone) return
      if (acknowledged === undefined) throw lost()
      reconnections++
      await delay(backoff.nextDelayMs(), undefined, { signal })
    }
  }

  return { request: (exchange) => (exchange.message.method === LISTEN ? listen(exchange) : request(exchange)) }
}

/** Returns the accepted subscription of an acknowledgement as JSON text. */
function acceptedOf(bytes: Buffer): string {
  const body = parseJson(bytes.toString())
  const params = isObject(body) ? body['params'] : undefined
  return JSON.stringify(isObject(params) ? params['notifications'] : undefined) ?? '{}'
}

/** Returns a notification for each change that a client with this subscription may have missed. */
function possibleChanges(accepted: string, id: string): string[] {
  const filter = parseJson(accepted)
  if (!isObject(filter)) return []
  const meta = `"_meta":{"${META}subscriptionId":${id}}`
  const lists = listKinds.filter((kind) => filter[`${kind}ListChanged`] === true)
  const uris: unknown[] = Array.isArray(filter['resourceSubscriptions']) ? filter['resourceSubscriptions'] : []
  return [
    ...lists.map((kind) => notificationText(`notifications/${kind}/list_changed`, `{${meta}}`)),
    ...uris.map((uri) => notificationText('notifications/resources/updated', `{"uri":${JSON.stringify(uri)},${meta}}`))
  ]
}
