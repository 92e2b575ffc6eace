import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { register, stdioServer } from '../app.ts'
import { startScripted, type ScriptedUpstream } from '../fixtures/http/scripted.ts'
import type { RecorderOptions } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import {
  legacyBody,
  META,
  openStream,
  startMcp,
  type Answer,
  type Mcp,
  type OpenStream,
  modernBody,
  modernHeaders,
  readAnswer
} from './mcp-helpers.ts'
import { InboundRequests } from '../../src/upstream/transport/inbound-requests.ts'
import { Payload } from '../../src/json/payload.ts'
import { until } from '../until.ts'

/** Registers a legacy upstream whose tool `script` is controlled by the test. */
async function addScripted(
  t: TestContext,
  { app }: Mcp,
  name = 'one',
  options: RecorderOptions = {}
): Promise<ScriptedUpstream> {
  const scripted = await startScripted(null, options)
  addCleanup(t, scripted.close)
  await register(app, { name, transport: 'streamable_http', url: scripted.url })
  return scripted
}

const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }
const able = { [`${META}clientCapabilities`]: capabilities }

/** Makes a modern call of `script`. `more`: members of params. */
const call = (mcp: Mcp, more: object = {}, meta: object = {}) =>
  mcp.modern('tools/call', { name: 'one__script', _meta: { ...able, ...meta }, ...more })

const postModern: (url: string, ...request: Parameters<Mcp['modern']>) => Promise<Answer> = async (
  url,
  method,
  params
) =>
  readAnswer(
    await fetch(url, { method: 'POST', headers: modernHeaders(method, params?.name), body: modernBody(method, params) })
  )

const text = ({ body }: Answer): string => body.result.content[0].text

test('a state that nobody signed is refused where the upstream could not have given it', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  for (const requestState of ['forged', '', 7]) {
    const answer = await call(mcp, { requestState, inputResponses: {} })
    const { code, data } = answer.body.error!
    assert.deepEqual([answer.status, code, data], [200, -32602, { reason: 'invalid_request_state' }])
  }
  assert.equal(scripted.calls.length, 0)
  const read = await mcp.modern('resources/read', { uri: 'fixture://note', requestState: 'forged' })
  assert.equal(read.body.error?.code, -32602)
})

test('pages that a legacy upstream requires are asked for; where it names none its error is an error', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  const page = { mode: 'url', elicitationId: 'e1', url: 'https://example.com/', message: 'Visit' }
  const required = async (elicitations: unknown) => {
    const before = scripted.calls.length
    const answering = call(mcp)
    await until('the upstream is called', () => scripted.calls.length > before)
    scripted.calls.at(-1)!.fail({ code: -32042, message: 'Visit first', data: { elicitations } })
    return answering
  }
  const asked = (await required([page])).body.result
  assert.deepEqual([asked.resultType, asked.inputRequests['input-1'].params.url], ['input_required', page.url])
  for (const none of [[], undefined, ['x']]) {
    const { status, body } = await required(none)
    assert.deepEqual([status, body.error?.code, body.error?.message], [200, -32603, 'Visit first'])
  }
  assert.equal(text(await completeCall(mcp, scripted)), 'done')
})

/** Makes a call that completes without input. */
async function completeCall(mcp: Mcp, scripted: ScriptedUpstream): Promise<Answer> {
  const before = scripted.calls.length
  const answering = call(mcp)
  await until('the upstream is called', () => scripted.calls.length > before)
  scripted.calls.at(-1)!.finish('done')
  return answering
}

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } }
const elicit = { method: 'elicitation/create', params: form }
const accepted = { action: 'accept', content: {} }

/** Makes a modern call whose upstream requests input. Resolves once the client has the input-required result. */
async function startParkedCall(
  mcp: Mcp,
  scripted: ScriptedUpstream,
  ask: object = { id: 'q', ...elicit },
  meta: object = {}
) {
  const before = scripted.calls.length
  const answering = call(mcp, {}, meta)
  await until('the upstream is called', () => scripted.calls.length > before)
  const own = scripted.calls.at(-1)!
  own.send(ask)
  const { result } = (await answering).body
  assert.equal(result.resultType, 'input_required')
  const state = { requestState: result.requestState as string }
  return { own, result, state }
}

interface StreamMessage {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Record<string, unknown>
}

