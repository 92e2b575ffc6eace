import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { register } from '../app.ts'
import { startScripted } from '../fixtures/http/scripted.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import {
  addRecorder,
  legacyBody,
  META,
  modernBody,
  modernHeaders,
  openStream,
  startMcp,
  type OpenStream
} from './mcp-helpers.ts'

const note = 'fixture://note'
const updated = 'notifications/resources/updated'

interface StreamMessage {
  readonly method?: string
  readonly params?: Record<string, unknown>
}
const paramsOf = (stream: OpenStream, method: string) =>
  (stream.messages as StreamMessage[]).filter((said) => said.method === method).map(({ params }) => params)

const told = { uri: note, title: 'Note', _meta: { 'vendor/etag': [1, { a: 'ü' }], progressToken: 5 } }

for (const modern of [false, true]) {
  const wire = modern ? 'modern' : 'legacy'
  for (const session_mode of ['stateless', 'stateful']) {
    test(`CR-A8: an update keeps all that a server says with it, over the ${wire} wire (${session_mode})`, async (t) => {
      const mcp = await startMcp(t)
      const recorder = await addRecorder(t, mcp, 'one', { tells: true, modern }, { session_mode })
      const session = await mcp.initialize()
      const stream = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
      assert.deepEqual((await mcp.legacy('resources/subscribe', { uri: note }, session)).body.result, {})
      const listener = await openStream(t, mcp.url, {
        method: 'POST',
        headers: modernHeaders('subscriptions/listen'),
        body: modernBody('subscriptions/listen', { notifications: { resourceSubscriptions: [note] } }, 9)
      })
      await until('it is acknowledged', () => listener.messages.length > 0)
      await until('both are told', () => {
        recorder.announce(updated, told)
        return paramsOf(stream, updated).length > 0 && paramsOf(listener, updated).length > 0
      })
      const { progressToken: _hop, ...kept } = told._meta
      assert.deepEqual(paramsOf(stream, updated)[0], { ...told, _meta: kept }, 'a legacy client')
      const _meta = { ...kept, [`${META}subscriptionId`]: 9 }
      assert.deepEqual(paramsOf(listener, updated)[0], { ...told, _meta }, 'a modern client')

      recorder.announce(updated, { uri: note, _meta: { long: 'x'.repeat(70_000) } })
      const isBare = (params?: object) => isDeepStrictEqual(params, { uri: note })
      await until('it is told without what is too long', () => paramsOf(stream, updated).some(isBare))
    })
  }
}

const custom = { a: 1, _meta: { 'vendor/b': 2, progressToken: 5 } }
const passed = { a: 1, _meta: { 'vendor/b': 2 } }

test("CR-A8: a server's own notifications reach the client whose call they came with, in either era", async (t) => {
  const mcp = await startMcp(t)
  const scripted = await startScripted(null, { tells: true })
  addCleanup(t, scripted.close)
  await register(mcp.app, { name: 'one', transport: 'streamable_http', url: scripted.url })
  const session = await mcp.initialize()
  const call = { name: 'one__script' }
  const eras = {
    legacy: () => mcp.legacy('tools/call', call, session),
    modern: () => mcp.modern('tools/call', call)
  }
  for (const [era, send] of Object.entries(eras)) {
    const before = scripted.calls.length
    const answering = send()
    await until('the call', () => scripted.calls.length > before)
    const at = scripted.calls.at(-1)
    at!.send({ method: 'notifications/vendor/thing', params: custom })
    at!.send({ method: 'vendor/other' })
    for (const method of ['notifications/tasks/status', 'notifications/initialized', 'x'.repeat(300)])
      at!.send({ method })
    at!.send({ method: 'vendor/long', params: { long: 'x'.repeat(70_000) } })
    for (let i = 0; i < 500; i++) at!.send({ method: 'vendor/flood', params: { i } })
    at!.finish('done')
    const events = (await answering).events as StreamMessage[]
    const methods = events.map(({ method }) => method)
    assert.deepEqual(events[0], { jsonrpc: '2.0', method: 'notifications/vendor/thing', params: passed }, era)
    assert.equal(methods[1], 'vendor/other', era)
    assert.ok(methods.includes('vendor/flood'), `${era}: some of many`)
    const many = methods.filter((method) => method === 'vendor/flood').length
    assert.ok(many < 500, `${era}: ${many} of 500 are passed`)
    const others = new Set(methods.slice(2, -1))
    assert.deepEqual([...others], ['vendor/flood'], `${era}: nothing else`)
  }
})

