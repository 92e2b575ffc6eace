import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addFaulty,
  addRecorder,
  META,
  MODERN,
  modernBody,
  modernHeaders,
  openStream,
  startMcp,
  textOf,
  type Answer
} from './mcp-helpers.ts'
import { until } from '../until.ts'

const summaryOf = ({ status, body }: Answer) => [status, body.error?.code, body.id]
const identity = (answer: Answer) =>
  (answer.body.result._meta as Record<string, { name: string }>)[`${META}serverInfo`]!.name

test('discovery says what is served, and that nobody may keep it', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one', { modern: true })
  const answer = await mcp.modern('server/discover')
  const { supportedVersions, capabilities, instructions, resultType, ttlMs, cacheScope } = answer.body.result
  assert.deepEqual([supportedVersions, resultType, ttlMs, cacheScope], [[MODERN], 'complete', 0, 'private'])
  assert.deepEqual(Object.keys(capabilities as object), ['tools', 'prompts', 'resources'])
  assert.match(instructions, /## one\n> Be kind/)
  assert.equal(identity(answer), 'towpath')
  assert.equal(answer.headers.get('mcp-session-id'), null)
})

test('a session id and a Last-Event-ID mean nothing to a modern request', async (t) => {
  const mcp = await startMcp(t)
  const answer = await mcp.modern('tools/list', {}, { 'mcp-session-id': 'nonsense', 'last-event-id': '5_5' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('mcp-session-id'), null)
})

test('lists, calls, gets and reads are complete, ours, and uncached, whatever the upstream speaks', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'dual', { modern: true })
  await addRecorder(t, mcp, 'old')
  await addRecorder(t, mcp, 'new', { modern: true, legacy: 'none' })
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
    const answer = await mcp.modern(method)
    const { resultType, ttlMs, cacheScope } = answer.body.result
    assert.deepEqual([resultType, ttlMs, cacheScope, identity(answer)], ['complete', 0, 'private', 'towpath'], method)
  }
  for (const server of ['dual', 'old', 'new']) {
    const call = await mcp.modern('tools/call', { name: `${server}__echo`, arguments: { text: 'hi' } })
    assert.deepEqual(textOf(call), { server, arguments: { text: 'hi' } })
    assert.deepEqual([call.body.result.resultType, identity(call)], ['complete', 'towpath'])
    assert.equal('ttlMs' in call.body.result, false)
    const prompt = await mcp.modern('prompts/get', { name: `${server}__greet`, arguments: { who: 'Ann' } })
    assert.equal(prompt.body.result.messages[0].content.text, 'Greet Ann')
    const uri = `towpath://${server}/fixture://note`
    const read = await mcp.modern('resources/read', { uri })
    assert.deepEqual(read.body.result.contents, [{ uri, text: 'a note' }])
    assert.deepEqual([read.body.result.ttlMs, read.body.result.cacheScope], [0, 'private'])
    const legacy = await mcp.legacy('tools/call', { name: `${server}__echo` })
    assert.deepEqual(Object.keys(legacy.body.result as object), ['content'], server)
  }
})

test('a dual-era upstream is spoken to in the era of the caller, with its capabilities and without its hop keys', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'dual', { modern: true })
  const before = recorder.calls('initialize').length
  const _meta = { [`${META}clientInfo`]: { name: 'theirs' }, [`${META}logLevel`]: 'debug', traceparent: '00', own: 1 }
  await mcp.modern('tools/call', { name: 'dual__echo', _meta })
  const sent = recorder.calls('tools/call').at(-1)!.params!
  const meta = sent._meta as Record<string, unknown>
  assert.equal(sent.name, 'echo')
  assert.deepEqual([meta.traceparent, meta.own, meta[`${META}protocolVersion`]], [undefined, 1, MODERN])
  assert.equal((meta[`${META}clientInfo`] as { name: string }).name, 'towpath')
  const { headers } = recorder.requests.findLast(({ message }) => message?.method === 'tools/call')!
  assert.deepEqual(
    [headers['mcp-name'], headers['mcp-method'], headers['mcp-session-id']],
    ['echo', 'tools/call', undefined]
  )
  assert.equal(recorder.calls('initialize').length, before)
  await mcp.legacy('tools/call', { name: 'dual__echo' })
  assert.equal(recorder.calls('initialize').length, before + 1)
})

