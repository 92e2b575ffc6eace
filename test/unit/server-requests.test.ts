import assert from 'node:assert/strict'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { readMessage } from '../../src/protocol/jsonrpc.ts'
import { createServerRequests } from '../../src/mcp/sessions/server-requests.ts'
import { createHeartbeat } from '../../src/mcp/sessions/heartbeat.ts'
import { HttpReply } from '../../src/mcp/sessions/reply.ts'
import { until } from '../until.ts'

const limits = { depth: 64, elements: Infinity }

interface Stream {
  readonly reply: HttpReply
  /** Messages that the client has read. */
  readonly heard: Record<string, unknown>[]
  leave(): void
}

/** Returns a function that opens streams to clients over sockets. */
async function openStreams(t: TestContext): Promise<() => Promise<Stream>> {
  const heartbeat = createHeartbeat()
  const replies: HttpReply[] = []
  const server = createServer((incoming, response) => {
    incoming.resume()
    const reply = new HttpReply(response, {
      heartbeat,
      principal: 'ann',
      acceptsStream: true,
      maxBufferedBytes: 100_000
    })
    reply.openStream()
    replies.push(reply)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    heartbeat.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return async () => {
    const heard: Record<string, unknown>[] = []
    const request = get({ port, host: '127.0.0.1' }, (response) => {
      let rest = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const frames = (rest + chunk).split('\n\n')
        rest = frames.pop()!
        for (const frame of frames) heard.push(JSON.parse(frame.split('data: ')[1]!) as Record<string, unknown>)
      })
      response.on('error', () => {})
    })
    request.on('error', () => {})
    const count = replies.length
    await until('the stream is open', () => replies.length > count)
    return { reply: replies.at(-1)!, heard, leave: () => request.destroy() }
  }
}

const respond = (response: object | string) => {
  const text = typeof response === 'string' ? response : JSON.stringify({ jsonrpc: '2.0', ...response })
  return readMessage(text, limits)
}
const text = async (answer: Promise<{ kind: string; body: Payload }>) => {
  const { kind, body } = await answer
  return `${kind} ${body.toString()}`
}

test('requests go out under ids of our own, and each answer finds its own', async (t) => {
  const open = await openStreams(t)
  const { reply, heard } = await open()
  const pushes = createServerRequests({ streams: new Set() })
  const first = pushes.send(() => reply, 'roots/list', '{}')
  const second = pushes.send(() => reply, 'elicitation/create', '{"message":"ü"}')
  await until('both are heard', () => heard.length === 2)
  assert.deepEqual(heard, [
    { jsonrpc: '2.0', id: '1', method: 'roots/list', params: {} },
    { jsonrpc: '2.0', id: '2', method: 'elicitation/create', params: { message: 'ü' } }
  ])
  assert.equal(pushes.resolve(respond({ id: '2', error: { code: -1, message: 'no' } })), true)
  assert.equal(await text(second.answer), 'error {"code":-1,"message":"no"}')
  assert.equal(
    pushes.resolve(respond('{"jsonrpc":"2.0","id":"1","result":{"n": 1.000,  "big":12345678901234567890}}')),
    true
  )
  assert.equal(await text(first.answer), 'result {"n": 1.000,  "big":12345678901234567890}')
})

test('an answer to what was never asked, or was answered before, is for nobody', async (t) => {
  const open = await openStreams(t)
  const { reply } = await open()
  const pushes = createServerRequests({ streams: new Set() })
  const { answer } = pushes.send(() => reply, 'roots/list', '{}')
  for (const id of ['2', 1, '01', ' 1']) assert.equal(pushes.resolve(respond({ id, result: {} })), false, String(id))
  assert.equal(pushes.resolve(respond({ id: '1', result: { roots: [] } })), true)
  assert.equal(pushes.resolve(respond({ id: '1', result: {} })), false)
  assert.equal(await text(answer), 'result {"roots":[]}')
})

test('two sessions count alike and still get only their own answers', async (t) => {
  const open = await openStreams(t)
  const [a, b] = [await open(), await open()]
  const [pushesA, pushesB] = [
    createServerRequests({ streams: new Set() }),
    createServerRequests({ streams: new Set() })
  ]
  const asked = pushesA.send(() => a.reply, 'roots/list', '{}')
  assert.equal(pushesB.resolve(respond({ id: '1', result: {} })), false)
  pushesB.send(() => b.reply, 'roots/list', '{}')
  assert.equal(pushesB.resolve(respond({ id: '1', result: { of: 'b' } })), true)
  assert.equal(pushesA.resolve(respond({ id: '1', result: { of: 'a' } })), true)
  assert.equal(await text(asked.answer), 'result {"of":"a"}')
})

