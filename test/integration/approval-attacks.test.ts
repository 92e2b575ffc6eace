import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInputRequiredStore } from '../../src/mcp/input/input-required-store.ts'
import { as, startPolicyGateway, type PolicyGateway } from './policy-helpers.ts'
import { openSession } from './mcp-helpers.ts'

const rule = { effect: 'approve', targets: { servers: ['k8s'], tools: ['restart_pod'] }, hold_ms: 0 } as const
const name = 'k8s__restart_pod'

const sent = ({ k8s }: PolicyGateway) => k8s.calls('tools/call')

/** Returns a state that begins like those of this gateway. */
function forgedState({ app }: PolicyGateway): string {
  const store = createInputRequiredStore(app.registry.deriveKey('request states'))
  const parked = { questions: [], server: 'k8s', round: 0, pendingCall: { abandon() {} } }
  const context = {
    caller: { kind: 'development', key: 'x' },
    endpoint: '/mcp',
    message: { method: 'tools/call', text: '', paramMembers: [] }
  }
  return store.add(context as never, parked as never)!
}

test('a request state is no yes: not for sessions, not without one, and not in a batch', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker } = gateway
  await gateway.policy('ask', rule)
  const headers = as(worker)
  const initialize = (params: object) => mcp.legacy('initialize', params, headers)
  const session = await openSession(initialize)
  const old = await openSession(initialize, '2025-03-26')
  for (const requestState of [forgedState(gateway), 'twy1.e30.x', 'state of a server']) {
    const params = { name, arguments: {}, requestState, inputResponses: {} }
    const body = JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'tools/call', params }])
    await mcp.legacy('tools/call', params, { ...headers, ...session })
    await mcp.legacy('tools/call', params, headers)
    await mcp.modern('tools/call', params, headers)
    await mcp.send(body, { ...headers, ...old })
    assert.equal(sent(gateway).length, 0, requestState)
  }
})
