import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../domain/network/loopback.ts'
import { AppError, forbidden, invalid, unavailable } from '../lib/errors.ts'
import type { OverloadMonitor } from '../http/overload.ts'
import { isReliefRoute } from '../http/relief.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Served even while the gateway stops or is overloaded. */
    alwaysServed?: boolean
    /**
     * Receives MCP messages, some of which only finish work in progress: under overload they are admitted or refused
     * after the body is read (`refuseNewWork`).
     */
    admittedAfterBody?: boolean
    /** Restricted to pages of the gateway itself, although it only reads. */
    sameOriginOnly?: boolean
    /** Pages of every origin may use it: it takes no cookie (RFC 8414, 6749 3.2, 7591, 7009, 9728). */
    crossOrigin?: boolean
  }
  interface FastifyRequest {
    /**
     * The 503 to send if the request turns out to start new work or not to come from an administrator; null when not
     * overloaded.
     */
    overloadError: AppError | null
  }
}

export type GuardOptions = Pick<Config, 'mode' | 'host' | 'publicUrl' | 'allowedHosts' | 'allowedOrigins'>

export interface GuardPluginOptions extends GuardOptions {
  readonly load: Pick<OverloadMonitor, 'isOverloaded'>
}

const exposedHeaders = 'Mcp-Session-Id, WWW-Authenticate, Retry-After'
const allowedRequestHeaders =
  'Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID'
const readOnly = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Strips the port; an IPv6 address keeps its brackets. */
const hostName = (host: string) => host.toLowerCase().replace(/:\d*$/, '')
const isAddress = (name: string) => isIP(name) === 4 || (name.startsWith('[') && isIP(name.slice(1, -1)) === 6)

/** Returns a check of `Host` values that rejects names an attacker points at this machine (DNS rebinding). */
export function createHostCheck({ host, publicUrl, allowedHosts }: GuardOptions): (given: string) => boolean {
  if (allowedHosts === null) return () => true
  const names = new Set([...allowedHosts, ...(publicUrl ? [hostName(new URL(publicUrl).host)] : [])])
  const isReachableRemotely = !isLoopback(host)
  return (given) => {
    const name = hostName(given)
    // rebinding needs a name, so an IP address passes if the gateway listens beyond loopback
    return isLoopback(name) || names.has(name) || (isReachableRemotely && isAddress(name))
  }
}

/** `Host` syntax of RFC 9110 4.2 without the rare characters of registered names. */
const hostPattern = /^[\w.~%:[\]-]+$/

function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

/** True if an absolute-form request target (RFC 9112 3.2.2) names the host of the `Host` header. */
function namesHost(target: string, host: string): boolean {
  if (!URL.canParse(target)) return false
  const { protocol, host: named, username, password } = new URL(target)
  const given = `${protocol}//${host}`
  return username === '' && password === '' && URL.canParse(given) && new URL(given).host === named
}

/** Refuses requests whose host two parsers could read differently (RFC 9112 3.2). Throws a 400 AppError. */
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
 * `canReadAnswers`: pages of the origin may read answers (CORS); `canWrite`: they may send state-changing requests;
 * `canSend`: they may send read-only requests.
 */
export function createOriginCheck({ mode, publicUrl, allowedOrigins }: GuardOptions) {
  // read-only requests are harmless: without CORS headers the page cannot see the answer
  const trustsLoopback = mode === 'development'
  const configured = new Set([...allowedOrigins, ...(publicUrl ? [new URL(publicUrl).origin] : [])])
  const canReadAnswers = (origin: string) => configured.has(origin)
  const parse = (origin: string): URL | undefined => {
    const url = /^https?:\/\//.test(origin) && URL.canParse(origin) ? new URL(origin) : undefined
    return url?.origin === origin ? url : undefined
  }
  // the Host was checked before, so a page of the same host is the gateway's own
  const canWrite = (origin: string, host: string) =>
    canReadAnswers(origin) || parse(origin)?.host === host.toLowerCase()
  const canSend = (origin: string, host: string) => {
    if (canWrite(origin, host)) return true
    const url = parse(origin)
    return trustsLoopback && url !== undefined && isLoopback(url.hostname)
  }
  return { canSend, canWrite, canReadAnswers }
}

/**
 * Value of `Access-Control-Allow-Headers`; the client chooses `Mcp-Param-*` names, so those in the preflight are
 * allowed.
 */
