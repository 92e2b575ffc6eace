import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Environment } from '../../src/config/config.ts'
import { register, startApp, type AppOptions } from '../app.ts'
import { startFaulty, type Faulty } from '../fixtures/http/faulty.ts'
import { startRecorder, type Recorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { both, legacyBody, modernBody, modernHeaders, type Params } from './mcp-messages.ts'

export { legacyBody, META, MODERN, modernBody, modernHeaders, withTasks } from './mcp-messages.ts'

/** Body of a JSON-RPC response, with the members that tests use. */
export interface RpcAnswer {
  readonly jsonrpc?: string
  readonly id?: unknown
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The last JSON-RPC message: the whole body, or the last event. */
  readonly body: RpcAnswer
  /** All messages of an event stream. */
  readonly events: RpcAnswer[]
}

export interface Mcp {
  readonly app: FastifyInstance
  readonly url: string
  /** POSTs the body unchanged. */
  send(body: string, headers?: Record<string, string>): Promise<Answer>
  /** Sends a legacy request. */
  legacy(method: string, params?: object, headers?: Record<string, string>): Promise<Answer>
  /** Sends a modern request with the required envelope and headers; `undefined` removes a header. */
  modern(method: string, params?: Params, headers?: Record<string, string | undefined>): Promise<Answer>
  /** Sends `initialize` and returns the session's headers. */
  initialize(version?: string, capabilities?: object): Promise<Record<string, string>>
}

/** Returns the type and data of each event that has data. */
function readEvents(text: string): { type: string | undefined; data: string }[] {
  return text.split('\n\n').flatMap((frame) => {
    const lines = frame.split('\n')
    const data = lines.flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
    const type = lines.find((line) => line.startsWith('event: '))?.slice(7)
    return data.length === 0 ? [] : [{ type, data: data.join('\n') }]
  })
}

const parseEvents = (text: string): RpcAnswer[] => readEvents(text).map(({ data }) => JSON.parse(data) as RpcAnswer)

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const events = isStream ? parseEvents(text) : []
  const body = isStream ? (events.at(-1) ?? {}) : text === '' ? {} : (JSON.parse(text) as RpcAnswer)
  return { status: response.status, headers: response.headers, text, body, events }
}

/** Opens a legacy session and returns the headers for its requests. */
export async function openSession(
  initialize: (params: object) => Promise<Answer>,
  version = '2025-11-25',
  capabilities: object = {}
): Promise<Record<string, string>> {
  const clientInfo = { name: 'test', version: '1' }
  const answer = await initialize({ protocolVersion: version, capabilities, clientInfo })
  assert.equal(answer.status, 200, answer.text)
  return {
    'mcp-session-id': answer.headers.get('mcp-session-id')!,
    'mcp-protocol-version': answer.body.result.protocolVersion as string
  }
}

/** Starts the gateway on a socket. */
export async function startMcp(t: TestContext, env: Environment = {}, more: AppOptions = {}): Promise<Mcp> {
  const app = await startApp(t, { ...more, env })
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp`
  const send: Mcp['send'] = async (body, headers = {}) => {
    const all = { 'content-type': 'application/json', accept: both, ...headers }
    return readAnswer(await fetch(url, { method: 'POST', headers: all, body }))
  }
  const mcp: Mcp = {
    app,
    url,
    send,
    legacy: (method, params, headers) => send(legacyBody(method, params), headers),
    modern(method, params, headers = {}) {
      const all = { ...modernHeaders(method, params?.name ?? params?.uri ?? params?.taskId), ...headers }
      const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
      return send(modernBody(method, params), Object.fromEntries(given))
    },
    initialize: (version, capabilities) =>
      openSession((params) => mcp.legacy('initialize', params), version, capabilities)
  }
  return mcp
}

/** Registers a recording upstream under a name. */
export async function addRecorder(
  t: TestContext,
  { app }: Mcp,
  name: string,
  options: RecorderOptions = {},
  more: object = {}
): Promise<Recorder> {
  const recorder = await startRecorder(null, { name, ...options })
  addCleanup(t, recorder.close)
  await register(app, { name, transport: 'streamable_http', url: recorder.url, ...more })
  return recorder
}

export async function addFaulty(t: TestContext, { app }: Mcp, name: string): Promise<Faulty> {
  const faulty = await startFaulty(null)
  addCleanup(t, faulty.close)
  await register(app, { name, transport: 'streamable_http', url: faulty.url })
  return faulty
}

export const textOf = ({ body }: Answer): unknown =>
  JSON.parse((body.result as { content: { text: string }[] }).content[0]!.text)

export interface OpenStream {
  readonly status: number
  readonly headers: Headers
  /** Messages received so far. */
  readonly messages: RpcAnswer[]
  /** URL for the messages of an HTTP+SSE client, as announced by the server. */
  readonly messagePath: () => string | undefined
  /** Returns true once the other side has ended the stream. */
  readonly hasEnded: () => boolean
  close(): void
}

/** Opens a stream and collects its messages; closed with the test. */
export async function openStream(t: TestContext, url: string, init: RequestInit): Promise<OpenStream> {
  let messagePath: string | undefined
  const stop = new AbortController()
  addCleanup(t, () => stop.abort())
  const response = await fetch(url, { ...init, signal: stop.signal })
  const messages: RpcAnswer[] = []
  let ended = false
  const read = async () => {
    let rest = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      rest += chunk
      const end = rest.lastIndexOf('\n\n')
      if (end < 0) continue
      for (const { type, data } of readEvents(rest.slice(0, end))) {
        if (type === 'endpoint') messagePath = data
        else messages.push(JSON.parse(data) as RpcAnswer)
      }
      rest = rest.slice(end + 2)
    }
  }
  read()
    .catch(() => {})
    .finally(() => {
      ended = true
    })
    .catch(() => {})
  return {
    status: response.status,
    headers: response.headers,
    messages,
    messagePath: () => messagePath,
    hasEnded: () => ended,
    close: () => stop.abort()
  }
}
