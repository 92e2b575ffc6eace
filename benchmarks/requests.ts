import type { Target } from './load.ts'
import { CALL_MARKER } from './targets/tools.ts'

export type Headers = Readonly<Record<string, string>>

const LEGACY = '2025-11-25'
const MODERN = '2026-07-28'
const META = 'io.modelcontextprotocol/'
/** The load generator increments this id. */
const id = 10_000_000
const json: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const legacyHeaders: Headers = { ...json, 'mcp-protocol-version': LEGACY }
const modernHeaders = (method: string, name?: string): Headers => ({
  ...json,
  'mcp-protocol-version': MODERN,
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': name })
})
/** Metadata as real clients send it. */
const modernMeta = {
  [`${META}protocolVersion`]: MODERN,
  [`${META}clientInfo`]: { name: 'bench', title: 'Load generator', version: '1.0.0' },
  [`${META}clientCapabilities`]: {}
}

/** `_meta` of requests that accept tasks. */
export const withTasks = { [`${META}clientCapabilities`]: { extensions: { [`${META}tasks`]: {} } } }

export function post(url: string, headers: Headers, body: string): string {
  const { host, pathname, search } = new URL(url)
  const all = { host, ...headers, 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

export interface Params {
  readonly name?: string
  readonly arguments?: object
  readonly taskId?: string
  readonly cursor?: string
  readonly _meta?: object
}

export const legacyRequest = (url: string, method: string, params: Params, headers: Headers = {}) =>
  post(url, { ...legacyHeaders, ...headers }, JSON.stringify({ jsonrpc: '2.0', id, method, params }))

/** Returns headers and body of a modern request. */
export const modernParts = (method: string, params: Params) => {
  const message = { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...modernMeta, ...params._meta } } }
  return { headers: modernHeaders(method, params.name ?? params.taskId), body: JSON.stringify(message) }
}

export const modernRequest = (url: string, method: string, params: Params, more: Headers = {}) => {
  const { headers, body } = modernParts(method, params)
  return post(url, { ...headers, ...more }, body)
}

export const restRequest = (url: string, tool: string, args: object) =>
  post(`${url}/api/v0/tools/invoke`, { 'content-type': 'application/json' }, JSON.stringify({ name: tool, ...args }))

export function target(url: string, requests: readonly string[], marker: string, minBytes: number): Target {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port), requests, marker, minBytes }
}

/** Target whose connections all request a result with text of `size` bytes. */
export const calls = (url: string, requests: readonly string[], size = 200) => target(url, requests, CALL_MARKER, size)

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** Sends one request, reads the response and expects it to succeed. */
export async function ask(url: string, method: string, headers: Headers, body?: unknown): Promise<Response> {
  const answer = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${(await answer.text()).slice(0, 300)}`)
  return answer
}

/** Opens a legacy session and returns the headers for its requests. */
export async function openSession(url: string, headers: Headers = {}): Promise<Headers> {
  const clientInfo = { name: 'bench', version: '1.0.0' }
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo }
  const all = { ...legacyHeaders, ...headers }
  const answer = await ask(url, 'POST', all, { jsonrpc: '2.0', id, method: 'initialize', params })
  await answer.text()
  const session = answer.headers.get('mcp-session-id')
  const own = { ...headers, ...(session !== null && { 'mcp-session-id': session }) }
  const greeted = { jsonrpc: '2.0', method: 'notifications/initialized' }
  await (await ask(url, 'POST', { ...legacyHeaders, ...own }, greeted)).text()
  return own
}

export const openSessions = (url: string, count: number): Promise<Headers[]> =>
  Promise.all(times(count, () => openSession(url)))
