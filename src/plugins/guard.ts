import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { isLoopback } from '../domain/loopback.ts'
import { AppError, forbidden, invalid, unavailable } from '../errors.ts'
import type { Load } from './load.ts'
import { relieves } from './relief.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered also while the gateway stops or has too much to do. */
    vital?: boolean
    /**
     * Takes messages, of which some only finish what is under way: they are read before it is decided whether there is
     * room for them (`refuseNewWork`).
     */
    readsFirst?: boolean
    /** For our own pages alone, although it only reads. */
    ownPages?: boolean
  }
  interface FastifyRequest {
    /** What it is refused with where it turns out to be new work, or no administrator's; null: there is room. */
    noRoom: AppError | null
  }
}

export type GuardOptions = Pick<Config, 'mode' | 'host' | 'publicUrl' | 'allowedHosts' | 'allowedOrigins'>

export interface GuardPluginOptions extends GuardOptions {
  readonly load: Pick<Load, 'isHigh'>
}

const exposed = 'Mcp-Session-Id, WWW-Authenticate, Retry-After'
const accepted =
  'Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID'
const readOnly = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Without its port; an IPv6 address keeps its brackets. */
const hostName = (host: string) => host.toLowerCase().replace(/:\d*$/, '')
const isAddress = (name: string) => isIP(name) === 4 || (name.startsWith('[') && isIP(name.slice(1, -1)) === 6)

/** Whether a `Host` may be asked for: keeps out names that an attacker points at this machine (DNS rebinding). */
export function createHostCheck({ host, publicUrl, allowedHosts }: GuardOptions): (given: string) => boolean {
  if (allowedHosts === null) return () => true
  const names = new Set([...allowedHosts, ...(publicUrl ? [hostName(new URL(publicUrl).host)] : [])])
  const wide = !isLoopback(host)
  return (given) => {
    const name = hostName(given)
    // rebinding needs a name, so an address passes where it can be ours
    return isLoopback(name) || names.has(name) || (wide && isAddress(name))
  }
}

/** The `Host` header as RFC 9110 4.2 has it, without the characters that only a registered name in theory may have. */
const hostPattern = /^[\w.~%:[\]-]+$/

function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

/** Whether a request target in absolute form (RFC 9112 3.2.2) names the host of the `Host` header. */
function namesHost(target: string, host: string): boolean {
  if (!URL.canParse(target)) return false
  const { protocol, host: named, username, password } = new URL(target)
  const given = `${protocol}//${host}`
  return username === '' && password === '' && URL.canParse(given) && new URL(given).host === named
}

/** Refuses requests whose host two readers could see differently (RFC 9112 3.2). Throws a 400 AppError. */
function checkHost(raw: IncomingMessage): void {
  const { host = '' } = raw.headers
  const target = raw.url!
  if (host === '') throw invalid('the request has no Host header')
  if (hasTwoHosts(raw)) throw invalid('the request has more than one Host header')
  if (!hostPattern.test(host)) throw invalid('the Host header is not valid')
  if (/^https?:/i.test(target) && !namesHost(target, host)) {
    throw invalid('the request target names another host than the Host header')
  }
}

/**
 * `reads`: pages of this origin may read answers (CORS); `changes`: they may change something; `may`: they may send
 * requests that only read.
 */
export function createOriginCheck({ mode, publicUrl, allowedOrigins }: GuardOptions) {
  // requests that only read are harmless: without CORS headers the page cannot see the answer
  const trustsLoopback = mode === 'development'
  const configured = new Set([...allowedOrigins, ...(publicUrl ? [new URL(publicUrl).origin] : [])])
  const reads = (origin: string) => configured.has(origin)
  const parse = (origin: string): URL | undefined => {
    const url = /^https?:\/\//.test(origin) && URL.canParse(origin) ? new URL(origin) : undefined
    return url?.origin === origin ? url : undefined
  }
  // the Host has passed its own check by now, so a page of the very same host is ours
  const changes = (origin: string, host: string) => reads(origin) || parse(origin)?.host === host.toLowerCase()
  const may = (origin: string, host: string) => {
    if (changes(origin, host)) return true
    const url = parse(origin)
    return trustsLoopback && url !== undefined && isLoopback(url.hostname)
  }
  return { may, changes, reads }
}

