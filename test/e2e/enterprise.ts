import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startRecorder, type Recorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import {
  legacyBody,
  modernBody,
  modernHeaders,
  openSession,
  openStream,
  readAnswer,
  type Answer as McpAnswer,
  type OpenStream
} from '../integration/mcp-helpers.ts'
import { engines, freshDatabase, freshDataDir, addCleanup, tempDir, type StoreLocation } from '../store.ts'
import { request, startGateway, type Answer, type Gateway } from './harness.ts'

/** The `skip` option for enterprise gateways, which the tests run on PostgreSQL. */
export const skip = engines.includes('postgres') ? false : 'no PostgreSQL'

type Headers = Record<string, string>
type Params = Parameters<typeof modernBody>[1]

/** Requests with one token, or without a token. */
export interface Actor {
  readonly headers: Headers
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown): Promise<Answer>
  put(path: string, body?: unknown): Promise<Answer>
  remove(path: string): Promise<Answer>
  send(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>
  /** Sends a legacy MCP request; `headers` may be those of a session. */
  legacy(method: string, params?: object, headers?: Headers, endpoint?: string): Promise<McpAnswer>
  modern(method: string, params?: Params, headers?: Headers, endpoint?: string): Promise<McpAnswer>
  /** Opens a legacy session and returns its headers. */
  initialize(endpoint?: string, capabilities?: object): Promise<Headers>
  /** Opens a stream and collects its data as it arrives. */
  listen(path: string, headers?: Headers): Promise<OpenStream>
}

const both = 'application/json, text/event-stream'

export function actorAt(t: TestContext, url: string, token?: string): Actor {
  const own: Headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const send: Actor['send'] = (method, path, body, headers = {}) =>
    request(url + path, method, body, { ...own, ...headers })
  const rpc = async (endpoint: string, body: string, headers: Headers) =>
    readAnswer(await fetch(url + endpoint, { method: 'POST', headers: { ...headers, ...own }, body }))
  const actor: Actor = {
    headers: own,
    send,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    remove: (path) => send('DELETE', path),
    legacy: (method, params, headers = {}, endpoint = '/mcp') =>
      rpc(endpoint, legacyBody(method, params), { 'content-type': 'application/json', accept: both, ...headers }),
    modern: (method, params, headers = {}, endpoint = '/mcp') =>
      rpc(endpoint, modernBody(method, params), {
        ...modernHeaders(method, params?.name ?? params?.uri ?? params?.taskId),
        ...headers
      }),
    initialize: (endpoint = '/mcp', capabilities) =>
      openSession((params) => actor.legacy('initialize', params, {}, endpoint), undefined, capabilities),
    listen: (path, headers = {}) =>
      openStream(t, url + path, { headers: { accept: 'text/event-stream', ...headers, ...own } })
  }
  return actor
}

/** Access tokens of the principals of the black-box checks. */
export interface Tokens {
  readonly admin: string
  readonly user: string
  /** Allowed `["alpha"]`. */
  readonly cliA: string
  /** Allowed `["beta"]`. */
  readonly cliB: string
  /** Allowed `["*"]`. */
  readonly cliAll: string
  /** `allowed_servers` omitted. */
  readonly cliNone: string
}

export interface Enterprise extends Gateway {
  readonly tokens: Tokens
  /** Returns requests with this token; without a token they are anonymous. */
  as(token?: string): Actor
  readonly admin: Actor
  readonly user: Actor
  readonly cliA: Actor
  readonly cliB: Actor
  readonly cliAll: Actor
  readonly cliNone: Actor
}

/** Settings with one encryption key for all replicas. */
export const key = { SERVER_MODE: 'enterprise', TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }

export interface EnterpriseOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Default: PostgreSQL. */
  readonly engine?: 'postgres' | 'pglite'
  /** Storage location instead of a fresh store. */
  readonly place?: StoreLocation
}

