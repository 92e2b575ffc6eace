import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Environment } from '../../src/config/config.ts'
import { startRecorder, type Recorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { rest, type RestAnswer } from './definition-helpers.ts'
import { legacyBody, modernBody, modernHeaders, openSession, openStream, readAnswer, startMcp } from './mcp-helpers.ts'
import type { Answer, Mcp, RpcAnswer } from './mcp-helpers.ts'
import { until } from '../until.ts'

/** Definitions of the demo server, whose calls return their arguments. */
export const addTool = {
  name: 'add',
  title: 'Add two numbers',
  description: 'Adds two numbers and returns their sum.',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
    additionalProperties: false
  },
  annotations: { title: 'Add two numbers', readOnlyHint: true },
  _meta: { 'example.com/kept': [1, 2.5, 'ü'] }
}
export const wordTool = {
  name: 'word_count',
  description: 'Counts the words of a text.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
}

/** Sends a request and returns the JSON-RPC response. */
export type Ask = (method: string, params?: { name?: string; [member: string]: unknown }) => Promise<RpcAnswer>

export const eras = ['session', 'stateless', 'batch', 'sse', 'modern'] as const
export type Way = (typeof eras)[number]

export interface ViewGateway {
  readonly mcp: Mcp
  readonly demo: Recorder
  rest(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object): Promise<RestAnswer>
  /** Creates the group `g` of the whole server `demo`. */
  group(more: object): Promise<RestAnswer>
  /** Returns a function that asks an endpoint in one way; undefined for the global endpoint. */
  way(way: Way, group: string | undefined, headers?: Record<string, string>): Promise<Ask>
  /** Changes the tools of the demo server, and waits until the gateway has read them. */
  serve(tools: readonly object[]): Promise<void>
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

async function openSse(t: TestContext, base: string, headers: Record<string, string>): Promise<Ask> {
  const { origin } = new URL(base)
  const stream = await openStream(t, `${base}/sse`, { headers: { accept: 'text/event-stream', ...headers } })
  await until('the stream has its address', () => stream.messagePath() !== undefined)
  const post = (body: string) =>
    fetch(`${origin}${stream.messagePath()}`, { method: 'POST', headers: { ...json, ...headers }, body })
  const clientInfo = { name: 'test', version: '1' }
  await post(legacyBody('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo }, 0))
  await until('the session is open', () => stream.messages.some(({ id }) => id === 0))
  let next = 0
  return async (method, params = {}) => {
    const id = ++next
    await post(legacyBody(method, params, id))
    await until('the answer is there', () => stream.messages.some((each) => each.id === id))
    return stream.messages.find((each) => each.id === id)!
  }
}

/** Starts a gateway with the server `demo`. `modern`: the server speaks the modern era as well, or only. */
export async function startViews(
  t: TestContext,
  {
    env = {},
    modern = false,
    tools = [addTool, wordTool] as readonly object[],
    log
  }: {
    readonly env?: Environment
    readonly log?: { write(line: string): void }
    readonly modern?: boolean | 'only'
    readonly tools?: readonly object[]
  } = {}
): Promise<ViewGateway> {
  const mcp = await startMcp(t, env, log ? { log } : {})
  const demo = await startRecorder(null, {
    name: 'demo',
    modern: modern !== false,
    legacy: modern === 'only' ? 'none' : 'sessions',
    extraTools: tools as Record<string, unknown>[]
  })
  addCleanup(t, demo.close)
  const send: ViewGateway['rest'] = (method, path, payload) => rest(mcp.app, method, path, payload)
  const registered = await send('POST', '/servers', { name: 'demo', transport: 'streamable_http', url: demo.url })
  assert.equal(registered.status, 201, JSON.stringify(registered.body))
  const { origin } = new URL(mcp.url)

  return {
    mcp,
    demo,
    rest: send,
    group: (more) => send('POST', '/tool-groups', { name: 'g', included_servers: ['demo'], ...more }),
    async way(way, group, headers = {}) {
      const base = group === undefined ? origin : `${origin}/v0/groups/${group}`
      const post = async (body: string, more: Record<string, string> = {}): Promise<Answer> =>
        readAnswer(await fetch(`${base}/mcp`, { method: 'POST', headers: { ...json, ...headers, ...more }, body }))
      if (way === 'sse') return openSse(t, base, headers)
      if (way === 'stateless') return async (method, params = {}) => (await post(legacyBody(method, params))).body
      if (way === 'modern') {
        return async (method, params) =>
          (await post(modernBody(method, params), modernHeaders(method, params?.name))).body
      }
      const open = (version: string) => openSession((params) => post(legacyBody('initialize', params)), version)
      if (way === 'session') {
        const session = await open('2025-11-25')
        return async (method, params = {}) => (await post(legacyBody(method, params), session)).body
      }
      const session = await open('2025-03-26')
      return async (method, params = {}) => {
        const { text, events, body } = await post(`[${legacyBody(method, params, 'only')}]`, session)
        const messages = (events.length > 0 ? events : [body]).flat() as RpcAnswer[]
        const found = messages.find(({ id }) => id === 'only')
        assert.ok(found, text)
        return found
      }
    },
    async serve(next) {
      demo.setExtraTools(next as Record<string, unknown>[])
      const answer = await send('POST', '/servers/demo/refresh')
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
  }
}

export const toolsOf = ({ result, error }: RpcAnswer): Record<string, unknown>[] => {
  assert.ok(result, JSON.stringify(error))
  return result.tools as Record<string, unknown>[]
}
export const namesOf = (answer: RpcAnswer): string[] =>
  toolsOf(answer)
    .map(({ name }) => name as string)
    .filter((name) => !/(^|__)(echo|slow|whoami|fail)$/.test(name))

/** Returns the arguments that the server received. */
export const received = (answer: RpcAnswer): unknown => {
  assert.ok(answer.result, JSON.stringify(answer.error))
  return (JSON.parse(answer.result.content[0].text as string) as { arguments: unknown }).arguments
}
