import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../until.ts'
import {
  addRecorder,
  legacyBody,
  META,
  modernBody,
  modernHeaders,
  openStream,
  readAnswer,
  startMcp,
  type Answer,
  type Mcp
} from './mcp-helpers.ts'

const token = 'admin-token-of-this-test'
const authorization = `Bearer ${token}`
const modes = {
  development: { env: {}, headers: {} as Record<string, string> },
  enterprise: {
    env: { SERVER_MODE: 'enterprise', TOWPATH_ADMIN_TOKEN: token, TOWPATH_ENCRYPTION_KEY: 'aa'.repeat(32) },
    headers: { authorization } as Record<string, string>
  }
}
const both = 'application/json, text/event-stream'
const long = 'x'.repeat(8_300)
/** Text of fewer than 8,192 characters but more bytes. */
const wide = 'ü'.repeat(4_200)

interface Row {
  readonly method: string
  readonly params: (value: string) => Record<string, unknown>
  /** Multiple of the limit. */
  readonly times?: number
  readonly only?: 'legacy' | 'modern'
}

const rows: Row[] = [
  { method: 'tools/call', params: (name) => ({ name, arguments: {} }) },
  { method: 'tools/call', params: (k) => ({ name: 'one__echo', arguments: {}, _meta: { progressToken: k } }) },
  { method: 'tools/call', params: (k) => ({ name: 'one__echo', arguments: {}, [k]: 1 }) },
  { method: 'tools/call', params: (k) => ({ name: 'one__echo', arguments: {}, _meta: { [k]: 1 } }) },
  { method: 'tools/call', params: (requestState) => ({ name: 'one__echo', arguments: {}, requestState }), times: 8 },
  { method: 'tools/call', params: (k) => ({ name: 'one__echo', arguments: {}, inputResponses: { [k]: {} } }) },
  { method: 'prompts/get', params: (name) => ({ name }) },
  { method: 'resources/read', params: (uri) => ({ uri }) },
  { method: 'resources/subscribe', params: (uri) => ({ uri }), only: 'legacy' },
  { method: 'resources/unsubscribe', params: (uri) => ({ uri }), only: 'legacy' },
  { method: 'logging/setLevel', params: (level) => ({ level }), only: 'legacy' },
  { method: 'tools/list', params: (cursor) => ({ cursor }) },
  { method: 'prompts/list', params: (cursor) => ({ cursor }) },
  { method: 'resources/list', params: (cursor) => ({ cursor }) },
  { method: 'resources/templates/list', params: (cursor) => ({ cursor }) },
  { method: 'completion/complete', params: (name) => ({ ref: { type: 'ref/prompt', name } }) },
  { method: 'completion/complete', params: (uri) => ({ ref: { type: 'ref/resource', uri } }) },
  { method: 'completion/complete', params: (name) => ({ ref: { type: 'ref/prompt', name: 'a' }, argument: { name } }) },
  { method: 'tools/list', params: (k) => ({ _meta: { [`${META}logLevel`]: k } }), only: 'modern' },
  {
    method: 'tools/list',
    params: (name) => ({ _meta: { [`${META}clientInfo`]: { name, version: '1' } } }),
    times: 8,
    only: 'modern'
  },
  {
    method: 'tools/list',
    params: (k) => ({ _meta: { [`${META}clientCapabilities`]: { experimental: { [k]: {} } } } }),
    only: 'modern'
  },
  {
    method: 'subscriptions/listen',
    params: (uri) => ({ notifications: { resourceSubscriptions: [uri] } }),
    only: 'modern'
  }
]

type Send = (row: Row, value: string) => Promise<Answer>

const origin = ({ url }: Mcp) => new URL(url).origin

async function sendTo(url: string, body: string, headers: Record<string, string>): Promise<Answer> {
  const all = { 'content-type': 'application/json', accept: both, ...headers }
  return readAnswer(await fetch(url, { method: 'POST', headers: all, body }))
}

/** Returns a sender for each way in which a message may arrive. */
async function openWays(t: TestContext, mcp: Mcp, headers: Record<string, string>): Promise<[string, Send][]> {
  const answer = await sendTo(
    mcp.url,
    legacyBody('initialize', { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'a' } }),
    headers
  )
  const session = { ...headers, 'mcp-session-id': answer.headers.get('mcp-session-id')! }
  const group = `${origin(mcp)}/v0/groups/some/mcp`
  const stream = await openStream(t, `${origin(mcp)}/sse`, { headers: { ...headers, accept: 'text/event-stream' } })
  await until('the endpoint is told', () => stream.messagePath() !== undefined)
  const overSse: Send = async ({ method, params }, value) => {
    const before = stream.messages.length
    const posted = await sendTo(origin(mcp) + stream.messagePath()!, legacyBody(method, params(value)), headers).catch(
      () => null
    )
    if (posted && posted.status !== 202) return posted
    await until('the answer comes', () => stream.messages.length > before)
    return { status: 200, headers: new Headers(), text: '', body: stream.messages[before]!, events: [] }
  }
  const legacy =
    (url: string, more: Record<string, string>): Send =>
    ({ method, params }, value) =>
      sendTo(url, legacyBody(method, params(value)), more)
  const batch: Send = async ({ method, params }, value) => {
    const found = await sendTo(mcp.url, `[${legacyBody(method, params(value))}]`, session)
    return { ...found, body: (found.body as unknown as Answer['body'][])[0]! }
  }
  const modern: Send = ({ method, params }, value) => {
    const given = params(value) as { name?: string; uri?: string }
    const named = (given.name ?? given.uri)?.replace(/[^ -~]/g, '')
    return sendTo(mcp.url, modernBody(method, given), { ...headers, ...modernHeaders(method, named) })
  }
  return [
    ['legacy', legacy(mcp.url, session)],
    ['legacy group', legacy(group, headers)],
    ['legacy batch', batch],
    ['legacy sse', overSse],
    ['modern', modern]
  ]
}

