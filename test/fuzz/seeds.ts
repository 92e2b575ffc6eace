import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../e2e/harness.ts'
import { modernBody, modernHeaders } from '../integration/mcp-helpers.ts'
import { bytesOf, type Request } from './message.ts'
import type { Random } from './random.ts'

/** Data for valid requests to one gateway. */
export interface Access {
  readonly port: number
  /** URL of a server that may be registered. */
  readonly upstreamUrl: string
  /** Values of `Authorization`, by role; undefined in development mode. */
  readonly admin: string | undefined
  readonly client: string | undefined
  /** An open legacy session. */
  session: string
}

const names = [
  'victim',
  'g1',
  'nobody',
  'alpha',
  'alpha__echo',
  'alpha__greet',
  'fixture://note',
  'towpath://alpha/fixture://note'
]
const servers = (url: string): object[] => [
  {
    name: 'victim',
    transport: 'streamable_http',
    url,
    headers: { 'X-A': 'b' },
    bearer_token: 'a-token',
    session_mode: 'stateful'
  },
  { name: 'victim', transport: 'sse', url, description: 'd' },
  { name: 'victim', transport: 'stdio', command: 'no-such-command', args: ['a'], env: { A: 'b' } }
]
const group = {
  name: 'g1',
  description: 'd',
  included_tools: ['alpha__echo'],
  included_servers: ['alpha'],
  excluded_tools: ['alpha__fail']
}

/** Valid bodies of a route, by the end of its path. */
const bodies = (url: string): Readonly<Record<string, readonly object[]>> => ({
  servers: servers(url),
  'servers/{name}': servers(url),
  'tools/invoke': [
    { name: 'alpha__echo', text: 'x' },
    { name: 'alpha__whoami', arguments: { a: [1, { b: null }] } },
    { name: 'alpha__fail' }
  ],
  'prompts/render': [{ name: 'alpha__greet', arguments: { who: 'you' } }],
  'resources/read': [{ uri: 'fixture://note' }],
  'tool-groups': [group, { ...group, included_tools: [], included_servers: ['alpha'], tool_names: 'bare' }],
  'tool-groups/{name}': [group],
  users: [{ name: 'u1', role: 'user', access_token: '0123456789abcdef' }],
  'users/{name}': [{ access_token: '0123456789abcdefg' }, {}],
  clients: [{ name: 'c1', description: 'd', allowed_servers: ['alpha'], access_token: '0123456789abcdefgh' }],
  'clients/{name}': [{ allowed_servers: ['*'] }],
  complete: [{ code: 'c', state: 's', iss: 'http://localhost' }]
})

interface Route {
  readonly path: string
  readonly method: string
}

/** Returns every documented route, and those served besides. */
export function readRoutes(): Route[] {
  const { paths } = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')) as { paths: Record<string, object> }
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ path, method: method.toUpperCase() }))
  )
  const others = [
    '/',
    '/index.html',
    '/assets/x.js',
    '/docs',
    '/docs/static/index.html',
    '/openapi.json',
    '/metrics',
    '/nowhere'
  ]
  const dashboard = [
    'overview',
    'servers',
    'tools',
    'tool-groups/g1',
    'diagnostics',
    'oauth/callback?state=x&code=y',
    'oauth/session/x'
  ]
  return [
    ...documented,
    ...others.map((path) => ({ path, method: 'GET' })),
    ...dashboard.map((name) => ({ path: `/api/dashboard/${name}`, method: 'GET' }))
  ]
}

const queries = [
  '',
  '',
  '?server=alpha',
  '?name=alpha__echo',
  '?entity=victim',
  '?uri=fixture%3A%2F%2Fnote',
  '?force=true'
]
const json = ['Content-Type', 'application/json'] as const

function headersFor({ port }: Access, token: string | undefined, ...more: (readonly [string, string])[]) {
  const authorization = token === undefined ? [] : ([['Authorization', `Bearer ${token}`]] as const)
  return [['Host', `127.0.0.1:${port}`] as const, ...authorization, ...more]
}

