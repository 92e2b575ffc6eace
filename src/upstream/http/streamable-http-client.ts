import type { buildConnector } from 'undici'
import { objectOr } from '../../domain/is-object.ts'
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION } from '../../domain/mcp-constants.ts'
import { PRODUCT } from '../../domain/product.ts'
import { timeLeft } from '../../domain/timers.ts'
import type { Negotiation } from '../../registry/model/model.ts'
import type { Authorization } from '../transport/authorization.ts'
import { type Answer, Call, silentSink } from '../transport/call.ts'
import type { ServerGreeting, OpenOptions, TransportClient } from '../transport/connection.ts'
import { UpstreamFailure, badResponse } from '../../protocol/upstream-failure.ts'
import { type HttpConnection, type ClientContext, createConnection } from './connection.ts'
import { type ExchangeHost, Exchange } from './exchange.ts'
import { headerOf, statusFailure } from './failure.ts'
import { readError, valueOfAnswer } from '../transport/message.ts'
import { createStreamStats } from './session-stream.ts'
import { createHttpPool } from './pool.ts'
import type { MessageScreen } from '../transport/result-secrets.ts'
import { baseHeaders, connectionHeaders, legacyBody } from './request.ts'
import { checkGreeting, type MemoryQuota, unlimitedMemory } from '../transport/memory-quota.ts'
import { type ServerReads, createReadScheduler } from '../transport/read-scheduler.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import { clientInfo } from '../transport/handshake.ts'

export interface HttpClientOptions {
  /** Endpoint, `http` or `https`, without user information and fragment. */
  readonly url: string
  /** Configured headers, including `Authorization` if a token is configured. */
  readonly headers: Readonly<Record<string, string>>
  /** Gateway version, sent to the upstream with the product name. */
  readonly version: string
  readonly maxResponseBytes: number
  /** Quota for the memory of the server's answers and requests. Default: unlimited. */
  readonly memory?: MemoryQuota
  /** Divides event-loop time among servers. Default: alone. */
  readonly reads?: ServerReads | undefined
  /** Searches each message for secrets. Default: no search. */
  readonly screen?: MessageScreen | null
  /** Called with the reason when a malformed message is dropped. */
  readonly onDropped?: (why: string) => void
  /** Concurrent requests; further requests queue. Default 128. */
  readonly connections?: number
  /** Requests in flight and queued; further requests fail with `overloaded`. Default 4096. */
  readonly maxRequests?: number
  /** Connector of the egress policy. */
  readonly connector: buildConnector.connector
  /** Result of discovery: saves the handshake of a legacy upstream without sessions and fills the greeting. */
  readonly negotiation?: Negotiation | null
  /** Access token, used instead of a configured credential. */
  readonly authorization?: Authorization | undefined
}

export interface HttpClient extends TransportClient {
  open(options: OpenOptions): Promise<HttpConnection>
}

const DEFAULT_CONNECTIONS = 128
const DEFAULT_MAX_REQUESTS = 4096
const emptyGreeting: ServerGreeting = {
  version: MODERN_VERSION,
  capabilities: {},
  serverInfo: null,
  instructions: null
}
const initialized = notificationText('notifications/initialized')

function readGreeting(answer: Answer): ServerGreeting {
  if (answer.kind === 'error') throw badResponse(`refused initialize: ${readError(answer).message}`)
  const { protocolVersion: version, capabilities, serverInfo, instructions } = valueOfAnswer(answer)
  if (typeof version !== 'string' || !LEGACY_VERSIONS.includes(version)) {
    throw badResponse('speaks an unknown protocol version')
  }
  return {
    version,
    capabilities: objectOr(capabilities, {}),
    serverInfo: objectOr(serverInfo, null),
    instructions: typeof instructions === 'string' ? instructions : null
  }
}

const greetingOf = ({ capabilities, serverInfo, instructions }: Negotiation, version: string): ServerGreeting => ({
  version,
  capabilities,
  serverInfo,
  instructions
})

function readSession(headers: readonly Buffer[]): string | null {
  const session = headerOf(headers, 'mcp-session-id')
  if (session === undefined) return null
  if (!/^[!-~]{1,1024}$/.test(session)) throw badResponse('issued a session id with characters that are not allowed')
  return session
}

