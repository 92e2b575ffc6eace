import type { buildConnector, Dispatcher, Pool } from 'undici'
import { socketFailure } from './failure.ts'
import type { Exchange } from './exchange.ts'
import { createSlotSet } from '../../lib/slot-set.ts'
import { noop } from '../../lib/noop.ts'
import type { Authorization } from '../transport/authorization.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { createClosingPool } from './closing-pool.ts'
import { paceEnd, released } from './pace-end.ts'

export interface HttpPoolOptions {
  readonly url: string
  /** Sockets for requests that wait for an answer; further requests queue. */
  readonly connections: number
  /** Requests in flight and queued; further requests fail with `overloaded`. */
  readonly maxRequests: number
  /** Connector of the egress policy. */
  readonly connector: buildConnector.connector
  /** Access token; each request carries the value of that moment. */
  readonly authorization?: Pick<Authorization, 'value'> | undefined
}

export interface PostResponse {
  readonly status: number
  readonly headers: readonly Buffer[]
}

/**
 * Answers of one session that are being posted, over Streamable HTTP with its notifications; a server that sends requests
 * faster than it accepts answers gets no more.
 */
export const MAX_UNAWAITED_POSTS = 256
export const UNAWAITED_POST_TIMEOUT_MS = 10_000

export interface MessageOptions {
  readonly timeoutMs: number
  /** Path of the request, if not the endpoint's. */
  readonly path?: string
  /** Answers a request of the upstream, which can send any number: answers share a few connections. Default: false. */
  readonly isAnswer?: boolean
}

/** HTTP connections to one upstream. */
export interface HttpPool {
  /** Path and query of the endpoint, as configured or after a redirect. */
  readonly path: string
  /**
   * Handles a redirect of the endpoint from `from` to `location`. Returns false if the redirect must not be followed:
   * to another origin, in a loop, or too many in a row.
   */
  followRedirect(from: string, location: string): boolean
  /** True if another request would exceed `maxRequests`. */
  readonly isFull: boolean
  /** Sends one POST whose response goes to the exchange. */
  post(headers: string[], body: string, exchange: Exchange): void
  /** Sends a GET that continues the exchange's event stream. */
  resume(headers: string[], exchange: Exchange): void
  /** Sends a GET for a long-lived event stream. */
  stream(headers: string[], handler: Dispatcher.DispatchHandler): void
  /**
   * Sends a small message and resolves with status and headers of the answer; the body is discarded. Rejects with
   * UpstreamFailure.
   */
  message(
    method: 'POST' | 'DELETE',
    headers: string[],
    body: string | null,
    options: MessageOptions
  ): Promise<PostResponse>
  /**
   * Sends a message in the background, after `after` (which never rejects) has settled. Dropped if too many are in
   * flight. Settles when the message was answered or given up.
   */
  background(method: 'POST' | 'DELETE', headers: string[], body: string | null, after?: Promise<void>): Promise<void>
  /** Gives the response of a finished call a short time to end before it is closed. */
  linger(exchange: Exchange): void
  /** Call once for each finished `post` and `resume`. */
  endRequest(exchange: Exchange): void
  /** Closes the pools without waiting; requests in flight may finish. */
  close(): void
}

const BACKGROUND_TIMEOUT_MS = 5000
const MAX_BACKGROUND = 256
const MAX_DISCARDED = 65_536
/** Connections for answers to requests of the upstream. */
const ANSWER_CONNECTIONS = 64
const LINGER_MS = 500
/** Redirects in a row (security-model.md#egress-policy). */
const MAX_REDIRECTS = 3
/**
 * Redirects are forgotten after this time: most only add a slash, and a temporary one must not outlive its target for
 * long.
 */
const REDIRECT_TTL_MS = 60_000

/** Waits for the response headers and discards the body. */
function messageHandler(
  resolve: (response: PostResponse) => void,
  reject: (failure: UpstreamFailure) => void,
  timeoutMs: number
): Dispatcher.DispatchHandler {
  let abort: ((error?: Error) => void) | null = null
  let response: PostResponse | null = null
  let discarded = 0
  let isExpired = false
  const expire = () => {
    isExpired = true
    reject(new UpstreamFailure('timeout', 'did not answer in time'))
    abort?.(new Error('timeout'))
  }
  const timer = setTimeout(expire, timeoutMs)
  const finish = () => {
    clearTimeout(timer)
    if (response) resolve(response)
  }
  return {
    onConnect(stop) {
      // the connection took longer than the message may
      if (isExpired) throw new Error('timeout')
      abort = stop
    },
    onHeaders(status, headers) {
      if (status >= 200) response = { status, headers }
      return true
    },
    onData(chunk) {
      discarded += chunk.length
      if (discarded <= MAX_DISCARDED) return true
      finish()
      abort?.(released)
      return true
    },
    onComplete: finish,
    onError(error) {
      clearTimeout(timer)
      reject(socketFailure(error, abort !== null))
    }
  }
}

