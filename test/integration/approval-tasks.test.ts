import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { freshConfig, openApp } from '../app.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup, engines, startRegistry } from '../store.ts'
import { until } from '../until.ts'
import { enterprise, rest } from './definition-helpers.ts'
import { modernBody, modernHeaders, readAnswer, withTasks, type Answer } from './mcp-helpers.ts'
import { as, startPolicyGateway } from './policy-helpers.ts'

const rule = { effect: 'approve', targets: { servers: ['k8s'], tools: ['restart_pod', 'slow'] } } as const
const name = 'k8s__restart_pod'
const META = 'towpath/approval'

interface Entry {
  readonly id: string
  readonly fingerprint: string
  readonly status: string
}

async function setUp(t: Parameters<typeof startPolicyGateway>[0], more: object = {}) {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker, rest, k8s } = gateway
  await gateway.policy('ask', { ...rule, ...more })
  const send = async (path: string, method: string, params: { name?: string; taskId?: string }, token = worker) => {
    const headers = { ...modernHeaders(method, params.name ?? params.taskId), ...as(token) }
    const body = modernBody(method, { ...params, _meta: withTasks })
    return readAnswer(await fetch(new URL(path, mcp.url), { method: 'POST', headers, body }))
  }
  const start = (args: object = {}, path = '/mcp', tool = name) =>
    send(path, 'tools/call', { name: tool, arguments: args } as { name: string })
  const get = (taskId: string, path = '/mcp', token = worker) => send(path, 'tasks/get', { taskId }, token)
  const decide = async (id: string, verb: 'approve' | 'deny', reason?: string) => {
    const { body } = await rest('GET', `/approvals/${id}`)
    const { fingerprint } = body as Entry
    return rest('POST', `/approvals/${id}/${verb}`, { fingerprint, ...(reason && { reason }) })
  }
  const sent = () =>
    k8s.calls('tools/call').filter(({ params }) => ['restart_pod', 'slow'].includes(String(params!['name']))).length
  const ended = async (handle: string, path = '/mcp') => {
    let answer: Answer | undefined
    await until('the task has ended', async () => {
      answer = await get(handle, path)
      return answer.body.result?.status !== 'working'
    })
    return answer!.body.result
  }
  return { ...gateway, send, start, get, decide, sent, ended }
}

const taskOf = ({ body, text }: Answer) => {
  assert.equal(body.result?.resultType, 'task', text)
  return { handle: body.result.taskId as string, id: body.result._meta[META].id as string, state: body.result }
}
const notFound = ({ status, body }: Answer) => assert.deepEqual([status, body.error?.message], [200, 'Task not found'])

test('AP-06 a caller that accepts tasks gets one at once, and the gateway makes the call after the yes', async (t) => {
  const { rest, start, get, decide, sent, ended, mcp, worker } = await setUp(t)
  const discovered = await mcp.modern('server/discover', {}, as(worker))
  assert.ok(discovered.body.result.capabilities.extensions['io.modelcontextprotocol/tasks'])
  await rest('POST', '/tool-groups', { name: 'all', included_servers: ['k8s'] })
  for (const path of ['/mcp', '/v0/groups/all/mcp']) {
    const before = sent()
    const first = taskOf(await start({ path, password: 'hunter2' }, path))
    const { status, statusMessage, ttlMs, pollIntervalMs } = first.state
    assert.deepEqual([status, statusMessage], ['working', 'waiting for approval'])
    assert.ok(ttlMs >= 3_600_000 && pollIntervalMs > 0)
    const waiting = await get(first.handle, path)
    assert.deepEqual([waiting.body.result.status, waiting.body.result.taskId], ['working', first.handle])
    const again = taskOf(await start({ path, password: 'hunter2' }, path))
    assert.equal(again.id, first.id, 'an equal call has the same request')
    assert.equal(sent(), before)
    assert.equal((await decide(first.id, 'approve')).status, 200)
    const done = await ended(first.handle, path)
    assert.equal(done.status, 'completed', JSON.stringify(done))
    assert.deepEqual(JSON.parse(done.result.content[0].text).arguments, { path, password: 'hunter2' })
    assert.equal(done._meta[META].status, 'consumed')
    assert.deepEqual((await ended(again.handle, path)).result, done.result)
    assert.equal(sent(), before + 1)
    assert.notEqual(taskOf(await start({ path, password: 'hunter2' }, path)).id, first.id, 'a yes counts once')
    assert.equal(sent(), before + 1)
  }
  await until('both rows are in the call log', async () => {
    const { body } = await rest('GET', '/calls')
    const outcomes = (body.calls as { outcome: string }[]).map(({ outcome }) => outcome)
    return outcomes.includes('task') && outcomes.includes('ok')
  })
})

