import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { register, startApp, stdioServer } from '../app.ts'
import { answersOf, connectLegacy, connectModern } from '../asked-clients.ts'
import { descendants, isAlive } from '../e2e/process-tree.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { startMcp } from './mcp-helpers.ts'

const processes = () =>
  descendants(process.pid).flatMap(({ pid, command }) => (command.includes('good.mjs') ? [pid] : []))
const sparesOf = (app: FastifyInstance, server: string) =>
  app.gateway.stats().spareSessions.find(([name]) => name === server)?.[2]
const invoke = async (app: FastifyInstance, name: string, args: object = {}) => {
  const answer = await app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name, ...args } })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json<{ content: { text: string }[] }>().content[0]!.text
}
/** Returns the only process left after every call has ended. */
const spareOf = async (app: FastifyInstance, server: string) => {
  await until('nothing but a spare process', () => sparesOf(app, server) === 1 && processes().length === 1)
  return processes()[0]!
}

test('calls of a stdio server find a process started for them, use it once, and ask their own callers', async (t) => {
  const mcp = await startMcp(t)
  const { app, url } = mcp
  await register(app, { ...stdioServer('alpha'), env: { ASKS: 'roots/list' } })
  assert.equal(sparesOf(app, 'alpha'), undefined, 'none for a server that nobody calls')
  const clients = await Promise.all(
    (['one', 'two', 'three'] as const).map(async (who) => {
      const { roots } = answersOf(who)
      const client = who === 'three' ? await connectModern(t, url, { roots }) : await connectLegacy(t, url, { roots })
      return { who, ...client }
    })
  )
  const pids: string[] = []
  for (let round = 0; round < 3; round++) {
    for (const { who, call } of clients) {
      const early = JSON.parse((await call('alpha__early')).content[0]!.text) as { result: object }
      assert.deepEqual(early.result, { roots: [{ uri: `file:///${who}`, name: who }] })
      if (round > 0) await until('a spare', () => sparesOf(app, 'alpha') === 1)
      pids.push((await call('alpha__pid')).content[0]!.text)
    }
  }
  assert.equal(new Set(pids).size, pids.length, 'no process serves two calls')

  const spare = await spareOf(app, 'alpha')
  const declared = JSON.parse(await invoke(app, 'alpha__capabilities')) as object
  assert.deepEqual(declared, {}, 'who declares nothing gets no process that was told of something')
  assert.equal(isAlive(spare), true)
  process.kill(spare, 'SIGKILL')
  await until('its death to be known', () => sparesOf(app, 'alpha') === 0)
  const next = Number((await clients[0]!.call('alpha__pid')).content[0]!.text)
  assert.notEqual(next, spare)

  const before = await spareOf(app, 'alpha')
  const disabled = await app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=alpha__echo' })
  assert.equal(disabled.statusCode, 200, disabled.body)
  await until('what was ready before a change to be gone', () => !isAlive(before))
  await clients[0]!.call('alpha__pid')
  await spareOf(app, 'alpha')

  const removed = await app.inject({ method: 'DELETE', url: '/api/v0/servers/alpha' })
  assert.equal(removed.statusCode, 204)
  await until('no process of a server that is gone', () => processes().length === 0)
})

test('a spare process gives way to a call, is counted, and none outlives the gateway', async (t) => {
  const app = await startApp(t, { env: { TOWPATH_STDIO_PROCESSES: '2', TOWPATH_SPARE_SESSIONS: '5' } })
  for (const name of ['beta', 'gamma']) await register(app, { ...stdioServer(name), session_mode: 'stateful' })
  await register(app, stdioServer('alpha'))
  for (let count = 0; count < 3; count++) await invoke(app, 'alpha__pid')
  const spare = await spareOf(app, 'alpha')
  const read = await app.inject('/api/dashboard/servers/alpha')
  const { sessions, idle_sessions, spare_sessions, processes: counted } = read.json<Record<string, number>>()
  assert.deepEqual([sessions, idle_sessions, spare_sessions, counted], [1, 0, 1, 1])

  const beta = Number(await invoke(app, 'beta__pid'))
  assert.ok(isAlive(spare), 'there was room for both')
  const gamma = Number(await invoke(app, 'gamma__pid'))
  assert.deepEqual([isAlive(spare), sparesOf(app, 'alpha')], [false, 0])
  assert.ok(isAlive(beta) && isAlive(gamma), 'a session that belongs to a caller goes after those of nobody')

  for (const name of ['beta', 'gamma']) await app.inject({ method: 'DELETE', url: `/api/v0/servers/${name}` })
  await until('room', () => processes().length === 0)
  await invoke(app, 'alpha__pid')
  await invoke(app, 'alpha__pid')
  await spareOf(app, 'alpha')
  await app.close()
  assert.deepEqual(processes(), [])
})

test('calls of an SSE server find a stream opened for them, which a stopping gateway closes at once', async (t) => {
  const upstream = await startSse(null)
  addCleanup(t, upstream.close)
  const app = await startApp(t)
  await register(app, { name: 'alpha', transport: 'sse', url: upstream.url })
  const streams = () => [...upstream.streams.keys()]
  const seen = new Set<string>()
  await until('the end of the registration', () => streams().length === 0)
  for (let count = 0; count < 4; count++) {
    await invoke(app, 'alpha__echo', { count })
    if (count === 0) continue
    await until('one stream, that of a spare session', () => sparesOf(app, 'alpha') === 1 && streams().length === 1)
    seen.add(streams()[0]!)
  }
  assert.equal(seen.size, 3, 'each is used by one call')
  const paths = upstream.requests.flatMap(({ path, message }) => (message?.method === 'tools/call' ? [path] : []))
  assert.equal(new Set(paths).size, 4)
  await app.close()
  await until('the end of the stream', () => streams().length === 0)
})
