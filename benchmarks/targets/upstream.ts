// A minimal HTTP server. `/mcp` speaks both eras without sessions; `/legacy/mcp` is legacy; `/session/mcp` is legacy
// and requires its session id; `/events/mcp` answers with an event stream, with progress if the request has a progress
// token; `/session-events/mcp` does both. `?tools=20` sets the number of listed tools. The argument `task` makes a call a task, whose id says what
// `tasks/get` answers.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { echoResult, type Text, tools } from './tools.ts'
import { listen } from './listen.ts'

interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: {
    readonly protocolVersion?: string
    readonly arguments?: { readonly size?: number; readonly text?: Text; readonly task?: boolean }
    readonly taskId?: string
    readonly _meta?: { readonly progressToken?: number | string; readonly [key: string]: unknown }
  }
}

const SMALL = 200
const PROGRESS = [1, 2, 3]
const serverInfo = { name: 'bench', version: '1.0.0' }
const capabilities = { tools: {} }
const cacheable = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' }

const results = new Map<string, string>()
const lists = new Map<string, string>()
const sessions = new Set<string>()

function cached<K>(known: Map<K, string>, key: K, make: () => string): string {
  const text = known.get(key) ?? make()
  known.set(key, text)
  return text
}

/** Returns a task as JSON text; `more`: further members. */
function taskText(taskId: string, resultType: string, status: string, more = ''): string {
  const times = { createdAt: '2026-07-28T00:00:00Z', lastUpdatedAt: '2026-07-28T00:00:00Z', ttlMs: null }
  return `${JSON.stringify({ resultType, taskId, status, ...times }).slice(0, -1)}${more}}`
}

function resultOf({ method, params = {} }: Message, url: URL, isLegacy: boolean): string | undefined {
  const isModern = params._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
  if (method === 'tools/call') {
    const { size = SMALL, text = 'plain', task } = params.arguments ?? {}
    if (task) return taskText(`${size} ${text} ${randomUUID()}`, 'task', 'working')
    return cached(results, `${size} ${text}`, () => echoResult(size, text))
  }
  if (method === 'tasks/get') {
    const [size, text] = params.taskId!.split(' ') as [string, Text]
    const result = cached(results, `${size} ${text}`, () => echoResult(Number(size), text))
    return taskText(params.taskId!, 'complete', 'completed', `,"result":${result}`)
  }
  if (method === 'tools/list') {
    const count = Number(url.searchParams.get('tools') ?? 10)
    return cached(lists, `${count} ${isModern}`, () =>
      JSON.stringify({ tools: tools(count), ...(isModern && cacheable) })
    )
  }
  if (method === 'initialize') return JSON.stringify({ protocolVersion: '2025-11-25', capabilities, serverInfo })
  if (method === 'server/discover' && !isLegacy) {
    return JSON.stringify({ ...cacheable, supportedVersions: ['2026-07-28', '2025-11-25'], capabilities, serverInfo })
  }
  return method === 'ping' ? '{}' : undefined
}

const progressOf = (token: number | string) =>
  PROGRESS.map((progress) => {
    const params = { progressToken: token, progress, total: PROGRESS.length }
    return `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`
  })

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers
  })
  response.end(text)
}

function answer(request: IncomingMessage, response: ServerResponse, message: Message): void {
  const { id, method, params } = message
  if (id === undefined) return send(response, 202, '')
  const url = new URL(request.url!, 'http://upstream')
  const isSession = url.pathname.startsWith('/session')
  if (isSession && method !== 'initialize' && !sessions.has(request.headers['mcp-session-id'] as string)) {
    return send(response, 404, JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'no session' } }))
  }
  const result = resultOf(message, url, isSession || url.pathname.startsWith('/legacy'))
  const rest = result === undefined ? '"error":{"code":-32601,"message":"Method not found"}' : `"result":${result}`
  const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${rest}}`
  const session = isSession && method === 'initialize' ? randomUUID() : undefined
  if (session) sessions.add(session)
  if (!url.pathname.includes('events/') || method !== 'tools/call') {
    return send(response, 200, text, session ? { 'mcp-session-id': session } : {})
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const token = params?._meta?.progressToken
  for (const frame of token === undefined ? [] : progressOf(token)) response.write(frame)
  response.end(`data: ${text}\n\n`)
}

listen(
  createServer((request, response) => {
    if (request.method === 'DELETE') {
      sessions.delete(request.headers['mcp-session-id'] as string)
      return send(response, 200, '')
    }
    if (request.method !== 'POST') return send(response, 405, '', { allow: 'POST, DELETE' })
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, response, JSON.parse(Buffer.concat(chunks).toString()) as Message))
  })
)
