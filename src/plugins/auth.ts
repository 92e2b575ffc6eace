import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Config } from '../config/config.ts'
import { accessProblem, isAdministrator, type Access } from '../domain/access/access.ts'
import type { Credentials } from '../domain/credentials.ts'
import { NOT_INITIALIZED } from '../domain/error-codes.ts'
import { AppError, forbidden, unauthorized, unavailable } from '../lib/errors.ts'
import { createFailedLogins } from '../http/failed-logins.ts'
import { readTraceHeaders } from '../protocol/trace-context.ts'
import { developmentCaller, type Caller } from '../catalog/caller.ts'
import type { SignedIn } from '../catalog/people.ts'
import { createChallenges, type Challenges } from '../http/challenges.ts'
import type { CredentialReader, HashedCredentials } from '../http/connection-credentials.ts'
import { createLastCallers } from '../http/last-callers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** Identity of the catalog in which the caller was found. */
    callerCatalog: object | null
  }
  interface FastifyContextConfig {
    /** Principals that may call the route; default: `admin`. */
    access?: Access
  }
}

/** Returns the authenticated caller of a request with the fields that the audit log records of the request. */
export function callerOf({ caller, address, id, headers }: FastifyRequest): Caller {
  if (!caller) throw forbidden('no caller is known for this request')
  const { kind, name, key, allowed, tokenHash, tokenId, scopes, signIn, oauthClient } = caller
  // no spread: this runs on each call over REST
  const whole = {
    kind,
    name,
    key,
    allowed,
    tokenHash,
    tokenId,
    scopes,
    signIn,
    oauthClient,
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

/** Tests if a token was issued for the endpoint of a request. */
const isFor = ({ audience }: SignedIn, resource: string | undefined): boolean =>
  resource !== undefined && (audience === 'every' || audience?.includes(resource) === true)

/** Sets the challenge (RFC 6750 3.1), which is sent with the error, and throws. */
function refuse(reply: FastifyReply, challenge: string, error: AppError): never {
  void reply.header('www-authenticate', challenge)
  throw error
}

/** Throws unless the caller may call a route with this access (http-contract.md#roles). */
function checkAccess(
  caller: Caller,
  access: Exclude<Access, 'public'>,
  reply: FastifyReply,
  challenge: (error: string, scope?: string) => string
): void {
  const problem = accessProblem(caller, access)
  if (!problem) return
  const { kind, scopes } = caller
  if (problem.kind === 'scope') {
    const text = `this needs an access token with the scope "${problem.scope}"`
    return refuse(reply, challenge('insufficient_scope', problem.scope), forbidden(text))
  }
  const belongs = `the given one belongs to ${kindNames[kind]}`
  if (access === 'client' && scopes === undefined) {
    const text = `MCP endpoints need ${requiredTokens.client}; ${belongs}`
    return refuse(reply, challenge('invalid_token'), unauthorized(text))
  }
  const text = `this needs ${requiredTokens[access]}; ${belongs}`
  refuse(reply, challenge('insufficient_scope'), forbidden(text))
}

async function continueAfter(pending: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await pending
  } catch (error) {
    return done(error as Error)
  }
  done()
}

const tooManyGuesses = (retryAfter: number) =>
  new AppError(429, 'too many requests with a wrong access token came from this address', { retryAfter })

export interface AuthOptions extends Pick<Config, 'mode' | 'publicUrl'> {
  readonly readCredentials: CredentialReader
  readonly auth: Pick<Config['auth'], 'way' | 'external'>
  readonly limits: Pick<Config['limits'], 'failedAuthentications'>
}

/**
 * True for paths of the dashboard and the console: unless they are routes, they answer 404 in enterprise mode to every
 * caller (http-contract.md#dashboard-routes).
 */
const isDashboard = (url: string) =>
  /^\/(?:(?:index\.html)?(?:\?|$)|assets\/|console(?:[/?]|$)|api\/(?:dashboard|console)(?:[/?]|$))/.test(url)

/** Stops the start if a route has no declared access. */
function refuseUndeclaredAccess(app: FastifyInstance): void {
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
}

/** Finds the caller of a request; throws, or rejects with, an AppError for a caller who is not known. */
type Authenticate = (
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  credentials: HashedCredentials
) => Caller | Promise<Caller>

function createAuthentication(
  app: FastifyInstance,
  limits: AuthOptions['limits'],
  challenges: Challenges
): Authenticate {
  const failedLogins = createFailedLogins(app.log, limits.failedAuthentications)

  /** Returns the caller of a verified token if it was issued for the endpoint of the request. */
  const callerOfToken = (request: FastifyRequest, signedIn: SignedIn | null): Caller | undefined =>
    signedIn && isFor(signedIn, challenges.resourceFor(request))
      ? app.gateway.principals.signedInCaller(signedIn)
      : undefined
  const refuseCaller = (request: FastifyRequest, reply: FastifyReply, access: Access, { kind }: Credentials): never => {
    app.metrics.failedAuthentication()
    const needs = access === 'public' || request.is404 ? 'an access token' : requiredTokens[access]
    if (kind === 'none') {
      const text = `this needs ${needs}: "Authorization: Bearer <token>"`
      return refuse(reply, challenges.of(request, access), unauthorized(text))
    }
    // requests with a valid token never get here, so guesses lock out no caller behind the same address
    const retryAfter = failedLogins.record(request.address)
    if (retryAfter !== undefined) throw tooManyGuesses(retryAfter)
    const text =
      kind === 'token'
        ? `the access token is not valid; this needs ${needs}`
        : `the Authorization header must be given once, as "Bearer <token>"; this needs ${needs}`
    return refuse(reply, challenges.of(request, access, 'invalid_token'), unauthorized(text))
  }
  /** Returns the caller of the session cookie, which REST takes; MCP endpoints never do. */
  const callerOfCookie = (request: FastifyRequest, reply: FastifyReply, access: Access): Caller | undefined => {
    const { identity } = app
    if (!identity || access === 'client' || !request.url.startsWith('/api/')) return undefined
    const opened = identity.open(request, reply)
    if (!opened) return undefined
    const { session, signIn } = opened
    // the person signs in again, so that the groups are read
    if (identity.isStale(session)) return undefined
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (!isRead && !identity.sessions.hasCsrfToken(session, 'api', request.headers['x-towpath-csrf'])) {
      throw forbidden('a change with a session cookie needs the header X-Towpath-CSRF (GET /api/v0/me/session)')
    }
    return app.gateway.principals.signedInCaller({ signIn })
  }
  return (request, reply, access, credentials) => {
    if (credentials.kind === 'token') {
      const caller = app.gateway.principals.callerOf(credentials.hash)
      if (caller) return caller
      const checked = (app.identity ?? app.external)?.accessTokens.check(credentials, request)
      // never "invalid_token", for which clients throw a token away
      if (checked === 'busy') throw unavailable('too many access tokens are being verified at the moment')
      if (checked instanceof Promise) {
        return checked.then(
          (signedIn) => callerOfToken(request, signedIn) ?? refuseCaller(request, reply, access, credentials)
        )
      }
      const signedInCaller = checked && callerOfToken(request, checked)
      if (signedInCaller) return signedInCaller
    }
    if (credentials.kind === 'none') {
      const caller = callerOfCookie(request, reply, access)
      if (caller) return caller
    }
    return refuseCaller(request, reply, access, credentials)
  }
}

/**
 * Authenticates the caller and checks the route's access, in one hook for all routes, known and unknown, before any
 * body is read. Decides by the matched route, never by the URL. Development mode has a single caller with all rights
 * (http-contract.md#authentication). A route without a declared access stops the start.
 */
export default fp<AuthOptions>(
  async (app, { mode, limits, auth, publicUrl, readCredentials }) => {
    refuseUndeclaredAccess(app)
    const challenges = createChallenges(auth, publicUrl)
    const lastCallers = createLastCallers<Caller>(() => app.gateway.principals.catalogIdentity)
    const authenticate = createAuthentication(app, limits, challenges)
    const setCaller = (request: FastifyRequest, caller: Caller): void => {
      request.caller = caller
      request.callerCatalog = app.gateway.principals.catalogIdentity
    }
    /** MCP routes decide after reading the body. */
    const refuseIfOverloaded = ({ overloadError }: FastifyRequest, access: Access, caller: Caller): void => {
      if (overloadError && access !== 'client' && !isAdministrator(caller)) throw overloadError
    }
    const admit = (
      request: FastifyRequest,
      reply: FastifyReply,
      access: Access,
      { caller, credentials }: { readonly caller: Caller; readonly credentials: HashedCredentials }
    ): void => {
      // the audit log also names callers who are refused
      setCaller(request, caller)
      if (!request.is404 && access !== 'public') {
        checkAccess(caller, access, reply, (error, scope) => challenges.of(request, access, error, scope))
      }
      lastCallers.keep(credentials, request, { caller, access })
      refuseIfOverloaded(request, access, caller)
    }
    const check = (request: FastifyRequest, reply: FastifyReply): void | Promise<void> => {
      const credentials = readCredentials(request.raw)
      const last = lastCallers.find(credentials, request)
      if (last && app.gateway.ready) {
        setCaller(request, last.caller)
        return refuseIfOverloaded(request, last.access, last.caller)
      }
      const { is404, routeOptions } = request
      const access = routeOptions.config.access ?? 'admin'
      if (!is404 && access === 'public') return
      if (is404 && isDashboard(request.url)) throw app.httpErrors.notFound('no such route')
      if (!app.gateway.ready) throw unavailable('the catalog is not loaded yet')
      if (!app.gateway.initialized) throw forbidden('server is not initialized', NOT_INITIALIZED)
      const caller = authenticate(request, reply, access, credentials)
      if (!(caller instanceof Promise)) return admit(request, reply, access, { caller, credentials })
      return caller.then((found) => admit(request, reply, access, { caller: found, credentials }))
    }

    app.decorateRequest('caller', null)
    app.decorateRequest('callerCatalog', null)
    app.addHook('onRequest', (request, reply, done) => {
      if (mode === 'development') {
        request.caller = developmentCaller
        return done()
      }
      const pending = check(request, reply)
      // a promise for every call would cost time: only a token that was not seen before needs one
      if (pending) void continueAfter(pending, done)
      else done()
    })
    if (mode === 'development') return
    // the token may be revoked while the body is still arriving
    app.addHook('preValidation', ({ caller, callerCatalog }, reply, done) => {
      // public routes are served before there is a gateway
      if (!caller) return done()
      const { principals } = app.gateway
      if (callerCatalog !== principals.catalogIdentity && !principals.hasValidToken(caller)) {
        refuse(reply, 'Bearer error="invalid_token"', unauthorized('the access token is no longer valid'))
      }
      done()
    })
  },
  { name: 'auth', dependencies: ['client-address', 'guard', 'request-turns', 'telemetry'] }
)
