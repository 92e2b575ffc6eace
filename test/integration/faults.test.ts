import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { register, startApp } from '../app.ts'
import { startFaultProxy, type FaultProxy } from '../fixtures/fault-proxy.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { engines, freshPlace, addCleanup, startRegistry } from '../store.ts'
import { change, follow, httpServer, offerOf, tool } from './registry-helpers.ts'

const hasPostgres = { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' }

async function proxyBefore(t: TestContext, url: string): Promise<FaultProxy> {
  const proxy = await startFaultProxy(url)
  addCleanup(t, proxy.close)
  return proxy
}

/** Starts an upstream behind a fault proxy, and returns a function that calls it. */
async function start(t: TestContext) {
  const recorder = await startRecorder(null, { name: 'alpha', legacy: 'sessionless' })
  addCleanup(t, recorder.close)
  const proxy = await proxyBefore(t, recorder.url)
  const app = await startApp(t)
  await register(app, { name: 'alpha', transport: 'streamable_http', url: proxy.urlOf(recorder.url) })
  // each fault gets a new connection
  proxy.reset()
  const call = async (text = 'hello') => {
    const payload = { name: 'alpha__echo', text }
    return app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload })
  }
  const calls = () => recorder.calls('tools/call').length
  return { proxy, call, calls }
}

test('an answer that breaks off is a 502, the call is not sent again, and the next one is good', async (t) => {
  const { proxy, call, calls } = await start(t)
  proxy.faults = { resetAfterBytes: 60 }
  const broken = await call()
  assert.equal(broken.statusCode, 502, broken.body)
  assert.match(broken.json<{ error: string }>().error, /^server "alpha": /)
  assert.equal(calls(), 1)
  proxy.faults = {}
  assert.equal((await call()).statusCode, 200)
  assert.equal(calls(), 2)
})

test('an answer that drips and comes late arrives whole', async (t) => {
  const { proxy, call } = await start(t)
  proxy.faults = { delayMs: 50, drip: { bytes: 7, everyMs: 1 } }
  const text = 'äöü€ '.repeat(40)
  const answer = await call(text)
  assert.equal(answer.statusCode, 200, answer.body)
  assert.ok(answer.body.includes(text))
})

test('connections that are lost while nothing is under way cost no call', async (t) => {
  const { proxy, call } = await start(t)
  for (let round = 0; round < 3; round++) {
    assert.equal((await call()).statusCode, 200)
    proxy.reset()
    // enough time for the gateway to read its sockets
    await new Promise((resolve) => setTimeout(resolve, 50))
    await new Promise(setImmediate)
  }
})

test('a database that answers in drips is slow, and nothing else', hasPostgres, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const proxy = await proxyBefore(t, place.databaseUrl!)
  const databaseUrl = proxy.urlOf(place.databaseUrl!)
  proxy.faults = { delayMs: 2, drip: { bytes: 64, everyMs: 1 } }
  const registry = await startRegistry(
    t,
    { ...place, databaseUrl },
    { connectTimeoutMs: 10_000, queryTimeoutMs: 20_000 }
  )
  const { latest } = await follow(registry)
  await registry.write(change('server.create', 'time'), (tx) =>
    tx.servers.create(httpServer('time'), offerOf([tool('now')]))
  )
  assert.deepEqual(
    latest().servers.map(({ name, items }) => [name, items.map((item) => item.name)]),
    [['time', ['now']]]
  )
})

test(
  'a database connection that breaks off in an answer is a 503, and nothing is half done',
  hasPostgres,
  async (t) => {
    const place = await freshPlace(t, 'postgres')
    const proxy = await proxyBefore(t, place.databaseUrl!)
    const registry = await startRegistry(t, { ...place, databaseUrl: proxy.urlOf(place.databaseUrl!) })
    await follow(registry)
    const create = (name: string) =>
      registry.write(change('server.create', name), (tx) => tx.servers.create(httpServer(name), offerOf([tool('now')])))
    proxy.reset()
    proxy.faults = { resetAfterBytes: 900 }
    await assert.rejects(create('broken'), { name: 'AppError', statusCode: 503 })
    proxy.faults = {}
    proxy.reset()
    const again = async (left: number): Promise<void> => {
      try {
        await create('good')
      } catch (error) {
        if (left === 0) throw error
        await again(left - 1)
      }
    }
    await again(5)
    const direct = await startRegistry(t, place)
    assert.deepEqual(
      (await direct.configs()).map(({ name }) => name),
      ['good']
    )
  }
)