/**
 * Closes responses that stay open after their call has ended. Uses one timer, and only while there are such responses.
 */
function createLingeringResponses() {
  const exchanges = createSlotSet<Exchange>()
  let timer: NodeJS.Timeout | null = null
  const sweep = () => {
    const now = performance.now()
    for (const exchange of exchanges) if (exchange.lingersUntil <= now) exchange.release()
    if (exchanges.size > 0) timer?.refresh()
    else timer = null
  }
  return {
    add(exchange: Exchange) {
      exchange.lingersUntil = performance.now() + LINGER_MS
      exchanges.add(exchange)
      timer ??= setTimeout(sweep, LINGER_MS / 2).unref()
    },
    remove: (exchange: Exchange) => exchanges.delete(exchange)
  }
}

/** Current request target. Headers, which carry credentials, are sent to no origin but the configured one. */
function createEndpoint(url: string) {
  const { origin, pathname, search } = new URL(url)
  const configured = pathname + search
  let path = configured
  const visited = new Set<string>()
  const forget = () => {
    path = configured
    visited.clear()
  }
  return {
    origin,
    get path() {
      return path
    },
    followRedirect(from: string, location: string): boolean {
      const base = origin + from
      if (!URL.canParse(location, base)) return false
      const target = new URL(location, base)
      const next = target.pathname + target.search
      if (target.origin !== origin || next === from || visited.has(next)) return false
      if (visited.has(from)) return true
      if (visited.size === MAX_REDIRECTS) return false
      if (visited.size === 0) setTimeout(forget, REDIRECT_TTL_MS).unref()
      visited.add(from)
      path = next
      return true
    }
  }
}

/**
 * Creates a bounded pool for requests, one for streams, notifications and the ends of sessions, and a small one for
 * answers to the upstream's own requests. These must get through while every socket of the first pool waits for such an
 * answer.
 */
export function createHttpPool(options: HttpPoolOptions): HttpPool {
  const { authorization } = options
  const endpoint = createEndpoint(options.url)
  const { origin } = endpoint
  // no timeouts for headers and bodies: the gateway's own deadlines apply
  const common = { connect: options.connector, headersTimeout: 0, bodyTimeout: 0 }
  const requests = createClosingPool(origin, { ...common, connections: options.connections })
  let sidePool: Pool | null = null
  let answerPool: Pool | null = null
  const lingering = createLingeringResponses()
  let inFlight = 0
  let inBackground = 0
  let isClosing = false

  const authorized = authorization
    ? (headers: string[]) => (authorization.value ? [...headers, 'authorization', authorization.value] : headers)
    : (headers: string[]) => headers

  /** Closes the second pool after the background messages have been sent. */
  const closeSide = () => {
    if (inBackground === 0) sidePool?.close().catch(noop)
  }
  const getSidePool = () => (sidePool ??= createClosingPool(origin, common))
  const getAnswerPool = () => (answerPool ??= createClosingPool(origin, { ...common, connections: ANSWER_CONNECTIONS }))

  const message: HttpPool['message'] = (method, headers, body, options) =>
    new Promise((resolve, reject) => {
      const handler = messageHandler(resolve, reject, options.timeoutMs)
      const pool = options.isAnswer ? getAnswerPool() : getSidePool()
      pool.dispatch({ path: options.path ?? endpoint.path, method, headers: authorized(headers), body }, handler)
    })

  return {
    get path() {
      return endpoint.path
    },
    followRedirect: endpoint.followRedirect,
    get isFull() {
      return inFlight >= options.maxRequests
    },
    post(headers, body, exchange) {
      inFlight++
      exchange.path = endpoint.path
      requests.dispatch({ path: exchange.path, method: 'POST', headers: authorized(headers), body }, exchange)
    },
    resume(headers, exchange) {
      inFlight++
      getSidePool().dispatch({ path: endpoint.path, method: 'GET', headers: authorized(headers) }, exchange)
    },
    stream(headers, handler) {
      getSidePool().dispatch({ path: endpoint.path, method: 'GET', headers: authorized(headers) }, handler)
    },
    message,
    async background(method, headers, body, after) {
      if (inBackground >= MAX_BACKGROUND) return
      inBackground++
      if (after) await after
      await new Promise<void>(paceEnd)
      await message(method, headers, body, { timeoutMs: BACKGROUND_TIMEOUT_MS }).catch(noop)
      inBackground--
      if (isClosing) closeSide()
    },
    linger: (exchange) => lingering.add(exchange),
    endRequest(exchange) {
      inFlight--
      lingering.remove(exchange)
    },
    close() {
      isClosing = true
      requests.close().catch(noop)
      answerPool?.close().catch(noop)
      closeSide()
    }
  }
}
