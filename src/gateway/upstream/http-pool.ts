import { type Dispatcher, Pool, type buildConnector } from 'undici'
import { socketFailure } from './http-failure.ts'
import type { Exchange } from './http-exchange.ts'
import { createSlotSet } from '../bag.ts'
import type { Authorization } from './authorization.ts'
import { UpstreamFailure } from './failure.ts'

export interface HttpPoolOptions {
  readonly url: string
  /** Sockets for requests that wait for an answer; more requests queue. */
  readonly connections: number
  /** Requests under way and queued; more fail with `overloaded`. */
  readonly maxRequests: number
  /** The egress policy's. */
  readonly connector: buildConnector.connector
  /** An access token, which each request carries as it is then. */
  readonly authorization?: Pick<Authorization, 'value'> | undefined
}

export interface Posted {
  readonly status: number
  readonly headers: readonly Buffer[]
}

export interface MessageOptions {
  readonly timeoutMs: number
  /** Where it is another one than the URL's. */
  readonly path?: string
}

/** The sockets to one upstream. */
export interface HttpPool {
  /** Path and query of the endpoint, as the URL says or as the upstream has redirected since. */
  readonly path: string
  /**
   * The upstream answers at `from` that the endpoint is elsewhere. False where it is not to be followed: to another
   * origin, in a circle, or too often.
   */
  moved(from: string, location: string): boolean
  /** True where one more request would be too many. */
  readonly isFull: boolean
  /** One POST into an exchange. */
  post(headers: string[], body: string, exchange: Exchange): void
  /** A GET that goes on with what the POST of that exchange began. */
  resume(headers: string[], exchange: Exchange): void
  /** A GET into any handler, for an event stream that stays. */
  stream(headers: string[], handler: Dispatcher.DispatchHandler): void
  /** A small message: resolves with the head of the answer, whose body is thrown away. Rejects with UpstreamFailure. */
  message(method: 'POST' | 'DELETE', headers: string[], body: string | null, options: MessageOptions): Promise<Posted>
  /**
   * As `message`, for what nobody waits for; sent when `after`, which never rejects, has settled. Dropped where too many
   * are under way. Settles when it was answered or given up.
   */
  background(method: 'POST' | 'DELETE', headers: string[], body: string | null, after?: Promise<void>): Promise<void>
  /** The call of that exchange is over, its response is not: it gets a moment to end. */
  linger(exchange: Exchange): void
  /** To be told once for each `post` and `resume`. */
  ended(exchange: Exchange): void
  /** Waits for nothing; what is under way may end. */
  close(): void
}

const BACKGROUND_TIMEOUT_MS = 5000
const MAX_BACKGROUND = 256
const MAX_DISCARDED = 65_536
const LINGER_MS = 500
/** Redirects in a row (security-model.md#egress-policy). */
const MAX_MOVES = 3
/** The usual redirect adds a slash and stays; one that was meant for a while must not outlive its target for long. */
const FORGET_MOVES_MS = 60_000
const ignore = () => {}

/** Waits for the head of an answer and throws its body away. */
function messageHandler(
  resolve: (posted: Posted) => void,
  reject: (failure: UpstreamFailure) => void,
  timeoutMs: number
): Dispatcher.DispatchHandler {
  let abort: ((error?: Error) => void) | null = null
  let posted: Posted | null = null
  let discarded = 0
  const expire = () => {
    reject(new UpstreamFailure('timeout', 'did not answer in time'))
    abort?.(new Error('timeout'))
  }
  const timer = setTimeout(expire, timeoutMs)
  const finish = () => {
    clearTimeout(timer)
    if (posted) resolve(posted)
    abort?.(new Error('released'))
  }
  return {
    onConnect(stop) {
      abort = stop
    },
    onHeaders(status, headers) {
      if (status >= 200) posted = { status, headers }
      return true
    },
    onData(chunk) {
      discarded += chunk.length
      if (discarded > MAX_DISCARDED) finish()
      return true
    },
    onComplete: finish,
    onError(error) {
      clearTimeout(timer)
      reject(socketFailure(error, abort !== null))
    }
  }
}

/** Ends the responses that stay open although their call is over. One timer, and only while there are any. */
function createLingering() {
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

/** Where to send requests to. Headers, with what they prove, go to no other origin than the configured one. */
function createEndpoint(url: string) {
  const { origin, pathname, search } = new URL(url)
  const configured = pathname + search
  let path = configured
  const left = new Set<string>()
  const forget = () => {
    path = configured
    left.clear()
  }
  return {
    origin,
    get path() {
      return path
    },
    moved(from: string, location: string): boolean {
      const base = origin + from
      if (!URL.canParse(location, base)) return false
      const target = new URL(location, base)
      const next = target.pathname + target.search
      if (target.origin !== origin || next === from || left.has(next)) return false
      if (left.has(from)) return true
      if (left.size === MAX_MOVES) return false
      if (left.size === 0) setTimeout(forget, FORGET_MOVES_MS).unref()
      left.add(from)
      path = next
      return true
    }
  }
}

/**
 * Two pools: one for requests, bounded, and one for streams, notifications and answers to the upstream's own requests.
 * Those must get through while every socket of the first waits for just such an answer.
 */
export function createHttpPool(options: HttpPoolOptions): HttpPool {
  const { authorization } = options
  const endpoint = createEndpoint(options.url)
  const { origin } = endpoint
  // headers and bodies are waited for as long as the call may take: the gateway's deadlines decide
  const common = { connect: options.connector, headersTimeout: 0, bodyTimeout: 0 }
  const requests = new Pool(origin, { ...common, connections: options.connections })
  let side: Pool | null = null
  const lingering = createLingering()
  let underWay = 0
  let inBackground = 0
  let isClosing = false

  const authorized = authorization
    ? (headers: string[]) => (authorization.value ? [...headers, 'authorization', authorization.value] : headers)
    : (headers: string[]) => headers

  /** What waits for something else in the background goes out before. */
  const closeSide = () => {
    if (inBackground === 0) side?.close().catch(ignore)
  }
  const aside = () => (side ??= new Pool(origin, common))

  const message: HttpPool['message'] = (method, headers, body, options) =>
    new Promise((resolve, reject) => {
      const handler = messageHandler(resolve, reject, options.timeoutMs)
      aside().dispatch({ path: options.path ?? endpoint.path, method, headers: authorized(headers), body }, handler)
    })

  return {
    get path() {
      return endpoint.path
    },
    moved: endpoint.moved,
    get isFull() {
      return underWay >= options.maxRequests
    },
    post(headers, body, exchange) {
      underWay++
      exchange.path = endpoint.path
      requests.dispatch({ path: exchange.path, method: 'POST', headers: authorized(headers), body }, exchange)
    },
    resume(headers, exchange) {
      underWay++
      aside().dispatch({ path: endpoint.path, method: 'GET', headers: authorized(headers) }, exchange)
    },
    stream(headers, handler) {
      aside().dispatch({ path: endpoint.path, method: 'GET', headers: authorized(headers) }, handler)
    },
    message,
    async background(method, headers, body, after) {
      if (inBackground >= MAX_BACKGROUND) return
      inBackground++
      if (after) await after
      await message(method, headers, body, { timeoutMs: BACKGROUND_TIMEOUT_MS }).catch(ignore)
      inBackground--
      if (isClosing) closeSide()
    },
    linger: (exchange) => lingering.add(exchange),
    ended(exchange) {
      underWay--
      lingering.remove(exchange)
    },
    close() {
      isClosing = true
      requests.close().catch(ignore)
      closeSide()
    }
  }
}
