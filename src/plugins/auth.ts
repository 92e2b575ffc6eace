import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Config } from '../config.ts'
import { readCredentials } from '../domain/credentials.ts'
import { AppError, forbidden, unauthorized, unavailable } from '../errors.ts'
import { developmentCaller, type Caller } from '../gateway/gateway.ts'
import { createFailedLogins } from './failed-logins.ts'
import { readTraceHeaders } from '../gateway/tracing.ts'

type Access = 'public' | 'user' | 'admin' | 'client'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
  interface FastifyContextConfig {
    /** Who may call this route. A route that says nothing is for admins. */
    access?: Access
  }
}

/** The caller of a request that has passed this plugin's hook, with what the audit log says of the request. */
export function callerOf({ caller, address, id, headers }: FastifyRequest): Caller {
  if (!caller) throw forbidden('no caller is known for this request')
  const { kind, name, key, allowed, tokenHash } = caller
  // not spread: each call over REST comes by
  const whole = { kind, name, key, allowed, tokenHash, address, requestId: id, trace: readTraceHeaders(headers) }
  return whole satisfies { readonly [K in keyof Required<Caller>]: Caller[K] }
}

/** Whom a route is for, as the refused are told. */
const wanted: Record<Exclude<Access, 'public'>, string> = {
  user: 'the access token of a user or administrator',
  admin: 'the access token of an administrator',
  client: 'the access token of an MCP client'
}

const own: Record<Caller['kind'], string> = {
  development: 'nobody',
  admin: 'an administrator',
  user: 'a user',
  client: 'an MCP client'
}

/** RFC 6750 3.1; the challenge goes out with the error that is thrown. */
function refuse(reply: FastifyReply, challenge: string, error: AppError): never {
  void reply.header('www-authenticate', challenge)
  throw error
}

/** Throws where a principal of this kind may not use such a route (http-contract.md#roles). */
function checkKind({ kind }: Caller, access: Access, reply: FastifyReply): void {
  if (access === 'client') {
    if (kind === 'client') return
    const text = `MCP endpoints need ${wanted.client}; the given one belongs to ${own[kind]}`
    return refuse(reply, 'Bearer error="invalid_token"', unauthorized(text))
  }
  if (kind === 'admin' || (kind === 'user' && access === 'user')) return
  const text = `this needs ${wanted[access as 'user' | 'admin']}; the given one belongs to ${own[kind]}`
  refuse(reply, 'Bearer error="insufficient_scope"', forbidden(text))
}

const tooManyGuesses = (retryAfter: number) =>
  new AppError(429, 'too many requests with a wrong access token came from this address', { retryAfter })

export interface AuthOptions extends Pick<Config, 'mode'> {
  readonly limits: Pick<Config['limits'], 'failedAuthentications'>
}

/** The dashboard is for development mode: here it is not there, whoever asks (http-contract.md#dashboard-routes). */
const isDashboard = (url: string) => /^\/(?:(?:index\.html)?(?:\?|$)|assets\/|api\/dashboard(?:[/?]|$))/.test(url)

/**
 * Who is asking, and whether this route is for them. One hook for all routes, known and unknown, before any body is read;
 * what counts is the route that was matched, never the URL. Development mode knows one caller, who may do everything
 * (http-contract.md#authentication). A route that forgets its access stops the start.
 */
export default fp<AuthOptions>(
  async (app, { mode, limits }) => {
    const routes: RouteOptions[] = []
    app.addHook('onRoute', (route) => {
      routes.push(route)
    })
    app.addHook('onReady', async () => {
      const silent = routes.filter(({ config }) => !config?.access).map(({ method, url }) => `${String(method)} ${url}`)
      if (silent.length > 0) throw new Error(`routes that do not say who may call them: ${silent.join(', ')}`)
    })

    const failedLogins = createFailedLogins(app.log, limits.failedAuthentications)
    const authenticate = (request: FastifyRequest, reply: FastifyReply, access: Access): Caller => {
      const credentials = readCredentials(request.raw.rawHeaders)
      const caller = credentials.kind === 'token' ? app.gateway.callerOf(credentials.token) : undefined
      if (caller) return caller
      app.metrics.failedAuthentication()
      const needs = access === 'public' || request.is404 ? 'an access token' : wanted[access]
      if (credentials.kind === 'none') {
        return refuse(reply, 'Bearer', unauthorized(`this needs ${needs}: "Authorization: Bearer <token>"`))
      }
      // a good token has passed by now: guesses of others behind the same address lock nobody out
      const retryAfter = failedLogins.note(request.address)
      if (retryAfter !== undefined) throw tooManyGuesses(retryAfter)
      const text =
        credentials.kind === 'token'
          ? `the access token is not valid; this needs ${needs}`
          : `the Authorization header must be given once, as "Bearer <token>"; this needs ${needs}`
      return refuse(reply, 'Bearer error="invalid_token"', unauthorized(text))
    }
    const check = (request: FastifyRequest, reply: FastifyReply): void => {
      const { is404, routeOptions } = request
      const access = routeOptions.config.access ?? 'admin'
      if (!is404 && access === 'public') return
      if (is404 && isDashboard(request.url)) throw app.httpErrors.notFound('no such route')
      if (!app.gateway.ready) throw unavailable('the catalog is not loaded yet')
      if (!app.gateway.initialized) throw forbidden('server is not initialized')
      request.caller = authenticate(request, reply, access)
      if (!is404) checkKind(request.caller, access, reply)
      // MCP routes decide by what is in the body
      if (request.noRoom && access !== 'client' && request.caller.kind !== 'admin') throw request.noRoom
    }

    app.decorateRequest('caller', null)
    app.addHook('onRequest', (request, reply, done) => {
      if (mode === 'development') request.caller = developmentCaller
      else check(request, reply)
      done()
    })
    if (mode === 'development') return
    // a body may arrive long after the token that it was announced with was revoked
    app.addHook('preValidation', ({ caller }, reply, done) => {
      if (caller && !app.gateway.hasValidToken(caller)) {
        refuse(reply, 'Bearer error="invalid_token"', unauthorized('the access token is not valid any more'))
      }
      done()
    })
  },
  { name: 'auth', dependencies: ['client-address', 'guard', 'telemetry'] }
)
