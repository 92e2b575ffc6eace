import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../../domain/is-object.ts'
import { BufferCollector, concatBuffers } from '../../json/buffer-list.ts'
import { Backoff } from '../../lib/backoff.ts'
import { EventStream } from '../../protocol/event-stream.ts'
import type { Connection } from '../io/connection.ts'
import { EndpointFailure, isUnsent, lost, parseJson, statusFailure, unreachable } from './endpoint-failure.ts'

/** Limit of one message from the gateway; its own settings allow no larger one. */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024
/** Limit of the body of an HTTP error. */
const MAX_ERROR_BYTES = 1024 * 1024
/** Time for which requests wait while a gateway that answered before does not, for example because it restarts. */
const RESTART_MS = 10_000

const both = 'application/json, text/event-stream'

export interface EndpointRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
  readonly signal: AbortSignal
  /** False: fails at once if the gateway cannot be reached. Default: true. */
  readonly canWait?: boolean
}

/** An MCP endpoint of the gateway. */
export interface Endpoint {
  /** Resolves with the response of any status. Rejects with an EndpointFailure, or when `signal` aborts. */
  send(request: EndpointRequest): Promise<Response>
  /** Reads the response of a refused request. */
  readRefusal(response: Response): Promise<Refusal>
}

/** HTTP error of the gateway. */
export interface Refusal {
  /** JSON-RPC error message, if the body is one. */
  readonly message: Buffer | undefined
  /** Code of that error. */
  readonly code: number | undefined
  readonly failure: EndpointFailure
}

/** Returns the delay that the response asks for, in milliseconds; undefined if it asks for none. */
function retryAfterMs({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}

/** Creates the endpoint at `url`. `trace` receives one line per request, without secrets. */
export function createEndpoint(url: string, connection: Connection, trace: (line: string) => void): Endpoint {
  const { token } = connection
  let hasAnswered = false

  const attempt = async ({ method, headers, body, signal }: EndpointRequest): Promise<Response> => {
    const began = performance.now()
    const traceResult = (result: string | number) =>
      trace(`${method} ${new URL(url).pathname} ${result} ${Math.round(performance.now() - began)} ms`)
    try {
      const response = await fetch(url, {
        method,
        redirect: 'manual',
        signal,
        headers: {
          accept: method === 'GET' ? 'text/event-stream' : both,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers
        },
        ...(body === undefined ? {} : { body })
      })
      hasAnswered = true
      traceResult(response.status)
      return response
    } catch (error) {
      traceResult('failed')
      throw error
    }
  }

  return {
    async send(request) {
      const backoff = new Backoff({ firstMs: 100, longestMs: 1_000 })
      const deadline = performance.now() + (hasAnswered && request.canWait !== false ? RESTART_MS : 0)
      for (;;) {
        let waitMs = backoff.nextDelayMs()
        const response = await attempt(request).catch((error: unknown) => {
          if (request.signal.aborted) throw error
          if (!isUnsent(error)) throw lost(error)
          if (performance.now() + waitMs > deadline) throw unreachable(connection, error)
          return undefined
        })
        if (response) {
          // a gateway that starts or stops takes no requests
          if (response.status !== 503) return response
          waitMs = Math.max(waitMs, retryAfterMs(response) ?? 0)
          if (performance.now() + waitMs > deadline) return response
          await discard(response)
        }
        await delay(waitMs, undefined, { signal: request.signal })
      }
    },
    async readRefusal(response) {
      const bytes = await collect(response, MAX_ERROR_BYTES)
      const body = parseJson(bytes.toString())
      const failure = statusFailure(connection, response.status, bytes.toString())
      if (!isObject(body) || body['jsonrpc'] !== '2.0' || !isObject(body['error']))
        return { message: undefined, code: undefined, failure }
      const { code } = body['error']
      return { message: bytes, code: typeof code === 'number' ? code : undefined, failure }
    }
  }
}

/** Reads a response that nobody needs, so that its connection can be used again. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

/** Returns the failure for more bytes than the bridge reads. */
export const tooLarge = () =>
  new EndpointFailure('too_large', `a message of the gateway is larger than ${MAX_MESSAGE_BYTES} bytes`)

async function collect({ body }: Response, maxBytes: number): Promise<Buffer> {
  const collector = new BufferCollector()
  for await (const chunk of body ?? []) {
    if (collector.length + chunk.length > maxBytes) throw tooLarge()
    collector.add(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
  }
  return concatBuffers(collector.take())
}

/** Position in an event stream, from which it can be resumed. */
export interface StreamPosition {
  /** Id of the last event that was handled; null if events had no ids. */
  lastEventId: string | null
  /** Delay before the stream is opened again, in milliseconds, if the gateway named one. */
  retryMs: number | null
}

/**
 * Reads the messages of a response, a JSON document or an event stream, one after the other. The next chunk is read
 * after `onMessage` has resolved for all messages before. Rejects if the connection is lost.
 */
export async function readMessages(
  response: Response,
  position: StreamPosition,
  onMessage: (message: Buffer) => Promise<void>
): Promise<void> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const message = await collect(response, MAX_MESSAGE_BYTES)
    if (message.length > 0) await onMessage(message)
    return
  }
  let messages: Buffer[] = []
  const events = new EventStream(MAX_MESSAGE_BYTES, (data) => messages.push(concatBuffers(data)))
  for await (const chunk of response.body ?? []) {
    if (!events.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))) throw tooLarge()
    for (const message of messages) await onMessage(message)
    messages = []
    position.lastEventId = events.lastEventId ?? position.lastEventId
    position.retryMs = events.retryMs ?? position.retryMs
  }
}