/** Sends `initialize`, which needs an exchange before there is a connection. */
function sendInitialize(shared: ClientContext, call: Call): Promise<{ answer: Answer; headers: readonly Buffer[] }> {
  const { pool, hasCredential, maxBytes, memory, screen, onDropped, reads } = shared
  return new Promise((resolve, reject) => {
    const host: ExchangeHost = {
      isLegacy: true,
      hasSession: false,
      hasCredential,
      maxBytes,
      memory,
      screen,
      onDropped: onDropped,
      reads,
      reply() {},
      cancel() {},
      resume: (exchange) => exchange.stop(new UpstreamFailure('unreachable', 'event stream ended before the answer')),
      followRedirect: pool.followRedirect,
      resend: () => post(),
      onNotification() {},
      onSessionLost() {},
      onSettled: (exchange, isOpen) => isOpen && pool.linger(exchange),
      onEnded: (exchange) => pool.endRequest(exchange)
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

/** Runs the legacy handshake: `initialize`, then `notifications/initialized`. */
async function handshake(shared: ClientContext, { capabilities, deadline }: OpenOptions, read: typeof readGreeting) {
  const { pool } = shared
  const members = `"protocolVersion":"${LATEST_LEGACY_VERSION}","capabilities":${capabilities},"clientInfo":${shared.clientInfo}`
  const call = new Call({ method: 'initialize', members, meta: '' }, silentSink)
  const expire = () => call.stop(new UpstreamFailure('timeout', 'no answer to initialize in time'))
  const timer = setTimeout(expire, timeLeft(deadline))
  const { answer, headers } = await sendInitialize(shared, call).finally(() => clearTimeout(timer))
  const greeting = read(answer)
  const session = readSession(headers)
  const own = connectionHeaders(shared.base, greeting.version, session)
  const response = await pool.message('POST', own, initialized, { timeoutMs: timeLeft(deadline) })
  if (response.status >= 300) throw statusFailure(response.status, response.headers, shared.hasCredential)
  return { greeting, session }
}

/** Caches the last parsed greeting: each new session gets the same one. */
function createGreetingCache(): typeof readGreeting {
  let last: { readonly body: string; readonly greeting: ServerGreeting } | null = null
  return (answer) => {
    checkGreeting(answer.body.length)
    if (answer.kind === 'result' && last?.body === answer.body.latin1) return last.greeting
    const greeting = readGreeting(answer)
    last = { body: answer.body.latin1, greeting }
    return greeting
  }
}

/** Creates the Streamable HTTP client of one upstream for both eras, over one set of sockets. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { url, headers, version, negotiation = null, connector, authorization } = options
  const pool = createHttpPool({
    url,
    connector,
    authorization,
    connections: options.connections ?? DEFAULT_CONNECTIONS,
    maxRequests: options.maxRequests ?? DEFAULT_MAX_REQUESTS
  })
  const connections = new Set<HttpConnection>()
  const readCached = createGreetingCache()
  let lastId = 0
  const shared: ClientContext = {
    pool,
    base: baseHeaders(headers, `${PRODUCT}/${version}`),
    clientInfo: clientInfo(version),
    hasCredential: Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'),
    maxBytes: options.maxResponseBytes,
    memory: options.memory ?? unlimitedMemory,
    screen: options.screen ?? null,
    onDropped: options.onDropped ?? (() => {}),
    reads: options.reads ?? createReadScheduler().server(),
    connections,
    streams: createStreamStats(),
    // not String(): V8's cache of such texts would keep each until it is in the old generation
    nextId: () => (++lastId).toFixed()
  }

  return {
    async open(open) {
      if (open.era === 'modern') {
        const greeting = negotiation?.modern ? greetingOf(negotiation, negotiation.modern) : emptyGreeting
        return createConnection(shared, { era: 'modern', greeting, session: null })
      }
      if (negotiation?.legacy && !negotiation.hasSessions) {
        return createConnection(shared, {
          era: 'legacy',
          greeting: greetingOf(negotiation, negotiation.legacy),
          session: null
        })
      }
      if (open.timings) open.timings.initializeAt = performance.now()
      return createConnection(shared, { era: 'legacy', ...(await handshake(shared, open, readCached)) })
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
