import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addRecorder,
  legacyBody,
  modernBody,
  modernHeaders,
  startMcp,
  type Answer,
  type Mcp,
  type RpcAnswer
} from './mcp-helpers.ts'
import { until } from '../until.ts'

const both = 'application/json, text/event-stream'
const array = (...bodies: string[]) => `[${bodies.join(',')}]`
const answers = ({ text }: Answer) => JSON.parse(text) as RpcAnswer[]
const summaryOf = ({ status, body }: Answer) => [status, body.error?.code, body.id]
const ping = (id: unknown) => legacyBody('ping', {}, id)
const note = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
const call = (name: string, args: object, id: unknown, more: object = {}) =>
  legacyBody('tools/call', { name, arguments: args, ...more }, id)
const old = (mcp: Mcp) => mcp.initialize('2025-03-26')

test('a batch is answered as one array, each element on its own', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const sessions = [{}, await old(mcp), await mcp.initialize('2024-11-05'), { 'mcp-protocol-version': '2025-03-26' }]
  for (const headers of sessions) {
    const body = array(
      ping('12345'),
      note,
      call('one__echo', { n: 1 }, 'a'),
      legacyBody('nothing', {}, 0),
      call('one__hidden', {}, ''),
      '{"jsonrpc":"2.0","id":5,"result":{}}',
      legacyBody('tools/list', {}, 3)
    )
    const answer = await mcp.send(body, headers)
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/json'])
    const byId = new Map(answers(answer).map((one) => [one.id, one]))
    assert.deepEqual(new Set(byId.keys()), new Set(['', '12345', 0, 3, 'a']))
    assert.deepEqual(byId.get('12345')!.result, {})
    assert.deepEqual(JSON.parse(byId.get('a')!.result.content[0].text), { server: 'one', arguments: { n: 1 } })
    assert.equal(byId.get(0)!.error!.code, -32601)
    assert.deepEqual(byId.get('')!.error, { code: -32602, message: 'Unknown tool: one__hidden' })
    assert.equal(byId.get(3)!.result.tools.length, 4)
  }
})

test('a batch becomes a stream where something has to be said before its answers', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const progressing = call('one__slow', { ms: 100 }, 'slow', { _meta: { progressToken: 'p' } })
  const { headers, events } = await mcp.send(array(ping('fast'), progressing), await old(mcp))
  assert.equal(headers.get('content-type'), 'text/event-stream')
  const ids = events.map(({ id }) => id)
  assert.equal(ids[0], 'fast')
  assert.equal(ids[1], undefined)
  assert.equal(ids.at(-1), 'slow')
})

test('what needs no answer is taken with 202, also many at once', async (t) => {
  const mcp = await startMcp(t)
  for (const headers of [{}, await old(mcp)]) {
    const answer = await mcp.send(array(note, '{"jsonrpc":"2.0","id":1,"result":{}}', note), headers)
    assert.deepEqual([answer.status, answer.text], [202, ''])
  }
})

test('a call of a batch can be cancelled alone; all of them are when a client without a session leaves', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const session = await old(mcp)
  const running = mcp.send(array(call('one__slow', { ms: 60_000 }, 1), call('one__echo', {}, 2)), session)
  await until('both arrive', () => recorder.calls('tools/call').length === 2)
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
  await mcp.send(array(cancel), session)
  assert.deepEqual(
    answers(await running).map(({ id }) => id),
    [2]
  )
  const allCancelled = mcp.send(array(call('one__slow', { ms: 60_000 }, 1)), session)
  await until('it arrives', () => recorder.calls('tools/call').length === 3)
  await mcp.send(cancel, session)
  assert.deepEqual((await allCancelled).events, [])

  const sessionless = { 'content-type': 'application/json', accept: both }
  const leaver = new AbortController()
  const body = array(call('one__slow', { ms: 60_000 }, 1))
  const left = fetch(mcp.url, { method: 'POST', headers: sessionless, body, signal: leaver.signal })
  await until('it arrives', () => recorder.calls('tools/call').length === 4)
  leaver.abort()
  await assert.rejects(left)
  await until('the call of nobody is cancelled', () => recorder.calls('notifications/cancelled').length === 3)
})

test('a cancellation reaches a call of its batch that has not begun', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
  const body = array(cancel, call('one__echo', {}, 1), call('one__echo', {}, 2))
  assert.deepEqual(
    answers(await mcp.send(body, await old(mcp))).map(({ id }) => id),
    [2]
  )
  assert.equal(recorder.calls('tools/call').length, 1)
})

test('a batch is refused whole where the revision knows none, or for what is in it', async (t) => {
  const mcp = await startMcp(t)
  const session = await old(mcp)
  const bad: [string, string][] = [
    ['[]', 'empty'],
    [array(legacyBody('initialize', { protocolVersion: '2025-03-26', capabilities: {} }), ping(1)), 'initialize'],
    [array(ping(1), '5'), 'a number'],
    [array(ping(1), '[]'), 'a batch'],
    [array(ping(1), '{"jsonrpc":"1.0","id":2,"method":"ping"}'), 'another version'],
    [array(ping(1), '{"jsonrpc":"2.0","id":2,"id":3,"method":"ping"}'), 'a member given twice'],
    [array(ping(1), modernBody('tools/list')), 'a modern request'],
    [array(...Array.from({ length: 101 }, (_, id) => ping(id))), 'too many']
  ]
  for (const [body, what] of bad) {
    for (const headers of [{}, session])
      assert.deepEqual(summaryOf(await mcp.send(body, headers)), [400, -32600, null], what)
  }
  for (const version of ['2025-06-18', '2025-11-25']) {
    assert.deepEqual(
      summaryOf(await mcp.send(array(ping(1)), await mcp.initialize(version))),
      [400, -32600, null],
      version
    )
    assert.deepEqual(summaryOf(await mcp.send(array(ping(1)), { 'mcp-protocol-version': version })), [
      400,
      -32600,
      null
    ])
  }
  assert.deepEqual(summaryOf(await mcp.send(array(ping(1)), modernHeaders('ping'))), [400, -32600, null])
  assert.deepEqual(summaryOf(await mcp.send('[{]')), [400, -32700, null])
  assert.deepEqual(summaryOf(await mcp.send(array(ping(1)), { accept: 'application/json' })), [406, -32000, null])
  assert.deepEqual(summaryOf(await mcp.send(array(ping(1)), { 'mcp-session-id': 'x' })), [404, -32001, null])
  const most = await mcp.send(array(...Array.from({ length: 100 }, (_, id) => ping(id))), session)
  assert.equal(answers(most).length, 100)
})
