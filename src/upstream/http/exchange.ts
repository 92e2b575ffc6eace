import type { Dispatcher } from 'undici'
import { members, valueOf, withMembers } from '../../json/json.ts'
import type { SlotItem } from '../../lib/slot-set.ts'
import { InboundRequests, isBroadcast } from '../transport/inbound-requests.ts'
import type { Answer, Call } from '../transport/call.ts'
import { EventStream } from '../../protocol/event-stream.ts'
import { type FailureReason, UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { BufferCollector, type BufferList, readJoined, totalLength } from '../../json/buffer-list.ts'
import { headerOf, socketFailure, statusFailure } from './failure.ts'
import { paceEnd, released } from './pace-end.ts'
import { MemoryReservation, type MemoryQuota, TOO_MUCH_MEMORY } from '../transport/memory-quota.ts'
import type { ServerReads, ReadSource } from '../transport/read-scheduler.ts'
import {
  addressOf,
  checkSteps,
  keptPieces,
  listAnswerSteps,
  type Message,
  quickResultSteps,
  readError,
  messageSteps,
  refusableId,
  toFailure,
  uncheckedList
} from '../transport/message.ts'
import type { MessageScreen } from '../transport/result-secrets.ts'

/** The connection as seen by its exchanges. */
export interface ExchangeHost {
  readonly isLegacy: boolean
  /** True if requests carry an `Mcp-Session-Id` that has worked before. */
  readonly hasSession: boolean
  readonly hasCredential: boolean
  readonly maxBytes: number
  /** Quota for the memory of the server's answers and requests. */
  readonly memory: MemoryQuota
  /** Searches each message for secrets; null: no search. */
  readonly screen: MessageScreen | null
  /** Divides event-loop time among servers. */
  readonly reads: ServerReads
  /** Answers a request of the upstream; `id` is JSON text. */
  reply(id: string, answer: Answer): void
  /** Cancels the request on a legacy upstream. */
  cancel(id: string, reason: FailureReason): void
  /** Resumes a broken event stream in the same exchange. */
  resume(exchange: Exchange, lastEventId: string): void
  /** Handles a redirect; see `HttpPool.followRedirect`. */
  followRedirect(from: string, location: string): boolean
  /** Sends a redirected call again; the upstream has not processed it. */
  resend(call: Call, resolve: Resolve, reject: Reject): void
  /** Called with the reason when a malformed message is dropped. */
  onDropped(why: string): void
  /** Receives a notification that belongs to no call. */
  onNotification(method: string, params: string): void
  /** Called when the upstream no longer knows the session. */
  onSessionLost(): void
  /**
   * Called when the call is over. `isOpen`: its HTTP response has not ended, and must be closed soon if it does not end
   * by itself.
   */
  onSettled(exchange: Exchange, isOpen: boolean): void
  /** Called when the HTTP request is over, once per dispatched request. */
  onEnded(exchange: Exchange): void
}

type Resolve = (answer: Answer) => void
type Reject = (failure: UpstreamFailure) => void
/** Treatment of the body. */
type BodyMode = 'json' | 'stream' | 'discard'

const MAX_SERVER_REQUESTS = 32
/** Smaller answers are not counted while they arrive. */
const COUNTED_BYTES = 65_536
const MAX_DISCARDED = 65_536
const DEFAULT_RETRY_MS = 1000
const MIN_RETRY_MS = 50
const MAX_RETRY_MS = 60_000

const isJson = (type: string) => /^application\/json\s*(;|$)/i.test(type)
const isEventStream = (type: string) => /^text\/event-stream\s*(;|$)/i.test(type)

/**
 * One POST and its answer, as JSON or as an event stream, with the callbacks that undici calls. Bodies are read after
 * all socket reads of the event-loop turn; by then the response or the call may already be over. The handler uses
 * undici's older interface, which passes raw headers without wrapper objects. A class, since each call creates one.
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
  /** Path of the POST; set by the pool. */
  path = ''
  /** Time (`performance.now()`) by which a response left open after its call must be closed. */
  lingersUntil = 0
  #abort: ((error?: Error) => void) | null = null
  #mode: BodyMode = 'discard'
  /** True while the response is being received. */
  #isOpen = false
  #status = 0
  #expected = 0
  #body: BufferCollector | null = null
  #stream: EventStream | null = null
  #source: ReadSource | null = null
  #resume: (() => void) | null = null
  /** Memory reservation of a large answer. */
  #reservation: MemoryReservation | null = null
  #lastEventId: string | null = null
  #retry: NodeJS.Timeout | undefined = undefined
  /** Requests of the upstream, created on the first one. */
  #inbound: InboundRequests | null = null
  #retryMs = DEFAULT_RETRY_MS
  #isSettled = false
  #isSent = false
  #isReleased = false

  constructor(host: ExchangeHost, call: Call, id: string, resolve: Resolve, reject: Reject) {
    this.#host = host
    this.#call = call
    this.id = id
    this.#resolve = resolve
    this.#reject = reject
    call.onStop = (failure) => this.stop(failure)
  }

  /** Gives up the call: cancels it upstream and releases the socket. */
  stop(failure: UpstreamFailure): void {
    if (this.#isSettled) return
    // `initialize` is the only request that must not be cancelled (mcp-proxy.md#cancellation-and-disconnect)
    const isCancellable = this.#host.isLegacy && this.#call.request.method !== 'initialize'
    if (this.#isSent && isCancellable) this.#host.cancel(this.id, failure.reason)
    this.#failAndRelease(failure)
  }

  /** Closes the socket unless the response is complete, at once or in a later turn: until then nothing is read. */
  release(): void {
    const abort = this.#abort
    if (!abort || this.#isReleased) return
    this.#isReleased = true
    paceEnd(() => abort(released))
  }

  #failAndRelease(failure: UpstreamFailure): void {
    this.#resume = null
    this.#fail(failure)
    this.release()
  }

  onConnect(abort: (error?: Error) => void): void {
    // throwing here, unlike abort, keeps the socket usable for other requests
    if (this.#isSettled) throw released
    this.#abort = abort
    this.#isReleased = false
    this.#isSent = true
  }

  onHeaders(status: number, headers: Buffer[], resume?: () => void): boolean {
    if (status < 200 || this.#isSettled) return true
    this.#resume = resume ?? null
    this.headers = headers
    this.#status = status
    this.#isOpen = true
    const type = headerOf(headers, 'content-type') ?? ''
    const isSuccess = status < 300
    if (isSuccess && isEventStream(type)) this.#openStream()
    else if (isJson(type) && this.#mayContainMessage(status)) this.#openJson()
    else this.#failStatus()
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.#isReleased) return false
    if (this.#mode === 'json') this.#addJson(chunk)
    else if (this.#mode === 'stream') return this.#source!.add(chunk)
    else this.#discard(chunk)
    return true
  }

  onComplete(): void {
    this.#onResponseEnd()
    if (this.#isSettled) return
    if (this.#mode === 'json') this.#schedule(() => this.#readJson())
    else
      this.#schedule(() =>
        this.#onStreamEnd(new UpstreamFailure('unreachable', 'event stream ended before the answer'))
      )
  }

  onError(error: Error): void {
    this.#onResponseEnd()
    if (this.#isSettled) return
    if (this.#mode === 'stream') this.#schedule(() => this.#onStreamEnd(socketFailure(error, true)))
    else this.#fail(socketFailure(error, this.#isSent))
  }

  #onResponseEnd(): void {
    this.#isOpen = false
    this.#host.onEnded(this)
  }

  /** Runs `work` in the server's turn, unless the call is over by then. */
  #schedule(work: () => void): void {
    this.#host.reads.schedule(() => this.#read(work))
  }

  #read(work: () => void): void {
    if (this.#isSettled) return
    try {
      work()
    } catch (error) {
      this.#fail(toFailure(error))
      this.release()
    }
  }

  /** Reads a message of so many bytes, step by step if it is large, unless the call is over by then. */
  #readInSteps(bytes: number, steps: () => Generator<void, void>): void {
    this.#host.reads.readInSteps(bytes, () => this.#guarded(steps))
  }

  *#guarded(steps: () => Generator<void, void>): Generator<void, void> {
    if (this.#isSettled) return
    try {
      yield* steps()
    } catch (error) {
      this.#fail(toFailure(error))
      this.release()
    }
  }

  /** True if a body with that status may contain a JSON-RPC message. */
  #mayContainMessage(status: number): boolean {
    if (status >= 300 && status < 400) return false
    return status !== 401 && status !== 403 && !(status === 404 && this.#host.hasSession)
  }

  #openStream(): void {
    this.#mode = 'stream'
    this.#stream = new EventStream(this.#host.maxBytes, (data) =>
      this.#readInSteps(totalLength(data), () => readJoined(data, (event) => this.#eventSteps(event, data)))
    )
    this.#source?.close()
    this.#source = this.#host.reads.open(
      (chunk) => this.#read(() => this.#addEvents(chunk)),
      () => this.#resume?.()
    )
  }

  #openJson(): void {
    this.#mode = 'json'
    this.#body = new BufferCollector()
  }

  #failStatus(): void {
    this.#mode = 'discard'
    if (this.#status === 404 && this.#host.hasSession) this.#failSessionLost()
    else if (!this.#tryRedirect()) this.#fail(statusFailure(this.#status, this.headers, this.#host.hasCredential))
  }

  #addJson(chunk: Buffer): void {
    const body = this.#body!
    const length = body.length + chunk.length
    if (body.length > 0 && this.#expected === 0) this.#expected = Number(headerOf(this.headers, 'content-length') ?? 1)
    if (Math.max(length, this.#expected) > this.#host.maxBytes) return this.#failTooLarge()
    if (!this.#reserve(length)) return this.#failOverQuota()
    body.add(chunk)
  }

  /** Reserves memory for so many bytes of the answer; returns false if the server's quota is exhausted. */
  #reserve(bytes: number): boolean {
    return (
      (bytes < COUNTED_BYTES && !this.#reservation) ||
      (this.#reservation ??= new MemoryReservation(this.#host.memory)).resize(bytes)
    )
  }

  #addEvents(chunk: Buffer): void {
    const stream = this.#stream!
    if (!stream.write(chunk)) this.#failTooLarge()
    else if (!this.#isSettled && !this.#reserve(stream.bufferedBytes)) this.#failOverQuota()
    this.#lastEventId = stream.lastEventId ?? this.#lastEventId
    this.#retryMs = stream.retryMs ?? this.#retryMs
  }

  /** Follows a redirect. Only 307 and 308 ask for the same request again and mean that it was not processed. */
  #tryRedirect(): boolean {
    if ((this.#status !== 307 && this.#status !== 308) || this.#lastEventId !== null) return false
    const location = headerOf(this.headers, 'location')
    if (location === undefined || !this.#host.followRedirect(this.path, location)) return false
    this.#settle()
    this.#host.resend(this.#call, this.#resolve, this.#reject)
    return true
  }

  #discard(chunk: Buffer): void {
    this.#expected += chunk.length
    if (this.#expected > MAX_DISCARDED) this.release()
  }

  #failTooLarge(): void {
    this.#failAndRelease(new UpstreamFailure('too_large', `answered with more than ${this.#host.maxBytes} bytes`))
  }

  #failOverQuota(): void {
    this.#failAndRelease(new UpstreamFailure('too_large', TOO_MUCH_MEMORY))
  }

  #settle(): void {
    this.#isSettled = true
    this.#reservation?.release()
    this.#call.onStop = null
    clearTimeout(this.#retry)
    this.#mode = 'discard'
    this.#expected = 0
    this.#body = null
    this.#source?.close()
    this.#host.onSettled(this, this.#isOpen)
  }

  #succeed(answer: Answer): void {
    if (this.#isSettled) return
    this.#settle()
    this.#resolve(answer)
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#isSettled) return
    this.#settle()
    this.#reject(failure)
  }

  #failSessionLost(): void {
    this.#host.onSessionLost()
    const options = { status: this.#status, maybeProcessed: this.#lastEventId !== null }
    this.#fail(new UpstreamFailure('unreachable', `no longer knows the session (HTTP ${this.#status})`, options))
  }

  #readJson(): void {
    // counted by the scheduler from now on
    this.#reservation?.release()
    this.#readInSteps(this.#body!.length, () => this.#jsonSteps())
  }

  *#jsonSteps(): Generator<void, void> {
    try {
      const pieces = this.#body!.take()
      const answer = yield* readJoined(pieces, (bytes) => this.#answerSteps(bytes, pieces))
      if (this.#isSettled) return
      if (this.#status < 300 || answer.kind === 'error') this.#finish(answer)
      else this.#fail(statusFailure(this.#status, this.headers, this.#host.hasCredential))
    } catch (error) {
      const isSuccess = this.#status < 300
      this.#fail(isSuccess ? toFailure(error) : statusFailure(this.#status, this.headers, this.#host.hasCredential))
    }
  }

  /** List items are checked one by one, so that a malformed one does not affect the others. */
  get #isList(): boolean {
    return this.#call.request.method.endsWith('/list')
  }

  /** `bytes`: the pieces in one buffer that is reused. */
  *#answerSteps(bytes: Buffer, pieces: BufferList): Generator<void, Answer> {
    const check = this.#isList ? uncheckedList : yield* checkSteps(bytes)
    const screened = this.#host.screen ? this.#host.screen(bytes) : bytes
    if (!screened) throw new UpstreamFailure('bad_response', 'answered with a message that is not a response')
    const kept = keptPieces(pieces, bytes, screened, check)
    const result = yield* quickResultSteps(screened, this.id, check, kept)
    return result ?? this.#checkAnswer(yield* messageSteps(screened, check, kept))
  }

  /** Accepts only an answer to this request; an error may come without its id. */
  #checkAnswer(message: Message): Answer {
    if (message.kind !== 'answer')
      throw new UpstreamFailure('bad_response', 'answered with a message that is not a response')
    const hasNoId = message.answer.kind === 'error' && (message.id === 'null' || message.id === undefined)
    if (message.id === this.id || hasNoId || this.#status >= 300) return message.answer
    throw new UpstreamFailure('bad_response', 'answered with the id of another request')
  }

  #finish(answer: Answer): void {
    const isSessionError = this.#status === 400 && this.#host.hasSession && answer.kind === 'error'
    if (isSessionError && /session/i.test(readError(answer).message)) this.#failSessionLost()
    else this.#succeed(answer)
  }

  /** `event`: the pieces in one buffer that is reused. */
  *#eventSteps(event: Buffer, pieces: BufferList): Generator<void, void> {
    try {
      const list = this.#isList ? yield* listAnswerSteps(event, pieces) : undefined
      const isList = list?.id === this.id
      const check = isList ? uncheckedList : yield* checkSteps(event)
      const data = this.#host.screen ? this.#host.screen(event) : event
      if (!data) return
      if (isList && data === event) return this.#succeed(list.answer)
      const kept = keptPieces(pieces, event, data, check)
      const answer = yield* quickResultSteps(data, this.id, check, kept)
      if (answer) return this.#succeed(answer)
      const message = yield* messageSteps(data, check, kept)
      if (!this.#isSettled) this.#onMessage(message)
    } catch (error) {
      if (!this.#isSettled) this.#onMalformed(event, error)
    }
  }

  /** Fails the call only over a malformed answer; malformed requests and notifications are refused or dropped. */
  #onMalformed(event: Buffer, error: unknown): void {
    const address = addressOf(event)
    if (address === undefined || address.kind === 'answer') {
      this.#fail(toFailure(error))
      return this.release()
    }
    this.#host.onDropped(toFailure(error).message)
    const id = address.kind === 'request' ? refusableId(address.id) : undefined
    if (id !== undefined && this.#host.isLegacy) this.#requests().refuse(id)
  }

  #onMessage(message: Message): void {
    if (message.kind === 'notification') return this.#onNotification(message.method, message.params)
    if (message.kind === 'request') return this.#onRequest(message.id, message.method, message.params)
    if (message.id === this.id) return this.#succeed(message.answer)
    throw new UpstreamFailure('bad_response', 'answered with the id of another request')
  }

  #onNotification(method: string, params: string): void {
    if (method === 'notifications/progress') return this.receiveProgress(params)
    if (method === 'notifications/cancelled') return this.#inbound?.cancel(params)
    if (this.#host.isLegacy && isBroadcast(method)) return this.#host.onNotification(method, params)
    this.#call.sink.notify(method, params)
  }

  /** Passes a progress notification on if its token is that of this call. */
  receiveProgress(params: string): void {
    if (!this.#call.sink.wantsProgress) return
    const found = members(params)
    if (valueOf(params, found, 'progressToken') !== this.id) return
    this.#call.extendIdleDeadline(performance.now())
    this.#call.sink.notify('notifications/progress', withMembers(params, { progressToken: null }, found))
  }

  #onRequest(id: string, method: string, params: string): void {
    if (!this.#host.isLegacy) return
    const { sink } = this.#call
    void this.#requests().handle(id, method, params, (...request) => sink.request(...request))
  }

  #requests(): InboundRequests {
    this.#inbound ??= new InboundRequests(MAX_SERVER_REQUESTS, this.#host.reply, this.#host.memory)
    return this.#inbound
  }

  /** Resumes the stream if it carried event ids: its end then means polling, not a failure (mcp-proxy.md#retries). */
  #onStreamEnd(failure: UpstreamFailure): void {
    this.#mode = 'discard'
    const lastEventId = this.#lastEventId
    if (lastEventId === null || !this.#host.isLegacy) return this.#fail(failure)
    const wait = Math.min(Math.max(this.#retryMs, MIN_RETRY_MS), MAX_RETRY_MS)
    this.#retry = setTimeout(() => this.#host.resume(this, lastEventId), wait)
  }
}
