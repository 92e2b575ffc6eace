import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { Call, silentSink } from '../../src/upstream/transport/call.ts'
import type { Answer, OutgoingRequest, Sink } from '../../src/upstream/transport/call.ts'
import { complete } from '../../src/lib/time-slice.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { createJsonRpcPeer } from '../../src/upstream/transport/jsonrpc-peer.ts'
import type { JsonRpcPeerOptions } from '../../src/upstream/transport/jsonrpc-peer.ts'

const echo: OutgoingRequest = { method: 'tools/call', members: '"name":"echo","arguments":{}', meta: '' }

/** Starts a peer whose output is collected in a list. */
const startPeer = (options: Partial<JsonRpcPeerOptions> = {}) => {
  const written: string[] = []
  const notified: string[] = []
  const peer = createJsonRpcPeer({
    write: (text) => written.push(text),
    onNotification: (method, params) => notified.push(`${method} ${params}`),
    onRequest: () => null,
    ...options
  })
  const receive = (text: string) => complete(peer.receive([Buffer.from(text)]))
  return { peer, written, notified, receive }
}

const recordingSink = (options: Partial<Sink> = {}) => {
  const seen: string[] = []
  const sink: Sink = { ...silentSink, notify: (method, params) => seen.push(`${method} ${params}`), ...options }
  return { sink, seen }
}

const text = ({ kind, body }: Answer) => `${kind} ${body.toString()}`
const failsWith = (reason: string, message?: RegExp) => (error: unknown) =>
  error instanceof UpstreamFailure && error.reason === reason && (message?.test(error.message) ?? true)
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('answers reach their calls by id, in any order', async () => {
  const { peer, receive, written } = startPeer()
  const first = peer.send(new Call(echo, silentSink))
  const second = peer.send(new Call(echo, silentSink))
  assert.deepEqual(
    written.map((line) => (JSON.parse(line) as { id: number }).id),
    [1, 2]
  )
  receive('{"jsonrpc":"2.0","id":2,"result":{"n":2}}')
  receive('{"result":{"n":1},"jsonrpc":"2.0","id":1}')
  assert.equal(text(await second), 'result {"n":2}')
  assert.equal(text(await first), 'result {"n":1}')
  assert.equal(peer.pendingCount, 0)
})

test('a result keeps its bytes: long numbers, white space, repeated members, unknown fields', async () => {
  const { peer, receive } = startPeer()
  const body = '{ "n": 12345678901234567890.10,\t"ü€😀":"\\u00e9\\/", "x": [ {"n":1,"n":2} ] }'
  const call = peer.send(new Call(echo, silentSink))
  receive(`  {"id" : 1 , "jsonrpc": "2.0", "extra":[{"id":9}], "result": ${body} } `)
  assert.equal(text(await call), `result ${body}`)
})

test('a result keeps its bytes at any size', async () => {
  const { peer, receive } = startPeer()
  for (const [i, length] of [0, 100, 30_000, 500_000].entries()) {
    const body = `{"content":[{"text":"${'ü€😀'.repeat(length)}"}]}`
    const call = peer.send(new Call(echo, silentSink))
    receive(`{"jsonrpc":"2.0","id":${i + 1},"result":${body}}`)
    assert.equal(text(await call), `result ${body}`)
  }
})

test('an error answer passes with code, message and data as they are', async () => {
  const { peer, receive } = startPeer()
  const call = peer.send(new Call(echo, silentSink))
  receive('{"jsonrpc":"2.0","id":1,"error":{"code":-32602, "message":"no", "data":{"a":1.0}}}')
  assert.equal(text(await call), 'error {"code":-32602, "message":"no", "data":{"a":1.0}}')
})

test('a request is built from its parts, and params are left out where there are none', () => {
  const { peer, written } = startPeer()
  void peer.send(new Call({ method: 'tools/list', members: '', meta: '' }, silentSink))
  void peer.send(new Call({ ...echo, meta: '"a":1' }, silentSink))
  void peer.send(new Call(echo, { ...silentSink, wantsProgress: true }))
  void peer.send(new Call({ method: 'tools/list', members: '', meta: '"a":1' }, { ...silentSink, wantsProgress: true }))
  assert.deepEqual(written, [
    '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"a":1}}}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":3}}}',
    '{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"progressToken":4,"a":1}}}'
  ])
})

