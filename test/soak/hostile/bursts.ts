import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { legacyBody, modernBody, modernHeaders } from '../../integration/mcp-helpers.ts'

/** What an attacker knows. */
export interface Aim {
  readonly port: number
  /** Undefined of an anonymous visitor. */
  readonly token: string | undefined
}

/** One kind of attack, bounded in count and time. */
export type Burst = (aim: Aim) => Promise<unknown>

const HOLD_MS = 2_000
const PATIENCE_MS = 5_000
const hold = (ms = HOLD_MS) => delay(ms)

const fieldsOf = ({ token }: Aim): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }
const head = (aim: Aim, method: string, path: string, more: Record<string, string> = {}) => {
  const fields = { host: `127.0.0.1:${aim.port}`, ...fieldsOf(aim), ...more }
  return `${method} ${path} HTTP/1.1\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
}
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const posted = (aim: Aim, path: string, body: string, more: Record<string, string> = {}) =>
  head(aim, 'POST', path, { ...json, ...more, 'content-length': `${Buffer.byteLength(body)}` }) + body

/** Sends bytes on sockets whose answers nobody reads. */
async function unread({ port }: Aim, count: number, text: string, drip?: string): Promise<void> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(text)
    return socket
  })
  for (let at = 0; drip !== undefined && at < 20; at++) {
    await hold(100)
    for (const socket of sockets) if (!socket.destroyed) socket.write(drip)
  }
  await hold()
  for (const socket of sockets) socket.destroy()
}

/** Sends a body and reads the answer, whatever it is. */
async function post(
  aim: Aim,
  path: string,
  body: string,
  more: Record<string, string> = {}
): Promise<Headers | undefined> {
  try {
    const init = { method: 'POST', body, headers: { ...json, ...fieldsOf(aim), ...more } }
    const response = await fetch(`http://127.0.0.1:${aim.port}${path}`, {
      ...init,
      signal: AbortSignal.timeout(PATIENCE_MS)
    })
    for await (const _ of response.body ?? []);
    return response.headers
  } catch {
    return undefined
  }
}
const times = (count: number, work: (at: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)))

const lists = ['tools/list', 'prompts/list', 'resources/list']
const batch = `[${Array.from({ length: 100 }, (_, id) => legacyBody('tools/list', {}, id)).join(',')}]`
const deep = '['.repeat(2_000_000)
const long = 'a'.repeat(4_000_000)
const modern = (aim: Aim, name: string, capabilities: object) => {
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities, progressToken: 1 }
  return post(aim, '/mcp', modernBody('tools/call', { name, arguments: {}, _meta }), modernHeaders('tools/call', name))
}
const initialize = legacyBody('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
  clientInfo: { name: 'x'.repeat(1_000), version: '1' }
})
/** Sessions with open streams, which are left. */
const sessions: Burst = async (aim) => {
  await times(50, async () => {
    const id = (await post(aim, '/mcp', initialize))?.get('mcp-session-id')
    if (typeof id !== 'string') return
    await unread(aim, 1, head(aim, 'GET', '/mcp', { accept: 'text/event-stream', 'mcp-session-id': id }))
  })
}

/** Of an MCP client with the least rights: those on the hostile server alone. */
export const ofClient: Readonly<Record<string, Burst>> = {
  'batches of lists': (aim) => times(10, () => post(aim, '/mcp', batch)),
  'unread pipelined lists': (aim) =>
    unread(
      aim,
      40,
      lists
        .map((method) => posted(aim, '/mcp', legacyBody(method)))
        .join('')
        .repeat(4)
    ),
  'subscriptions of 4 MB': (aim) =>
    times(6, (at) =>
      post(aim, '/mcp', legacyBody('resources/subscribe', { uri: `bad://${at}${long.slice(0, 3_900_000)}` }))
    ),
  'slow senders': (aim) =>
    unread(aim, 40, head(aim, 'POST', '/mcp', { ...json, 'content-length': '4000000' }), '{"a":1,'),
  'huge and deep bodies': (aim) =>
    times(4, (at) =>
      post(
        aim,
        '/mcp',
        at % 2 === 0
          ? deep
          : JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { long } }).slice(0, 4_100_000)
      )
    ),
  'sessions and streams': sessions,
  'unread SSE streams': (aim) => unread(aim, 50, head(aim, 'GET', '/sse', { accept: 'text/event-stream' })),
  capabilities: (aim) =>
    times(40, (at) => modern(aim, 'bad__plain', { experimental: { [`x${at}`]: 'x'.repeat(50_000) } })),
  'calls of a hostile server': (aim) =>
    times(16, (at) =>
      modern(aim, `bad__${['huge', 'links', 'drip', 'storm'][at % 4]}`, { sampling: {}, elicitation: {} })
    )
}

const documents = [
  '/docs/static/swagger-ui-bundle.js',
  '/docs/static/swagger-ui.css',
  '/openapi.json',
  '/docs/static/index.html'
]

/** Of somebody without a token. */
export const ofVisitor: Readonly<Record<string, Burst>> = {
  'unread static documents': (aim) =>
    unread(
      aim,
      100,
      documents
        .map((path) => head(aim, 'GET', path))
        .join('')
        .repeat(2)
    ),
  'slow headers': (aim) => unread(aim, 100, 'GET /health HTTP/1.1\r\n', 'x: y\r\n'),
  'huge headers': (aim) => unread(aim, 20, head(aim, 'GET', '/health', { x: 'a'.repeat(200_000) })),
  'bodies without a token': (aim) => times(4, () => post(aim, '/mcp', long)),
  'guesses of tokens': (aim) =>
    times(60, (at) => post({ ...aim, token: `guess-${at}-0123456789` }, '/mcp', legacyBody('ping'))),
  'idle connections': (aim) => unread(aim, 300, '')
}
