import type { Dispatcher } from 'undici'
import { members, valueOf, withMembers } from '../json.ts'
import type { SlotItem } from '../bag.ts'
import type { BatchScheduler } from '../later.ts'
import { InboundRequests, isBroadcast } from './asked.ts'
import type { Answer, Call } from './call.ts'
import { EventStream } from './event-stream.ts'
import { type FailureReason, UpstreamFailure } from './failure.ts'
import { BufferCollector, copyToScratch } from '../pieces.ts'
import { headerOf, socketFailure, statusFailure } from './http-failure.ts'
import { MemoryReservation, type MemoryQuota, TOO_MUCH_MEMORY } from './pending.ts'
import type { ServerReads, Source } from './reading-turns.ts'
import {
  addressOf,
  checkMessage,
  invalidRequest,
  readListAnswer,
  type Message,
  quickResult,
  readError,
  readMessage,
  refusableId,
  toFailure,
  uncheckedList
} from './http-message.ts'
import type { MessageScreen } from './result-secrets.ts'

/** What an exchange needs of the connection that it belongs to. */
export interface ExchangeHost {
  readonly isLegacy: boolean
  /** Whether requests carry an `Mcp-Session-Id` that has been good before. */
  readonly hasSession: boolean
  readonly hasCredential: boolean
  readonly maxBytes: number
  /** What the server's answers and questions hold. */
  readonly memory: MemoryQuota
  /** Looks for secrets in each message; null: nothing is searched. */
  readonly screen: MessageScreen | null
  readonly schedule: BatchScheduler
  /** Shares the event loop with other servers. */
  readonly reads: ServerReads
  /** Answers a request of the upstream's; `id` is JSON text. */
  reply(id: string, answer: Answer): void
  /** Tells a legacy upstream that the request is given up. */
  cancel(id: string, reason: FailureReason): void
  /** Takes up a broken event stream again, into the same exchange. */
  resume(exchange: Exchange, lastEventId: string): void
  /** As the pool's. */
  moved(from: string, location: string): boolean
  /** Sends a call that was not taken where its endpoint is now. */
  again(call: Call, resolve: Resolve, reject: Reject): void
  /** A message was malformed and is not passed on. */
  dropped(why: string): void
  /** A notification that belongs to no call. */
  notification(method: string, params: string): void
  /** The upstream does not know the session any more. */
  sessionLost(): void
  /** The call is over. `isOpen`: its HTTP response is not, and is to be ended soon if it does not end by itself. */
  settled(exchange: Exchange, isOpen: boolean): void
  /** The HTTP request is over: once for each that was dispatched. */
  ended(exchange: Exchange): void
}

type Resolve = (answer: Answer) => void
type Reject = (failure: UpstreamFailure) => void
/** What becomes of the bytes that come. */
type Mode = 'json' | 'stream' | 'discard'

const MAX_PUSHES = 32
/** Smaller answers are not counted while they come. */
const COUNTED_BYTES = 65_536
const MAX_DISCARDED = 65_536
const DEFAULT_RETRY_MS = 1000
const MIN_RETRY_MS = 50
const MAX_RETRY_MS = 60_000
const released = new Error('released')

const isJson = (type: string) => /^application\/json\s*(;|$)/i.test(type)
const isEventStream = (type: string) => /^text\/event-stream\s*(;|$)/i.test(type)

/**
 * One POST and its answer, as JSON or as an event stream: what undici calls while the bytes come. They are read behind all
 * that the turn of the event loop brings, so that by then the response may be over, or the call. The handler is of undici's
 * older kind, which gets the raw headers and no wrapper objects. A class, since there is one for each call.
 */