test('the client is told when nobody waits any more, once and only if it was asked', async (t) => {
  const open = await openStreams(t)
  const { reply, heard } = await open()
  const pushes = createServerRequests({ streams: new Set() })
  const push = pushes.send(() => reply, 'roots/list', '{}')
  await until('it is heard', () => heard.length === 1)
  push.cancel()
  push.cancel()
  assert.match(await text(push.answer), /^error .*-32603/)
  const answered = pushes.send(() => reply, 'roots/list', '{}')
  pushes.resolve(respond({ id: '2', result: {} }))
  answered.cancel()
  reply.sendMessage('{"method":"last"}')
  await until('the stream is read', () => heard.at(-1)?.['method'] === 'last')
  const told = heard.filter(({ method }) => method === 'notifications/cancelled')
  assert.deepEqual(told, [
    {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: '1', reason: 'no longer needed' }
    }
  ])
})

test('the end of the session answers everything with an error', async (t) => {
  const open = await openStreams(t)
  const { reply } = await open()
  const pushes = createServerRequests({ streams: new Set() })
  const asked = [pushes.send(() => reply, 'roots/list', '{}'), pushes.send(() => reply, 'roots/list', '{}')]
  pushes.close()
  for (const { answer } of asked)
    assert.equal(await text(answer), 'error {"code":-32603,"message":"the session has ended"}')
})

test("where the call's own stream is gone the newest of the session takes its place, also one that comes later", async (t) => {
  const open = await openStreams(t)
  const [own, older, newest] = [await open(), await open(), await open()]
  own.leave()
  await until('it has left', () => own.reply.isEnded)
  const streams = new Set([older.reply, newest.reply])
  const pushes = createServerRequests({ streams })
  pushes.send(() => own.reply, 'roots/list', '{}')
  await until('it is heard', () => newest.heard.length === 1)
  assert.deepEqual(older.heard, [])
  streams.clear()
  pushes.send(() => own.reply, 'roots/list', '{}')
  const late = await open()
  streams.add(late.reply)
  pushes.streamOpened()
  await until('it is heard on the late one', () => late.heard.length === 1)
  assert.equal(late.heard[0]!['id'], '2')
})

test('requests without a stream are all sent when the client opens one, without waiting for a timer', async (t) => {
  const open = await openStreams(t)
  const { reply, heard } = await open()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const streams = new Set<HttpReply>()
  const requests = createServerRequests({ streams })
  requests.send(() => null, 'roots/list', '{}')
  const cancelled = requests.send(() => null, 'roots/list', '{}')
  requests.send(() => null, 'elicitation/create', '{}')
  cancelled.cancel()
  streams.add(reply)
  requests.streamOpened()
  requests.streamOpened()
  t.mock.timers.reset()
  await until('the last request arrives', () => heard.some(({ method }) => method === 'elicitation/create'))
  assert.deepEqual(
    heard.map(({ id }) => id),
    ['1', '3']
  )
})

test('a request fails if the client opens no stream within thirty seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const requests = createServerRequests({ streams: new Set() })
  const { answer } = requests.send(() => null, 'roots/list', '{}')
  let settled: unknown
  void answer.then((value) => (settled = value))
  t.mock.timers.tick(29_999)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(settled, undefined)
  t.mock.timers.tick(1)
  assert.equal(await text(answer), 'error {"code":-32603,"message":"the client has no open stream"}')
})

test('a client that does not answer is waited for ten minutes', async (t) => {
  const open = await openStreams(t)
  const { reply } = await open()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { answer } = createServerRequests({ streams: new Set() }).send(() => reply, 'roots/list', '{}')
  let given: unknown
  void answer.then((value) => (given = value))
  t.mock.timers.tick(599_999)
  await Promise.resolve()
  assert.equal(given, undefined)
  t.mock.timers.tick(1)
  assert.equal(await text(answer), 'error {"code":-32603,"message":"the client did not answer in time"}')
})
