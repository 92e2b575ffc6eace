import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowEverybody, addReplica, addServer, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { needs } from '../needs.ts'
import { engines } from '../store.ts'
import { until } from '../until.ts'
import { as, startPolicyGateway } from './policy-helpers.ts'

const never = { effect: 'deny', mode: 'observe', targets: { tools: ['delete_*'] } } as const

test('PO-04 calls that observed policies match, and would change, are counted until the policy changes', async (t) => {
  const { rest, agent, mcp, policy } = await startPolicyGateway(t)
  /** Returns true if the tool was called. */
  const call = async (name: string, args = {}) => {
    const answer = await mcp.modern('tools/call', { name: `k8s__${name}`, arguments: args }, as(agent))
    return answer.body.error === undefined
  }
  const observed = async (name: string) => (await rest('GET', `/policies/${name}?include=counts`)).body.observed
  const counted = (name: string, calls: number, changed: number) =>
    until(`${name} counts ${calls} and ${changed}`, async () => {
      const found = await observed(name)
      return found.calls === calls && found.changed === changed
    })

  await policy('never-delete', never)
  await policy('small', { ...never, when: 'args.replicas > 5', targets: { tools: ['restart_pod'] } })
  await policy('open', { effect: 'allow', mode: 'observe', targets: { servers: ['k8s'] } })
  assert.deepEqual(await observed('never-delete'), { calls: 0, changed: 0 })
  // hidden from the client: a deny changes nothing, and an allow would show it
  assert.equal(await call('delete_pod'), false)
  await counted('never-delete', 1, 0)
  await counted('open', 1, 1)

  await policy('everybody', { effect: 'allow', targets: { servers: ['k8s'] } })
  for (const name of ['delete_pod', 'delete_pod', 'get_pods']) assert.equal(await call(name), true, name)
  for (const replicas of [3, 9]) assert.equal(await call('restart_pod', { replicas }), true)
  await counted('never-delete', 3, 2)
  await counted('open', 6, 1)
  await counted('small', 1, 1)
  const { since, last_at: last } = await observed('never-delete')
  assert.ok(Date.parse(since) <= Date.parse(last))

  // only whoever asks for counts gets them, and an enforced policy has none
  const list = (await rest('GET', '/policies')).body as { observed?: object }[]
  assert.deepEqual(
    list.map((each) => 'observed' in each),
    list.map(() => false)
  )
  const withCounts = (await rest('GET', '/policies?include=counts')).body as { name: string; observed?: object }[]
  assert.deepEqual(
    withCounts.map(({ name, observed: counts }) => [name, counts !== undefined]),
    [
      ['never-delete', true],
      ['small', true],
      ['open', true],
      ['everybody', false]
    ]
  )

  await policy('never-delete', { ...never, reason: 'Another rule.' })
  assert.deepEqual(await observed('never-delete'), { calls: 0, changed: 0 })
  assert.equal(await call('delete_pod'), true)
  await counted('never-delete', 1, 1)
  assert.equal((await rest('DELETE', '/policies/never-delete')).status, 204)
  await policy('never-delete', { ...never, reason: 'Another rule.' })
  assert.deepEqual(await observed('never-delete'), { calls: 0, changed: 0 })
})

test(
  'PO-04 counts of observed policies are added up over replicas, and survive a restart',
  { skip: needs('PostgreSQL', engines.includes('postgres')) },
  async (t) => {
    const first = await startSignInGateway(t, { engine: 'postgres' })
    const second = await addReplica(t, first)
    await addServer(t, first)
    await allowEverybody(first)
    const watch = { name: 'watch', effect: 'deny', mode: 'observe', targets: { servers: ['k8s'] } }
    assert.equal((await first.api('POST', '/policies', watch)).status, 201)
    await until('the other replica has it', async () => (await second.api('GET', '/policies/watch')).status === 200)
    const calls = [first, second, second].map(({ api }) =>
      api('POST', '/tools/invoke', { name: 'k8s__echo', text: 'a' })
    )
    for (const { status, body } of await Promise.all(calls)) assert.equal(status, 200, JSON.stringify(body))
    // what was counted in the last second is stored while the replica stops
    await second.app.close()
    await until('both replicas are counted', async () => {
      const { observed } = (await first.api('GET', '/policies/watch?include=counts')).body
      return observed.calls === 3 && observed.changed === 3
    })
  }
)
