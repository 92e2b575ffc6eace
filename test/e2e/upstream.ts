import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { addCleanup } from '../store.ts'

/** Keep-alive time: on a busy machine a shorter one closes the socket just as the next call is sent on it. */
const IDLE_MS = 120_000

export interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: Record<string, unknown>
    readonly requestId?: unknown
  }
}

/** A request to the upstream. */
export interface RecordedRequest {
  readonly message: Message
  /** True once the gateway has closed the connection before the response. */
  abandoned: boolean
}

/** A recording Streamable HTTP server without sessions. Tests make it misbehave by answering calls themselves. */
export interface Upstream {
  readonly url: string
  readonly requests: RecordedRequest[]
  calls(): number
  close(): Promise<void>
}

export interface UpstreamOptions {
  readonly tools?: readonly object[]
  /** Answers `tools/call`; default: the tool's name, the upstream's name and the arguments as text. */
  readonly onCall?: (message: Message, response: ServerResponse) => void
  /** Answers any request before the default behaviour; returns true if it did. */
  readonly onRequest?: (message: Message, response: ServerResponse) => boolean
  readonly port?: number
}

export const echoTool = { name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }

export const sendJson = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

export const sendResult = (response: ServerResponse, { id }: Message, result: object) =>
  sendJson(response, { jsonrpc: '2.0', id, result })

export const textResult = (value: string) => ({ content: [{ type: 'text', text: value }] })

export async function startUpstream(t: TestContext, name: string, options: UpstreamOptions = {}): Promise<Upstream> {
  const { tools = [echoTool] } = options
  const requests: RecordedRequest[] = []
  const methods: Record<string, (message: Message) => object> = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name, version: '1' }
    }),
    ping: () => ({}),
    'tools/list': () => ({ tools }),
    'tools/call': ({ params }) => textResult(JSON.stringify({ from: name, got: params?.arguments }))
  }
  const answer = (message: Message, response: ServerResponse) => {
    if (options.onRequest?.(message, response)) return
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.method === 'tools/call' && options.onCall) return options.onCall(message, response)
    const method = methods[message.method]
    if (method) return void sendResult(response, message, method(message))
    sendJson(response, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'Method not found' } })
  }
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST' }).end()
    const recorded = { message: JSON.parse(await text(request)) as Message, abandoned: false }
    requests.push(recorded)
    response.once('close', () => {
      recorded.abandoned = !response.writableFinished
    })
    answer(recorded.message, response)
  }
  // Node answers 408 a minute after a connection if the test process had no time to read the request
  const patient = { keepAliveTimeout: IDLE_MS, headersTimeout: 0, requestTimeout: 0 }
  const server = createServer(patient, (request, response) => {
    void handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  addCleanup(t, close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    calls: () => requests.filter(({ message }) => message.method === 'tools/call').length,
    close
  }
}

/** Returns the registration of an upstream at a URL. */
export const registrationOf = (name: string, { url }: { url: string }) => ({ name, transport: 'streamable_http', url })
