import { META, MODERN_VERSION } from '../../domain/protocol.ts'
import { JsonError, members, skipSpace, withMembers } from '../json.ts'
import type { Span } from '../json.ts'
import { Payload } from '../payload.ts'
import { Asked, isBroadcast, type RequestHandler } from './asked.ts'
import { methodNotFound, type Answer, type Call } from './call.ts'
import { UpstreamFailure } from './failure.ts'
import { logLevelMember } from './http-request.ts'
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
  /** Requests that come while no call is under way; undefined: they are answered with -32601. */
  readonly onRequest: () => RequestHandler | null
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

type Part = 'jsonrpc' | 'id' | 'method' | 'params' | 'result' | 'error'
type Message = Partial<Record<Part, Span>>

/** Requests of one upstream that wait for an answer; more are refused. */
const MAX_PUSHES = 100

const badResponse = (message: string) => new UpstreamFailure('bad_response', message)
const ignore = () => {}

function readMessage(text: string): Message {
  const message: Message = {}
  const found = members(text)
  for (const member of found) {
    const { key } = member
    if (key === 'id' || key === 'result' || key === 'error' || key === 'method') message[key] = member
    else if (key === 'params' || key === 'jsonrpc') message[key] = member
  }
  const last = found.at(-1)
  const end = last ? skipSpace(text, skipSpace(text, last.end) + 1) : text.length
  if (end !== text.length) throw new JsonError('syntax', 'more than one value')
  return message
}

/** What is wrong with an answer, undefined where nothing is. */
function answerProblem(text: string, { jsonrpc, result, error }: Message): string | undefined {
  if (!jsonrpc || text.slice(jsonrpc.start, jsonrpc.end) !== '"2.0"') return 'answered without "jsonrpc":"2.0"'
  if (result && error) return 'answered with a result and an error'
  const body = result ?? error
  if (!body) return 'answered with neither a result nor an error'
  return text[body.start] === '{' ? undefined : `answered with a ${result ? 'result' : 'error'} that is not an object`
}

/** The id of an answer that was too deep to be read; servers write it first or last. */
const idOfUnread = (text: string): number =>
  Number((/^\s*\{(?:"jsonrpc":"2\.0",)?"id":(\d+),/.exec(text) ?? /"id":(\d+)\}\s*$/.exec(text.slice(-64)))?.[1])

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

  const settle = (id: number): Waiting | undefined => {
    const entry = pending.get(id)
    if (!entry) return undefined
    pending.delete(id)
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
    // the one request that cannot be cancelled (proxy page 2.8)
    if (entry.call.request.method !== 'initialize') {
      notify('notifications/cancelled', JSON.stringify({ requestId: id, reason: failure.message }))
    }
    entry.reject(failure)
  }

  const oldestCall = (): Call | undefined => pending.values().next().value?.call

  const answer = (bytes: Buffer, text: string, message: Message): boolean => {
    if (!message.id) return false
    const entry = settle(Number(text.slice(message.id.start, message.id.end)))
    if (!entry) return Boolean(message.result ?? message.error)
    const problem = answerProblem(text, message)
    if (problem !== undefined) entry.reject(badResponse(problem))
    else {
      const { start, end } = (message.result ?? message.error)!
      entry.resolve({ kind: message.result ? 'result' : 'error', body: Payload.ofBytes(bytes.subarray(start, end)) })
    }
    return true
  }

  const progress = (params: string) => {
    const found = members(params)
    const token = found.find(({ key }) => key === 'progressToken')
    const call = token && pending.get(Number(params.slice(token.start, token.end)))?.call
    if (!call?.sink.wantsProgress) return
    call.touch(performance.now())
    call.sink.notify('notifications/progress', withMembers(params, { progressToken: null }, found))
  }

  const notification = (method: string, params: string) => {
    if (method === 'notifications/progress') return progress(params)
    if (method === 'notifications/cancelled') return pushes.withdraw(params)
    const call = isBroadcast(method) ? undefined : oldestCall()
    if (call) call.sink.notify(method, params)
    else onNotification(method, params)
  }

  const ask: RequestHandler = async (method, params, asking) => {
    const call = oldestCall()
    if (call) return call.sink.request(method, params, asking)
    return onRequest()?.(method, params, asking) ?? methodNotFound
  }

  const incoming = (bytes: Buffer, text: string, message: Message): boolean => {
    const part = (span: Span) => bytes.toString('utf8', span.start, span.end)
    if (text[message.method!.start] !== '"') return false
    const method = JSON.parse(part(message.method!)) as string
    const params = message.params ? part(message.params) : '{}'
    if (!params.startsWith('{')) return false
    if (!message.id) notification(method, params)
    else if (!/^["\d-]/.test(text[message.id.start]!)) return false
    else void pushes.take(part(message.id), method, params, ask)
    return true
  }

  return {
    get pending() {
      return pending.size
    },
    send(call) {
      if (call.stopped) return Promise.reject(call.stopped)
      if (over) return Promise.reject(new UpstreamFailure(over.reason, over.message, { taken: false, cause: over }))
      const id = ++lastId
      return new Promise<Answer>((resolve, reject) => {
        pending.set(id, { call, resolve, reject })
        call.onStop = (failure) => stop(id, failure)
        write(requestText(id, call), (failure) => settle(id)?.reject(failure))
      })
    },
    notify,
    receive(given) {
      const bytes = screen ? screen(given) : given
      if (!bytes) return true
      const text = bytes.toString('latin1')
      try {
        const message = readMessage(text)
        if (message.method && !message.result && !message.error) return incoming(bytes, text, message)
        return answer(bytes, text, message)
      } catch (error) {
        if (!(error instanceof JsonError || error instanceof SyntaxError)) throw error
        if (!(error instanceof JsonError) || error.problem !== 'depth') return false
        settle(idOfUnread(text))?.reject(badResponse(`answered with ${error.message}`))
        return true
      }
    },
    fail(failure) {
      over ??= failure
      pushes.clear()
      for (const id of [...pending.keys()]) settle(id)?.reject(failure)
    }
  }
}
