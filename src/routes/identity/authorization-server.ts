import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { BROWSER_PARAMETER } from '../../authorization-server/consent-policy.ts'
import { DEVICE_GRANT } from '../../authorization-server/command-line.ts'
import { CLIENT_CREDENTIALS } from '../../authorization-server/mcp-clients.ts'
import { createDevicePolls } from '../../authorization-server/device-polls.ts'
import { withKnownScopes } from '../../authorization-server/known-scopes.ts'
import { NEW_CLIENT_S } from '../../authorization-server/adapter.ts'
import { paths } from '../../authorization-server/provider.ts'
import { redirectUrisProblem } from '../../authorization-server/redirect-uris.ts'
import { isObject } from '../../domain/is-object.ts'
import { createLimit } from '../../http/rate-limit.ts'
import { AppError } from '../../lib/errors.ts'
import { createApprovalCheck } from './client-approval.ts'
import { consent } from './consent.ts'
import { device } from './device.ts'
import { createServers } from './current-server.ts'

const config = { access: 'public', errorPage: 'The sign-in cannot go on' } as const
const open = { access: 'public', crossOrigin: true } as const
const MAX_CLIENTS = 10_000
const BODY_BYTES = 65_536
const REGISTRATION_BYTES = 16_384
/** Requests per minute: one address or IPv6 /64 network, and all. */
const RATES = {
  authorize: { perKey: 30, inAll: 3_000 },
  token: { perKey: 300, inAll: 30_000 },
  register: { perKey: 20, inAll: 600 }
} as const

export type AuthorizationServerOptions = Pick<Config, 'auth' | 'publicUrl'>

/** Reads a registration; undefined for a body that the library refuses. */
function readRegistration(body: unknown): Record<string, unknown> | undefined {
  try {
    const given: unknown = Buffer.isBuffer(body) ? JSON.parse(body.toString()) : undefined
    return isObject(given) ? given : undefined
  } catch {
    return undefined
  }
}

/** Returns the refusal of a registration that would be useless or dangerous (RFC 7591 3.2.2). */
function registrationProblem(given: Record<string, unknown>, schemes: readonly string[]) {
  if ([given['grant_types']].flat().includes(CLIENT_CREDENTIALS)) {
    const text = 'clients that get tokens as themselves are created by an administrator of the gateway'
    return { error: 'invalid_client_metadata', error_description: text }
  }
  const problem = redirectUrisProblem(given['redirect_uris'], schemes)
  return problem === undefined ? undefined : { error: 'invalid_redirect_uri', error_description: problem }
}

/** Returns the code of a device that asks for its tokens (RFC 8628 3.4); undefined for any other token request. */
const deviceCodeOf = (form: URLSearchParams): string | undefined =>
  form.get('grant_type') === DEVICE_GRANT ? (form.get('device_code') ?? undefined) : undefined

/** Returns the request of an MCP client that names no scope with that of MCP (RFC 6749 3.3); any other as it is. */
function withScope(body: Buffer, form: URLSearchParams): Buffer {
  if (form.get('grant_type') !== CLIENT_CREDENTIALS || form.get('scope')) return body
  form.set('scope', 'mcp')
  return Buffer.from(form.toString())
}

const noBody = Buffer.alloc(0)
const bodyOf = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : noBody)

