import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Config } from '../config/config.ts'
import { accessProblem, isAdministrator, type Access } from '../domain/access/access.ts'
import { parseCredentials } from '../domain/credentials.ts'
import { NOT_INITIALIZED } from '../domain/error-codes.ts'
import { AppError, forbidden, unauthorized, unavailable } from '../lib/errors.ts'
import { createFailedLogins } from '../http/failed-logins.ts'
import { readTraceHeaders } from '../protocol/trace-context.ts'
import { developmentCaller, type Caller } from '../catalog/caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
  interface FastifyContextConfig {
    /** Principals that may call the route; default: `admin`. */
    access?: Access
  }
}

/** Returns the authenticated caller of a request with the fields that the audit log records of the request. */
export function callerOf({ caller, address, id, headers }: FastifyRequest): Caller {
  if (!caller) throw forbidden('no caller is known for this request')
  const { kind, name, key, allowed, tokenHash, tokenId, scopes } = caller
  // no spread: this runs on each call over REST
  const whole = {
    kind,
    name,
    key,
    allowed,
    tokenHash,
    tokenId,
    scopes,
    address,
    requestId: id,
    trace: readTraceHeaders(headers)
  }
  return whole satisfies { readonly [K in keyof Required<Caller>]: Caller[K] }
}

/** Required token by access, for error messages. */
const requiredTokens: Record<Exclude<Access, 'public'>, string> = {
  self: 'the access token of a user or administrator',
  user: 'the access token of a user or administrator',
  call: 'the access token of a user or administrator',
  auditor: 'the access token of an administrator',
  admin: 'the access token of an administrator',
  client: 'the access token of an MCP client'
}

const kindNames: Record<Caller['kind'], string> = {
  development: 'nobody',
  admin: 'an administrator',
  auditor: 'an auditor',
  user: 'a user',
  client: 'an MCP client'
}

/** Sets the challenge (RFC 6750 3.1), which is sent with the error, and throws. */
function refuse(reply: FastifyReply, challenge: string, error: AppError): never {
  void reply.header('www-authenticate', challenge)
  throw error
}

/** Throws unless the caller may call a route with this access (http-contract.md#roles). */
function checkAccess(caller: Caller, access: Exclude<Access, 'public'>, reply: FastifyReply): void {
  const problem = accessProblem(caller, access)
  if (!problem) return
  const { kind, scopes } = caller
  if (problem.kind === 'scope') {
    const text = `this needs an access token with the scope "${problem.scope}"`
    return refuse(reply, `Bearer error="insufficient_scope", scope="${problem.scope}"`, forbidden(text))
  }
  const belongs = `the given one belongs to ${kindNames[kind]}`
  if (access === 'client' && scopes === undefined) {
    const text = `MCP endpoints need ${requiredTokens.client}; ${belongs}`
    return refuse(reply, 'Bearer error="invalid_token"', unauthorized(text))
  }
  const text = `this needs ${requiredTokens[access]}; ${belongs}`
  refuse(reply, 'Bearer error="insufficient_scope"', forbidden(text))
}

const tooManyGuesses = (retryAfter: number) =>
  new AppError(429, 'too many requests with a wrong access token came from this address', { retryAfter })

export interface AuthOptions extends Pick<Config, 'mode'> {
  readonly limits: Pick<Config['limits'], 'failedAuthentications'>
}

/**
 * True for dashboard paths, which answer 404 in enterprise mode to every caller (http-contract.md#dashboard-routes).
 */
const isDashboard = (url: string) => /^\/(?:(?:index\.html)?(?:\?|$)|assets\/|api\/dashboard(?:[/?]|$))/.test(url)

/**
 * Authenticates the caller and checks the route's access, in one hook for all routes, known and unknown, before any
 * body is read. Decides by the matched route, never by the URL. Development mode has a single caller with all rights
 * (http-contract.md#authentication). A route without a declared access stops the start.
 */
export default fp<AuthOptions>(
  async (app, { mode, limits }) => {
    const routes: RouteOptions[] = []
    app.addHook('onRoute', (route) => {
      routes.push(route)
    })
    app.addHook('onReady', async () => {
      const undeclared = routes
        .filter(({ config }) => !config?.access)
        .map(({ method, url }) => `${String(method)} ${url}`)
      if (undeclared.length > 0) throw new Error(`routes without a declared access: ${undeclared.join(', ')}`)
    })

    const failedLogins = createFailedLogins(app.log, limits.failedAuthentications)
    const authenticate = (request: FastifyRequest, reply: FastifyReply, access: Access): Caller => {
      const credentials = parseCredentials(request.raw.rawHeaders)
      const caller = credentials.kind === 'token' ? app.gateway.principals.callerOf(credentials.token) : undefined
      if (caller) return caller
      app.metrics.failedAuthentication()
      const needs = access === 'public' || request.is404 ? 'an access token' : requiredTokens[access]
      if (credentials.kind === 'none') {
        return refuse(reply, 'Bearer', unauthorized(`this needs ${needs}: "Authorization: Bearer <token>"`))
      }
      // valid tokens returned above: failed attempts never lock out callers behind the same address
      const retryAfter = failedLogins.record(request.address)
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
      if (!app.gateway.initialized) throw forbidden('server is not initialized', NOT_INITIALIZED)
      request.caller = authenticate(request, reply, access)
      if (!is404 && access !== 'public') checkAccess(request.caller, access, reply)
      // MCP routes decide after reading the body
      if (request.overloadError && access !== 'client' && !isAdministrator(request.caller)) throw request.overloadError
    }

    app.decorateRequest('caller', null)
    app.addHook('onRequest', (request, reply, done) => {
      if (mode === 'development') request.caller = developmentCaller
      else check(request, reply)
      done()
    })
    if (mode === 'development') return
    // the token may be revoked while the body is still arriving
    app.addHook('preValidation', ({ caller }, reply, done) => {
      if (caller && !app.gateway.principals.hasValidToken(caller)) {
        refuse(reply, 'Bearer error="invalid_token"', unauthorized('the access token is no longer valid'))
      }
      done()
    })
  },
  { name: 'auth', dependencies: ['client-address', 'guard', 'telemetry'] }
)