/** Makes a legacy session's call of `script` and collects the messages of its stream. */
async function callLegacy(t: TestContext, mcp: Mcp, session: Record<string, string>, tool = 'one__script') {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...session }
  return openStream(t, mcp.url, { method: 'POST', headers, body: legacyBody('tools/call', { name: tool }) })
}

const messagesOf = ({ messages }: OpenStream, method: string) =>
  (messages as StreamMessage[]).filter((message) => message.method === method)

test('what the upstream says while its caller is away comes on the stream of the retry', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  const meta = { progressToken: 'first', [`${META}logLevel`]: 'info' }
  const { own, state } = await startParkedCall(mcp, scripted, { id: 'q', ...elicit }, meta)
  const { progressToken } = own.message.params!['_meta'] as { progressToken: unknown }
  for (let progress = 1; progress <= 150; progress++) {
    own.send({ method: 'notifications/progress', params: { progressToken, progress } })
  }
  own.send({ method: 'notifications/message', params: { level: 'info', data: 'waiting' } })
  own.send({ id: 'p', method: 'ping' })
  await until('all of it has been read', () => scripted.answered('p') !== undefined)
  const retry = call(mcp, { ...state, inputResponses: { 'input-1': accepted } }, { ...meta, progressToken: 'second' })
  await until('the answer goes up', () => scripted.answered('q') !== undefined)
  own.finish('done')
  const answer = await retry
  assert.equal(text(answer), 'done')
  const heard = answer.events as StreamMessage[]
  const progress = heard.filter(({ method }) => method === 'notifications/progress')
  assert.deepEqual(
    progress.map(({ params }) => params),
    Array.from({ length: 99 }, (_, i) => ({ progressToken: 'second', progress: 52 + i }))
  )
  assert.deepEqual(heard.at(-2)?.params, { logger: 'one', level: 'info', data: 'waiting' })
})

test('a question that a legacy upstream takes back is withdrawn from its legacy client', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  const session = await mcp.initialize('2025-11-25', capabilities)
  const calling = callLegacy(t, mcp, session)
  await until('the upstream is called', () => scripted.calls.length === 1)
  const own = scripted.calls[0]!
  own.send({ id: 'q', ...elicit })
  const stream = await calling
  await until('the client is asked', () => messagesOf(stream, 'elicitation/create').length === 1)
  own.send({ method: 'notifications/cancelled', params: { requestId: 'q' } })
  await until('it is withdrawn', () => messagesOf(stream, 'notifications/cancelled').length === 1)
  const [asked] = messagesOf(stream, 'elicitation/create')
  assert.equal(messagesOf(stream, 'notifications/cancelled')[0]!.params!['requestId'], asked!.id)
  own.finish('done')
  await until('the call is answered', () => (stream.messages.at(-1)?.result as object | undefined) !== undefined)
  assert.equal(scripted.answered('q'), undefined)
})

test('a question that is taken back while the caller is away needs no answer, and gets none', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  const { own, state } = await startParkedCall(mcp, scripted)
  own.send({ method: 'notifications/cancelled', params: { requestId: 'q' } })
  own.finish('done without')
  assert.equal(text(await call(mcp, { ...state, inputResponses: {} })), 'done without')
  assert.equal(scripted.answered('q'), undefined)
})

test('the word that a visit is over reaches the session that was sent there, and no other', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp, 'one', { tells: true })
  await addScripted(t, mcp, 'two', { tells: true })
  await until('the gateway watches', () => scripted.requests.some(({ method }) => method === 'GET'))
  const listen = (session: Record<string, string>) =>
    openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
  const session = await mcp.initialize('2025-11-25', capabilities)
  const older = await mcp.initialize('2025-06-18', capabilities)
  const [own, other, old] = [
    await listen(session),
    await listen(await mcp.initialize('2025-11-25', capabilities)),
    await listen(older)
  ]
  const page = (elicitationId: string) => ({
    mode: 'url',
    elicitationId,
    url: 'https://example.com/',
    message: 'Visit'
  })

  // during a call: on the call's stream
  const calling = callLegacy(t, mcp, session)
  await until('the upstream is called', () => scripted.calls.length === 1)
  scripted.calls[0]!.send({ id: 'q', method: 'elicitation/create', params: page('during') })
  const stream = await calling
  await until('the client is asked', () => messagesOf(stream, 'elicitation/create').length === 1)
  const complete = 'notifications/elicitation/complete'
  scripted.calls[0]!.send({ method: complete, params: { elicitationId: 'during' } })
  await until('it is told', () => messagesOf(stream, complete).length === 1)
  assert.deepEqual(messagesOf(stream, complete)[0]!.params, { elicitationId: 'during' })
  scripted.calls[0]!.finish('done')

  // after a refused call: on the listening stream
  for (const [i, headers] of [session, older].entries()) {
    const refused = callLegacy(t, mcp, headers)
    await until('the upstream is called', () => scripted.calls.length === i + 2)
    const data = { elicitations: [page(`after-${i}`)] }
    scripted.calls[i + 1]!.fail({ code: -32042, message: 'Visit first', data })
    await refused
  }
  for (const id of ['unknown', 'after-1', 'after-0', 'after-0']) scripted.announce(complete, { elicitationId: id })
  await until('it is told', () => messagesOf(own, complete).length > 0)
  assert.deepEqual(
    messagesOf(own, complete).map(({ params }) => params),
    [{ elicitationId: 'after-0' }]
  )
  assert.deepEqual([...messagesOf(other, complete), ...messagesOf(old, complete)], [])
})