/** Starts an enterprise gateway on an empty database, not initialised. */
export async function startEmpty(t: TestContext, { env, engine = 'postgres', ...options }: EnterpriseOptions = {}) {
  const fresh = async () =>
    engine === 'pglite'
      ? { dataDir: await freshDataDir(t) }
      : { databaseUrl: await freshDatabase(t), dataDir: await tempDir(t) }
  const place = options.place ?? (await fresh())
  return startGateway(t, { place, env: { ...key, ...env } })
}

export async function initialize(gateway: Gateway): Promise<string> {
  const answer = await gateway.post('/init')
  assert.equal(answer.status, 200, answer.text)
  return answer.body.admin_access_token as string
}

async function create(admin: Actor, path: string, body: object): Promise<string> {
  const answer = await admin.post(path, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.access_token as string
}

export const createUser = (admin: Actor, body: object) => create(admin, '/api/v0/users', body)
export const createClient = (admin: Actor, body: object) => create(admin, '/api/v0/clients', body)

/** A user as responses show it: the name in both spellings. */
export const userRecord = (name: string, role = 'user') => ({ name, username: name, role })

/** A client as responses show it: the allow list in both spellings. */
export const clientRecord = (name: string, allowed_servers: readonly string[], more: object = {}) => ({
  name,
  ...more,
  allowed_servers,
  allow_list: allowed_servers
})

async function createPrincipals(admin: Actor): Promise<Omit<Tokens, 'admin'>> {
  const client = (name: string, more: object = {}) => createClient(admin, { name, ...more })
  return {
    user: await createUser(admin, { name: 'user' }),
    cliA: await client('cli-a', { allowed_servers: ['alpha'] }),
    cliB: await client('cli-b', { allowed_servers: ['beta'] }),
    cliAll: await client('cli-all', { allowed_servers: ['*'] }),
    cliNone: await client('cli-none')
  }
}

function withActors(t: TestContext, gateway: Gateway, tokens: Tokens): Enterprise {
  const as = (token?: string) => actorAt(t, gateway.url, token)
  return {
    ...gateway,
    tokens,
    as,
    admin: as(tokens.admin),
    user: as(tokens.user),
    cliA: as(tokens.cliA),
    cliB: as(tokens.cliB),
    cliAll: as(tokens.cliAll),
    cliNone: as(tokens.cliNone),
    register: (server) => registerAs(as(tokens.admin), server)
  }
}

/** Starts an initialised enterprise gateway with the principals of the black-box checks. */
export async function startEnterprise(t: TestContext, options: EnterpriseOptions = {}): Promise<Enterprise> {
  const gateway = await startEmpty(t, options)
  const admin = await initialize(gateway)
  return withActors(t, gateway, { admin, ...(await createPrincipals(actorAt(t, gateway.url, admin))) })
}

/** Starts another process on the same database with the same key and principals. */
export async function startReplica(
  t: TestContext,
  { place, tokens }: Enterprise,
  { env }: EnterpriseOptions = {}
): Promise<Enterprise> {
  const { databaseUrl } = place
  const gateway = await startGateway(t, {
    place: { ...(databaseUrl === undefined ? {} : { databaseUrl }), dataDir: await tempDir(t) },
    env: { ...key, ...env }
  })
  return withActors(t, gateway, tokens)
}

export async function registerAs(admin: Actor, server: object): Promise<Answer> {
  const answer = await admin.post('/api/v0/servers', server)
  assert.equal(answer.status, 201, answer.text)
  return answer
}

/** Registers a recording upstream: `alpha` and `beta` of the black-box checks. */
export async function addUpstream(
  t: TestContext,
  { admin }: Pick<Enterprise, 'admin'>,
  name: string,
  options: RecorderOptions = {},
  more: object = {}
): Promise<Recorder> {
  const recorder = await startRecorder(null, { name, ...options })
  addCleanup(t, recorder.close)
  await registerAs(admin, { name, transport: 'streamable_http', url: recorder.url, ...more })
  return recorder
}