async function start(t: TestContext, mode: keyof typeof modes) {
  const { env, headers } = modes[mode]
  const mcp = await startMcp(t, env)
  const api = (url: string, payload: object) => mcp.app.inject({ method: 'POST', url, payload, headers })
  if (mode === 'development') await addRecorder(t, mcp, 'one', { tells: true })
  assert.equal((await api('/api/v0/tool-groups', { name: 'some', included_tools: [] })).statusCode, 201)
  if (mode === 'development') return { mcp, headers, clientHeaders: headers }
  const made = await api('/api/v0/clients', { name: 'agent', allowed_servers: ['*'] })
  const { access_token: own } = made.json<{ access_token: string }>()
  return { mcp, headers, clientHeaders: { authorization: `Bearer ${own}` } }
}

for (const mode of ['development', 'enterprise'] as const) {
  test(`SR-H2 an identifier of a request that is longer than 8 KiB is invalid params on every way, in ${mode} mode`, async (t) => {
    const { mcp, clientHeaders } = await start(t, mode)
    for (const [way, send] of await openWays(t, mcp, clientHeaders)) {
      for (const row of rows) {
        if (row.only && !way.startsWith(row.only)) continue
        for (const value of [long, wide]) {
          const { status, body } = await send(row, value.repeat(row.times ?? 1))
          const about = `${way} ${row.method} ${Object.keys(row.params('v')).join()}: ${JSON.stringify(body.error)?.slice(0, 200)}`
          // an identifier that a header must repeat does not fit into the header either
          const isHeld = way === 'modern' && [431, 400].includes(status)
          if (!isHeld) assert.deepEqual([status, body.error?.code], [200, -32602], about)
          assert.match(body.error?.message ?? 'no error', /is longer than \d+ bytes|Headers|header/, about)
        }
      }
    }
  })

  test(`SR-H2 an id or method that is longer than 8 KiB is no request, in ${mode} mode`, async (t) => {
    const { mcp, clientHeaders: headers } = await start(t, mode)
    const bodies = [
      JSON.stringify({ jsonrpc: '2.0', id: long, method: 'ping' }),
      JSON.stringify({ jsonrpc: '2.0', id: wide, method: 'ping' }),
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: long }),
      JSON.stringify({ jsonrpc: '2.0', method: long }),
      JSON.stringify({ jsonrpc: '2.0', id: long, result: {} })
    ]
    for (const body of bodies) {
      for (const sent of [body, `[${body}]`]) {
        const answer = await sendTo(mcp.url, sent, headers)
        assert.deepEqual(
          [answer.status, answer.body.error?.code, answer.body.id],
          [400, -32600, null],
          sent.slice(0, 60)
        )
        assert.ok(answer.text.length < 500)
      }
    }
    const cancel = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: long }
    })
    const answer = await sendTo(mcp.url, cancel, headers)
    assert.deepEqual([answer.status, answer.body.error?.code], [400, -32602])
  })

  test(`SR-H2 names and URIs of REST have a limit, in ${mode} mode`, async (t) => {
    const { mcp, headers } = await start(t, mode)
    const requests: [string, object][] = [
      ['/api/v0/tools/invoke', { name: long }],
      ['/api/v0/prompts/render', { name: long }],
      ['/api/v0/resources/read', { uri: long }],
      ['/api/v0/tool-groups', { name: long, included_tools: [] }],
      ['/api/v0/tool-groups', { name: 'g', included_tools: [long] }],
      ['/api/v0/tool-groups', { name: 'g', included_servers: [long] }]
    ]
    for (const [url, payload] of requests) {
      const { statusCode, body } = await mcp.app.inject({ method: 'POST', url, payload, headers })
      assert.ok(statusCode >= 400 && statusCode < 500, `${url} ${JSON.stringify(Object.keys(payload))} ${statusCode}`)
      assert.ok(body.length < 6_000, `${url}: ${body.slice(0, 300)} ${body.length}`)
    }
  })
}

test('SR-H2 an identifier of 8 KiB still passes, and the setting moves the limit', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_IDENTIFIER_BYTES: '256' })
  await addRecorder(t, mcp, 'one')
  const call = (progressToken: string) =>
    mcp.legacy('tools/call', { name: 'one__echo', arguments: { text: long }, _meta: { progressToken } })
  assert.equal((await call('x'.repeat(254))).body.error, undefined)
  assert.equal(
    (await call('x'.repeat(255))).body.error!.message,
    'Invalid params: "progressToken" is longer than 256 bytes'
  )
})
