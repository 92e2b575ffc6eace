import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'

const text = 'x'.repeat(100_000)

/** Starts a proxy in front of a server that answers 100 kB. */
async function start(t: TestContext) {
  const server = createServer((_request, response: ServerResponse) => response.end(text))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const proxy = await startFaultProxy(target)
  t.after(async () => {
    await proxy.close()
    server.closeAllConnections()
    server.close()
  })
  const get = async () => (await fetch(proxy.urlOf(target), { headers: { connection: 'close' } })).text()
  return { proxy, get }
}

test('without faults everything passes as it is', async (t) => {
  const { get } = await start(t)
  assert.equal(await get(), text)
})

test('pieces can be slow and small, and nothing is lost', async (t) => {
  const { proxy, get } = await start(t)
  proxy.faults = { delayMs: 20, drip: { bytes: 20_000, everyMs: 10 } }
  const begun = performance.now()
  assert.equal(await get(), text)
  assert.ok(performance.now() - begun >= 60)
})

test('an answer can break off, and the next connection is good', async (t) => {
  const { proxy, get } = await start(t)
  proxy.faults = { resetAfterBytes: 5_000 }
  await assert.rejects(get())
  proxy.faults = {}
  assert.equal(await get(), text)
})

test('what is cut is refused until it is mended, what is frozen waits', async (t) => {
  const { proxy, get } = await start(t)
  await proxy.cut()
  await assert.rejects(get())
  await proxy.mend()
  proxy.freeze()
  let isAnswered = false
  const answer = get().finally(() => {
    isAnswered = true
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(isAnswered, false)
  proxy.thaw()
  assert.equal(await answer, text)
})