function allowHeaders(requested: string | undefined): string {
  const params = (requested ?? '').split(',').map((name) => name.trim())
  return [allowedRequestHeaders, ...params.filter((name) => /^mcp-param-[\w-]{1,64}$/i.test(name))].join(', ')
}

/** Sets security headers; MCP routes hijack the reply and set the same headers themselves. */
function setSecurityHeaders({ url, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  // the URL may be in absolute form
  const path = routeOptions.url ?? url
  reply.header('x-content-type-options', 'nosniff')
  reply.header('referrer-policy', 'no-referrer')
  if (path.startsWith('/api/') || routeOptions.config.access === 'client') reply.header('cache-control', 'no-store')
}

/** Sets CORS headers on the raw response, so that hijacked replies have them too. */
function setCorsHeaders({ raw }: FastifyReply, origin: string): void {
  raw.setHeader('access-control-allow-origin', origin)
  raw.setHeader('access-control-expose-headers', exposedHeaders)
  raw.setHeader('vary', 'Origin')
}

function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
    .header('access-control-allow-headers', allowHeaders(request.headers['access-control-request-headers']))
    .header('access-control-max-age', '600')
    .send()
}

const refusedOptions = ({ headers }: FastifyRequest) =>
  headers.origin === undefined
    ? new AppError(405, 'OPTIONS is answered to allowed origins only')
    : forbidden('this Origin may not read answers; see TOWPATH_ALLOWED_ORIGINS')

/** Checks every request first, on known and unknown routes alike: Host, Origin, Sec-Fetch-Site and overload. */
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
      // Node accepts lists that end in `chunked` and an empty value; other servers may not
      // (security-model.md#http-hardening)
      if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
        throw invalid('the only Transfer-Encoding that is accepted is chunked')
      }
      if (!isKnownHost(host)) throw forbidden('this Host is not allowed; see TOWPATH_ALLOWED_HOSTS')
      const { access, sameOriginOnly = false, crossOrigin = false } = request.routeOptions.config
      if (crossOrigin) return void reply.raw.setHeader('access-control-allow-origin', '*')
      const isProtected = !readOnly.has(request.method) || access === 'client' || sameOriginOnly
      if (origin !== undefined && !(isProtected ? origins.canWrite(origin, host) : origins.canSend(origin, host))) {
        throw forbidden('this Origin is not allowed; see TOWPATH_ALLOWED_ORIGINS')
      }
      // a page of the same host with another scheme is cross-site, which `Sec-Fetch-Site` reveals
      const isListed = origin !== undefined && origins.canReadAnswers(origin)
      if (isListed) setCorsHeaders(reply, origin)
      if (isProtected && !isListed && site !== 'same-origin' && site !== 'none') {
        throw forbidden('requests from other sites are not allowed')
      }
    }
    const refusal = () =>
      unavailable(stopping ? 'the gateway is stopping' : 'the gateway is overloaded; try again later')
    const isPreflight = ({ method, headers: { origin }, routeOptions: { config } }: FastifyRequest) =>
      method === 'OPTIONS' && origin !== undefined && (config.crossOrigin === true || origins.canReadAnswers(origin))

    /** True if the request names a session, which may have work in progress to finish. */
    const mayContinueSession = ({ headers, query, routeOptions }: FastifyRequest) =>
      routeOptions.config.admittedAfterBody === true &&
      (headers['mcp-session-id'] ?? (query as { sessionId?: unknown }).sessionId) !== undefined

    /** True for routes that relieve an overload; `auth` refuses all but administrators. */
    const isReliefRequest = ({ method, is404, routeOptions: { url } }: FastifyRequest) =>
      !is404 && url !== undefined && isReliefRoute(method, url)

    app.decorateRequest('overloadError', null)
    // a promise here would cost time on every call
    app.addHook('onRequest', (request, reply, done) => {
      setSecurityHeaders(request, reply)
      check(request, reply)
      if (isPreflight(request)) return void answerPreflight(request, reply)
      if ((stopping || load.isOverloaded) && !request.routeOptions.config.alwaysServed) {
        if (!mayContinueSession(request) && (stopping || !isReliefRequest(request))) throw refusal()
        request.overloadError = refusal()
      }
      if (request.method === 'OPTIONS') throw refusedOptions(request)
      done()
    })
  },
  { name: 'guard', dependencies: ['errors'] }
)