test("CR-A8: what a server says of its own between calls reaches its session's client alone, and says whose it is", async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { tells: true }, { session_mode: 'stateful' })
  const open = async () => {
    const session = await mcp.initialize()
    const stream = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
    await mcp.legacy('tools/call', { name: 'one__echo' }, session)
    const called = recorder.requests.findLast(({ message }) => message?.method === 'tools/call')!
    const own = String(called.headers['mcp-session-id'])
    const isStream = ({ method, headers }: (typeof recorder.requests)[number]) =>
      method === 'GET' && headers['mcp-session-id'] === own
    await until('its stream is open upstream', () => recorder.requests.some(isStream))
    return { stream, own }
  }
  const [ann, bob] = [await open(), await open()]
  recorder.announce('vendor/thing', custom, ann.own)
  await until('ann is told', () => paramsOf(ann.stream, 'vendor/thing').length === 1)
  assert.deepEqual(paramsOf(ann.stream, 'vendor/thing'), [passed], 'the only server')
  await addRecorder(t, mcp, 'two')
  recorder.announce('vendor/thing', custom, bob.own)
  await until('bob is told', () => paramsOf(bob.stream, 'vendor/thing').length === 1)
  const _meta = { ...passed._meta, 'towpath/upstream': { server: 'one' } }
  assert.deepEqual(paramsOf(bob.stream, 'vendor/thing'), [{ ...passed, _meta }], 'one of two servers')
  assert.equal(paramsOf(ann.stream, 'vendor/thing').length, 1, 'ann hears nothing of it')
})

const accepts = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

for (const session_mode of ['stateless', 'stateful']) {
  test(`progress that a server sends on the stream of its session reaches the call that its token names (${session_mode})`, async (t) => {
    const mcp = await startMcp(t)
    const scripted = await startScripted(null, { tells: true })
    addCleanup(t, scripted.close)
    await register(mcp.app, { name: 'one', transport: 'streamable_http', url: scripted.url, session_mode })
    const capabilities = { sampling: {} }
    const session = await mcp.initialize('2025-11-25', capabilities)
    const call = (progressToken: string, own: object = {}) => ({
      name: 'one__script',
      _meta: { progressToken, ...own }
    })
    const modern = { [`${META}clientCapabilities`]: capabilities }
    const eras = {
      legacy: (token: string) => ({ headers: { ...session, ...accepts }, body: legacyBody('tools/call', call(token)) }),
      modern: (token: string) => ({
        headers: modernHeaders('tools/call', 'one__script'),
        body: modernBody('tools/call', call(token, modern))
      })
    }
    for (const [era, request] of Object.entries(eras)) {
      const before = scripted.calls.length
      const tokens = ['first', 'second']
      const streams = tokens.map((token) => openStream(t, mcp.url, { method: 'POST', ...request(token) }))
      await until('both calls', () => scripted.calls.length === before + 2)
      const calls = scripted.calls.slice(before)
      const announce = () => {
        for (const { message } of calls) {
          const { progressToken } = message.params!._meta as { progressToken: unknown }
          scripted.announce('notifications/progress', { progressToken, progress: 1 })
        }
        scripted.announce('notifications/progress', { progressToken: 'unknown', progress: 9 })
      }
      const opened = new Map<string, OpenStream>()
      for (const [index, token] of tokens.entries()) void streams[index]!.then((stream) => opened.set(token, stream))
      const reached = (token: string) => {
        const stream = opened.get(token)
        return stream ? paramsOf(stream, 'notifications/progress') : []
      }
      for (const token of tokens) {
        await until(`${era}: progress of ${token}`, () => {
          announce()
          return reached(token).length > 1
        })
        for (const params of reached(token)) assert.deepEqual(params, { progress: 1, progressToken: token })
      }
      for (const each of calls) each.finish('done')
    }
  })
}