for (const decidesBefore of [false, true]) {
  const when = decidesBefore ? 'that had its yes before' : 'that waits'
  test(
    `AP-06 a task ${when} outlives the restart of all replicas, and its call is made once`,
    { skip: engines.length < 2 },
    async (t) => {
      const config = await freshConfig(t, enterprise, 'postgres')
      const recorder = await startRecorder(t, { name: 'k8s', modern: true })
      const open = async () => Promise.all([openApp(config), openApp(config)])
      const closeAll = async (apps: readonly FastifyInstance[]) => Promise.all(apps.map((app) => app.close()))
      let replicas = await open()
      addCleanup(t, () => closeAll(replicas))
      const api = (method: 'GET' | 'POST', path: string, payload?: object) => rest(replicas[0]!, method, path, payload)
      await api('POST', '/servers', { name: 'k8s', transport: 'streamable_http', url: recorder.url })
      const client = await api('POST', '/clients', { name: 'worker', allowed_servers: ['k8s'] })
      const ask = { name: 'ask', effect: 'approve', targets: { servers: ['k8s'] } }
      assert.equal((await api('POST', '/policies', ask)).status, 201)
      const send = async (app: FastifyInstance, method: string, params: { name?: string; taskId?: string }) => {
        const headers = {
          ...modernHeaders(method, params.name ?? params.taskId),
          ...as(client.body.access_token as string)
        }
        const payload = modernBody(method, { ...params, _meta: withTasks })
        return JSON.parse((await app.inject({ method: 'POST', url: '/mcp', headers, payload })).body).result
      }
      const call = { name: 'k8s__echo', arguments: { text: 'once' } }
      // the replica that stored the policy knows it
      const state = await send(replicas[0]!, 'tools/call', call)
      assert.equal(state.resultType, 'task')
      const { id } = state._meta[META] as Entry
      const approve = async () => {
        const { fingerprint } = (await api('GET', `/approvals/${id}`)).body as Entry
        assert.equal((await api('POST', `/approvals/${id}/approve`, { fingerprint })).status, 200)
      }
      if (decidesBefore) {
        // nobody is there to make the call
        const [found] = await replicas[0]!.registry.approvals.find([id])
        await closeAll(replicas)
        const place = { databaseUrl: config.databaseUrl!, dataDir: config.dataDir }
        const encryptionKey = Buffer.from(enterprise.TOWPATH_ENCRYPTION_KEY, 'base64')
        const { approvals } = await startRegistry(t, place, { mode: 'enterprise', encryptionKey })
        const change = { actor: { kind: 'admin', name: 'admin' }, action: 'approval.approve', target: 'k8s__echo' }
        await approvals.decide(change as never, { id, digest: found!.digest, isYes: true, reason: null })
      } else await closeAll(replicas)
      assert.equal(recorder.calls('tools/call').length, 0)
      replicas = await open()
      if (!decidesBefore) await approve()
      const done = await until('the task has ended', async () => {
        const result = await send(replicas[1]!, 'tasks/get', { taskId: state.taskId as string })
        return result?.status === 'working' ? undefined : result
      })
      assert.equal(done.status, 'completed', JSON.stringify(done))
      assert.match(done.result.content[0].text, /once/)
      assert.equal(recorder.calls('tools/call').length, 1)
      await closeAll(replicas)
      replicas = await open()
      const again = await send(replicas[0]!, 'tasks/get', { taskId: state.taskId as string })
      assert.deepEqual(again.result, done.result)
      assert.equal(recorder.calls('tools/call').length, 1)
    }
  )
}

test('AP-06 a task without a yes ends with the reason, and its call is never made', async (t) => {
  const { start, get, decide, sent, ended, send, rest, policy } = await setUp(t, { valid_ms: 60_000 })
  const denied = taskOf(await start({ n: 1 }))
  await decide(denied.id, 'deny', 'Not on Fridays.')
  const { status, result } = await ended(denied.handle)
  assert.deepEqual([status, result.isError], ['completed', true])
  assert.match(result.content[0].text, /Not on Fridays/)

  const cancelled = taskOf(await start({ n: 2 }))
  assert.equal((await send('/mcp', 'tasks/update', { taskId: cancelled.handle })).status, 200)
  assert.equal((await send('/mcp', 'tasks/cancel', { taskId: cancelled.handle })).body.error, undefined)
  assert.equal((await ended(cancelled.handle)).status, 'cancelled')
  assert.equal((await decide(cancelled.id, 'approve')).status, 409)
  assert.equal((await rest('GET', `/approvals/${cancelled.id}`)).body.status, 'expired')

  const changed = taskOf(await start({ n: 3 }))
  await policy('ask', { ...rule, reason: 'changed' })
  assert.equal((await decide(changed.id, 'approve')).status, 409)
  await policy('ask', { ...rule, valid_ms: 200 })
  const late = taskOf(await start({ n: 4 }))
  const over = await ended(late.handle)
  assert.match(over.result.content[0].text, /expired/)
  assert.equal((await decide(late.id, 'approve')).status, 409)
  assert.equal((await get(late.handle)).body.result.status, 'completed')
  assert.equal(sent(), 0)
})

