import assert from 'node:assert/strict'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { createHeartbeat } from '../../src/mcp/sessions/heartbeat.ts'
import { HttpReply } from '../../src/mcp/sessions/reply.ts'
import { createEventStore } from '../../src/mcp/sessions/event-store.ts'
import { createClientSessions, type Session } from '../../src/mcp/sessions/client-sessions.ts'
import { createQuota } from '../../src/lib/quota.ts'
import { until } from '../until.ts'

/** Opens connections of one session, and collects the data read on each. */
async function start(t: TestContext) {
  const heartbeat = createHeartbeat()
  const replays = createEventStore()
  const sessions = createClientSessions({
    key: Buffer.alloc(32),
    maxSessions: 10,
    quota: createQuota(Infinity),
    sessionIdleMs: 60_000,
    onEnd: (session) => replays.endSession(session),
    announceEnd() {}
  })
  const responses: ServerResponse[] = []
  const server = createServer((_incoming, response) => void responses.push(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    sessions.close()
    replays.close()
    heartbeat.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const session = sessions.create('ann', '/mcp', '2025-06-18', {}) as Session
  const connect = async () => {
    const client = { text: '', isOver: false }
    const asked = request({ port, host: '127.0.0.1' }, (answer) => {
      answer.setEncoding('latin1').on('data', (chunk: string) => (client.text += chunk))
      answer.on('close', () => (client.isOver = true)).on('error', () => {})
    })
    asked.on('error', () => {}).end()
    const count = responses.length
    await until('the request arrives', () => responses.length > count)
    const reply = new HttpReply(responses.at(-1)!, {
      heartbeat,
      principal: 'ann',
      acceptsStream: true,
      maxBufferedBytes: 100_000_000
    })
    const ids = () => [...client.text.matchAll(/^id: \S+_(\d+)$/gm)].map(([, number]) => Number(number))
    return { client, reply, ids, leave: () => asked.destroy() }
  }
  const open = async (of = session) => {
    const connection = await connect()
    connection.reply.enableResumption(replays, of)
    connection.reply.openStream()
    return connection
  }
  const resume = async (stream: string, after = 0) => {
    const connection = await connect()
    const found = replays.find(session, `${stream}_${after}`)!
    connection.reply.openStream()
    replays.resume(found.stream, found.after, connection.reply)
    await until('it is over', () => connection.client.isOver)
    return connection
  }
  const nameOf = (text: string) => /^id: (\S+)_\d+$/m.exec(text)![1]!
  return { replays, sessions, session, open, resume, nameOf }
}

const result = (json: string) => ({ kind: 'result', body: Payload.of(json) }) as const

test('of a stream the last 256 events are kept, and the answer behind them', async (t) => {
  const { open, resume, nameOf } = await start(t)
  const { client, reply, leave } = await open()
  reply.sendMessage('{"n":0}')
  await until('the first is read', () => client.text.includes('"n":0'))
  leave()
  for (let n = 1; n < 400; n++) reply.sendMessage(`{"n":${n}}`)
  reply.sendAnswer('1', result('{}'))
  assert.equal(reply.isEnded, true)
  const { ids } = await resume(nameOf(client.text))
  assert.deepEqual(
    ids(),
    Array.from({ length: 256 }, (_, i) => 146 + i)
  )
})

test('of a stream no more than a mebibyte is kept, but its answer at any size', async (t) => {
  const { open, resume, nameOf } = await start(t)
  const { client, reply } = await open()
  for (let n = 0; n < 4; n++) reply.sendMessage(`{"n":"${'x'.repeat(400_000)}"}`)
  await until('all are read', () => client.text.length > 1_600_000)
  const name = nameOf(client.text)
  reply.sendMessage('{}')
  reply.close()
  assert.deepEqual((await resume(name)).ids(), [3, 4, 5])
  const large = await open()
  large.reply.sendMessage('{}')
  large.reply.sendAnswer('1', result(`"${'x'.repeat(3_000_000)}"`))
  await until('it is read', () => large.client.isOver)
  assert.deepEqual((await resume(nameOf(large.client.text))).ids(), [2])
})

test('all streams together keep 64 MiB: those that ended first are forgotten first', async (t) => {
  const { replays, session, open, nameOf } = await start(t)
  const names: string[] = []
  for (let n = 0; n < 8; n++) {
    const { client, reply } = await open()
    reply.sendMessage('{}')
    await until('it is read', () => client.text.includes('data: {}'))
    names.push(nameOf(client.text))
    reply.sendAnswer('1', result(`"${'x'.repeat(10_000_000)}"`))
  }
  const known = names.map((name) => replays.find(session, `${name}_1`) !== undefined)
  assert.deepEqual(known, [false, false, true, true, true, true, true, true])
})

test('of what is too much those streams are forgotten whose principal keeps most', async (t) => {
  const { replays, sessions, session, open, nameOf } = await start(t)
  const { client, reply } = await open()
  reply.sendMessage('{}')
  reply.sendAnswer('1', result('{}'))
  await until('it is read', () => client.isOver)
  const other = sessions.create('bob', '/mcp', '2025-06-18', {}) as Session
  const names: string[] = []
  for (let n = 0; n < 8; n++) {
    const large = await open(other)
    large.reply.sendMessage('{}')
    large.reply.sendAnswer('1', result(`"${'x'.repeat(10_000_000)}"`))
    await until('it is read', () => large.client.isOver)
    names.push(nameOf(large.client.text))
  }
  assert.ok(replays.find(session, `${nameOf(client.text)}_0`), 'the oldest of all is somebody else’s')
  assert.deepEqual(
    names.map((name) => replays.find(other, `${name}_0`) !== undefined),
    [false, false, true, true, true, true, true, true]
  )
})

test('a session keeps nothing when it has ended, and its streams end', async (t) => {
  const { replays, sessions, session, open, nameOf } = await start(t)
  const { client, reply } = await open()
  reply.sendMessage('{}')
  await until('it is read', () => client.text.includes('data: {}'))
  sessions.end(session)
  await until('the stream ends', () => client.isOver)
  reply.sendMessage('{"late":1}')
  assert.equal(replays.find(session, `${nameOf(client.text)}_1`), undefined)
  assert.equal(session.storedStreams!.size, 0)
})

test('a client that was told nothing to come back with has left for good', async (t) => {
  const { session, open } = await start(t)
  const { reply, leave } = await open()
  let hasLeft = false
  reply.onAbort = () => {
    hasLeft = true
  }
  leave()
  await until('it is noticed', () => hasLeft)
  assert.deepEqual([reply.isEnded, session.storedStreams!.size], [true, 0])
})
