import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Environment } from '../../src/config/config.ts'
import { freshConfig, openApp } from '../app.ts'
import type { RecorderOptions } from '../fixtures/http/recorder.ts'
import {
  startAuthorizationServer,
  type AuthorizationServer,
  type AuthorizationSwitches
} from '../fixtures/oauth/authorization-server.ts'
import { startProtected, type ProtectedUpstream } from '../fixtures/oauth/protected.ts'
import { inNightly } from '../matrix.ts'
import { addCleanup, anyEngine, type Engine } from '../store.ts'

const adminToken = 'administrator-token-of-oauth-tests'

/** Settings of both modes; `send` adds the administrator's token in either. */
export const modes = {
  development: {},
  enterprise: {
    SERVER_MODE: 'enterprise',
    TOWPATH_ADMIN_TOKEN: adminToken,
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
  }
} as const
export type Mode = keyof typeof modes

export const redirectUri = 'http://127.0.0.1:9/api/dashboard/oauth/callback'

export interface Setup {
  readonly app: FastifyInstance
  readonly as: AuthorizationServer
  readonly upstream: ProtectedUpstream
  readonly logged: string[]
  readonly databaseUrl?: string | undefined
}

/** Starts the gateway, AS_GOOD, and an upstream that accepts its tokens. */
export async function setUp(
  t: TestContext,
  switches: Partial<AuthorizationSwitches> & { readonly clients?: Readonly<Record<string, string>> } = {},
  {
    engine = inNightly('pglite', anyEngine),
    env = {},
    recorder = {}
  }: { engine?: Engine; env?: Environment; recorder?: RecorderOptions } = {}
): Promise<Setup> {
  const logged: string[] = []
  const config = await freshConfig(t, env, engine)
  const app = await openApp(config, { log: { write: (line) => void logged.push(line) } })
  addCleanup(t, () => app.close())
  const as = await startAuthorizationServer(null, switches)
  addCleanup(t, as.close)
  const upstream = await startProtected(null, as, recorder)
  addCleanup(t, upstream.close)
  return { app, as, upstream, logged, databaseUrl: config.databaseUrl }
}

export const send = async (
  app: FastifyInstance,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  payload?: object
) => {
  const headers = { authorization: `Bearer ${adminToken}` }
  const answer = await app.inject({ method, url: `/api/v0${path}`, headers, ...(payload ? { payload } : {}) })
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  const body = answer.body === '' ? undefined : (answer.json() as any)
  return { status: answer.statusCode, body, text: answer.body }
}

export const registration = (upstream: ProtectedUpstream, more: object = {}) => ({
  name: 'guarded',
  transport: 'streamable_http',
  url: upstream.url,
  oauth_redirect_uri: redirectUri,
  ...more
})

export interface SignInStart {
  readonly id: string
  readonly url: URL
}

export const beginWith = async (app: FastifyInstance, payload: object, query = ''): Promise<SignInStart> => {
  const { status, body } = await send(app, 'POST', `/servers${query}`, payload)
  assert.equal(status, 202, JSON.stringify(body))
  assert.deepEqual(Object.keys(body), ['authorization_required'])
  const { session_id, authorization_url, expires_at, ...rest } = body.authorization_required
  assert.deepEqual(rest, {})
  assert.ok(Date.parse(expires_at) > Date.now())
  return { id: session_id, url: new URL(authorization_url) }
}
export const begin = ({ app, upstream }: Setup, more: object = {}) => beginWith(app, registration(upstream, more))

export const completeWith = (app: FastifyInstance, id: string, answer: object) =>
  send(app, 'POST', `/upstream_oauth/sessions/${id}/complete`, answer)

/** Returns the authorization server's response to the redirect URI. */
export const answerOf = async (as: AuthorizationServer, { url }: SignInStart) =>
  Object.fromEntries((await as.agree(url.href)).searchParams) as { code: string; state: string; iss?: string }

export const complete = async ({ app, as }: Setup, begun: SignInStart) =>
  completeWith(app, begun.id, await answerOf(as, begun))

export const signIn = async (setup: Setup, more: object = {}) => {
  const done = await complete(setup, await begin(setup, more))
  assert.equal(done.status, 201, done.text)
}

export const call = (app: FastifyInstance) =>
  send(app, 'POST', '/tools/invoke', { name: 'guarded__echo', text: 'hello' })
