import type { Dispatcher } from 'undici'
import type { BatchScheduler } from '../later.ts'
import { Asked } from './asked.ts'
import type { Answer, Sink } from './call.ts'
import { EventStream } from './event-stream.ts'
import { Holding, type Pending } from './pending.ts'
import type { ServerReads } from './reading-turns.ts'
import { UpstreamFailure } from './failure.ts'
import { headerOf, socketFailure, statusFailure } from './http-failure.ts'
import {
  addressOf,
  checkMessage,
  invalidRequest,
  type Message,
  readMessage,
  refusableId,
  toFailure
} from './http-message.ts'
import type { Screen } from './result-secrets.ts'

export interface Watch {
  /** True once the stream is open, false where the upstream offers none (405). Rejects with UpstreamFailure. */
  readonly opened: Promise<boolean>
  readonly handler: Dispatcher.DispatchHandler
  close(): void
}

export interface WatchOptions {
  readonly sink: Sink
  readonly maxEventBytes: number
  /** What the server's answers and questions hold. */
  readonly pending: Pending
  readonly hasCredential: boolean
  /** Looks for secrets in each message; null: nothing is searched. */
  readonly screen: Screen | null
  /** As of the calls: what comes behind an answer is read behind it. */
  readonly schedule: BatchScheduler
  readonly reads: ServerReads
  readonly reply: (id: string, answer: Answer) => void
  /** A message was malformed and is not passed on. */
  readonly dropped: (why: string) => void
  /** Once, after an open stream has ended. */
  readonly onEnd: () => void
}

/** Requests on one stream that wait for an answer; more are refused. */
const MAX_PUSHES = 100

/** The stream of a legacy session that carries what belongs to no call: GET on the endpoint. */
export function createWatch(options: WatchOptions): Watch {
  const { sink, maxEventBytes, pending, hasCredential, screen, schedule, reads, reply, dropped, onEnd } = options
  let abort: ((error?: Error) => void) | null = null
  let isOpen = false
  let isClosed = false
  let settle: (isAvailable: boolean) => void
  let refuse: (failure: UpstreamFailure) => void
  const opened = new Promise<boolean>((resolve, reject) => {
    settle = resolve
    refuse = reject
  })

  /** One malformed message costs neither the stream nor the others. */
  const malformed = (event: Buffer, error: unknown) => {
    dropped(toFailure(error).message)
    const whose = addressOf(event)
    const id = whose?.kind === 'request' ? refusableId(whose.id) : undefined
    if (id !== undefined) reply(id, invalidRequest)
  }
  const read = (event: Buffer): Message | undefined => {
    try {
      const { limits } = checkMessage(event)
      const data = screen ? screen(event) : event
      return data ? readMessage(data, limits) : undefined
    } catch (error) {
      malformed(event, error)
      return undefined
    }
  }
  const onEvent = (event: Buffer) => {
    const message = read(event)
    if (!message || message.kind === 'answer') return
    const { method, params } = message
    if (message.kind === 'request')
      return void pushes.take(message.id, method, params, (...asked) => sink.request(...asked))
    if (method === 'notifications/cancelled') pushes.withdraw(params)
    else sink.notify(method, params)
  }
  const pushes = new Asked(MAX_PUSHES, reply, pending)
  const holding = new Holding(pending)
  let resume: (() => void) | undefined
  const source = reads.open(() => resume?.())
  const stream = new EventStream(maxEventBytes, onEvent)

  const close = () => {
    isClosed = true
    source.close()
    holding.release()
    abort?.(new Error('released'))
  }
  const readChunk = (chunk: Buffer) => {
    try {
      if (isOpen && !isClosed && !(stream.write(chunk) && holding.set(stream.held))) close()
    } catch {
      close()
    }
  }
  const end = (failure: UpstreamFailure) => {
    refuse(failure)
    source.close()
    holding.release()
    if (isOpen) onEnd()
    isOpen = false
  }

  const handler: Dispatcher.DispatchHandler = {
    onConnect(stop) {
      if (isClosed) throw new Error('released')
      abort = stop
    },
    onHeaders(status, headers, readOn) {
      if (status < 200) return true
      resume = readOn
      if (status < 300 && /^text\/event-stream\b/i.test(headerOf(headers, 'content-type') ?? '')) {
        isOpen = true
        settle(true)
      } else {
        if (status === 405) settle(false)
        else refuse(statusFailure(status, headers, hasCredential))
        close()
      }
      return true
    },
    onData(chunk) {
      schedule(() => source.read(() => readChunk(chunk)))
      return !source.mustWait
    },
    onComplete: () => schedule(() => end(new UpstreamFailure('unreachable', 'event stream ended'))),
    onError: (error) => schedule(() => end(socketFailure(error, abort !== null)))
  }
  return { opened, handler, close }
}
