import type { Dispatcher } from 'undici'
import { InboundRequests } from '../transport/inbound-requests.ts'
import type { Answer, Sink } from '../transport/call.ts'
import { readJoined, totalLength } from '../../json/buffer-list.ts'
import { EventStream } from '../../protocol/event-stream.ts'
import { MemoryReservation, type MemoryQuota } from '../transport/memory-quota.ts'
import type { ServerReads } from '../transport/read-scheduler.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { paceEnd, released } from './pace-end.ts'
import { headerOf, socketFailure, statusFailure } from './failure.ts'
import { addressOf, checkSteps, type Message, messageSteps, refusableId, toFailure } from '../transport/message.ts'
import type { MessageScreen } from '../transport/result-secrets.ts'

export interface NotificationStream {
  /**
   * Resolves with true once the stream is open, with false if the upstream offers none (405). Rejects with
   * UpstreamFailure.
   */
  readonly opened: Promise<boolean>
  readonly handler: Dispatcher.DispatchHandler
  close(): void
}

export interface NotificationStreamOptions {
  readonly sink: Sink
  readonly maxEventBytes: number
  /** Quota for the memory of the server's answers and requests. */
  readonly memory: MemoryQuota
  readonly hasCredential: boolean
  /** Searches each message for secrets; null: no search. */
  readonly screen: MessageScreen | null
  /** Those of the calls: messages that arrive after an answer are read after it. */
  readonly reads: ServerReads
  readonly reply: (id: string, answer: Answer) => void
  /** Called with the reason when a malformed message is dropped. */
  readonly onDropped: (why: string) => void
  /** Called once, after an open stream has ended. */
  readonly onEnd: () => void
}

/** Requests on one stream that wait for an answer; further ones are refused. */
const MAX_SERVER_REQUESTS = 100

/** Opens the stream of a legacy session for messages that belong to no call: GET on the endpoint. */
export function createNotificationStream(options: NotificationStreamOptions): NotificationStream {
  const { sink, maxEventBytes, memory, hasCredential, screen, reads, reply, onDropped, onEnd } = options
  let abort: ((error?: Error) => void) | null = null
  let isOpen = false
  let isClosed = false
  let resolveOpened: (isAvailable: boolean) => void
  let rejectOpened: (failure: UpstreamFailure) => void
  const opened = new Promise<boolean>((resolve, reject) => {
    resolveOpened = resolve
    rejectOpened = reject
  })

  /** A malformed message is dropped; the stream and its other messages go on. */
  const rejectMalformed = (event: Buffer, error: unknown) => {
    onDropped(toFailure(error).message)
    const address = addressOf(event)
    const id = address?.kind === 'request' ? refusableId(address.id) : undefined
    if (id !== undefined) requests.refuse(id)
  }
  function* readSteps(event: Buffer): Generator<void, Message | undefined> {
    try {
      const check = yield* checkSteps(event)
      const data = screen ? screen(event) : event
      return data ? yield* messageSteps(data, check) : undefined
    } catch (error) {
      rejectMalformed(event, error)
      return undefined
    }
  }
  const pass = (message: Message) => {
    if (message.kind === 'answer') return
    const { method, params } = message
    if (message.kind === 'request')
      return void requests.handle(message.id, method, params, (...request) => sink.request(...request))
    if (method === 'notifications/cancelled') requests.cancel(params)
    else sink.notify(method, params)
  }
  function* eventSteps(event: Buffer): Generator<void, void> {
    if (isClosed) return
    try {
      const message = yield* readSteps(event)
      if (message && !isClosed) pass(message)
    } catch {
      close()
    }
  }
  const requests = new InboundRequests(MAX_SERVER_REQUESTS, reply, memory)
  const reservation = new MemoryReservation(memory)
  let resume: (() => void) | undefined
  const stream = new EventStream(maxEventBytes, (data) =>
    reads.readInSteps(totalLength(data), () => readJoined(data, eventSteps))
  )

  const close = () => {
    isClosed = true
    // its connection ends soon, in its turn: until then nothing is read
    if (abort) resume = undefined
    source.close()
    reservation.release()
    if (abort) paceEnd(() => abort?.(released))
  }
  const readChunk = (chunk: Buffer) => {
    try {
      if (isOpen && !isClosed && !(stream.write(chunk) && reservation.resize(stream.bufferedBytes))) close()
    } catch {
      close()
    }
  }
  const source = reads.open(readChunk, () => resume?.())
  const end = (failure: UpstreamFailure) => {
    rejectOpened(failure)
    source.close()
    reservation.release()
    if (isOpen) onEnd()
    isOpen = false
  }

  const handler: Dispatcher.DispatchHandler = {
    onConnect(stop) {
      if (isClosed) throw released
      abort = stop
    },
    onHeaders(status, headers, readOn) {
      if (status < 200) return true
      if (isClosed) return false
      resume = readOn
      if (status < 300 && /^text\/event-stream\b/i.test(headerOf(headers, 'content-type') ?? '')) {
        isOpen = true
        resolveOpened(true)
      } else {
        if (status === 405) resolveOpened(false)
        else rejectOpened(statusFailure(status, headers, hasCredential))
        close()
      }
      return true
    },
    onData: (chunk) => !isClosed && source.add(chunk),
    onComplete: () => reads.schedule(() => end(new UpstreamFailure('unreachable', 'event stream ended'))),
    onError: (error) => reads.schedule(() => end(socketFailure(error, abort !== null)))
  }
  return { opened, handler, close }
}
