import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { register } from '../app.ts'
import type { Recorder } from '../fixtures/http/recorder.ts'
import { startScripted } from '../fixtures/http/scripted.ts'
import { addCleanup } from '../store.ts'
import { addRecorder, legacyBody, openStream, startMcp, type Mcp, type OpenStream } from './mcp-helpers.ts'
import { until } from '../until.ts'

const note = 'fixture://note'
const updated = 'notifications/resources/updated'
const logged = 'notifications/message'
const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

interface StreamMessage {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly uri?: string; readonly logger?: string; readonly data?: string }
}
const paramsOf = (stream: OpenStream, method: string) =>
  (stream.messages as StreamMessage[]).filter((said) => said.method === method).map(({ params }) => params)

const addStateful = (t: TestContext, mcp: Mcp, name = 'one') =>
  addRecorder(t, mcp, name, { tells: true }, { session_mode: 'stateful' })

/** Opens a client session with a stream. Returns the id of its upstream session, after a first call. */
async function open(t: TestContext, mcp: Mcp, recorder: Pick<Recorder, 'requests'>, capabilities: object = {}) {
  const session = await mcp.initialize('2025-11-25', capabilities)
  const stream = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
  const request = (method: string, params: object = {}) => mcp.legacy(method, params, session)
  await request('tools/call', { name: 'one__echo' })
  const called = recorder.requests.findLast(({ message }) => message?.method === 'tools/call')!
  await until('its stream is open upstream', () => {
    const isStream = ({ method, headers }: { method: string; headers: Record<string, unknown> }) =>
      method === 'GET' && headers['mcp-session-id'] === called.headers['mcp-session-id']
    return recorder.requests.some(isStream)
  })
  return { session, stream, request, own: String(called.headers['mcp-session-id']) }
}

const asked = (recorder: Recorder, what: string, own: string) =>
  recorder.requests.filter(
    ({ message, headers }) => message?.method === `resources/${what}` && headers['mcp-session-id'] === own
  ).length

test("IS-08 what an upstream says in a client's own session between its calls reaches that client alone", async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addStateful(t, mcp)
  const [ann, bob] = [await open(t, mcp, recorder), await open(t, mcp, recorder)]
  assert.notEqual(ann.own, bob.own)
  for (const { request } of [ann, bob])
    assert.deepEqual((await request('resources/subscribe', { uri: note })).body.result, {})

  recorder.announce(updated, { uri: note }, ann.own)
  recorder.announce(logged, { level: 'info', data: 'for ann' }, ann.own)
  recorder.announce(logged, { level: 'info', logger: 'db', data: 'for bob' }, bob.own)
  await until('both are told', () => paramsOf(ann.stream, logged).length + paramsOf(bob.stream, logged).length === 2)
  assert.deepEqual(paramsOf(ann.stream, updated), [{ uri: note }])
  assert.deepEqual(paramsOf(bob.stream, updated), [])
  assert.deepEqual(paramsOf(ann.stream, logged), [{ logger: 'one', level: 'info', data: 'for ann' }])
  assert.deepEqual(paramsOf(bob.stream, logged), [{ logger: 'one/db', level: 'info', data: 'for bob' }])
})

test('an update that comes in every session is told to each subscriber once, until it unsubscribes', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addStateful(t, mcp)
  const [ann, bob] = [await open(t, mcp, recorder), await open(t, mcp, recorder)]
  await ann.request('resources/subscribe', { uri: note })
  await ann.request('resources/subscribe', { uri: `towpath://one/${note}` })
  await bob.request('resources/subscribe', { uri: note })
  recorder.announce(updated, { uri: note })
  recorder.announce(logged, { level: 'error', data: 'the last' })
  const last = (stream: OpenStream) => paramsOf(stream, logged).length
  await until('all is told', () => last(ann.stream) === 1 && last(bob.stream) === 1)
  assert.deepEqual(
    paramsOf(ann.stream, updated).map((params) => params?.uri),
    [note, `towpath://one/${note}`]
  )
  assert.equal(paramsOf(bob.stream, updated).length, 1)

  await ann.request('resources/unsubscribe', { uri: note })
  assert.equal(asked(recorder, 'unsubscribe', ann.own), 0, 'the other form is still followed')
  await ann.request('resources/unsubscribe', { uri: `towpath://one/${note}` })
  await until('it is unsubscribed in its own session', () => asked(recorder, 'unsubscribe', ann.own) === 1)
  recorder.announce(updated, { uri: note })
  await until('the other is told', () => paramsOf(bob.stream, updated).length === 2)
  assert.equal(paramsOf(ann.stream, updated).length, 2)
})

test("without a session of its own a client is told of updates by the gateway's, and again by its next own", async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addStateful(t, mcp)
  const ann = await open(t, mcp, recorder)
  await ann.request('resources/subscribe', { uri: note })
  recorder.dropSessions()
  recorder.endStreams()
  await ann.request('tools/call', { name: 'one__echo' })
  const next = String(
    recorder.requests.findLast(({ message }) => message?.method === 'tools/call')!.headers['mcp-session-id']
  )
  assert.notEqual(next, ann.own)
  await until('it is subscribed to in the next', () => asked(recorder, 'subscribe', next) === 1)
  await until('the streams are open', () => recorder.streams() === 2)
  recorder.announce(updated, { uri: note })
  recorder.announce(logged, { level: 'error', data: 'the last' })
  await until('all is told', () => paramsOf(ann.stream, logged).length === 1)
  assert.equal(paramsOf(ann.stream, updated).length, 1)
})

