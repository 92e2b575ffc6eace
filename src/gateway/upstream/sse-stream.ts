import { isUtf8 } from 'node:buffer'
import type { Dispatcher } from 'undici'
import { EventStream } from './event-stream.ts'
import { UpstreamFailure } from './failure.ts'
import { Holding, type Pending, TOO_MUCH, uncounted } from './pending.ts'
import { type ServerReads, unsharedReads } from './reading-turns.ts'
import { headerOf, socketFailure, statusFailure } from './http-failure.ts'

/** The event stream of the 2024-11-05 transport, from the GET on. */
export interface SseStream {
  readonly handler: Dispatcher.DispatchHandler
  /** Path and query that messages are posted to, as the first event names them. Rejects with UpstreamFailure. */
  readonly endpoint: Promise<string>
  /** One message of the upstream's. */
  onMessage: ((data: Buffer) => void) | null
  /** Once, when it ends without `close`. */
  onEnd: ((failure: UpstreamFailure) => void) | null
  /** Once, however it ends. */
  onClose: (() => void) | null
  /** Ends it, and says why. */
  fail(failure: UpstreamFailure): void
  /** Ends it in silence. */
  close(): void
}

export interface SseStreamOptions {
  readonly url: string
  readonly maxEventBytes: number
  /** What the server's answers and questions hold. Default: not counted. */
  readonly pending?: Pending | undefined
  /** Shares the event loop with other servers. Default: with none. */
  readonly reads?: ServerReads | undefined
  readonly hasCredential: boolean
}

/** Messages must not be sent anywhere else than to where the stream comes from. */
function readEndpoint(data: Buffer, url: string): string {
  const endpoint = isUtf8(data) ? tryParse(data.toString(), url) : null
  if (!endpoint) throw new UpstreamFailure('bad_response', 'named an endpoint that is no URL')
  if (endpoint.origin !== new URL(url).origin) {
    throw new UpstreamFailure('bad_response', 'named an endpoint at another origin')
  }
  return endpoint.pathname + endpoint.search
}

function tryParse(text: string, base: string): URL | null {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

export function openSseStream(options: SseStreamOptions): SseStream {
  const { url, maxEventBytes, pending = uncounted, reads = unsharedReads, hasCredential } = options
  let abort: ((error?: Error) => void) | null = null
  let isNamed = false
  let isOver = false
  let name: (path: string) => void
  let refuse: (failure: UpstreamFailure) => void
  const endpoint = new Promise<string>((resolve, reject) => {
    name = resolve
    refuse = reject
  })
  // whoever opened it may have given up by then
  endpoint.catch(() => {})

  const over = () => {
    if (isOver) return false
    isOver = true
    source.close()
    holding.release()
    abort?.(new Error('released'))
    stream.onClose?.()
    return true
  }
  const fail = (failure: UpstreamFailure) => {
    if (!over()) return
    refuse(failure)
    stream.onEnd?.(failure)
  }
  const takeEndpoint = (data: Buffer) => {
    try {
      name(readEndpoint(data, url))
      isNamed = true
    } catch (error) {
      fail(error as UpstreamFailure)
    }
  }
  const holding = new Holding(pending)
  let resume: (() => void) | undefined
  const source = reads.open(() => resume?.())
  const events = new EventStream(maxEventBytes, (data, type) => {
    if (isOver) return
    if (!isNamed && type === 'endpoint') takeEndpoint(data)
    else if (isNamed && (type === '' || type === 'message')) stream.onMessage?.(data)
  })

  const readChunk = (chunk: Buffer) => {
    if (!events.write(chunk)) {
      fail(new UpstreamFailure('too_large', `sent an event of more than ${maxEventBytes} bytes`))
    } else if (!isOver && !holding.set(events.held)) fail(new UpstreamFailure('too_large', TOO_MUCH))
  }

  const handler: Dispatcher.DispatchHandler = {
    onConnect(stop) {
      if (isOver) throw new Error('released')
      abort = stop
    },
    onHeaders(status, headers, readOn) {
      if (status < 200 || isOver) return true
      resume = readOn
      const isStream = /^text\/event-stream\s*(;|$)/i.test(headerOf(headers, 'content-type') ?? '')
      if (status >= 300 || !isStream) fail(statusFailure(status, headers, hasCredential))
      return true
    },
    onData(chunk) {
      if (isOver) return true
      source.read(() => readChunk(chunk))
      return !source.mustWait
    },
    onComplete: () => fail(new UpstreamFailure('unreachable', 'event stream ended')),
    onError: (error) => fail(socketFailure(error, abort !== null))
  }
  const stream: SseStream = {
    handler,
    endpoint,
    onMessage: null,
    onEnd: null,
    onClose: null,
    fail,
    close: () => void over()
  }
  return stream
}