test('a modern connection carries the envelope with the capabilities of each caller', () => {
  const { peer, written } = startPeer({ modernClientInfo: '{"name":"towpath"}' })
  const sink = { ...silentSink, capabilities: '{"elicitation":{}}', wantsProgress: true }
  void peer.send(new Call({ ...echo, meta: '"traceparent":"00"' }, sink))
  assert.deepEqual((JSON.parse(written[0]!) as { params: unknown }).params, {
    name: 'echo',
    arguments: {},
    _meta: {
      progressToken: 1,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'towpath' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      traceparent: '00'
    }
  })
})

test('a stopped call is cancelled upstream with its id and fails with the reason of the stop', async () => {
  const { peer, written, receive } = startPeer()
  const call = new Call(echo, silentSink)
  const answer = peer.send(call)
  call.stop(new UpstreamFailure('timeout', 'no answer in time'))
  await assert.rejects(answer, failsWith('timeout'))
  assert.equal(
    written[1],
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no answer in time"}}'
  )
  assert.equal(receive('{"jsonrpc":"2.0","id":1,"result":{}}'), true, 'the late answer is no noise')
})

test('a call that was stopped before it is sent, or after its answer, sends nothing', async () => {
  const { peer, written, receive } = startPeer()
  const early = new Call(echo, silentSink)
  early.stop(new UpstreamFailure('cancelled', 'left'))
  await assert.rejects(peer.send(early), failsWith('cancelled'))
  assert.equal(written.length, 0)

  const late = new Call(echo, silentSink)
  const answer = peer.send(late)
  receive('{"jsonrpc":"2.0","id":1,"result":{}}')
  late.stop(new UpstreamFailure('cancelled', 'left'))
  assert.equal(text(await answer), 'result {}')
  assert.equal(written.length, 1)
})

test('initialize is given up without a cancellation, which the protocol forbids', async () => {
  const { peer, written } = startPeer()
  const call = new Call({ method: 'initialize', members: '', meta: '' }, silentSink)
  const answer = peer.send(call)
  call.stop(new UpstreamFailure('timeout', 'late'))
  await assert.rejects(answer, failsWith('timeout'))
  assert.equal(written.length, 1)
})

test('progress reaches the call of its token, without the token, and counts as life', () => {
  const { peer, receive } = startPeer()
  const { sink, seen } = recordingSink({ wantsProgress: true })
  const other = recordingSink({ wantsProgress: true })
  void peer.send(new Call(echo, other.sink))
  const call = new Call(echo, sink)
  call.idleTimeoutMs = 1_000
  call.idleDeadline = 0
  void peer.send(call)
  receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1,"message":"ü"}}')
  receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{ "progress":2.50, "progressToken":2}}')
  receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}}')
  receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"2","progress":1}}')
  receive('{"jsonrpc":"2.0","method":"notifications/progress"}')
  assert.deepEqual(seen, [
    'notifications/progress {"progress":1,"message":"ü"}',
    'notifications/progress {"progress":2.50}'
  ])
  assert.deepEqual(other.seen, [])
  assert.ok(call.idleDeadline > performance.now())
})

test('progress that nobody asked for is dropped', () => {
  const { peer, receive } = startPeer()
  const { sink, seen } = recordingSink()
  void peer.send(new Call(echo, sink))
  receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}')
  assert.deepEqual(seen, [])
})

test('a log message goes to the oldest call, and without a call to the connection', async () => {
  const { peer, receive, notified } = startPeer()
  const oldest = recordingSink()
  const newer = recordingSink()
  void peer.send(new Call(echo, oldest.sink))
  void peer.send(new Call(echo, newer.sink))
  const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"é"}}'
  receive(message)
  receive('{"jsonrpc":"2.0","id":1,"result":{}}')
  receive(message)
  receive('{"jsonrpc":"2.0","id":2,"result":{}}')
  receive(message)
  const line = 'notifications/message {"level":"info","data":"é"}'
  assert.deepEqual([oldest.seen, newer.seen, notified], [[line], [line], [line]])
})

test('list changes and resource updates go to the connection, call or no call', () => {
  const { peer, receive, notified } = startPeer()
  const { sink, seen } = recordingSink()
  void peer.send(new Call(echo, sink))
  receive('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  receive('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}')
  assert.deepEqual(seen, [])
  assert.deepEqual(notified, ['notifications/tools/list_changed {}', 'notifications/resources/updated {"uri":"a:b"}'])
})

