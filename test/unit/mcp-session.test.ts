import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createHeartbeat } from '../../src/mcp/sessions/heartbeat.ts'
import { HttpReply } from '../../src/mcp/sessions/reply.ts'
import {
  createClientSessions,
  type Session,
  type ClientSessionsOptions
} from '../../src/mcp/sessions/client-sessions.ts'
import { createQuota } from '../../src/lib/quota.ts'
import { newCall } from './upstreams.ts'
import { until } from '../until.ts'

const key = randomBytes(32)

function open(t: TestContext, options: Partial<ClientSessionsOptions> = {}) {
  const ended: Session[] = []
  const sessions = createClientSessions({
    key,
    maxSessions: 100,
    quota: createQuota(Infinity),
    sessionIdleMs: 60_000,
    announceEnd() {},
    onEnd: (session) => void ended.push(session),
    ...options
  })
  t.after(() => sessions.close())
  const create = (principal = 'ann', endpoint = '/mcp') =>
    sessions.create(principal, endpoint, '2025-11-25', { roots: {} }) as Session
  return { sessions, ended, create }
}

/** Opens a stream and returns the server's side of it. */
async function openStream(t: TestContext): Promise<HttpReply> {
  const heartbeat = createHeartbeat()
  let response: ServerResponse | undefined
  const server = createServer((_incoming, made) => {
    response = made
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = request({ port, host: '127.0.0.1' }).on('error', () => {})
  client.end()
  t.after(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  await until('the request arrives', () => response !== undefined)
  return new HttpReply(response!, { heartbeat, principal: 'ann', acceptsStream: true, maxBufferedBytes: 1_000 })
}

test('an id is visible ASCII and says nothing twice: a thousand sessions have a thousand ids', (t) => {
  const { create } = open(t, { maxSessions: 2_000 })
  const ids = Array.from({ length: 1_000 }, () => create().id)
  assert.equal(new Set(ids).size, 1_000)
  assert.ok(ids.every((id) => /^[\x21-\x7e]+$/.test(id)))
})

test('an id leads to its session for its principal at its endpoint, and for nobody else anywhere else', (t) => {
  const { sessions, create } = open(t)
  const { id } = create()
  assert.equal(sessions.find(id, 'ann', '/mcp')?.version, '2025-11-25')
  assert.equal(sessions.find(id, 'ann', '/mcp')?.capabilities, '{"roots":{}}')
  assert.equal(sessions.find(id, 'bob', '/mcp'), undefined)
  assert.equal(sessions.find(id, 'ann', '/v0/groups/g/mcp'), undefined)
})

test('an id with anything changed is no id', (t) => {
  const { sessions, create } = open(t)
  const { id } = create()
  const [payload, signature] = id.split('.') as [string, string]
  const other = create('bob').id.split('.') as [string, string]
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const forged = Buffer.from(JSON.stringify({ ...claims, p: 'bob' })).toString('base64url')
  const wrong = [
    '',
    '.',
    'x',
    payload,
    `${payload}.`,
    `.${signature}`,
    `${other[0]}.${signature}`,
    `${payload}.${other[1]}`
  ]
  const close = [
    `${id}A`,
    `${id}.`,
    `${id}=`,
    id.slice(0, -1),
    `${forged}.${signature}`,
    `${payload}.${signature.toLowerCase()}`
  ]
  for (const bad of [...wrong, ...close]) {
    for (const principal of ['ann', 'bob']) assert.equal(sessions.find(bad, principal, '/mcp'), undefined, bad)
  }
  assert.ok(sessions.find(id, 'ann', '/mcp'))
})

test('another replica with the same key takes an id, one with another key does not', (t) => {
  const { id } = open(t).create()
  assert.equal(open(t).sessions.find(id, 'ann', '/mcp')?.capabilities, '{"roots":{}}')
  assert.equal(open(t).sessions.find(id, 'bob', '/mcp'), undefined)
  assert.equal(open(t, { key: randomBytes(32) }).sessions.find(id, 'ann', '/mcp'), undefined)
})

test('a session that was ended stays ended', (t) => {
  const { sessions, ended, create } = open(t)
  const session = create()
  sessions.end(session)
  sessions.end(session)
  assert.equal(sessions.find(session.id, 'ann', '/mcp'), undefined)
  assert.deepEqual([ended.length, ended[0]?.id, sessions.size], [1, session.id, 0])
})

test('sessions that expire are over here, and no other replica is told', (t) => {
  const told: string[] = []
  const { sessions, ended, create } = open(t, { announceEnd: ({ mark }) => void told.push(mark) })
  const [ann, bob] = [create('client:ann'), create('client:bob')]
  for (const session of sessions.filter(({ principal }) => principal === 'client:ann')) sessions.expire(session)
  assert.deepEqual([ended, told], [[ann], []])
  assert.equal(sessions.find(ann.id, 'client:ann', '/mcp'), undefined)
  assert.equal(sessions.find(bob.id, 'client:bob', '/mcp'), bob)
})

test('a session expires when nobody uses it, but not while a stream is open or a call under way', async (t) => {
  const { sessions, ended, create } = open(t, { sessionIdleMs: 60 })
  const stream = await openStream(t)
  const [idle, streaming, calling] = [create(), create(), create()]
  const active = { id: '1', call: newCall(), slot: -1 }
  streaming.streams.add(stream)
  calling.calls.add(active)
  await until('the idle one is ended', () => ended.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.deepEqual(ended, [idle])
  assert.equal(sessions.find(idle.id, 'ann', '/mcp'), undefined)
  streaming.streams.delete(stream)
  calling.calls.delete(active)
  await until('the others are ended', () => ended.length === 3)
})

test('at the cap the session that was idle longest makes room, and its id stays good', (t) => {
  const { sessions, ended, create } = open(t, { maxSessions: 3 })
  const [first, second, third] = [create(), create(), create()]
  create()
  assert.deepEqual(ended, [first])
  assert.equal(sessions.size, 3)
  const revived = sessions.find(first.id, 'ann', '/mcp')
  assert.equal(revived?.id, first.id)
  assert.deepEqual(ended, [first, second])
  assert.ok(sessions.find(third.id, 'ann', '/mcp'))
})

test('somebody else’s id makes no room at the cap', (t) => {
  const elsewhere = open(t)
  const stolen = elsewhere.create('bob').id
  const { sessions, ended, create } = open(t, { maxSessions: 1 })
  create()
  assert.equal(sessions.find(stolen, 'ann', '/mcp'), undefined)
  assert.deepEqual(ended, [])
})

test('at the cap no session with an open stream or a call gives way', async (t) => {
  const { sessions, ended, create } = open(t, { maxSessions: 2 })
  const [first, second] = [create(), create()]
  first.streams.add(await openStream(t))
  second.calls.add({ id: '1', call: newCall(), slot: -1 })
  assert.equal(sessions.create('ann', '/mcp', '2025-11-25', {}), 'full')
  assert.equal(sessions.open('bob', '/sse'), 'full')
  assert.deepEqual(ended, [])
  assert.deepEqual([...sessions.withOpenStream()], [first])
})

test('who has a whole share gets more only in place of its own idle sessions, and takes none of others', async (t) => {
  const { sessions, ended, create } = open(t, { quota: createQuota(2) })
  const others = [create('bob'), create('bob')]
  const [first, second] = [create('ann'), create('ann')]
  const third = create('ann')
  assert.deepEqual(ended, [first])
  const stream = await openStream(t)
  for (const session of [second, third]) session.streams.add(stream)
  assert.equal(sessions.create('ann', '/mcp', '2025-11-25', {}), 'limited')
  assert.equal(sessions.open('ann', '/sse'), 'limited')
  assert.equal(sessions.find(first.id, 'ann', '/mcp'), undefined, 'it has no place to come back to')
  assert.equal(create('cli').principal, 'cli')
  sessions.end(third)
  assert.equal(sessions.find(first.id, 'ann', '/mcp')?.id, first.id, 'what has ended is given back')
  assert.ok(others.every(({ id }) => sessions.find(id, 'bob', '/mcp')))
})

test('closing ends every session once', (t) => {
  const { sessions, ended, create } = open(t)
  create()
  create()
  sessions.close()
  sessions.close()
  assert.equal(ended.length, 2)
})

test('ending a session is announced, expiring is not; an announced end counts here too', async (t) => {
  const announced: string[] = []
  const { sessions, ended, create } = open(t, { announceEnd: ({ mark }) => void announced.push(mark) })
  const [mine, theirs] = [create(), create()]
  sessions.end(mine)
  assert.equal(announced.length, 1)
  assert.ok(mine.id.endsWith(announced[0]!))
  sessions.removeEnded([{ mark: theirs.id.slice(theirs.id.indexOf('.') + 1), principal: 'ann' }])
  assert.equal(announced.length, 1)
  assert.deepEqual(ended, [mine, theirs])
  assert.equal(sessions.find(theirs.id, 'ann', '/mcp'), undefined)
})

test('SR-L2 a principal that ends ever so many sessions makes the gateway forget its own ends, not those of others', (t) => {
  const { sessions, create } = open(t)
  const ann = create('ann')
  const bob = create('bob')
  sessions.end(ann)
  sessions.end(bob)
  const many = Array.from({ length: 150_000 }, (_, i) => ({ mark: `${i}`.padStart(43, '.'), principal: 'bob' }))
  sessions.removeEnded(many)
  assert.equal(sessions.find(ann.id, 'ann', '/mcp'), undefined, 'ann ended hers')
  assert.notEqual(sessions.find(bob.id, 'bob', '/mcp'), undefined, 'that of bob is the oldest of his')
})
