import { META, MODERN_VERSION } from '../../domain/protocol.ts'
import { JsonError, members, withMembers } from '../json.ts'
import { isCustomNotification } from '../notifications.ts'
import { InboundRequests, isBroadcast, type InboundRequestHandler } from './asked.ts'
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
import type { MemoryQuota } from './pending.ts'
import type { MessageScreen } from './result-secrets.ts'

export interface JsonRpcPeerOptions {
  /** Quota for the memory of the server's answers and requests. Default: unlimited. */
  readonly memory?: MemoryQuota | undefined
  /**
   * Sends one message (one line of JSON without line end). If a request cannot be delivered, now or later, `refuse`
   * fails that request only; for other messages it does nothing.
   */
  readonly write: (text: string, refuse: (failure: UpstreamFailure) => void) => void
  /**
   * JSON text of the gateway's `clientInfo`. Set only on a modern connection, whose requests carry the modern envelope.
   */
  readonly modernClientInfo?: string
  /** Receives notifications that belong to no call. `params` is JSON text, `{}` if there were none. */
  readonly onNotification: (method: string, params: string) => void
  /**
   * Returns the handler of the server's requests, which never name their call; null: the oldest call answers them, or
   * error -32601 if there is none.
   */
  readonly onRequest: () => SessionRequestHandler | null
  /** Searches each received message for secrets. Default: no search. */
  readonly screen?: MessageScreen | null | undefined
}

/** One JSON-RPC peer behind a pipe or stream that many calls share. */
export interface JsonRpcPeer {
  /** Number of requests in flight. */
  readonly pendingCount: number
  /** Sends a request. Rejects with the UpstreamFailure of `call.stop`, `fail` or `refuse`, or with `bad_response`. */
  send(call: Call): Promise<Answer>
  /** Sends a notification. `params` is JSON text with braces, or empty. */
  notify(method: string, params: string): void
  /**
   * Handles one message as UTF-8 bytes, which must not change afterwards. Returns false if it is not a JSON-RPC
   * message.
   */
  receive(bytes: Buffer): boolean
  /** Ends the conversation: rejects requests in flight and all later ones. */
  fail(failure: UpstreamFailure): void
}

interface PendingCall {
  readonly call: Call
  readonly resolve: (answer: Answer) => void
  readonly reject: (failure: UpstreamFailure) => void
}

/** Requests of one upstream that wait for an answer; further ones are refused. */
const MAX_SERVER_REQUESTS = 100

const ignore = () => {}

const HEAD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*"(?:result|error)"/
const OTHER_HEAD = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"/
const TAIL = /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

/**
 * Returns the id of an answer whose structure cannot be parsed; servers write the id first or last. NaN if not found.
 */
function idOfMalformed(bytes: Buffer): number {
  const head = bytes.toString('latin1', 0, 128)
  const first = HEAD.exec(head)
  if (first) return Number(first[1])
  return OTHER_HEAD.test(head) ? Number(TAIL.exec(bytes.toString('latin1', Math.max(0, bytes.length - 64)))?.[1]) : NaN
}

/** Multiplexes calls over one connection, for stdio and SSE. Request ids are counted per connection. */
export function createJsonRpcPeer(options: JsonRpcPeerOptions): JsonRpcPeer {
  const { write, modernClientInfo, onNotification, onRequest, screen } = options
  const pending = new Map<number, PendingCall>()
  const envelope =
    modernClientInfo === undefined
      ? undefined
      : `"${META}protocolVersion":"${MODERN_VERSION}",` +
        `"${META}clientInfo":${modernClientInfo},"${META}clientCapabilities":`
  let lastId = 0
  let endedWith: UpstreamFailure | null = null

  const inbound = new InboundRequests(
    MAX_SERVER_REQUESTS,
    (id, { kind, body }) => {
      if (!endedWith) write(`{"jsonrpc":"2.0","id":${id},"${kind}":${body.toString()}}`, ignore)
    },
    options.memory
  )

  const underway = () => [...pending.values()].map(({ call }) => call)
  const clock = new SharedClock(underway)

  const settle = (id: number): PendingCall | undefined => {
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
    if (endedWith) return
    write(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}${params && `,"params":${params}`}}`, ignore)
  }

  const stop = (id: number, failure: UpstreamFailure) => {
    const entry = settle(id)
    if (!entry) return
    // `initialize` is the only request that must not be cancelled (mcp-proxy.md#cancellation-and-disconnect)
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
    if (method === 'notifications/cancelled') return inbound.cancel(params)
    const call = isBroadcast(method) ? undefined : oldestCall()
    // with calls of several clients in flight, the recipient is unknown
    if (call && isCustomNotification(method) && pending.size > 1 && !onRequest()) return
    if (call) call.sink.notify(method, params)
    else onNotification(method, params)
  }

  const answerRequest: InboundRequestHandler = async (method, params, request) => {
    const handler = onRequest()
    if (handler) return clock.pauseDuring(handler(method, params, request, underway()))
    return oldestCall()?.sink.request(method, params, request) ?? methodNotFound
  }

  const take = (message: Message) => {
    if (message.kind === 'answer') settle(Number(message.id))?.resolve(message.answer)
    else if (message.kind === 'notification') notification(message.method, message.params)
    else void inbound.handle(message.id, message.method, message.params, answerRequest)
  }

  /** Returns false if nobody can use the message. */
  const handleMalformed = (bytes: Buffer, error: unknown): boolean => {
    const address = addressOf(bytes)
    const id = address === undefined ? idOfMalformed(bytes) : address.kind === 'answer' ? Number(address.id) : NaN
    const entry = settle(id)
    if (entry) {
      const listAnswer = entry.call.request.method.endsWith('/list')
        ? readListAnswer(screen?.(bytes) ?? bytes)
        : undefined
      if (listAnswer) entry.resolve(listAnswer.answer)
      else entry.reject(toFailure(error))
      return true
    }
    const requestId = address?.kind === 'request' ? refusableId(address.id) : undefined
    if (requestId !== undefined && !endedWith) {
      write(`{"jsonrpc":"2.0","id":${requestId},"error":${invalidRequest.body.toString()}}`, ignore)
    }
    return false
  }

  return {
    get pendingCount() {
      return pending.size
    },
    send(call) {
      if (call.stopped) return Promise.reject(call.stopped)
      if (endedWith)
        return Promise.reject(
          new UpstreamFailure(endedWith.reason, endedWith.message, { maybeProcessed: false, cause: endedWith })
        )
      const id = ++lastId
      return new Promise<Answer>((resolve, reject) => {
        pending.set(id, { call, resolve, reject })
        clock.add(call)
        call.onStop = (failure) => stop(id, failure)
        write(requestText(id, call), (failure) => settle(id)?.reject(failure))
      })
    },
    notify,
    receive(received) {
      try {
        const { limits } = checkMessage(received)
        const bytes = screen ? screen(received) : received
        if (bytes) take(readMessage(bytes, limits))
        return true
      } catch (error) {
        if (!(error instanceof JsonError || error instanceof UpstreamFailure)) throw error
        return handleMalformed(received, error)
      }
    },
    fail(failure) {
      endedWith ??= failure
      inbound.clear()
      for (const id of [...pending.keys()]) settle(id)?.reject(failure)
    }
  }
}
