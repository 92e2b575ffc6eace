import assert from 'node:assert/strict'
import { test } from 'node:test'
import { register } from '../app.ts'
import { hostileTransports, startHostile } from '../fixtures/hostile/hostile.ts'
import { startMcp } from './mcp-helpers.ts'

for (const transport of hostileTransports) {
  test(`SR-H3 answers of too many elements and errors of too many bytes fail their own call (${transport})`, async (t) => {
    const mcp = await startMcp(t)
    const hostile = await startHostile(t, transport)
    await register(mcp.app, { name: 'h', session_mode: 'stateful', ...hostile.registration })
    const asked = (order: string) => [
      () => mcp.legacy('tools/call', { name: 'h__t', arguments: { order } }),
      () => mcp.modern('tools/call', { name: 'h__t', arguments: { order } }),
      () => mcp.legacy('prompts/get', { name: 'h__p', arguments: { order } }),
      () => mcp.legacy('resources/read', { uri: `x://${encodeURIComponent(order)}` })
    ]
    for (const [order, reason] of [
      ['many 1000001', 'bad_response'],
      ['lengthy 300000', 'too_large']
    ] as const) {
      for (const ask of asked(order)) {
        const { text, body } = await ask()
        assert.equal(body.error?.data?.['reason'], reason, `${order}: ${text.slice(0, 300)}`)
      }
    }
    for (const ask of asked('many 900000')) {
      const { text, body } = await ask()
      assert.equal(body.error, undefined, text.slice(0, 300))
    }
    const { body } = await mcp.legacy('tools/call', { name: 'h__t', arguments: { order: 'lengthy 200000' } })
    assert.equal(body.error?.code, -32042, 'an error of less is passed on')
  })
}
