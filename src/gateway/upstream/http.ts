import type { buildConnector } from 'undici'
import { objectOr } from '../../domain/is-object.ts'
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION } from '../../domain/protocol.ts'
import { PRODUCT } from '../../domain/product.ts'
import type { Verdict } from '../../registry/model.ts'
import { createBatchScheduler, type BatchScheduler } from '../later.ts'
import type { Authorization } from './authorization.ts'
import { type Answer, Call, silentSink } from './call.ts'
import type { ServerGreeting, OpenOptions, TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { type HttpConnection, type Shared, connect } from './http-connection.ts'
import { type ExchangeHost, Exchange } from './http-exchange.ts'
import { headerOf, statusFailure } from './http-failure.ts'
import { readError, valueOfAnswer } from './http-message.ts'
import { createStreamStats } from './hearing.ts'
import { createHttpPool } from './http-pool.ts'
import type { Screen } from './result-secrets.ts'
import { baseHeaders, connectionHeaders, legacyBody } from './http-request.ts'
import { checkGreeting, type Pending, uncounted } from './pending.ts'
import { type ServerReads, unsharedReads } from './reading-turns.ts'
import { clientInfo } from './peer-opening.ts'

export interface HttpClientOptions {
  /** Endpoint, `http` or `https`, without user information and fragment. */
  readonly url: string
  /** Headers as configured; `Authorization` stands here where there is a token. */
  readonly headers: Readonly<Record<string, string>>
  /** Our version, told to the upstream beside the product's name. */
  readonly version: string
  readonly maxResponseBytes: number
  /** What the server's answers and questions hold. Default: not counted. */
  readonly pending?: Pending
  /** Shares the event loop with other servers. Default: with none. */
  readonly reads?: ServerReads | undefined
  /** Looks for secrets in each message. Default: nothing is searched. */
  readonly screen?: Screen | null
  /** Told of messages that are malformed and not passed on. */
  readonly onDropped?: (why: string) => void
  /** Shared by all clients, whose answers are passed on together. Default: one of its own. */
  readonly schedule?: BatchScheduler
  /** Requests at a time; more queue. Default 128. */
  readonly connections?: number
  /** Requests under way and queued; more fail with `overloaded`. Default 4096. */
  readonly maxRequests?: number
  /** The egress policy's. */
  readonly connector: buildConnector.connector
  /** What is known from discovery: spares a legacy upstream without sessions its handshake, fills the greeting. */
  readonly verdict?: Verdict | null
  /** An access token in place of a configured credential. */
  readonly authorization?: Authorization | undefined
}

export interface HttpClient extends TransportClient {
  open(options: OpenOptions): Promise<HttpConnection>
}

const LONGEST_TIMER = 2 ** 31 - 1
const DEFAULT_CONNECTIONS = 128
const DEFAULT_MAX_REQUESTS = 4096
const emptyGreeting: ServerGreeting = {
  version: MODERN_VERSION,
  capabilities: {},
  serverInfo: null,
  instructions: null
}
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

const timeLeft = (deadline: number) => Math.min(Math.max(deadline - performance.now(), 0), LONGEST_TIMER)
const bad = (message: string) => new UpstreamFailure('bad_response', message)

function readGreeting(answer: Answer): ServerGreeting {
  if (answer.kind === 'error') throw bad(`refused initialize: ${readError(answer).message}`)
  const { protocolVersion: version, capabilities, serverInfo, instructions } = valueOfAnswer(answer)
  if (typeof version !== 'string' || !LEGACY_VERSIONS.includes(version)) {
    throw bad('speaks an unknown protocol version')
  }
  return {
    version,
    capabilities: objectOr(capabilities, {}),
    serverInfo: objectOr(serverInfo, null),
    instructions: typeof instructions === 'string' ? instructions : null
  }
}

const knownGreeting = ({ capabilities, serverInfo, instructions }: Verdict, version: string): ServerGreeting => ({
  version,
  capabilities,
  serverInfo,
  instructions
})

function readSession(headers: readonly Buffer[]): string | null {
  const session = headerOf(headers, 'mcp-session-id')
  if (session === undefined) return null
  if (!/^[!-~]{1,1024}$/.test(session)) throw bad('issued a session id with characters that are not allowed')
  return session
}

/** The exchange of `initialize`, which happens before there is a connection. */
function sendInitialize(shared: Shared, call: Call): Promise<{ answer: Answer; headers: readonly Buffer[] }> {
  const { pool, hasCredential, maxBytes, pending, screen, dropped, schedule, reads } = shared
  return new Promise((resolve, reject) => {
    const host: ExchangeHost = {
      isLegacy: true,
      hasSession: false,
      hasCredential,
      maxBytes,
      pending,
      screen,
      dropped,
      schedule,
      reads,
      reply() {},
      cancel() {},
      resume: (exchange) => exchange.stop(new UpstreamFailure('unreachable', 'event stream ended before the answer')),
      moved: pool.moved,
      again: () => post(),
      notification() {},
      sessionLost() {},
      settled: (exchange, isOpen) => isOpen && pool.linger(exchange),
      ended: (exchange) => pool.ended(exchange)
    }
    const post = () => {
      const id = shared.nextId()
      const done = (answer: Answer) => resolve({ answer, headers: exchange.headers })
      const exchange = new Exchange(host, call, id, done, reject)
      pool.post([...shared.base], legacyBody(id, call.request, false), exchange)
    }
    post()
  })
}

/** The legacy handshake: `initialize`, then `notifications/initialized`. */
async function handshake(shared: Shared, { capabilities, deadline }: OpenOptions, read: typeof readGreeting) {
  const { pool } = shared
  const members = `"protocolVersion":"${LATEST_LEGACY_VERSION}","capabilities":${capabilities},"clientInfo":${shared.clientInfo}`
  const call = new Call({ method: 'initialize', members, meta: '' }, silentSink)
  const expire = () => call.stop(new UpstreamFailure('timeout', 'no answer to initialize in time'))
  const timer = setTimeout(expire, timeLeft(deadline))
  const { answer, headers } = await sendInitialize(shared, call).finally(() => clearTimeout(timer))
  const greeting = read(answer)
  const session = readSession(headers)
  const own = connectionHeaders(shared.base, greeting.version, session)
  const posted = await pool.message('POST', own, initialized, { timeoutMs: timeLeft(deadline) })
  if (posted.status >= 300) throw statusFailure(posted.status, posted.headers, shared.hasCredential)
  return { greeting, session }
}

/** The same greeting comes with each new session: it is parsed once. */
function createGreetings(): typeof readGreeting {
  let last: { readonly body: string; readonly greeting: ServerGreeting } | null = null
  return (answer) => {
    checkGreeting(answer.body.length)
    if (answer.kind === 'result' && last?.body === answer.body.latin1) return last.greeting
    const greeting = readGreeting(answer)
    last = { body: answer.body.latin1, greeting }
    return greeting
  }
}

/** Streamable HTTP to one upstream, both eras, over one set of sockets. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { url, headers, version, verdict = null, connector, authorization } = options
  const pool = createHttpPool({
    url,
    connector,
    authorization,
    connections: options.connections ?? DEFAULT_CONNECTIONS,
    maxRequests: options.maxRequests ?? DEFAULT_MAX_REQUESTS
  })
  const connections = new Set<HttpConnection>()
  const readOnce = createGreetings()
  let lastId = 0
  const shared: Shared = {
    pool,
    base: baseHeaders(headers, `${PRODUCT}/${version}`),
    clientInfo: clientInfo(version),
    hasCredential: Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'),
    maxBytes: options.maxResponseBytes,
    pending: options.pending ?? uncounted,
    screen: options.screen ?? null,
    dropped: options.onDropped ?? (() => {}),
    schedule: options.schedule ?? createBatchScheduler(),
    reads: options.reads ?? unsharedReads,
    connections,
    streams: createStreamStats(),
    nextId: () => String(++lastId)
  }

  return {
    async open(open) {
      if (open.era === 'modern') {
        const greeting = verdict?.modern ? knownGreeting(verdict, verdict.modern) : emptyGreeting
        return connect(shared, { era: 'modern', greeting, session: null })
      }
      if (verdict?.legacy && !verdict.hasSessions) {
        return connect(shared, { era: 'legacy', greeting: knownGreeting(verdict, verdict.legacy), session: null })
      }
      if (open.timings) open.timings.greetedAt = performance.now()
      return connect(shared, { era: 'legacy', ...(await handshake(shared, open, readOnce)) })
    },
    get hasSessionRequests() {
      return shared.streams.hasRequests
    },
    close() {
      for (const connection of connections) connection.close()
      pool.close()
    }
  }
}