test('ping is answered on the spot, with the id as the upstream wrote it', () => {
  const { receive, written } = startPeer()
  receive('{"jsonrpc":"2.0","id":"a\\u0020é","method":"ping"}')
  assert.deepEqual(written, ['{"jsonrpc":"2.0","id":"a\\u0020é","result":{}}'])
})

test('a request of the upstream is asked of the oldest call and its answer sent back', async () => {
  const { peer, receive, written } = startPeer()
  const asked: string[] = []
  const { sink } = recordingSink({
    request: async (method, params) => {
      asked.push(`${method} ${params}`)
      return { kind: 'result', body: Payload.of('{"action":"accept","content":{"name":"Zoë"}}') }
    }
  })
  void peer.send(new Call(echo, sink))
  receive('{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"name?"}}')
  await settled()
  assert.deepEqual(asked, ['elicitation/create {"message":"name?"}'])
  assert.equal(written[1], '{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"name":"Zoë"}}}')
})

test('a request of the upstream without a call goes to the connection, else it is -32601', async () => {
  const { receive, written } = startPeer()
  receive('{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
  const listing = startPeer({ onRequest: () => async () => ({ kind: 'result', body: Payload.of('{"roots":[]}') }) })
  listing.receive('{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
  await settled()
  assert.deepEqual(written, ['{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'])
  assert.deepEqual(listing.written, ['{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}'])
})

test('CR-F1: where somebody is at home each question goes there, and the end of a call takes none back', async () => {
  const answers: ((value: Answer) => void)[] = []
  const withdrawn: number[] = []
  const { peer, receive, written } = startPeer({
    onRequest: () => (_method, _params, asking, underway) => {
      asking.onCancel = () => void withdrawn.push(underway.length)
      return new Promise((resolve) => void answers.push(resolve))
    }
  })
  const [first, second] = [new Call(echo, silentSink), new Call(echo, silentSink)]
  void peer.send(first)
  const other = peer.send(second)
  for (const id of [7, 8]) receive(`{"jsonrpc":"2.0","id":${id},"method":"roots/list"}`)
  assert.deepEqual([first.isPaused, second.isPaused], [true, true], 'the clocks of all calls stand')
  receive('{"jsonrpc":"2.0","id":1,"result":{}}')
  answers[0]!({ kind: 'result', body: Payload.of('{"of":7}') })
  await settled()
  assert.equal(second.isPaused, true, 'one is still open')
  answers[1]!({ kind: 'result', body: Payload.of('{"of":8}') })
  await settled()
  assert.deepEqual([first.isPaused, second.isPaused, withdrawn], [false, false, []], 'none is open')
  assert.deepEqual(written.slice(2), [
    '{"jsonrpc":"2.0","id":7,"result":{"of":7}}',
    '{"jsonrpc":"2.0","id":8,"result":{"of":8}}'
  ])
  peer.fail(new UpstreamFailure('unreachable', 'over'))
  await assert.rejects(other)
})

test('a caller that fails to answer costs the upstream an error, not the conversation', async () => {
  const { peer, receive, written } = startPeer()
  const { sink } = recordingSink({ request: () => Promise.reject(new Error('stream is gone')) })
  void peer.send(new Call(echo, sink))
  receive('{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}}')
  await settled()
  assert.equal(written[1], '{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"Internal error"}}')
})

test('a request that the upstream takes back gets no answer', async () => {
  const { peer, receive, written } = startPeer()
  let answer: (value: Answer) => void = () => {}
  const { sink } = recordingSink({ request: () => new Promise((resolve) => (answer = resolve)) })
  void peer.send(new Call(echo, sink))
  receive('{"jsonrpc":"2.0","id":5,"method":"roots/list"}')
  receive('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}')
  answer({ kind: 'result', body: Payload.of('{}') })
  await settled()
  assert.equal(written.length, 1)
})

test('an upstream may have a hundred requests open and no more', async () => {
  const { peer, receive, written } = startPeer()
  const { sink } = recordingSink({ request: () => new Promise(() => {}) })
  void peer.send(new Call(echo, sink))
  for (let id = 1; id <= 101; id++) receive(`{"jsonrpc":"2.0","id":${id},"method":"roots/list"}`)
  await settled()
  assert.deepEqual(written.slice(1), [
    '{"jsonrpc":"2.0","id":101,"error":{"code":-32603,"message":"Too many concurrent requests"}}'
  ])
})

test('noise is told from messages and harms nothing', async () => {
  const { peer, receive, written } = startPeer()
  const call = peer.send(new Call(echo, silentSink))
  const junk = [
    'Server is starting…',
    '{"jsonrpc":"2.0"}',
    '[]',
    '[{"jsonrpc":"2.0","id":1,"result":{}}]',
    '{"jsonrpc":"2.0","id":77}',
    '{"jsonrpc":"2.0","method":7}',
    '{"jsonrpc":"2.0","method":"x","params":[1]}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    'null',
    '""'
  ]
  for (const line of junk) assert.equal(receive(line), false, line)
  for (const id of ['77', 'null', '"1"', '1.5', '{}']) {
    assert.equal(receive(`{"jsonrpc":"2.0","id":${id},"result":{}}`), true, 'an answer to nobody')
  }
  assert.equal(peer.pendingCount, 1)
  receive('{"jsonrpc":"2.0","id":1,"result":{"ok":true}}')
  assert.equal(text(await call), 'result {"ok":true}')
  assert.equal(written.length, 1)
})

const malformed: [string, RegExp][] = [
  ['{"jsonrpc":"2.0","id":1,"result":"text"}', /a result of the wrong shape/],
  ['{"jsonrpc":"2.0","id":1,"result":[]}', /a result of the wrong shape/],
  ['{"jsonrpc":"2.0","id":1,"error":null}', /an error of the wrong shape/],
  ['{"jsonrpc":"2.0","id":1,"error":{"code":1}}', /an error of the wrong shape/],
  ['{"jsonrpc":"2.0","id":1,"result":{}} trailing', /malformed JSON/],
  ['{"jsonrpc":"2.0","id":1,"result":{}', /malformed JSON/],
  ['{"id":1,"result":{}}', /not JSON-RPC 2.0/],
  ['{"jsonrpc":"1.0","id":1,"result":{}}', /not JSON-RPC 2.0/],
  ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', /both a result and an error/],
  ['{"jsonrpc":"2.0","id":1}', /neither/],
  [`{"jsonrpc":"2.0","id":1,"result":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`, /nested deeper/],
  [`{"result":${'{"a":'.repeat(70)}1${'}'.repeat(70)},"jsonrpc":"2.0","id":1}`, /nested deeper/]
]
for (const [line, problem] of malformed) {
  test(`a malformed answer fails its call: ${line.slice(0, 50)}`, async () => {
    const { peer, receive } = startPeer()
    const call = peer.send(new Call(echo, silentSink))
    receive(line)
    await assert.rejects(call, failsWith('bad_response', problem))
    assert.equal(peer.pendingCount, 0)
  })
}

test('the end of the connection fails every call, and later ones as never taken', async () => {
  const { peer, written } = startPeer()
  const calls = [peer.send(new Call(echo, silentSink)), peer.send(new Call(echo, silentSink))]
  peer.fail(new UpstreamFailure('crashed', 'exited with code 3'))
  for (const call of calls) await assert.rejects(call, failsWith('crashed', /code 3/))
  await assert.rejects(
    peer.send(new Call(echo, silentSink)),
    (error) => error instanceof UpstreamFailure && error.reason === 'crashed' && !error.maybeProcessed
  )
  peer.notify('notifications/initialized', '')
  assert.equal(written.length, 2)
})

test('a message that cannot be delivered fails its own call alone', async () => {
  const refuse: ((failure: UpstreamFailure) => void)[] = []
  const { peer, receive } = startPeer({ write: (_, refused) => refuse.push(refused!) })
  const first = peer.send(new Call(echo, silentSink))
  const second = peer.send(new Call(echo, silentSink))
  refuse[0]!(new UpstreamFailure('overloaded', 'too much', { maybeProcessed: false }))
  await assert.rejects(first, failsWith('overloaded'))
  receive('{"jsonrpc":"2.0","id":2,"result":{}}')
  assert.equal(text(await second), 'result {}')
})

test('notifications are sent with and without params', () => {
  const { peer, written } = startPeer()
  peer.notify('notifications/initialized', '')
  peer.notify('notifications/roots/list_changed', '{"a":1}')
  assert.deepEqual(written, [
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"a":1}}'
  ])
})
