import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { register } from '../app.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { addRecorder, META, modernBody, modernHeaders, openStream, startMcp } from './mcp-helpers.ts'
import { until } from '../until.ts'
import type { Mcp, OpenStream } from './mcp-helpers.ts'
import { startRecorder, type Recorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'

const note = 'fixture://note'
const updated = 'notifications/resources/updated'
const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

interface StreamMessage {
  readonly method?: string
  readonly params?: { readonly uri?: string; readonly notifications?: object; readonly _meta?: Record<string, unknown> }
}
const messagesOf = (stream: OpenStream) => stream.messages as StreamMessage[]
const uris = (stream: OpenStream) =>
  messagesOf(stream).flatMap(({ method, params }) => (method === updated ? [params?.uri] : []))

/** Returns the URIs that the upstream was asked to subscribe to, or to unsubscribe from. */
const asked = (recorder: Recorder, what: 'subscribe' | 'unsubscribe') =>
  recorder.calls(`resources/${what}`).map(({ params }) => params?.uri)

async function open(t: TestContext, mcp: Mcp) {
  const session = await mcp.initialize()
  const stream = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
  const send = async (what: string, uri: string) => (await mcp.legacy(`resources/${what}`, { uri }, session)).body
  return { session, stream, send }
}

const listen = (t: TestContext, mcp: Mcp, notifications: object, id = 9) => listenAt(t, mcp, '/mcp', notifications, id)

const listenAt = (t: TestContext, mcp: Mcp, path: string, notifications: object, id = 9) =>
  openStream(t, new URL(path, mcp.url).href, {
    method: 'POST',
    headers: modernHeaders('subscriptions/listen'),
    body: modernBody('subscriptions/listen', { notifications }, id)
  })

test('a resource is subscribed to once upstream, and each subscriber is told under the URI that it used', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { tells: true })
  const [plain, aliased, silent] = [await open(t, mcp), await open(t, mcp), await open(t, mcp)]
  assert.deepEqual((await plain.send('subscribe', note)).result, {})
  assert.deepEqual((await plain.send('subscribe', note)).result, {})
  assert.deepEqual((await aliased.send('subscribe', `towpath://one/${note}`)).result, {})
  assert.deepEqual(asked(recorder, 'subscribe'), [note])

  recorder.announce(updated, { uri: note })
  recorder.announce(updated, { uri: `${note}/part` })
  await until('both are told', () => plain.stream.messages.length === 2 && aliased.stream.messages.length === 2)
  assert.deepEqual(uris(plain.stream), [note, `${note}/part`])
  assert.deepEqual(uris(aliased.stream), [`towpath://one/${note}`, `towpath://one/${note}/part`])

  assert.deepEqual((await plain.send('unsubscribe', note)).result, {})
  assert.deepEqual((await plain.send('unsubscribe', note)).result, {})
  recorder.announce(updated, { uri: note })
  await until('the other is told', () => aliased.stream.messages.length === 3)
  assert.deepEqual([plain.stream.messages.length, silent.stream.messages.length], [2, 0])
})

test('while a resource is held its subscribers hear nothing of it, and again once it is accepted', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await startRecorder(null, { name: 'one', tells: true })
  addCleanup(t, recorder.close)
  // followed, but another definition is the accepted one
  const pins = { [`resource ${note}`]: `sha256:${'0'.repeat(64)}` }
  const place = { transport: 'streamable_http', url: recorder.url }
  await register(mcp.app, { name: 'one', ...place, definitions: 'follow', pins })
  const { stream, send, session } = await open(t, mcp)
  assert.deepEqual((await send('subscribe', note)).result, {})
  const listening = await listen(t, mcp, { resourceSubscriptions: [note], resourcesListChanged: true })
  const streams = [stream, listening]
  const isTold = () => streams.every((each) => uris(each).includes(note))
  await until('the stream is open', () => listening.messages.length > 0)
  recorder.announce(updated, { uri: note })
  await until('both are told', isTold)
  for (const policy of ['block', 'pin']) {
    for (const each of streams) each.messages.length = 0
    await mcp.app.inject({ method: 'PUT', url: '/api/v0/servers/one/definitions', payload: { policy } })
    if (policy === 'block')
      await until('the list is shorter', () =>
        streams.every((each) => JSON.stringify(each.messages).includes('resources'))
      )
    await until('the gateway watches', () => recorder.streams() > 0)
    for (const each of streams) each.messages.length = 0
    recorder.announce(updated, { uri: note })
    recorder.announce(updated, { uri: `${note}/part` })
    recorder.announce('notifications/resources/list_changed')
    await wait(1_000)
    assert.deepEqual(
      streams.map((each) => each.messages),
      [[], []],
      policy
    )
    assert.equal((await send('subscribe', note)).error?.code, -32002)
    assert.equal((await mcp.legacy('resources/read', { uri: note }, session)).body.error?.code, -32002)
  }
  const held = (await mcp.app.inject('/api/v0/definitions?state=held')).json<{ items: object[] }>().items
  const names = ['server', 'kind', 'name', 'fingerprint'] as const
  const items = held.map((item) => Object.fromEntries(names.map((name) => [name, item[name as never]])))
  await mcp.app.inject({ method: 'POST', url: '/api/v0/definitions/accept', payload: { items } })
  await until('both are told again', () => {
    recorder.announce(updated, { uri: note })
    return isTold()
  })
})

test('subscriptions end with their session, and upstream a moment after the last one', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { tells: true })
  const { session, send } = await open(t, mcp)
  await send('subscribe', note)
  await fetch(mcp.url, { method: 'DELETE', headers: session })
  assert.deepEqual(asked(recorder, 'unsubscribe'), [])
  await until('it is unsubscribed', () => asked(recorder, 'unsubscribe').length === 1)
})

