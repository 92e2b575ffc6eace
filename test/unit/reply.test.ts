import assert from 'node:assert/strict'
import { createServer, OutgoingMessage, request, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { openBatch } from '../../src/mcp/batches/batch.ts'
import { readMessage } from '../../src/protocol/jsonrpc.ts'
import { createHeartbeat } from '../../src/mcp/sessions/heartbeat.ts'
import { HttpReply, type HttpReplyOptions } from '../../src/mcp/sessions/reply.ts'
import { ChannelWriter, type ResponseWriter } from '../../src/mcp/sessions/response-writer.ts'
import { until } from '../until.ts'

/** Starts a listener whose responses are written by the test. */
async function open(t: TestContext, answer: (reply: HttpReply) => void, options: Partial<HttpReplyOptions> = {}) {
  const heartbeat = createHeartbeat()
  const server = createServer((incoming, response) => {
    incoming.resume()
    answer(
      new HttpReply(response, {
        heartbeat,
        principal: 'ann',
        acceptsStream: true,
        maxBufferedBytes: 100_000,
        ...options
      })
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    heartbeat.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const get = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      request({ port, host: '127.0.0.1' }, resolve).on('error', reject).end()
    })
  const whole = async () => {
    const response = await get()
    return { response, type: response.headers['content-type'], body: await text(response) }
  }
  return { port, get, whole, heartbeat }
}

const result = (json: string) => ({ kind: 'result', body: Payload.of(json) }) as const

test('a result alone is JSON under the id of the caller, byte for byte, at any size', async (t) => {
  for (const id of ['1', '"ü"']) {
    for (const body of ['{"a": 1.0,\n "ü":"€"}', `{"a":"${'ü'.repeat(80_000)}"}`]) {
      const { whole } = await open(t, (reply) => reply.sendAnswer(id, result(body)))
      const given = await whole()
      assert.equal(given.body, `{"jsonrpc":"2.0","id":${id},"result":${body}}`)
      assert.equal(given.type, 'application/json')
      assert.equal(given.response.headers['content-length'], String(Buffer.byteLength(given.body)))
    }
  }
})

test('a list is what stands around its entries and they, under the id of the caller, at any size, on a stream too', async (t) => {
  for (const id of ['1', '"ü😀"', '-1.5e3']) {
    for (const entries of ['', '{"name":"ü"}', `{"name":"${'x'.repeat(200_000)}"},{"name":"ü\\n"}`]) {
      const list = (reply: ResponseWriter) =>
        reply.sendList(id, '{"nextCursor":"c","tools":[', Buffer.from(entries), '],"_meta":{}}')
      const expected = `{"jsonrpc":"2.0","id":${id},"result":{"nextCursor":"c","tools":[${entries}],"_meta":{}}}`
      const given = await (await open(t, list)).whole()
      assert.equal(given.body, expected)
      assert.equal(given.response.headers['content-length'], String(Buffer.byteLength(expected)))
      const streamed = await open(t, (reply) => {
        reply.sendMessage('{}')
        list(reply)
      })
      assert.equal((await streamed.whole()).body.split('\n\n')[1], `event: message\ndata: ${expected}`)
      const told: (string | undefined)[] = []
      const part = new ChannelWriter(
        {
          sendMessage: () => {},
          finish: (_part, answer) => told.push(answer && Buffer.concat(answer.pieces).toString())
        },
        id
      )
      list(part)
      assert.deepEqual(told, [expected])
    }
  }
})

test('what comes before the result makes the answer a stream, one line of data for each message', async (t) => {
  const { whole } = await open(t, (reply) => {
    reply.sendMessage('{"method":"notifications/progress"}')
    reply.sendAnswer('7', result('{\n  "content": [\r\n\t"a\\nb"\r  ]\n}'))
    reply.sendAnswer('7', result('{}'))
    reply.sendMessage('{"late":true}')
  })
  const { type, body, response } = await whole()
  assert.equal(type, 'text/event-stream')
  assert.equal(response.headers['cache-control'], 'no-store, no-cache, no-transform')
  assert.equal(response.headers['x-accel-buffering'], 'no')
  const frames = body.split('\n\n')
  assert.equal(frames.length, 3)
  assert.equal(frames[0], 'event: message\ndata: {"method":"notifications/progress"}')
  assert.match(frames[1]!, /^event: message\ndata: [^\r\n]+$/)
  assert.deepEqual(JSON.parse(frames[1]!.slice(frames[1]!.indexOf('{'))), {
    jsonrpc: '2.0',
    id: 7,
    result: { content: ['a\nb'] }
  })
})

test('answers that are asked for in one go come whole and in order, streams too, on every version of Node', async (t) => {
  // a response that is ended while corked looks finished to newer versions of Node before its data is sent
  const cork = t.mock.method(OutgoingMessage.prototype, 'cork')
  let count = 0
  const { port } = await open(t, (reply) => {
    const id = String(++count)
    if (id !== '2') reply.sendMessage('{"said":1}')
    if (id !== '2') reply.sendMessage('{"said":2}')
    // the first request is answered last
    setTimeout(() => reply.sendAnswer(id, result('{}')), id === '1' ? 20 : 0)
  })
  const socket = connect(port, '127.0.0.1')
  const ask = 'GET / HTTP/1.1\r\nhost: a\r\n'
  socket.write(`${ask}\r\n${ask}\r\n${ask}connection: close\r\n\r\n`)
  const given = await text(socket)
  const said = 'event: message\ndata: {"said":1}\n\n.*event: message\ndata: {"said":2}\n\n'
  const streamed = (id: string) => `${said}.*"id":${id},"result":{}}\n\n\r\n0\r\n\r\n`
  assert.match(given, new RegExp(`${streamed('1')}HTTP.*"id":2,"result":{}}HTTP.*${streamed('3')}$`, 's'))
  assert.equal(cork.mock.callCount(), 0)
})

test('an error follows on the stream where there is one, else it has its own status', async (t) => {
  const streamed = await open(t, (reply) => {
    reply.sendMessage('{}')
    reply.sendError('1', -32603, 'down', { status: 500, data: { server: 'a' } })
  })
  const given = await streamed.whole()
  assert.equal(given.response.statusCode, 200)
  assert.match(
    given.body,
    /data: \{"jsonrpc":"2.0","id":1,"error":\{"code":-32603,"message":"down","data":\{"server":"a"\}\}\}\n\n$/
  )
  const plain = await open(t, (reply) => reply.sendError('1', -32603, 'down', { status: 500 }))
  const { response, body } = await plain.whole()
  assert.deepEqual(
    [response.statusCode, body],
    [500, '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"down"}}']
  )
})

test('a client that reads no stream gets the answer as JSON and no messages', async (t) => {
  const { whole } = await open(
    t,
    (reply) => {
      reply.sendMessage('{"method":"x"}')
      reply.sendAnswer('1', result('{}'))
    },
    { acceptsStream: false }
  )
  const { type, body } = await whole()
  assert.deepEqual([type, body], ['application/json', '{"jsonrpc":"2.0","id":1,"result":{}}'])
})

test('a result larger than the cap reaches a client that reads, on a stream as well', async (t) => {
  const large = `{"a":"${'x'.repeat(1_000_000)}"}`
  for (const streams of [true, false]) {
    const { whole } = await open(t, (reply) => {
      if (streams) reply.sendMessage('{}')
      reply.sendAnswer('1', result(large))
    })
    assert.ok((await whole()).body.includes(large), String(streams))
  }
})

test('a client that never reads is cut off once too much waits for it, and told of as gone', async (t) => {
  let left = 0
  let sent = 0
  let made: HttpReply | undefined
  const { port } = await open(t, (reply) => {
    made = reply
    reply.onAbort = () => left++
    const more = () => {
      if (reply.isEnded) return
      reply.sendMessage(`{"a":"${'x'.repeat(50_000)}"}`)
      sent += 50_000
      setImmediate(more)
    }
    more()
  })
  const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
  socket.on('error', () => {}).pause()
  t.after(() => socket.destroy())
  await until('the client is cut off', () => left === 1)
  assert.equal(made!.isEnded, true)
  assert.ok(sent < 50_000_000, String(sent))
})

test('a client that leaves before the answer is told of once, one that has it is not', async (t) => {
  const left: string[] = []
  const replies: HttpReply[] = []
  const { get, whole } = await open(t, (reply) => {
    replies.push(reply)
    reply.onAbort = () => left.push(`reply ${replies.indexOf(reply)}`)
    if (replies.length === 1) reply.sendMessage('{}')
    else reply.sendAnswer('1', result('{}'))
  })
  const response = await get()
  response.destroy()
  await until('the client has left', () => left.length === 1)
  replies[0]!.sendAnswer('1', result('{}'))
  replies[0]!.close()
  await whole()
  assert.deepEqual(left, ['reply 0'])
})

test('a stream that is closed from here lets go of what it holds', async (t) => {
  let left = 0
  let reply: HttpReply | undefined
  const { get } = await open(t, (made) => {
    reply = made
    made.onAbort = () => left++
    made.openStream()
  })
  const response = await get()
  reply!.close()
  reply!.close()
  assert.equal(await text(response), '')
  assert.equal(left, 1)
})

test('a complete answer on a stream is no leaving', async (t) => {
  let left = 0
  const { whole } = await open(t, (reply) => {
    reply.onAbort = () => left++
    reply.sendMessage('{}')
    reply.sendAnswer('1', result('{}'))
  })
  await whole()
  assert.equal(left, 0)
})

test('a slow answer becomes a stream, and an open one is kept alive', async (t) => {
  let reply: HttpReply | undefined
  const { get, heartbeat } = await open(t, (made) => {
    reply = made
    heartbeat.add(made)
  })
  const answer = get()
  await until('the request is there', () => reply !== undefined)
  const now = performance.now()
  reply!.beat(now + 9_000)
  assert.equal(reply!.isStream, false)
  reply!.beat(now + 11_000)
  reply!.beat(now + 12_000)
  reply!.beat(now + 30_000)
  reply!.sendAnswer('1', result('{}'))
  reply!.beat(now + 60_000)
  const response = await answer
  assert.equal(response.headers['content-type'], 'text/event-stream')
  const body = await text(response)
  assert.equal(body.split(': keep-alive\n\n').length, 3)
  assert.ok(body.endsWith('{"jsonrpc":"2.0","id":1,"result":{}}\n\n'))
})

test('streams that were opened together are kept alive one after the other, none later than 15 seconds', async (t) => {
  const replies: HttpReply[] = []
  const { get, heartbeat } = await open(t, (reply) => {
    replies.push(reply)
    heartbeat.add(reply)
    reply.openStream()
  })
  const answers = await Promise.all(Array.from({ length: 32 }, get))
  const now = performance.now()
  const bodies = answers.map(() => '')
  for (const [i, answer] of answers.entries()) answer.on('data', (chunk: Buffer) => (bodies[i] += chunk.toString()))
  const spoken = () => bodies.filter((body) => body !== '').length
  for (const reply of replies) reply.beat(now + 13_500)
  await until('some of them have spoken', () => spoken() >= 8)
  assert.ok(spoken() < 32, String(spoken()))
  for (const reply of replies) reply.beat(now + 15_000)
  await until('all of them have spoken', () => spoken() === 32)
})

test('the heartbeat looks at each reply once a second, at a few of them at a time', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const heartbeat = createHeartbeat()
  t.after(() => heartbeat.close())
  let beats = 0
  const parts = Array.from({ length: 100 }, () => {
    const part = new ChannelWriter({ sendMessage: () => {}, finish: () => {} }, '1')
    const seen = { part, beats: 0 }
    part.beat = () => {
      beats++
      seen.beats++
    }
    heartbeat.add(part)
    return seen
  })
  for (let tick = 1; tick <= 20; tick++) {
    t.mock.timers.tick(50)
    assert.equal(beats, tick * 5)
  }
  assert.ok(parts.every((each) => each.beats === 1))
  for (const { part } of parts.slice(1)) heartbeat.delete(part)
  t.mock.timers.tick(1_000)
  assert.equal(parts[0]!.beats, 21)
})

test('closing the heartbeat ends the open streams', async (t) => {
  const { get, heartbeat } = await open(t, (reply) => {
    reply.openStream()
    heartbeat.add(reply)
  })
  const responses = await Promise.all([get(), get()])
  heartbeat.close()
  assert.deepEqual(await Promise.all(responses.map((response) => text(response))), ['', ''])
})

test('answers without a body and those of the HTTP layer say what they must', async (t) => {
  const empty = await open(t, (reply) => reply.sendEmpty(202))
  const accepted = await empty.whole()
  assert.deepEqual([accepted.response.statusCode, accepted.body, accepted.type], [202, '', undefined])
  const refused = await open(t, (reply) => reply.sendHttpError(405, 'no', { allow: 'POST' }))
  const { response, body } = await refused.whole()
  assert.deepEqual([response.statusCode, response.headers.allow, body], [405, 'POST', '{"error":"no"}'])
  assert.equal(response.headers['x-content-type-options'], 'nosniff')
})

test('what is under way for a principal whose token was revoked is given up: a 401, or the end of its stream', async (t) => {
  let left = 0
  const pending: HttpReply[] = []
  const take = (reply: HttpReply) => {
    reply.onAbort = () => void left++
    pending.push(reply)
  }
  const { whole, heartbeat } = await open(t, (reply) => {
    heartbeat.add(reply)
    take(reply)
    if (pending.length === 2) reply.sendMessage('{"a":1}')
  })
  const answers = [whole(), until('one is under way', () => pending.length === 1).then(whole)] as const
  await until('both are in progress', () => pending.length === 2)
  heartbeat.revoke((principal) => principal === 'bob')
  assert.equal(left, 0)
  heartbeat.revoke((principal) => principal === 'ann')
  const [json, stream] = await Promise.all(answers)
  assert.deepEqual(
    [json.response.statusCode, JSON.parse(json.body), json.response.headers['www-authenticate']],
    [401, { error: 'the access token is no longer valid' }, 'Bearer error="invalid_token"']
  )
  assert.deepEqual([stream.response.statusCode, stream.body], [200, 'event: message\ndata: {"a":1}\n\n'])
  assert.equal(left, 2)
})

test('an answer for which a batch has no room is an error, and the others are sent', async (t) => {
  const messages = ['1', '"two"', '3', '4'].map((id) =>
    readMessage(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`, { depth: 8, elements: 8 })
  )
  const entries = Buffer.alloc(900, ' ')
  const { whole } = await open(t, (reply) => {
    const parts = openBatch(messages, reply, { heartbeat: createHeartbeat(), maxBatchBytes: 2_500 })
    for (const [i, part] of parts.entries())
      part.sendList(messages[i]!.id, '{"tools":[', i < 3 ? entries : Buffer.alloc(0), ']}')
  })
  const answers = JSON.parse((await whole()).body) as { id: unknown; result?: object; error?: object }[]
  const error = { code: -32603, message: 'the responses of the batch are too large in total' }
  const result = { tools: [] }
  assert.deepEqual(
    answers.map(({ id, ...rest }) => [id, rest]),
    [
      [1, { jsonrpc: '2.0', result }],
      ['two', { jsonrpc: '2.0', result }],
      [3, { jsonrpc: '2.0', error }],
      [4, { jsonrpc: '2.0', result }]
    ]
  )
})
