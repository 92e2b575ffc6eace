import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { CompleteResultSchema, EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { connectLegacy } from '../asked-clients.ts'
import { until } from '../until.ts'
import { addRecorder, modernBody, modernHeaders, openStream, startMcp, type Mcp } from './mcp-helpers.ts'
import { cellsOf } from '../matrix.ts'

const note = 'fixture://note'
const argument = { ref: { type: 'ref/prompt', name: 'one__greet' }, argument: { name: 'who', value: 'a' } }
const updated = 'notifications/resources/updated'

const listenModern = (t: TestContext, mcp: Mcp, notifications: object) =>
  openStream(t, new URL('/mcp', mcp.url).href, {
    method: 'POST',
    headers: modernHeaders('subscriptions/listen'),
    body: modernBody('subscriptions/listen', { notifications })
  })

const clients = {
  'over HTTP': (t: TestContext, { url }: Mcp) => connectLegacy(t, url, {}),
  'over HTTP+SSE': (t: TestContext, { url }: Mcp) =>
    connectLegacy(t, new SSEClientTransport(new URL('/sse', url)) as Transport, {})
}

for (const [[wire, connect], session_mode] of cellsOf(Object.entries(clients), ['stateless', 'stateful'])) {
  test(`CR-F6: what a legacy server takes without declaring it works (${session_mode}, client ${wire})`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', { completes: true }, { session_mode })
    const client = (await connect(t, mcp)).client as Client1
    const told: unknown[] = []
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === updated) told.push(params?.['uri'])
    }
    const completed = await client.request({ method: 'completion/complete', params: argument }, CompleteResultSchema)
    assert.deepEqual(completed.completion.values, ['ann'], 'completion')
    await client.request({ method: 'resources/subscribe', params: { uri: note } }, EmptyResultSchema)
    const tell = () => {
      recorder.announce(updated, { uri: note })
      return told.length > 0
    }
    await until('the update is heard', tell)
    assert.equal(told[0], note)
    await client.request({ method: 'logging/setLevel', params: { level: 'error' } }, EmptyResultSchema)
    await client.callTool({ name: 'one__echo', arguments: {} })
    assert.deepEqual(recorder.calls('logging/setLevel')[0]?.params, { level: 'error' }, 'the level goes upstream')
  })
}

test('CR-F6: a client without a session, and one of the modern era, get what a legacy server completes', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one', { completes: true })
  const values = ['ann']
  assert.deepEqual((await mcp.legacy('completion/complete', argument)).body.result.completion.values, values, 'legacy')
  assert.deepEqual((await mcp.modern('completion/complete', argument)).body.result.completion.values, values, 'modern')
})

for (const session_mode of ['stateless', 'stateful']) {
  test(`CR-F6: a client of the modern era follows what a legacy server takes undeclared (${session_mode})`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', {}, { session_mode })
    const lacking = await addRecorder(t, mcp, 'two', { lacks: ['resources/subscribe'] }, { session_mode })
    const resourceSubscriptions = [note, `towpath://two/${note}`]
    const listen = () => listenModern(t, mcp, { resourceSubscriptions })
    const stream = await listen()
    await until('it is acknowledged', () => stream.messages.length > 0)
    const { params } = stream.messages[0] as { params: { notifications: object } }
    assert.deepEqual(params.notifications, { resourceSubscriptions: [note] }, 'what can be followed is acknowledged')
    const heard = () => (stream.messages as { method?: string }[]).some(({ method }) => method === updated)
    const tell = () => {
      recorder.announce(updated, { uri: note })
      return heard()
    }
    await until('the update is heard', tell)
    const again = await listen()
    await until('it is acknowledged again', () => again.messages.length > 0)
    assert.equal(lacking.calls('resources/subscribe').length, 1, 'a server that lacks the method is asked once')
  })
}

test('CR-F6: a modern server is believed: what it does not declare is not asked of it', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { completes: true, modern: true, legacy: 'none' })
  const { completion } = (await mcp.legacy('completion/complete', argument)).body.result
  assert.deepEqual([completion.values, recorder.calls('completion/complete').length], [[], 0])
  const session = await mcp.initialize()
  assert.equal((await mcp.legacy('resources/subscribe', { uri: note }, session)).body.error?.code, -32601)
})

test('CR-F6: a method that a server refuses as unknown is not asked for again until it is registered anew', async (t) => {
  const mcp = await startMcp(t)
  const lacks = ['completion/complete', 'resources/subscribe', 'logging/setLevel']
  const recorder = await addRecorder(t, mcp, 'one', { lacks }, { session_mode: 'stateful' })
  const use = async () => {
    const session = await mcp.initialize()
    await mcp.legacy('logging/setLevel', { level: 'error' }, session)
    await mcp.legacy('tools/call', { name: 'one__echo' }, session)
    const completed = await mcp.legacy('completion/complete', argument, session)
    assert.deepEqual(completed.body.result, { completion: { values: [], total: 0, hasMore: false } })
    const subscribed = await mcp.legacy('resources/subscribe', { uri: note }, session)
    assert.deepEqual(subscribed.body.error, { code: -32601, message: 'The resource cannot be subscribed to' })
  }
  const asked = () => lacks.map((method) => recorder.calls(method).length)
  await use()
  await use()
  assert.deepEqual(asked(), [1, 1, 1], 'each is tried once')
  const payload = {
    name: 'one',
    transport: 'streamable_http',
    url: recorder.url,
    session_mode: 'stateful'
  }
  const forced = await mcp.app.inject({ method: 'POST', url: '/api/v0/servers?force=true', payload })
  assert.equal(forced.statusCode, 201, forced.body)
  await use()
  assert.deepEqual(asked(), [2, 2, 2], 'and once more after that')
})

test('CR-F6: what follows an undeclared subscription survives a refresh of the server', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', {})
  const session = await mcp.initialize()
  const stream = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
  assert.deepEqual((await mcp.legacy('resources/subscribe', { uri: note }, session)).body.result, {})
  recorder.setExtraTools([{ name: 'new', inputSchema: { type: 'object' } }])
  const refreshed = await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/one/refresh' })
  assert.equal(refreshed.statusCode, 200, refreshed.body)
  const heard = () => (stream.messages as { method?: string }[]).filter(({ method }) => method === updated).length
  const tell = () => {
    recorder.announce(updated, { uri: note })
    return heard() > 0
  }
  await until('the update is heard', tell)
})
