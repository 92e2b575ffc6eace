import { adaptError, adaptResult, META } from '../bridge.ts'
import type { ServerBlock } from '../catalog.ts'
import { members, valueOf, withMembers } from '../json.ts'
import { Call, type Answer, type Outgoing, type Sink } from '../upstream/call.ts'
import { UpstreamFailure } from '../upstream/failure.ts'
import type { Exchange, Forwarded } from './exchange.ts'
import { codes, type Message } from './jsonrpc.ts'

/** `_meta` keys that belong to one hop and are set anew on the next (proxy page 3.8). */
const hopKeys = new Set([
  'progressToken',
  ...['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'subscriptionId', 'serverInfo'].map(
    (name) => META + name
  )
])

interface Meta {
  /** Members that are passed on, without braces. */
  readonly fragment: string
  /** JSON text of the caller's progress token. */
  readonly progressToken: string | undefined
}

const noMeta: Meta = { fragment: '', progressToken: undefined }

function readMeta({ text, paramMembers }: Message): Meta {
  const meta = paramMembers.find(({ key }) => key === '_meta')
  if (!meta || text[meta.start] !== '{') return noMeta
  const found = members(text, meta.start)
  const passed = found.filter(({ key }) => !hopKeys.has(key))
  return {
    fragment: passed.map(({ keyStart, end }) => text.slice(keyStart, end)).join(','),
    progressToken: valueOf(text, found, 'progressToken')
  }
}

const methodNotFound: Answer = { kind: 'error', body: Buffer.from('{"code":-32601,"message":"Method not found"}') }

/** What a client's call can take before its answer: progress and log messages on its own stream. */
class CallSink implements Sink {
  readonly capabilities: string
  readonly wantsProgress: boolean
  readonly #exchange: Exchange
  readonly #server: ServerBlock
  /** JSON text of the caller's progress token. */
  readonly #token: string | undefined

  constructor(exchange: Exchange, server: ServerBlock, token: string | undefined) {
    this.capabilities = exchange.capabilities
    this.wantsProgress = token !== undefined
    this.#exchange = exchange
    this.#server = server
    this.#token = token
  }

  notify(method: string, params: string): void {
    const { reply, session, scope } = this.#exchange
    if (method === 'notifications/progress') {
      const rest = params.slice(1).trimStart()
      const separator = rest.startsWith('}') ? '' : ','
      reply.message(notification(method, `{"progressToken":${this.#token}${separator}${rest}`))
    } else if (method === 'notifications/message' && session) {
      const logged = scope.isBare ? params : withLogger(params, this.#server.name)
      if (logged !== undefined) reply.message(notification(method, logged))
    }
  }

  async request(): Promise<Answer> {
    return methodNotFound
  }
}

const notification = (method: string, params: string) => `{"jsonrpc":"2.0","method":"${method}","params":${params}}`

/** Log messages say which server they come from (proxy page 3.15). Undefined where it is none. */
function withLogger(params: string, server: string): string | undefined {
  if (!params.startsWith('{')) return undefined
  const found = members(params)
  const given: unknown = JSON.parse(valueOf(params, found, 'logger') ?? 'null')
  const rest = withMembers(params, { logger: null }).slice(1)
  const logger = JSON.stringify(typeof given === 'string' ? `${server}/${given}` : server)
  return `{"logger":${logger}${rest === '}' ? '' : ','}${rest}`
}

/** A transport failure as an MCP client sees it (proxy page 4.5): never `isError`, which is the tool's own word. */
function replyFailure({ reply, message }: Exchange, server: ServerBlock, failure: UpstreamFailure): void {
  if (failure.reason === 'cancelled') {
    reply.openStream()
    return reply.close()
  }
  const { reason, status } = failure
  reply.error(message.id, codes.internal, failure.message, {
    data: { server: server.name, reason, ...(status === undefined ? {} : { status }) }
  })
}

function replyAnswer(exchange: Exchange, server: ServerBlock, forwarded: Forwarded, rewrite?: Rewrite): void {
  const { reply, message, era, edge } = exchange
  const { answer } = forwarded
  if (answer.kind === 'error') {
    const { body, status } = adaptError(answer.body, era)
    return reply.answer(message.id, { kind: 'error', body }, status)
  }
  const body = adaptResult(answer.body, {
    method: message.method,
    from: forwarded.era,
    to: era,
    server: server.name,
    serverInfo: JSON.stringify(edge.identity)
  })
  reply.answer(message.id, { kind: 'result', body: rewrite ? rewrite(body) : body })
}

/** Last change to a result before it goes out. */
export type Rewrite = (result: Buffer) => Buffer

/**
 * Sends a client's request upstream and its answer back. `params` are the members of the request as text, names rewritten.
 * A caller who leaves cancels, unless a legacy session could still ask for the result (proxy page 2.8).
 */
export async function forward(
  exchange: Exchange,
  server: ServerBlock,
  params: Pick<Outgoing, 'members' | 'name'>,
  rewrite?: Rewrite
): Promise<void> {
  const { message, reply, session, era, caller, edge } = exchange
  const meta = readMeta(message)
  const outgoing: Outgoing = { ...params, method: message.method, meta: meta.fragment }
  const call = new Call(outgoing, new CallSink(exchange, server, meta.progressToken))
  const active = session && { id: message.id, call, slot: -1 }
  if (active) session.calls.add(active)
  edge.heartbeat.add(reply)
  if (!session) reply.onLeave = () => call.stop(new UpstreamFailure('cancelled', 'the caller has left'))
  try {
    const owner = session ? `session:${session.id}` : `${caller.kind}:${caller.name}`
    replyAnswer(exchange, server, await edge.core.forward(server, call, { era, owner }), rewrite)
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error
    replyFailure(exchange, server, error)
  } finally {
    if (active) session.calls.delete(active)
  }
}
