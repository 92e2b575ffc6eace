import { META, MODERN_VERSION } from '../../domain/protocol.ts'
import { JsonError, members, withMembers } from '../json.ts'
import { isCustomNotification } from '../notifications.ts'
import { Asked, isBroadcast, type RequestHandler } from './asked.ts'
import { methodNotFound, type Answer, type Call, logLevelMember } from './call.ts'
import { SharedClock } from './common-clock.ts'
import type { SessionRequestHandler } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import {
  addressOf,
  checkMessage,
  invalidRequest,
  readListAnswer,
  type Message,
  readMessage,
  refusableId,
  toFailure
} from './http-message.ts'
import type { Pending } from './pending.ts'
import type { Screen } from './result-secrets.ts'

export interface PeerOptions {
  /** What the server's answers and questions hold. Default: not counted. */
  readonly held?: Pending | undefined
  /**
   * Takes one message (one line of JSON, no line end) to the other side. Where a request cannot be delivered, now or
   * later, `refuse` fails that request alone; for other messages it does nothing.
   */
  readonly write: (text: string, refuse: (failure: UpstreamFailure) => void) => void
  /** JSON text of our `clientInfo`. Given only on a modern connection: requests then carry the modern envelope (1.3). */
  readonly modernClientInfo?: string
  /** Notifications that belong to no call. `params` is JSON text, `{}` where there were none. */
  readonly onNotification: (method: string, params: string) => void
  /** Answers requests, none of which says which call it belongs to; null: the oldest call does, without one -32601. */
  readonly onRequest: () => SessionRequestHandler | null
  /** Looks for secrets in each message that comes. Default: nothing is searched. */
  readonly screen?: Screen | null | undefined
}

/** One JSON-RPC conversation over a pipe or stream that many calls share. */
export interface Peer {
  /** Requests under way. */
  readonly pending: number
  /** Rejects with UpstreamFailure: of `call.stop`, of `fail`, of `refuse`, or `bad_response`. */
  send(call: Call): Promise<Answer>
  /** `params` is JSON text with braces, or empty. */
  notify(method: string, params: string): void
  /** Takes one message as UTF-8 bytes, which must not change afterwards. False: it is no JSON-RPC message. */
  receive(bytes: Buffer): boolean
  /** The conversation is over: rejects what is under way and whatever is still sent. */
  fail(failure: UpstreamFailure): void
}

interface Waiting {
  readonly call: Call
  readonly resolve: (answer: Answer) => void
  readonly reject: (failure: UpstreamFailure) => void
}

/** Requests of one upstream that wait for an answer; more are refused. */
const MAX_PUSHES = 100

const ignore = () => {}

const HEAD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*"(?:result|error)"/
const OTHER_HEAD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"/
const TAIL = /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

/** The id of an answer whose structure cannot be read; servers write it first or last. NaN where it is not found. */
function idOfUnread(bytes: Buffer): number {
  const head = bytes.toString('latin1', 0, 128)
  const first = HEAD.exec(head)
  if (first) return Number(first[1])
  return OTHER_HEAD.test(head) ? Number(TAIL.exec(bytes.toString('latin1', Math.max(0, bytes.length - 64)))?.[1]) : NaN
}