test('what is unknown has the codes of the era, in HTTP 200', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'old')
  const tool = await mcp.modern('tools/call', { name: 'old__nothing' })
  assert.deepEqual([tool.status, tool.body.error], [200, { code: -32602, message: 'Unknown tool: old__nothing' }])
  for (const uri of ['fixture://nothing', 'towpath://old/fixture://nothing', 'towpath://other/x']) {
    const read = await mcp.modern('resources/read', { uri })
    assert.deepEqual(summaryOf(read), [200, -32602, 7], uri)
  }
  const cursor = await mcp.modern('tools/list', { cursor: 'made up' })
  assert.deepEqual([cursor.status, cursor.body.error], [200, { code: -32602, message: 'Invalid cursor' }])
})

test('a client that closes its stream cancels upstream, in either era of the upstream', async (t) => {
  const mcp = await startMcp(t)
  const cases = { dual: { modern: true }, old: {} }
  for (const [name, options] of Object.entries(cases)) {
    const recorder = await addRecorder(t, mcp, name, options)
    const params = { name: `${name}__slow`, arguments: { ms: 60_000 }, _meta: { progressToken: 1 } }
    const headers = modernHeaders('tools/call', params.name)
    const body = modernBody('tools/call', params)
    const stream = await openStream(t, mcp.url, { method: 'POST', headers, body })
    await until('progress comes', () => stream.messages.length > 0)
    stream.close()
    const isTold = () =>
      name === 'dual'
        ? recorder.requests.some(({ message, aborted }) => message?.method === 'tools/call' && aborted)
        : recorder.calls('notifications/cancelled').length === 1
    await until(`${name} is told`, isTold)
    assert.equal(recorder.calls('tools/call').length, 1)
  }
})

test('a client that reads no stream gets JSON, without progress', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'dual', { modern: true })
  const params = { name: 'dual__slow', arguments: { ms: 80 }, _meta: { progressToken: 1 } }
  const answer = await mcp.modern('tools/call', params, { accept: 'application/json' })
  assert.equal(answer.headers.get('content-type'), 'application/json')
  assert.deepEqual(textOf(answer), { server: 'dual', arguments: { ms: 80 } })
})

test('transport failures name the server, the reason, the cause and the next step', async (t) => {
  const mcp = await startMcp(t)
  const faulty = await addFaulty(t, mcp, 'one')
  faulty.mode = 'reset'
  const { body, status } = await mcp.modern('tools/call', { name: 'one__echo' })
  const { next_step: step, summary, ...data } = body.error!.data!
  assert.deepEqual(
    [status, body.error!.code, data],
    [200, -32603, { server: 'one', reason: 'unreachable', cause: 'connection_lost' }]
  )
  for (const sentence of [step, summary]) assert.match(String(sentence), /\.$/)
})

test('listening is acknowledged with what is honoured, and each frame carries the id of the subscription', async (t) => {
  const mcp = await startMcp(t)
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: false,
    resourcesListChanged: 'yes',
    resourceSubscriptions: ['x://1'],
    other: true
  }
  const stream = await openStream(t, mcp.url, {
    method: 'POST',
    headers: modernHeaders('subscriptions/listen'),
    body: modernBody('subscriptions/listen', { notifications }, 'sub-1')
  })
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  await until('it is acknowledged', () => stream.messages.length === 1)
  const _meta = { [`${META}subscriptionId`]: 'sub-1' }
  assert.deepEqual(stream.messages[0], {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { toolsListChanged: true }, _meta }
  })
  await addRecorder(t, mcp, 'one')
  await until('the change is told of', () => stream.messages.length === 2)
  assert.deepEqual(stream.messages[1], {
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
    params: { _meta }
  })
})