function restSeed(random: Random, access: Access, routes: readonly Route[]): Request {
  const { path, method } = random.pick(routes)
  const known = Object.entries(bodies(access.upstreamUrl)).find(([end]) => path.endsWith(`/${end}`))
  const body = method === 'GET' || !known ? '' : bytesOf(JSON.stringify(random.pick(known[1])))
  const place = path.replace(/\{\w+\}/g, () => encodeURIComponent(random.pick(names)))
  const headers = headersFor(access, access.admin, ...(body === '' ? [] : [json]))
  return { method, path: place + random.pick(queries), version: 'HTTP/1.1', headers, body }
}

type Params = Record<string, unknown>

const methods: readonly (readonly [method: string, params: Params])[] = [
  [
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'c', version: '1' } }
  ],
  ['ping', {}],
  ['tools/list', {}],
  ['tools/list', { cursor: 'eyJ2IjoxfQ' }],
  ['tools/call', { name: 'alpha__echo', arguments: { text: 'x' }, _meta: { progressToken: 'p' } }],
  ['tools/call', { name: 'alpha__log', arguments: {} }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'alpha__greet', arguments: { who: 'you' } }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'fixture://note' }],
  ['resources/subscribe', { uri: 'fixture://note' }],
  ['resources/unsubscribe', { uri: 'fixture://note' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'alpha__greet' }, argument: { name: 'who', value: 'y' } }],
  ['logging/setLevel', { level: 'info' }],
  ['server/discover', {}],
  ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
  ['tasks/get', { taskId: 'x' }],
  ['notifications/initialized', {}],
  ['notifications/cancelled', { requestId: 1, reason: 'r' }],
  ['notifications/progress', { progressToken: 'p', progress: 1 }]
]

function legacyMessage(random: Random): object {
  if (random.chance(0.1)) return { jsonrpc: '2.0', id: random.below(5), result: { roots: [] } }
  const [method, params] = random.pick(methods)
  const id = method.startsWith('notifications/') ? {} : { id: random.pick([1, 'a', 0, -1]) }
  return { jsonrpc: '2.0', ...id, method, params }
}

const endpoints = ['/mcp', '/mcp', '/v0/groups/g1/mcp', '/message?sessionId=x', '/v0/groups/g1/message?sessionId=x']
const both = ['Accept', 'application/json, text/event-stream'] as const

function legacySeed(random: Random, access: Access): Request {
  const message = random.chance(0.1)
    ? Array.from({ length: random.below(4) }, () => legacyMessage(random))
    : legacyMessage(random)
  const session = random.chance(0.5) ? ([['Mcp-Session-Id', access.session]] as const) : []
  const headers = headersFor(access, access.client, json, both, ...session)
  const body = bytesOf(JSON.stringify(message))
  return { method: 'POST', path: random.pick(endpoints), version: 'HTTP/1.1', headers, body }
}

function modernSeed(random: Random, access: Access): Request {
  const [method, params] = random.pick(methods)
  const name = params.name ?? params.uri
  const given = Object.entries(modernHeaders(method, name as string | undefined))
  const headers = headersFor(access, access.client, ...given)
  return {
    method: 'POST',
    path: random.pick(endpoints.slice(0, 3)),
    version: 'HTTP/1.1',
    headers,
    body: bytesOf(modernBody(method, params))
  }
}

function streamSeed(random: Random, access: Access): Request {
  const path = random.pick([
    '/mcp',
    '/sse',
    '/v0/groups/g1/mcp',
    '/v0/groups/g1/sse',
    '/message',
    '/message?sessionId=x'
  ])
  const session = random.chance(0.5) ? ([['Mcp-Session-Id', random.pick([access.session, 'x'])]] as const) : []
  const headers = headersFor(access, access.client, ['Accept', 'text/event-stream'], ...session)
  return { method: random.pick(['GET', 'GET', 'DELETE']), path, version: 'HTTP/1.1', headers, body: '' }
}

/** Returns a request that is valid, or that asks for an unknown resource. */
export function seedFor(random: Random, access: Access, routes: readonly Route[]): Request {
  const kind = random.below(10)
  if (kind < 4) return restSeed(random, access, routes)
  if (kind < 7) return legacySeed(random, access)
  if (kind < 9) return modernSeed(random, access)
  return streamSeed(random, access)
}
