import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modernBody, modernHeaders } from './mcp-messages.ts'
import { as, startPolicyGateway } from './policy-helpers.ts'

/** A key whose marks would be sorted by comparing each with all before it: minutes of work for 300 kB. */
const hostileKey = (marks: number) => `a${'\u0315'.repeat(marks / 2)}${'\u0300'.repeat(marks / 2)}`
/** A key that becomes eighteen times as long. */
const growingKey = (length: number) => '\ufdfa'.repeat(length)

test('keys that are slow to normalize hold up neither requests nor conditions, over MCP and REST', async (t) => {
  const { mcp, rest, worker, policy } = await startPolicyGateway(t)
  await policy('cond', { effect: 'deny', targets: { tools: ['delete_pod'] }, when: 'args.a == "x"' })
  const post = async (method: string, params: Record<string, unknown>, name?: string) => {
    const headers = { ...modernHeaders(method, name), ...as(worker), 'content-type': 'application/json' }
    const answer = await fetch(mcp.url, { method: 'POST', headers, body: modernBody(method, params) })
    return (await answer.json()) as { error?: { message: string }; result?: { isError?: boolean } }
  }
  const tool = 'k8s__delete_pod'
  for (const key of [hostileKey(150_000), growingKey(100_000)]) {
    assert.match((await post('tools/list', { [key]: 1 })).error!.message, /names of members are too long/)
    const called = await post('tools/call', { name: tool, arguments: { a: 'y', [key]: 1 } }, tool)
    assert.ok(called.result?.isError, 'refused as ambiguous')
    const invoked = await rest('POST', '/tools/invoke', { name: tool, a: 'y', [key]: 1 })
    assert.equal(invoked.status, 403)
  }
})

test('a key with as many marks as text has is passed on', async (t) => {
  const { mcp, worker, policy, k8s } = await startPolicyGateway(t)
  await policy('cond', { effect: 'deny', targets: { tools: ['delete_pod'] }, when: 'args.a == "x"' })
  const name = 'k8s__delete_pod'
  const headers = { ...modernHeaders('tools/call', name), ...as(worker), 'content-type': 'application/json' }
  const args = { a: 'y', schön: 1, 'o\u0308\u0323': 2, 名前: 3 }
  const answer = await fetch(mcp.url, {
    method: 'POST',
    headers,
    body: modernBody('tools/call', { name, arguments: args })
  })
  assert.equal(answer.status, 200)
  const [call] = k8s.calls('tools/call')
  assert.deepEqual((call!.params as { arguments: object }).arguments, args)
})

test('PO-01 what an administrator lists over REST is not shown to a user without permission, in either order', async (t) => {
  const { rest, alice } = await startPolicyGateway(t, { TOWPATH_POLICY_DEFAULT: 'deny' })
  const lists = ['/tools', '/prompts', '/resources', '/resource_templates', '/skills', '/tools?server=k8s']
  for (const path of lists) {
    const whole = (await rest('GET', path)).body as object[]
    assert.deepEqual((await rest('GET', path, undefined, alice)).body, [], path)
    assert.deepEqual((await rest('GET', path)).body, whole, path)
  }
  // a new catalog forgets the lists, and alice is the first
  await rest('POST', '/policies', { name: 'other', effect: 'deny', targets: { tools: ['none'] } })
  for (const path of lists) {
    assert.deepEqual((await rest('GET', path, undefined, alice)).body, [], path)
  }
  assert.ok(((await rest('GET', '/tools')).body as object[]).length > 0)
})