test('a task of the gateway is found by its caller at its endpoint only', async (t) => {
  const { start, get, rest, agent, alice, send } = await setUp(t)
  await rest('POST', '/tool-groups', { name: 'all', included_servers: ['k8s'] })
  const other = (await rest('POST', '/clients', { name: 'other', allowed_servers: ['*'] })).body.access_token as string
  const { handle, id } = taskOf(await start())
  notFound(await get(handle, '/v0/groups/all/mcp'))
  for (const token of [agent, other]) {
    notFound(await get(handle, '/mcp', token))
    notFound(await send('/mcp', 'tasks/cancel', { taskId: handle }, token))
  }
  for (const taskId of [id, `approval:${id}`, handle.slice(0, -1)]) notFound(await get(taskId))
  assert.equal((await rest('GET', '/approvals', undefined, alice)).body.length, 0)
  assert.equal((await get(handle)).body.result.status, 'working')
  await rest('DELETE', '/servers/k8s')
  notFound(await get(handle))
})

test('the call of a task is made only if its caller may still make it', async (t) => {
  const { start, decide, rest, sent, ended, policy, app } = await setUp(t)
  const entry = async (id: string) => (await rest('GET', `/approvals/${id}`)).body as Entry
  const first = taskOf(await start({ n: 1 }))
  await policy('never', { effect: 'deny', targets: { tools: ['restart_pod'] }, when: 'args.n == 1' })
  await decide(first.id, 'approve')
  const refused = await ended(first.handle)
  assert.deepEqual([refused.status, refused.result.isError], ['completed', true])

  const second = taskOf(await start({ n: 2 }))
  await policy('ask', { ...rule, enabled: false })
  assert.equal((await decide(second.id, 'approve')).status, 409)
  await policy('ask', rule)
  const third = taskOf(await start({ n: 3 }))
  const access_token = 'another-token-of-the-same-client'
  assert.equal((await rest('PUT', '/clients/worker', { access_token })).status, 200)
  await decide(third.id, 'approve')
  const end = await until('the task has ended', async () => (await app.registry.approvalTasks.read(third.id))?.end)
  assert.deepEqual(
    [end!.status, JSON.parse(end!.error!).message],
    ['failed', 'not run: the access token is no longer valid']
  )
  assert.equal((await entry(third.id)).status, 'consumed')
  assert.equal(sent(), 0)
})

test('a running call of a task ends with its cancellation, and the answer after a stop is "interrupted"', async (t) => {
  const { start, get, decide, send, ended, k8s, app } = await setUp(t)
  const begun = async (count: number) => until('the call is made', () => k8s.calls('tools/call').length === count)
  const first = taskOf(await start({ ms: 60_000 }, '/mcp', 'k8s__slow'))
  await decide(first.id, 'approve')
  await begun(1)
  assert.deepEqual((await get(first.handle)).body.result.statusMessage, 'running')
  await send('/mcp', 'tasks/cancel', { taskId: first.handle })
  assert.equal((await ended(first.handle)).status, 'cancelled')
  await until('the server is told', () => k8s.cancelled.length === 1)

  const second = taskOf(await start({ ms: 60_001 }, '/mcp', 'k8s__slow'))
  await decide(second.id, 'approve')
  await begun(2)
  const { registry } = app
  await app.gateway.mcp.approvalTasks.close()
  const { end } = (await registry.approvalTasks.read(second.id))!
  assert.deepEqual(
    [end!.status, JSON.parse(end!.error!)],
    ['failed', { code: -32603, message: 'interrupted; it may have run' }]
  )
})

test('a caller that cancels its own tasks does not ask without end: each would stay in the database for long', async (t) => {
  const { start, send, rest, worker, alice } = await setUp(t)
  for (let n = 0; n < 20; n++) {
    const { handle } = taskOf(await start({ n }))
    assert.equal((await send('/mcp', 'tasks/cancel', { taskId: handle }, worker)).body.error, undefined)
  }
  assert.match((await start({ n: 20 })).body.result.content[0].text, /too many are waiting/)
  assert.equal((await rest('POST', '/tools/invoke', { name }, alice)).body.approval.status, 'pending')
})
