import { members, valueOf } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { errorAnswer, type Answer } from '../../upstream/transport/call.ts'
import type { Message } from '../../protocol/jsonrpc.ts'
import { cancelledParams, notificationText, requestText } from '../../protocol/jsonrpc-text.ts'
import type { ResponseWriter } from './response-writer.ts'
import type { Session } from './client-sessions.ts'

/** Time to wait for a client's answer (mcp-proxy.md#asking-the-client). */
const ANSWER_TIMEOUT_MS = 600_000
/** Time to wait for a client without an open stream to open one (mcp-proxy.md#asking-the-client). */
const STREAM_WAIT_MS = 30_000

interface PendingAnswer {
  readonly resolve: (answer: Answer) => void
  readonly timer: NodeJS.Timeout
  /** Ends the wait for a stream; null unless the request waits for one. */
  onStream: ((stream: ResponseWriter | undefined) => void) | null
}

/** An open request to a session's client. */
export interface ServerRequest {
  readonly answer: Promise<Answer>
  /** Cancels the request and notifies the client. */
  readonly cancel: () => void
}

/** Requests of upstreams to one session's client, under ids issued by the gateway (mcp-proxy.md#asking-the-client). */
export interface ServerRequests {
  /**
   * Sends a request. `callStream` returns the stream of the call it belongs to, if any; otherwise the session's newest
   * stream is used.
   */
  send(callStream: () => ResponseWriter | null, method: string, params: string): ServerRequest
  /** Sends the requests that wait for a stream, because the client has opened one. */
  streamOpened(): void
  /** Resolves the request that a posted response answers; false if there is none. */
  resolve(message: Message): boolean
  /** Fails all open requests, because the session has ended. */
  close(): void
}

const cancellation = (id: string) =>
  notificationText('notifications/cancelled', cancelledParams(id, 'no longer needed'))

const noStreamAnswer = errorAnswer(-32603, 'the client has no open stream')
const timeoutAnswer = errorAnswer(-32603, 'the client did not answer in time')
const sessionEndedAnswer = errorAnswer(-32603, 'the session has ended')

function readResponse({ text }: Message): { id: string; answer: Answer } | undefined {
  const found = members(text)
  const id = valueOf(text, found, 'id')
  const result = valueOf(text, found, 'result')
  const body = result ?? valueOf(text, found, 'error')
  if (id === undefined || body === undefined) return undefined
  return { id, answer: { kind: result === undefined ? 'error' : 'result', body: Payload.of(body) } }
}

export function createServerRequests({ streams }: Pick<Session, 'streams'>): ServerRequests {
  const pending = new Map<string, PendingAnswer>()
  let lastId = 0

  const resolveRequest = (id: string, answer: Answer): boolean => {
    const waiting = pending.get(id)
    if (!waiting) return false
    pending.delete(id)
    clearTimeout(waiting.timer)
    waiting.onStream?.(undefined)
    waiting.resolve(answer)
    return true
  }
  const newestStream = (): ResponseWriter | undefined => [...streams].at(-1)
  /** Resolves with the stream that the client opens, undefined after the wait or if the request is settled before. */
  const waitForStream = (waiting: PendingAnswer) =>
    new Promise<ResponseWriter | undefined>((resolve) => {
      const timer = setTimeout(resolve, STREAM_WAIT_MS, undefined).unref()
      waiting.onStream = (stream) => {
        clearTimeout(timer)
        waiting.onStream = null
        resolve(stream)
      }
    })
  const findStream = async (callStream: () => ResponseWriter | null, waiting: PendingAnswer) => {
    const stream = callStream()
    return stream && !stream.isEnded ? stream : (newestStream() ?? waitForStream(waiting))
  }
  return {
    send(callStream, method, params) {
      const id = `"${++lastId}"`
      let sentOn: ResponseWriter | undefined
      const answer = new Promise<Answer>((resolve) => {
        const timer = setTimeout(resolveRequest, ANSWER_TIMEOUT_MS, id, timeoutAnswer).unref()
        pending.set(id, { resolve, timer, onStream: null })
      })
      void findStream(callStream, pending.get(id)!).then((stream) => {
        sentOn = stream
        if (!stream) resolveRequest(id, noStreamAnswer)
        else if (pending.has(id)) stream.sendMessage(requestText(id, method, params))
      })
      const cancel = () => {
        if (resolveRequest(id, sessionEndedAnswer)) sentOn?.sendMessage(cancellation(id))
      }
      return { answer, cancel }
    },
    streamOpened() {
      for (const { onStream } of pending.values()) onStream?.(newestStream())
    },
    resolve(message) {
      const response = readResponse(message)
      return response !== undefined && resolveRequest(response.id, response.answer)
    },
    close() {
      for (const id of pending.keys()) resolveRequest(id, sessionEndedAnswer)
    }
  }
}
