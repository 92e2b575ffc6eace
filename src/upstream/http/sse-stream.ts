import { isUtf8 } from 'node:buffer'
import type { Dispatcher } from 'undici'
import { type BufferList, concatBuffers, totalLength } from '../../json/buffer-list.ts'
import { EventStream } from '../../protocol/event-stream.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { MemoryReservation, type MemoryQuota, TOO_MUCH_MEMORY, unlimitedMemory } from '../transport/memory-quota.ts'
import { type ServerReads, createReadScheduler } from '../transport/read-scheduler.ts'
import { paceEnd, released } from './pace-end.ts'
import { headerOf, socketFailure, statusFailure } from './failure.ts'

/** The event stream of the 2024-11-05 transport. */
export interface SseStream {
  readonly handler: Dispatcher.DispatchHandler
  /** Path and query for posting messages, from the first event. Rejects with UpstreamFailure. */
  readonly endpoint: Promise<string>
  /** Reads each message of the upstream, in steps. */
  onMessage: ((data: BufferList) => Generator<void, void>) | null
  /** Called once if the stream ends other than by `close`. */
  onEnd: ((failure: UpstreamFailure) => void) | null
  /** Called once when the stream ends, for any reason. */
  onClose: (() => void) | null
  /** Ends the stream with this failure. */
  fail(failure: UpstreamFailure): void
  /** Ends the stream without reporting a failure. */
  close(): void
}

export interface SseStreamOptions {
  readonly url: string
  readonly maxEventBytes: number
  /** Quota for the memory of the server's answers and requests. Default: unlimited. */
  readonly memory?: MemoryQuota | undefined
  /** Divides event-loop time among servers. Default: alone. */
  readonly reads?: ServerReads | undefined
  readonly hasCredential: boolean
}

/**
 * Returns path and query of the endpoint. Throws unless it has the origin of the stream: messages carry credentials.
 */
function readEndpoint(data: Buffer, url: string): string {
  const endpoint = isUtf8(data) ? tryParse(data.toString(), url) : null
  if (!endpoint) throw new UpstreamFailure('bad_response', 'named an endpoint that is not a URL')
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
  const {
    url,
    maxEventBytes,
    memory = unlimitedMemory,
    reads = createReadScheduler().server(),
    hasCredential
  } = options
  let abort: ((error?: Error) => void) | null = null
  let hasEndpoint = false
  let isEnded = false
  let resolveEndpoint: (path: string) => void
  let rejectEndpoint: (failure: UpstreamFailure) => void
  const endpoint = new Promise<string>((resolve, reject) => {
    resolveEndpoint = resolve
    rejectEndpoint = reject
  })
  // the opener may have given up already
  endpoint.catch(() => {})

  const finish = () => {
    if (isEnded) return false
    isEnded = true
    // its connection ends soon, in its turn: until then nothing is read
    if (abort) resume = undefined
    source.close()
    reservation.release()
    if (abort) paceEnd(() => abort?.(released))
    stream.onClose?.()
    return true
  }
  const fail = (failure: UpstreamFailure) => {
    if (!finish()) return
    rejectEndpoint(failure)
    stream.onEnd?.(failure)
  }
  const takeEndpoint = (data: Buffer) => {
    try {
      resolveEndpoint(readEndpoint(data, url))
      hasEndpoint = true
    } catch (error) {
      fail(error as UpstreamFailure)
    }
  }
  const reservation = new MemoryReservation(memory)
  let resume: (() => void) | undefined
  const events = new EventStream(maxEventBytes, (data, type) => {
    if (isEnded) return
    if (!hasEndpoint && type === 'endpoint') takeEndpoint(concatBuffers(data))
    else if (hasEndpoint && (type === '' || type === 'message'))
      reads.readInSteps(totalLength(data), () => messageSteps(data))
  })
  function* messageSteps(data: BufferList): Generator<void, void> {
    if (!isEnded && stream.onMessage) yield* stream.onMessage(data)
  }

  const readChunk = (chunk: Buffer) => {
    if (isEnded) return
    if (!events.write(chunk)) {
      fail(new UpstreamFailure('too_large', `sent an event of more than ${maxEventBytes} bytes`))
    } else if (!isEnded && !reservation.resize(events.bufferedBytes))
      fail(new UpstreamFailure('too_large', TOO_MUCH_MEMORY))
  }

  const source = reads.open(readChunk, () => resume?.())

  const handler: Dispatcher.DispatchHandler = {
    onConnect(stop) {
      if (isEnded) throw released
      abort = stop
    },
    onHeaders(status, headers, readOn) {
      if (status < 200 || isEnded) return true
      resume = readOn
      const isStream = /^text\/event-stream\s*(;|$)/i.test(headerOf(headers, 'content-type') ?? '')
      if (status >= 300 || !isStream) fail(statusFailure(status, headers, hasCredential))
      return true
    },
    onData: (chunk) => !isEnded && source.add(chunk),
    onComplete: () => reads.schedule(() => fail(new UpstreamFailure('unreachable', 'event stream ended'))),
    onError: (error) => reads.schedule(() => fail(socketFailure(error, abort !== null)))
  }
  const stream: SseStream = {
    handler,
    endpoint,
    onMessage: null,
    onEnd: null,
    onClose: null,
    fail,
    close: () => void finish()
  }
  return stream
}