/** `Mcp-Param-*` names are the client's: a preflight gets those that it asks for. */
function acceptedHeaders(asked: string | undefined): string {
  const params = (asked ?? '').split(',').map((name) => name.trim())
  return [accepted, ...params.filter((name) => /^mcp-param-[\w-]{1,64}$/i.test(name))].join(', ')
}

/** MCP routes take the response over and write the same headers themselves. */
function setSecurityHeaders({ url, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  // the URL may be written with scheme and host
  const path = routeOptions.url ?? url
  reply.header('x-content-type-options', 'nosniff')
  reply.header('referrer-policy', 'no-referrer')
  if (path.startsWith('/api/') || routeOptions.config.access === 'client') reply.header('cache-control', 'no-store')
}

/** Set on the raw response, so that they also go out where a route takes the response over. */
function setCorsHeaders({ raw }: FastifyReply, origin: string): void {
  raw.setHeader('access-control-allow-origin', origin)
  raw.setHeader('access-control-expose-headers', exposed)
  raw.setHeader('vary', 'Origin')
}

function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
    .header('access-control-allow-headers', acceptedHeaders(request.headers['access-control-request-headers']))
    .header('access-control-max-age', '600')
    .send()
}

const refusedOptions = ({ headers }: FastifyRequest) =>
  headers.origin === undefined
    ? new AppError(405, 'OPTIONS is answered to allowed origins only')
    : forbidden('this Origin may not read answers; see TOWPATH_ALLOWED_ORIGINS')

/**
 * The first thing every request meets: Host, Origin and Sec-Fetch-Site, on known and unknown routes alike; and whether
 * there is room for more work.
 */
export default fp<GuardPluginOptions>(
  async (app, { load, ...options }) => {
    const isKnownHost = createHostCheck(options)
    const origins = createOriginCheck(options)
    let stopping = false
    app.addHook('preClose', async () => {
      stopping = true
    })

    const check = (request: FastifyRequest, reply: FastifyReply): void => {
      const { host = '', origin, 'sec-fetch-site': site = 'none', 'transfer-encoding': coding } = request.headers
      checkHost(request.raw)
      // Node takes lists that end in it, and an empty one for none: others may not (security-model.md#http-hardening)
      if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
        throw invalid('the only Transfer-Encoding that is accepted is chunked')
      }
      if (!isKnownHost(host)) throw forbidden('this Host is not allowed; see TOWPATH_ALLOWED_HOSTS')
      const { access, ownPages = false } = request.routeOptions.config
      const guarded = !readOnly.has(request.method) || access === 'client' || ownPages
      if (origin !== undefined && !(guarded ? origins.changes(origin, host) : origins.may(origin, host))) {
        throw forbidden('this Origin is not allowed; see TOWPATH_ALLOWED_ORIGINS')
      }
      // a page of our own host with another scheme is not ours: the browser says so
      const isListed = origin !== undefined && origins.reads(origin)
      if (isListed) setCorsHeaders(reply, origin)
      if (guarded && !isListed && site !== 'same-origin' && site !== 'none') {
        throw forbidden('requests from other sites are not allowed')
      }
    }
    const refusal = () =>
      unavailable(stopping ? 'the gateway is stopping' : 'the gateway has too much to do; try again later')
    const isPreflight = ({ method, headers: { origin } }: FastifyRequest) =>
      method === 'OPTIONS' && origin !== undefined && origins.reads(origin)

    /** Whoever has no session has nothing under way that could be finished. */
    const mayFinish = ({ headers, query, routeOptions }: FastifyRequest) =>
      routeOptions.config.readsFirst === true &&
      (headers['mcp-session-id'] ?? (query as { sessionId?: unknown }).sessionId) !== undefined

    /** Of an administrator; `auth` refuses all others. */
    const mayRelieve = ({ method, is404, routeOptions: { url } }: FastifyRequest) =>
      !is404 && url !== undefined && relieves(method, url)

    app.decorateRequest('noRoom', null)
    // every call comes through here, so without a promise
    app.addHook('onRequest', (request, reply, done) => {
      setSecurityHeaders(request, reply)
      check(request, reply)
      if (isPreflight(request)) return void answerPreflight(request, reply)
      if ((stopping || load.isHigh) && !request.routeOptions.config.vital) {
        if (!mayFinish(request) && (stopping || !mayRelieve(request))) throw refusal()
        request.noRoom = refusal()
      }
      if (request.method === 'OPTIONS') throw refusedOptions(request)
      done()
    })
  },
  { name: 'guard', dependencies: ['errors'] }
)
