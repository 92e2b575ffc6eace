import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from './harness.ts'
import { connectV1 } from './peers.ts'
import { registrationOf, startUpstream } from './upstream.ts'

/** Request timeout of the client: its default is a minute. */
const unhurried = { timeout: 3_600_000 }

test('IS-01 fifty clients with the same request ids get two thousand answers, each its own', async (t) => {
  const gateway = await startGateway(t)
  await gateway.register(registrationOf('alpha', await startUpstream(t, 'alpha')))
  const clients = await Promise.all(Array.from({ length: 50 }, () => connectV1(t, gateway.url)))
  const answers = clients.flatMap((client, number) =>
    Array.from({ length: 40 }, async (_, call) => {
      const args = { client: number, call, noise: 'x'.repeat((number * 40 + call) % 997) }
      const { content } = await client.callTool({ name: 'alpha__echo', arguments: args }, undefined, unhurried)
      assert.deepEqual(JSON.parse((content as { text: string }[])[0]!.text), { from: 'alpha', got: args })
    })
  )
  await Promise.all(answers)
  assert.equal(answers.length, 2_000)
})

test('LI-02 a batch beyond the limit is refused at once and holds nobody up', async (t) => {
  const gateway = await startGateway(t)
  for (const length of [101, 50_000]) {
    const body = JSON.stringify(Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const refused = fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body })
    const health = await gateway.get('/health')
    assert.equal(health.status, 200)
    const { status } = await refused
    assert.ok(status >= 400 && status < 500, `${length}: ${status}`)
  }
})