/** Multiplexes calls over one connection: stdio and SSE share it. Ids are ours, counted up per connection. */
export function createPeer(options: PeerOptions): Peer {
  const { write, modernClientInfo, onNotification, onRequest, screen } = options
  const pending = new Map<number, Waiting>()
  const envelope =
    modernClientInfo === undefined
      ? undefined
      : `"${META}protocolVersion":"${MODERN_VERSION}",` +
        `"${META}clientInfo":${modernClientInfo},"${META}clientCapabilities":`
  let lastId = 0
  let over: UpstreamFailure | null = null

  const pushes = new Asked(
    MAX_PUSHES,
    (id, { kind, body }) => {
      if (!over) write(`{"jsonrpc":"2.0","id":${id},"${kind}":${body.toString()}}`, ignore)
    },
    options.held
  )

  const underway = () => [...pending.values()].map(({ call }) => call)
  const clock = new SharedClock(underway)

  const settle = (id: number): Waiting | undefined => {
    const entry = pending.get(id)
    if (!entry) return undefined
    pending.delete(id)
    clock.remove(entry.call)
    entry.call.onStop = null
    return entry
  }

  const requestText = (id: number, { request, sink }: Call): string => {
    const hop = sink.wantsProgress ? [`"progressToken":${id}`] : []
    if (envelope !== undefined) hop.push(envelope + sink.capabilities + logLevelMember(sink.logLevel))
    if (request.meta) hop.push(request.meta)
    const meta = hop.length > 0 ? `"_meta":{${hop.join(',')}}` : ''
    const params = request.members && meta ? `${request.members},${meta}` : request.members || meta
    return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(request.method)}${params && `,"params":{${params}}`}}`
  }

  const notify = (method: string, params: string) => {
    if (over) return
    write(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}${params && `,"params":${params}`}}`, ignore)
  }

  const stop = (id: number, failure: UpstreamFailure) => {
    const entry = settle(id)
    if (!entry) return
    // the one request that cannot be cancelled (mcp-proxy.md#cancellation-and-disconnect)
    if (entry.call.request.method !== 'initialize') {
      notify('notifications/cancelled', JSON.stringify({ requestId: id, reason: failure.message }))
    }
    entry.reject(failure)
  }

  const oldestCall = (): Call | undefined => pending.values().next().value?.call

  const progress = (params: string) => {
    const found = members(params)
    const token = found.find(({ key }) => key === 'progressToken')
    const call = token && pending.get(Number(params.slice(token.start, token.end)))?.call
    if (!call?.sink.wantsProgress) return
    call.extendIdleDeadline(performance.now())
    call.sink.notify('notifications/progress', withMembers(params, { progressToken: null }, found))
  }

  const notification = (method: string, params: string) => {
    if (method === 'notifications/progress') return progress(params)
    if (method === 'notifications/cancelled') return pushes.withdraw(params)
    const call = isBroadcast(method) ? undefined : oldestCall()
    // of calls of several clients nothing says which one it is for
    if (call && isCustomNotification(method) && pending.size > 1 && !onRequest()) return
    if (call) call.sink.notify(method, params)
    else onNotification(method, params)
  }

  const ask: RequestHandler = async (method, params, asking) => {
    const home = onRequest()
    if (home) return clock.pauseDuring(home(method, params, asking, underway()))
    return oldestCall()?.sink.request(method, params, asking) ?? methodNotFound
  }

  const take = (message: Message) => {
    if (message.kind === 'answer') settle(Number(message.id))?.resolve(message.answer)
    else if (message.kind === 'notification') notification(message.method, message.params)
    else void pushes.take(message.id, message.method, message.params, ask)
  }

  /** False: the message is of no use to anybody. */
  const malformed = (bytes: Buffer, error: unknown): boolean => {
    const whose = addressOf(bytes)
    const id = whose === undefined ? idOfUnread(bytes) : whose.kind === 'answer' ? Number(whose.id) : NaN
    const entry = settle(id)
    if (entry) {
      const listed = entry.call.request.method.endsWith('/list') ? readListAnswer(screen?.(bytes) ?? bytes) : undefined
      if (listed) entry.resolve(listed.answer)
      else entry.reject(toFailure(error))
      return true
    }
    const asked = whose?.kind === 'request' ? refusableId(whose.id) : undefined
    if (asked !== undefined && !over) {
      write(`{"jsonrpc":"2.0","id":${asked},"error":${invalidRequest.body.toString()}}`, ignore)
    }
    return false
  }

  return {
    get pending() {
      return pending.size
    },
    send(call) {
      if (call.stopped) return Promise.reject(call.stopped)
      if (over)
        return Promise.reject(new UpstreamFailure(over.reason, over.message, { maybeProcessed: false, cause: over }))
      const id = ++lastId
      return new Promise<Answer>((resolve, reject) => {
        pending.set(id, { call, resolve, reject })
        clock.add(call)
        call.onStop = (failure) => stop(id, failure)
        write(requestText(id, call), (failure) => settle(id)?.reject(failure))
      })
    },
    notify,
    receive(given) {
      try {
        const { limits } = checkMessage(given)
        const bytes = screen ? screen(given) : given
        if (bytes) take(readMessage(bytes, limits))
        return true
      } catch (error) {
        if (!(error instanceof JsonError || error instanceof UpstreamFailure)) throw error
        return malformed(given, error)
      }
    },
    fail(failure) {
      over ??= failure
      pushes.clear()
      for (const id of [...pending.keys()]) settle(id)?.reject(failure)
    }
  }
}