test('logs between calls are filtered by the level of the session, and end with the server', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addStateful(t, mcp)
  const ann = await open(t, mcp, recorder)
  await ann.request('logging/setLevel', { level: 'warning' })
  for (const level of ['info', 'warning']) recorder.announce(logged, { level, data: level }, ann.own)
  await until('one is told', () => paramsOf(ann.stream, logged).length > 0)
  const disabled = await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/one/disable' })
  assert.equal(disabled.statusCode, 200, disabled.body)
  recorder.announce(logged, { level: 'error', data: 'too late' }, ann.own)
  await ann.request('ping')
  assert.deepEqual(
    paramsOf(ann.stream, logged).map((params) => params?.data),
    ['warning']
  )
})

test('a question between calls goes to the client whose session it came in, and its answer back', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addStateful(t, mcp)
  const [ann, bob] = [await open(t, mcp, recorder, { roots: {} }), await open(t, mcp, recorder, { roots: {} })]
  recorder.ask(ann.own, 'q1', 'roots/list')
  await until('she is asked', () => paramsOf(ann.stream, 'roots/list').length === 1)
  const { id } = (ann.stream.messages as StreamMessage[]).find(({ method }) => method === 'roots/list')!
  const roots = [{ uri: 'file:///ann' }]
  await mcp.send(JSON.stringify({ jsonrpc: '2.0', id, result: { roots } }), ann.session)
  const answerTo = (wanted: string) => recorder.requests.find(({ message }) => message?.id === wanted)
  await until('the upstream has it', () => answerTo('q1') !== undefined)
  assert.deepEqual([answerTo('q1')!.message?.result, answerTo('q1')!.headers['mcp-session-id']], [{ roots }, ann.own])
  assert.deepEqual(paramsOf(bob.stream, 'roots/list'), [])

  recorder.ask(bob.own, 'q2', 'sampling/createMessage')
  await until('what was not declared is refused', () => answerTo('q2') !== undefined)
  assert.equal(answerTo('q2')!.message?.error?.['code'], -32601)
})

test('a request that arrives while its client has no stream is sent when the client opens or resumes one', async (t) => {
  const mcp = await startMcp(t)
  const sockets: Socket[] = []
  mcp.app.server.on('request', ({ method, socket }) => {
    if (method === 'GET') sockets.push(socket)
  })
  const recorder = await addStateful(t, mcp)
  const { session, stream, own } = await open(t, mcp, recorder, { roots: {} })
  const reopen = async () => {
    const reopened = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
    assert.equal(reopened.status, 200)
    await until('the request arrives', () => paramsOf(reopened, 'roots/list').length === 1)
    return reopened
  }
  const ask = async (id: string) => {
    assert.equal(recorder.ask(own, id, 'roots/list'), 1)
    // the gateway answers a ping itself; a call would lend its own stream to the request
    recorder.ask(own, `ping after ${id}`, 'ping')
    const isAnswer = ({ message }: (typeof recorder.requests)[number]) => message?.id === `ping after ${id}`
    await until('the gateway has the request', () => recorder.requests.some(isAnswer))
  }
  /** Closes the stream; the gateway must notice before the next request, which would be sent on it otherwise. */
  const closeStream = async (open: { close(): void }) => {
    const socket = sockets.at(-1)!
    open.close()
    await until('the gateway notices', () => socket.closed)
  }
  await closeStream(stream)
  await ask('q1')
  const second = await reopen()
  await closeStream(second)
  await ask('q2')
  await reopen()
})

test("what a session says right behind the answer of its call is not the call's: it goes home", async (t) => {
  const mcp = await startMcp(t)
  const upstream = await startScripted(null, { tells: true })
  addCleanup(t, upstream.close)
  await register(mcp.app, { name: 'one', transport: 'streamable_http', url: upstream.url, session_mode: 'stateful' })
  const { stream, request } = await open(t, mcp, upstream)
  const answer = request('tools/call', { name: 'one__script' })
  await until('the call', () => upstream.calls.length === 1)
  upstream.calls[0]!.finish('begun')
  upstream.announce(logged, { level: 'info', data: 'in the background' })
  assert.deepEqual((await answer).events, [])
  await until('it is told at home', () => paramsOf(stream, logged).length === 1)
})

test("a client's changed roots are told in its own upstream sessions and in no other", async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addStateful(t, mcp)
  const [ann] = [await open(t, mcp, recorder, { roots: {} }), await open(t, mcp, recorder, { roots: {} })]
  const method = 'notifications/roots/list_changed'
  const answer = await mcp.send(JSON.stringify({ jsonrpc: '2.0', method }), ann.session)
  assert.equal(answer.status, 202)
  const told = () => recorder.requests.filter(({ message }) => message?.method === method)
  await until('it is told', () => told().length > 0)
  assert.deepEqual(
    told().map(({ headers }) => headers['mcp-session-id']),
    [ann.own]
  )
})

test('a process that asks and logs by itself after its start reaches the client that it runs for', async (t) => {
  const mcp = await startMcp(t)
  const args = [everything, 'stdio']
  const command = process.execPath
  await register(mcp.app, { name: 'everything', transport: 'stdio', command, args, session_mode: 'stateful' })
  const session = await mcp.initialize('2025-11-25', { roots: {} })
  const stream = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
  const echo = { name: 'everything__echo', arguments: { message: 'hello' } }
  await mcp.send(legacyBody('tools/call', echo), session)
  await until('it is asked', () => paramsOf(stream, 'roots/list').length === 1)
  const { id } = (stream.messages as StreamMessage[]).find(({ method }) => method === 'roots/list')!
  await mcp.send(JSON.stringify({ jsonrpc: '2.0', id, result: { roots: [{ uri: 'file:///ann' }] } }), session)
  await until('it logs', () => paramsOf(stream, logged).length === 1)
  const [said] = paramsOf(stream, logged)
  assert.equal(said?.logger, 'everything/everything-server')
  assert.equal(said.data, 'Roots updated: 1 root(s) received from client')
})