export class Exchange implements Dispatcher.DispatchHandler, SlotItem {
  slot = -1
  readonly id: string
  readonly #host: ExchangeHost
  readonly #call: Call
  readonly #resolve: Resolve
  readonly #reject: Reject
  /** Headers of the answer. */
  headers: readonly Buffer[] = []
  /** Where it was posted to; set by the pool. */
  path = ''
  /** When `settled` left the response open, the time (`performance.now()`) by which it is to be ended. */
  lingersUntil = 0
  #abort: ((error?: Error) => void) | null = null
  #mode: Mode = 'discard'
  /** Whether the response has begun and not ended. */
  #isOpen = false
  #status = 0
  #expected = 0
  #body: BufferCollector | null = null
  #stream: EventStream | null = null
  #source: Source | null = null
  #resume: (() => void) | null = null
  /** What of the answer has come, once it is large. */
  #holding: MemoryReservation | null = null
  #lastEventId: string | null = null
  #retry: NodeJS.Timeout | undefined = undefined
  /** The upstream's requests, once there is one. */
  #pushes: InboundRequests | null = null
  #retryMs = DEFAULT_RETRY_MS
  #isSettled = false
  #isSent = false

  constructor(host: ExchangeHost, call: Call, id: string, resolve: Resolve, reject: Reject) {
    this.#host = host
    this.#call = call
    this.id = id
    this.#resolve = resolve
    this.#reject = reject
    call.onStop = (failure) => this.stop(failure)
  }

