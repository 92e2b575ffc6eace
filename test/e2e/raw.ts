import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A connection to an MCP server without an SDK, so that tests see exactly the server's messages. */
export interface RawPeer {
  /** Sends a request and returns the text of the whole JSON-RPC response. */
  request(method: string, params?: object): Promise<string>
  notify(method: string, params?: object): Promise<void>
  close(): void
}

/** A listed definition, parsed; members keep their order. */
export interface Definition {
  readonly name: string
  readonly title?: string
  readonly [member: string]: unknown
}

/** All lists of a server, in its own order. */
export interface Listing {
  readonly tools: Definition[]
  readonly prompts: Definition[]
  readonly resources: Definition[]
  readonly resourceTemplates: Definition[]
}

type Message = { id?: number | string; method?: string; result?: Record<string, unknown>; error?: { message: string } }

/**
 * Matches responses to requests and rejects the server's requests. `send` delivers one JSON-RPC message to the server.
 */
function exchange(send: (text: string) => Promise<void>) {
  const waiting = new Map<number | string, (text: string) => void>()
  let last = 0
  return {
    receive(text: string) {
      const { id, method } = JSON.parse(text) as Message
      if (id === undefined) return
      if (method === undefined) return waiting.get(id)?.(text)
      const error = { code: -32601, message: 'Method not found' }
      void send(JSON.stringify({ jsonrpc: '2.0', id, error })).catch(() => {})
    },
    request(method: string, params: object = {}): Promise<string> {
      const id = ++last
      const { promise, resolve, reject } = deferred<string>()
      waiting.set(id, resolve)
      send(JSON.stringify({ jsonrpc: '2.0', id, method, params })).catch(reject)
      return promise
    },
    notify: (method: string, params: object = {}) => send(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }
}

function deferred<T>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

export function rawStdio(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): RawPeer {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const peer = exchange(async (text) => {
    child.stdin.write(`${text}\n`)
  })
  createInterface({ input: child.stdout }).on('line', (line) => peer.receive(line))
  return { ...peer, close: () => child.kill('SIGKILL') }
}

/** Yields the `data` of each event of an event stream, with the event's name. */
async function* events(response: Response): AsyncGenerator<{ event: string; data: string }> {
  let buffer = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    buffer += chunk.replaceAll('\r\n', '\n')
    for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n')) {
      const lines = buffer.slice(0, end).split('\n')
      buffer = buffer.slice(end + 2)
      const field = (name: string) =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart())
      const data = field('data').join('\n')
      if (data) yield { event: field('event').join(''), data }
    }
  }
}

/** Returns a peer over streamable HTTP; also used for requests to the gateway's own `/mcp` without an SDK. */
export function rawHttp(url: string): RawPeer {
  const stop = new AbortController()
  let session: Record<string, string> = {}
  const peer = exchange(async (body) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...session }
    const response = await fetch(url, { method: 'POST', headers, body, signal: stop.signal })
    const id = response.headers.get('mcp-session-id')
    if (id) session = { 'mcp-session-id': id }
    if (response.status === 202) return
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) peer.receive(await response.text())
    else for await (const { data } of events(response)) peer.receive(data)
  })
  return { ...peer, close: () => stop.abort() }
}

/** Returns a peer over HTTP+SSE, the transport of 2024-11-05. */
export async function rawSse(url: string): Promise<RawPeer> {
  const stop = new AbortController()
  const stream = await fetch(url, { headers: { accept: 'text/event-stream' }, signal: stop.signal })
  const endpoint = deferred<URL>()
  const peer = exchange(async (body) => {
    const headers = { 'content-type': 'application/json' }
    await fetch(await endpoint.promise, { method: 'POST', headers, body, signal: stop.signal })
  })
  const read = async () => {
    for await (const { event, data } of events(stream)) {
      if (event === 'endpoint') endpoint.resolve(new URL(data, url))
      else peer.receive(data)
    }
  }
  read().catch(endpoint.reject)
  return { ...peer, close: () => stop.abort() }
}

async function pages(peer: RawPeer, method: string, member: keyof Listing): Promise<Definition[]> {
  const found: Definition[] = []
  for (let params: object = {}; ;) {
    const { result } = JSON.parse(await peer.request(method, params)) as Message
    if (!result) return found
    found.push(...(result[member] as Definition[]))
    if (result.nextCursor === undefined) return found
    params = { cursor: result.nextCursor }
  }
}

/**
 * Initialises the peer as a client with every capability, so that the server hides nothing, and reads all its lists.
 */
export async function readLists(peer: RawPeer): Promise<Listing> {
  await peer.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
    clientInfo: { name: 'raw', version: '1' }
  })
  await peer.notify('notifications/initialized')
  return {
    tools: await pages(peer, 'tools/list', 'tools'),
    prompts: await pages(peer, 'prompts/list', 'prompts'),
    resources: await pages(peer, 'resources/list', 'resources'),
    resourceTemplates: await pages(peer, 'resources/templates/list', 'resourceTemplates')
  }
}