test('a disabled resource is not told of', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { tells: true })
  const { stream, send } = await open(t, mcp)
  await send('subscribe', note)
  const group = { name: 'own', included_servers: ['one'], tool_names: 'bare' }
  assert.equal((await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })).statusCode, 201)
  const bare = await listenAt(t, mcp, '/v0/groups/own/mcp', { promptsListChanged: true, resourceSubscriptions: [note] })
  await until('it is acknowledged', () => bare.messages.length === 1)
  const turn = (what: string) =>
    mcp.app.inject({ method: 'POST', url: `/api/v0/resources/${what}?entity=${encodeURIComponent(note)}` })
  await turn('disable')
  recorder.announce(updated, { uri: note })
  recorder.announce('notifications/prompts/list_changed')
  const isMarker = ({ method }: StreamMessage) => method === 'notifications/prompts/list_changed'
  await until('what came after it is told', () => [stream, bare].every((each) => messagesOf(each).some(isMarker)))
  await turn('enable')
  recorder.announce(updated, { uri: note })
  for (const each of [stream, bare]) {
    await until('it is told of once', () => uris(each).length > 0)
    assert.deepEqual(uris(each), [note])
  }
})

test('a listener whose group is removed while the upstream is still asked ends with it', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await startRecorder(null, { name: 'one', tells: true })
  addCleanup(t, recorder.close)
  const proxy = await startFaultProxy(recorder.url)
  addCleanup(t, proxy.close)
  await register(mcp.app, { name: 'one', transport: 'streamable_http', url: proxy.urlOf(recorder.url) })
  const group = { name: 'short', included_servers: ['one'] }
  assert.equal((await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })).statusCode, 201)
  proxy.freeze()
  const opening = listenAt(t, mcp, '/v0/groups/short/mcp', { resourceSubscriptions: [note] })
  await until('it waits for the upstream', () => mcp.app.gateway.stats().streams === 1)
  await mcp.app.inject({ method: 'DELETE', url: '/api/v0/tool-groups/short' })
  const stream = await opening
  await until('the stream is over', stream.hasEnded)
  assert.equal(mcp.app.gateway.stats().streams, 0)
  const { status } = await fetch(new URL('/v0/groups/short/mcp', mcp.url), { method: 'POST', body: '{}' })
  assert.equal(status, 404)
})

test('what cannot be subscribed to is refused with the code of its reason', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'quiet', { lacks: ['resources/subscribe'] })
  await addRecorder(t, mcp, 'other')
  const { send } = await open(t, mcp)
  assert.equal((await send('subscribe', note)).error?.code, -32601)
  assert.deepEqual((await send('subscribe', 'towpath://none/x')).error, {
    code: -32002,
    message: 'Resource not found: towpath://none/x',
    data: { uri: 'towpath://none/x' }
  })
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    const answer = await mcp.legacy(method, { uri: note })
    assert.deepEqual([answer.status, answer.body.error?.code], [400, -32000], method)
  }
})

for (const modern of [false, true]) {
  const wire = modern ? 'modern' : 'legacy'
  test(`a listener is told of the resources that it was acknowledged, over the ${wire} wire`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', { tells: true, modern })
    await addRecorder(t, mcp, 'quiet', { lacks: ['resources/subscribe'] })
    const alias = `towpath://one/${note}`
    const wanted = {
      toolsListChanged: true,
      resourceSubscriptions: [note, alias, `towpath://quiet/${note}`, 'no://where']
    }
    const stream = await listen(t, mcp, wanted)
    await until('it is acknowledged', () => stream.messages.length === 1)
    assert.deepEqual(messagesOf(stream)[0]!.params, {
      notifications: { toolsListChanged: true, resourceSubscriptions: [note, alias] },
      _meta: { [`${META}subscriptionId`]: 9 }
    })
    recorder.announce(updated, { uri: note })
    await until('both forms are told', () => uris(stream).length === 2)
    assert.deepEqual(new Set(uris(stream)), new Set([note, alias]))
    assert.ok(messagesOf(stream).every(({ params }) => params?._meta?.[`${META}subscriptionId`] === 9))
    if (modern) {
      await until('one subscription is left upstream', () => recorder.streams() === 1)
      const filters = recorder.calls('subscriptions/listen').map(({ params }) => params?.notifications)
      assert.deepEqual((filters.at(-1) as { resourceSubscriptions: string[] }).resourceSubscriptions, [note])
    } else assert.deepEqual(asked(recorder, 'subscribe'), [note])
  })
}

test('what was subscribed to is so again after a break', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { tells: true })
  const { stream, send } = await open(t, mcp)
  await send('subscribe', note)
  recorder.dropSessions()
  recorder.endStreams()
  await until('it is subscribed to again', () => asked(recorder, 'subscribe').length === 2)
  recorder.announce(updated, { uri: note })
  await until('it is told of', () => uris(stream).length === 1)
})

test('a process is subscribed to for as long as there is a subscription', async (t) => {
  const mcp = await startMcp(t)
  const args = [everything, 'stdio']
  await register(mcp.app, { name: 'everything', transport: 'stdio', command: process.execPath, args })
  const { session, send } = await open(t, mcp)
  const { resources } = (await mcp.legacy('resources/list', {}, session)).body.result as {
    resources: { uri: string }[]
  }
  assert.deepEqual((await send('subscribe', resources[0]!.uri)).result, {})
  const { capabilities } = (await mcp.legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {} })).body
    .result
  assert.deepEqual(capabilities.resources, { listChanged: true, subscribe: true })
  assert.deepEqual((await send('unsubscribe', resources[0]!.uri)).result, {})
})