  /** Gives the call up: tells the upstream, lets go of the socket. */
  stop(failure: UpstreamFailure): void {
    if (this.#isSettled) return
    // the one request that cannot be cancelled (mcp-proxy.md#cancellation-and-disconnect)
    const isCancellable = this.#host.isLegacy && this.#call.request.method !== 'initialize'
    if (this.#isSent && isCancellable) this.#host.cancel(this.id, failure.reason)
    this.#fail(failure)
    this.release()
  }

  /** Closes the socket unless the response is complete. */
  release(): void {
    this.#abort?.(released)
  }

  onConnect(abort: (error?: Error) => void): void {
    // throwing here, unlike abort, leaves the socket to others
    if (this.#isSettled) throw released
    this.#abort = abort
    this.#isSent = true
  }

  onHeaders(status: number, headers: Buffer[], resume?: () => void): boolean {
    if (status < 200 || this.#isSettled) return true
    this.#resume = resume ?? null
    this.headers = headers
    this.#status = status
    this.#isOpen = true
    const type = headerOf(headers, 'content-type') ?? ''
    const isGood = status < 300
    if (isGood && isEventStream(type)) this.#openStream()
    else if (isJson(type) && this.#isReadable(status)) this.#openJson()
    else this.#refuse()
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.#mode === 'json') this.#addJson(chunk)
    else if (this.#mode === 'stream') this.#schedule(() => this.#source!.read(() => this.#addEvents(chunk)))
    else this.#discard(chunk)
    return this.#source?.mustWait !== true
  }

  onComplete(): void {
    this.#end()
    if (this.#isSettled) return
    if (this.#mode === 'json') this.#schedule(() => this.#readJson())
    else
      this.#schedule(() =>
        this.#streamEnded(new UpstreamFailure('unreachable', 'event stream ended before the answer'))
      )
  }

  onError(error: Error): void {
    this.#end()
    if (this.#isSettled) return
    if (this.#mode === 'stream') this.#schedule(() => this.#streamEnded(socketFailure(error, true)))
    else this.#fail(socketFailure(error, this.#isSent))
  }

  #end(): void {
    this.#isOpen = false
    this.#host.ended(this)
  }

  /** Behind all that the turn brings, unless the call is over by then. */
  #schedule(work: () => void): void {
    this.#host.schedule(() => {
      if (this.#isSettled) return
      try {
        work()
      } catch (error) {
        this.#fail(toFailure(error))
        this.release()
      }
    })
  }

  /** Whether a body of that status is worth reading: a JSON-RPC message may stand in it. */
  #isReadable(status: number): boolean {
    if (status >= 300 && status < 400) return false
    return status !== 401 && status !== 403 && !(status === 404 && this.#host.hasSession)
  }

  #openStream(): void {
    this.#mode = 'stream'
    this.#stream = new EventStream(this.#host.maxBytes, (data) => this.#event(data))
    this.#source?.close()
    this.#source = this.#host.reads.open(() => this.#resume?.())
  }

  #openJson(): void {
    this.#mode = 'json'
    this.#body = new BufferCollector()
  }

  #refuse(): void {
    this.#mode = 'discard'
    if (this.#status === 404 && this.#host.hasSession) this.#sessionLost()
    else if (!this.#isRedirected()) this.#fail(statusFailure(this.#status, this.headers, this.#host.hasCredential))
  }

  #addJson(chunk: Buffer): void {
    const body = this.#body!
    const length = body.length + chunk.length
    if (body.length > 0 && this.#expected === 0) this.#expected = Number(headerOf(this.headers, 'content-length') ?? 1)
    if (Math.max(length, this.#expected) > this.#host.maxBytes) return this.#tooLarge()
    if (!this.#holds(length)) return this.#tooMuch()
    body.add(chunk)
  }

  /** False where the server's answers hold too much with so many bytes of this one. */
  #holds(bytes: number): boolean {
    return (
      (bytes < COUNTED_BYTES && !this.#holding) ||
      (this.#holding ??= new MemoryReservation(this.#host.memory)).resize(bytes)
    )
  }

  #addEvents(chunk: Buffer): void {
    const stream = this.#stream!
    if (!stream.write(chunk)) this.#tooLarge()
    else if (!this.#isSettled && !this.#holds(stream.held)) this.#tooMuch()
    this.#lastEventId = stream.lastEventId ?? this.#lastEventId
    this.#retryMs = stream.retryMs ?? this.#retryMs
  }

  /** 307 and 308 alone mean the same request again, and that nobody has taken it yet. */
  #isRedirected(): boolean {
    if ((this.#status !== 307 && this.#status !== 308) || this.#lastEventId !== null) return false
    const location = headerOf(this.headers, 'location')
    if (location === undefined || !this.#host.moved(this.path, location)) return false
    this.#settle()
    this.#host.again(this.#call, this.#resolve, this.#reject)
    return true
  }

  #discard(chunk: Buffer): void {
    this.#expected += chunk.length
    if (this.#expected > MAX_DISCARDED) this.release()
  }

  #tooLarge(): void {
    this.#fail(new UpstreamFailure('too_large', `answered with more than ${this.#host.maxBytes} bytes`))
    this.release()
  }

  #tooMuch(): void {
    this.#fail(new UpstreamFailure('too_large', TOO_MUCH_MEMORY))
    this.release()
  }

  #settle(): void {
    this.#isSettled = true
    this.#holding?.release()
    this.#call.onStop = null
    clearTimeout(this.#retry)
    this.#mode = 'discard'
    this.#expected = 0
    this.#body = null
    this.#source?.close()
    this.#host.settled(this, this.#isOpen)
  }

  #done(answer: Answer): void {
    if (this.#isSettled) return
    this.#settle()
    this.#resolve(answer)
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#isSettled) return
    this.#settle()
    this.#reject(failure)
  }

  #sessionLost(): void {
    this.#host.sessionLost()
    const options = { status: this.#status, maybeProcessed: this.#lastEventId !== null }
    this.#fail(new UpstreamFailure('unreachable', `does not know the session any more (HTTP ${this.#status})`, options))
  }

  #readJson(): void {
    try {
      const answer = this.#answer(this.#body!.take())
      if (this.#status < 300 || answer.kind === 'error') this.#finish(answer)
      else this.#fail(statusFailure(this.#status, this.headers, this.#host.hasCredential))
    } catch (error) {
      const isGood = this.#status < 300
      this.#fail(isGood ? toFailure(error) : statusFailure(this.#status, this.headers, this.#host.hasCredential))
    }
  }

  /** The items of a list are checked one by one, so that one that is malformed does not cost the others. */
  get #isList(): boolean {
    return this.#call.request.method.endsWith('/list')
  }

  #answer(pieces: Buffer[]): Answer {
    const bytes = copyToScratch(pieces)
    const { limits, isRepaired } = this.#isList ? uncheckedList : checkMessage(bytes)
    const screened = this.#host.screen ? this.#host.screen(bytes) : bytes
    if (!screened) throw new UpstreamFailure('bad_response', 'answered with a message that is no answer')
    // the buffer that they are gathered in is used again
    const kept = screened === bytes ? (isRepaired ? [Buffer.from(bytes)] : pieces) : [screened]
    return quickResult(screened, this.id, limits, kept) ?? this.#ownAnswer(readMessage(screened, limits, kept))
  }

  /** A body that answers one POST can only be about this request: an error may come without its id. */
  #ownAnswer(message: Message): Answer {
    if (message.kind !== 'answer')
      throw new UpstreamFailure('bad_response', 'answered with a message that is no answer')
    const isNameless = message.answer.kind === 'error' && (message.id === 'null' || message.id === undefined)
    if (message.id === this.id || isNameless || this.#status >= 300) return message.answer
    throw new UpstreamFailure('bad_response', 'answered with the id of another request')
  }

  #finish(answer: Answer): void {
    const isSessionError = this.#status === 400 && this.#host.hasSession && answer.kind === 'error'
    if (isSessionError && /session/i.test(readError(answer).message)) this.#sessionLost()
    else this.#done(answer)
  }

  #event(event: Buffer): void {
    if (this.#isSettled) return
    try {
      const listed = this.#isList ? readListAnswer(event) : undefined
      const { limits } = listed?.id === this.id ? uncheckedList : checkMessage(event)
      const data = this.#host.screen ? this.#host.screen(event) : event
      if (!data) return
      const answer = quickResult(data, this.id, limits)
      if (answer) this.#done(answer)
      else this.#message(readMessage(data, limits))
    } catch (error) {
      this.#malformed(event, error)
    }
  }

  /** Only an answer costs the call: what the upstream asks or tells besides is refused or dropped. */
  #malformed(event: Buffer, error: unknown): void {
    const whose = addressOf(event)
    if (whose === undefined || whose.kind === 'answer') {
      this.#fail(toFailure(error))
      return this.release()
    }
    this.#host.dropped(toFailure(error).message)
    const id = whose.kind === 'request' ? refusableId(whose.id) : undefined
    if (id !== undefined && this.#host.isLegacy) this.#host.reply(id, invalidRequest)
  }

  #message(message: Message): void {
    if (message.kind === 'notification') return this.#notification(message.method, message.params)
    if (message.kind === 'request') return this.#push(message.id, message.method, message.params)
    if (message.id === this.id) return this.#done(message.answer)
    throw new UpstreamFailure('bad_response', 'answered with the id of another request')
  }

  #notification(method: string, params: string): void {
    if (method === 'notifications/progress') return this.#progress(params)
    if (method === 'notifications/cancelled') return this.#pushes?.cancel(params)
    if (this.#host.isLegacy && isBroadcast(method)) return this.#host.notification(method, params)
    this.#call.sink.notify(method, params)
  }

  #progress(params: string): void {
    if (!this.#call.sink.wantsProgress) return
    const found = members(params)
    if (valueOf(params, found, 'progressToken') !== this.id) return
    this.#call.extendIdleDeadline(performance.now())
    this.#call.sink.notify('notifications/progress', withMembers(params, { progressToken: null }, found))
  }

  #push(id: string, method: string, params: string): void {
    if (!this.#host.isLegacy) return
    this.#pushes ??= new InboundRequests(MAX_PUSHES, this.#host.reply, this.#host.memory)
    const { sink } = this.#call
    void this.#pushes.handle(id, method, params, (...asked) => sink.request(...asked))
  }

  /** Proxy page 4.4: with event ids this is polling, not a failure. */
  #streamEnded(failure: UpstreamFailure): void {
    this.#mode = 'discard'
    const lastEventId = this.#lastEventId
    if (lastEventId === null || !this.#host.isLegacy) return this.#fail(failure)
    const wait = Math.min(Math.max(this.#retryMs, MIN_RETRY_MS), MAX_RETRY_MS)
    this.#retry = setTimeout(() => this.#host.resume(this, lastEventId), wait)
  }
}