test('calls that wait for their callers end with their group, and with the gateway', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  const group = { name: 'g', included_servers: ['one'] }
  const made = await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })
  assert.equal(made.statusCode, 201, made.body)
  const inGroup: Mcp = {
    ...mcp,
    modern: (method, params) => postModern(mcp.url.replace('/mcp', '/v0/groups/g/mcp'), method, params)
  }
  await startParkedCall(inGroup, scripted, { id: 'of-group', ...elicit })
  await startParkedCall(mcp, scripted, { id: 'global', ...elicit })
  await startParkedCall(mcp, scripted, {
    id: 'model',
    method: 'sampling/createMessage',
    params: { messages: [], maxTokens: 1 }
  })

  await mcp.app.inject({ method: 'DELETE', url: '/api/v0/tool-groups/g' })
  await until('its question is given up', () => scripted.answered('of-group') !== undefined)
  assert.deepEqual(scripted.answered('of-group')!.result, { action: 'cancel' })
  await until('its call is cancelled', () => scripted.sent('notifications/cancelled').length === 1)
  assert.equal(scripted.answered('global'), undefined)

  await mcp.app.close()
  await until(
    'the rest is given up',
    () => scripted.answered('global') !== undefined && scripted.answered('model') !== undefined
  )
  assert.deepEqual(scripted.answered('global')!.result, { action: 'cancel' })
  assert.equal(scripted.answered('model')!.error?.['code'], -32603)
  await until('the calls are cancelled', () => scripted.sent('notifications/cancelled').length === 3)
})

test('answers to servers are sent before the gateway closes, however many wait for their turn', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  await startParkedCall(mcp, scripted, { id: 'last', ...elicit })
  let replies = 0
  const busy = new InboundRequests(1_000, () => {
    replies++
    for (const end = performance.now() + 1; performance.now() < end;);
  })
  for (let asked = 0; asked < 200; asked++)
    void busy.handle(String(asked), 'roots/list', '{}', async () => ({ kind: 'result', body: Payload.of('{}') }))
  await mcp.app.close()
  assert.equal(replies, 200)
  await until('the answer arrives', () => scripted.answered('last') !== undefined)
  assert.deepEqual(scripted.answered('last')!.result, { action: 'cancel' })
})

test('a call that waits for its caller holds up no other call of the same principal', async (t) => {
  const mcp = await startMcp(t)
  await register(mcp.app, { ...stdioServer('own'), session_mode: 'stateful' })
  const use = (tool: string, more: object = {}) =>
    mcp.modern('tools/call', { name: `own__${tool}`, _meta: able, ...more })
  const pid = async () => text(await use('pid'))
  const first = await pid()
  const question = { arguments: { method: elicit.method, params: form } }
  const { result } = (await use('ask', question)).body
  assert.equal(result.resultType, 'input_required')
  const beside = await pid()
  assert.notEqual(beside, first, 'a process of its own')
  assert.equal(await pid(), beside)
  const inputResponses = { 'input-1': accepted }
  const answer = await use('ask', { ...question, requestState: result.requestState, inputResponses })
  assert.deepEqual((JSON.parse(text(answer)) as { result: unknown }).result, accepted)
  assert.equal(await pid(), first, 'and the first goes on')
})
