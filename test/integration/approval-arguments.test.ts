import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSession } from './mcp-helpers.ts'
import { as, startPolicyGateway } from './policy-helpers.ts'

const tool = 'k8s__restart_pod'
const targets = { servers: ['k8s'], tools: ['restart_pod'] }
const META = 'io.modelcontextprotocol/clientCapabilities'

for (const effect of ['confirm', 'approve'] as const) {
  test(`SR-H2 arguments on which nobody can decide are not compared or shown: ${effect}, on every way`, async (t) => {
    const gateway = await startPolicyGateway(t)
    const { mcp, worker, k8s } = gateway
    await gateway.policy('ask', { effect, targets, hold_ms: 0 })
    const headers = as(worker)
    const session = await openSession((params) => mcp.legacy('initialize', params, headers), '2025-11-25', {
      elicitation: {}
    })
    const args = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`member${at}`, 0]))
    const params = { name: tool, arguments: args }
    const answers = [
      await mcp.legacy('tools/call', params, { ...headers, ...session }),
      await mcp.modern('tools/call', { ...params, _meta: { [META]: { elicitation: {} } } }, headers)
    ]
    for (const { body, text } of answers) {
      assert.equal(body.result?.isError, true, text.slice(0, 300))
      assert.match(body.result.content[0].text, /^not run: the arguments are too long/)
    }
    assert.equal(k8s.calls('tools/call').length, 0)
  })
}