/** The embedded authorization server. */
export const authorizationServer: FastifyPluginAsyncTypebox<AuthorizationServerOptions> = async (app, options) => {
  const { auth, publicUrl } = options
  const identity = app.identity!
  const serverOf = createServers(app, options)
  const prefix = new URL(publicUrl!).pathname.replace(/\/$/, '')
  const limits = {
    authorize: createLimit(RATES.authorize),
    token: createLimit(RATES.token),
    register: createLimit(RATES.register)
  }

  const polls = createDevicePolls()

  const pass = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { url = request.raw.url!, body = bodyOf(request) }: { readonly url?: string; readonly body?: Buffer } = {}
  ) => {
    const { handle } = await serverOf()
    reply.hijack()
    const { raw } = request
    raw.url = url
    // Fastify has read the body
    Object.assign(raw, { body })
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    await handle(raw, reply.raw, { address: request.address, browsers: identity.browsersOf(request) })
  }

  await app.register(async (protocol) => {
    protocol.removeAllContentTypeParsers()
    protocol.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES }, (_request, body, done) => {
      done(null, body)
    })
    protocol.get(paths.authorization, { config, schema: {} }, async (request, reply) => {
      limits.authorize(request)
      const url = new URL(request.raw.url!, 'http://gateway')
      const mode = url.searchParams.get('response_mode')
      if (mode !== null && mode !== 'query') throw new AppError(400, 'The only response mode here is "query".')
      // clients that ask for nothing get the scope of MCP (MCP authorization, Scope Selection Strategy)
      if (!url.searchParams.get('scope')) url.searchParams.set('scope', 'mcp')
      url.searchParams.set(BROWSER_PARAMETER, identity.markBrowser(request, reply))
      await pass(request, reply, { url: `${url.pathname}${url.search}` })
    })
    protocol.get(`${paths.authorization}/:uid`, { config, schema: {} }, (request, reply) => pass(request, reply))
    protocol.post(paths.token, { config: open, schema: {} }, async (request, reply) => {
      limits.token(request)
      const body = bodyOf(request)
      const form = new URLSearchParams(body.toString())
      const code = deviceCodeOf(form)
      if (code !== undefined && polls.isTooSoon(code)) {
        const error = { error: 'slow_down', error_description: 'wait five seconds longer between two requests' }
        return reply.code(400).header('cache-control', 'no-store').send(error)
      }
      await pass(request, reply, { body: withScope(body, form) })
      return undefined
    })
    protocol.post(paths.device, { config: open, schema: {} }, (request, reply) => {
      limits.authorize(request)
      return pass(request, reply)
    })
    protocol.post(paths.revocation, { config: open, schema: {} }, (request, reply) => {
      limits.token(request)
      return pass(request, reply)
    })
    protocol.get(paths.jwks, { config: open, schema: {} }, (request, reply) => pass(request, reply))
    protocol.post(
      paths.registration,
      { config: open, schema: {}, bodyLimit: REGISTRATION_BYTES },
      async (request, reply) => {
        if (auth.dcr === 'off') throw new AppError(404, 'clients cannot be registered here')
        limits.register(request)
        const given = readRegistration(request.body)
        const problem = given && registrationProblem(given, auth.redirectSchemes)
        if (problem) return reply.code(400).header('cache-control', 'no-store').send(problem)
        const { oauthRecords } = app.registry
        const isFull = (await oauthRecords.count('Client')) >= MAX_CLIENTS
        // of the clients that nobody has let in the oldest gives way
        if (isFull && !(await oauthRecords.deleteOldest('Client', NEW_CLIENT_S))) {
          throw new AppError(429, 'too many clients are registered', { retryAfter: 3_600 })
        }
        if (given) request.body = Buffer.from(JSON.stringify(withKnownScopes(given)))
        await pass(request, reply)
        return undefined
      }
    )
    for (const url of [paths.token, paths.device, paths.revocation, paths.jwks, paths.registration]) {
      protocol.options(url, { config: open, schema: {} }, (_request, reply) => reply.code(405).send())
    }
    for (const document of ['oauth-authorization-server', 'openid-configuration']) {
      const url = `/.well-known/${document}`
      for (const path of prefix === '' ? [url] : [url, `${url}${prefix}`]) {
        protocol.get(path, { config: open, schema: {} }, (request, reply) => pass(request, reply, { url }))
      }
    }
  })

  const requireApproval = createApprovalCheck(auth, () => app.gateway.registeredClients)
  await app.register(consent, { serverOf, publicUrl: publicUrl!, requireApproval })
  await app.register(device, { serverOf, publicUrl: publicUrl!, requireApproval })
}
