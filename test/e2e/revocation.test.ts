import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { META, modernBody, modernHeaders, openStream, type OpenStream } from '../integration/mcp-helpers.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import {
  addUpstream,
  createUser,
  skip,
  startEnterprise,
  startReplica,
  type Actor,
  type Enterprise
} from './enterprise.ts'
import { openEventClient } from './event-client.ts'
import { until } from '../until.ts'

const methodsOf = ({ messages }: OpenStream) => (messages as { method?: string }[]).map(({ method }) => method)

/** Opens every kind of stream that a client can hold open, at one replica. */
async function openStreams(t: TestContext, { url }: Enterprise, actor: Actor): Promise<OpenStream[]> {
  const session = await actor.initialize()
  const { stream } = await openEventClient(t, url, '/sse', actor.headers)
  const grouped = await openEventClient(t, url, '/v0/groups/g1/sse', actor.headers)
  const listen = async (path: string) =>
    openStream(t, url + path, {
      method: 'POST',
      headers: { ...modernHeaders('subscriptions/listen'), ...actor.headers },
      body: modernBody('subscriptions/listen', {
        notifications: { toolsListChanged: true, resourceSubscriptions: ['towpath://alpha/fixture://note'] },
        _meta: { [`${META}clientInfo`]: { name: 'test', version: '1' } }
      })
    })
  const listening = [await listen('/mcp'), await listen('/v0/groups/g1/mcp')]
  for (const each of listening)
    await until('the listener is acknowledged', () =>
      methodsOf(each).includes('notifications/subscriptions/acknowledged')
    )
  return [await actor.listen('/mcp', session), stream, grouped.stream, ...listening]
}

async function startTwo(t: TestContext) {
  const one = await startEnterprise(t)
  const alpha = await addUpstream(t, one, 'alpha', { tells: true })
  const beta = await addUpstream(t, one, 'beta')
  await one.admin.post('/api/v0/tool-groups', { name: 'g1', included_servers: ['alpha', 'beta'] })
  const two = await startReplica(t, one)
  return { one, two, alpha, beta }
}

for (const [what, revoke] of [
  ['removed', (admin: Actor) => admin.remove('/api/v0/clients/cli-all')],
  [
    'given another token',
    (admin: Actor) => admin.put('/api/v0/clients/cli-all', { access_token: 'another-token-of-it' })
  ]
] as const) {
  test(`IS-13 LC-13 all that a client has open ends on every replica when it is ${what}`, { skip }, async (t) => {
    const { one, two, alpha } = await startTwo(t)
    const replicas = [one, two]
    const theirs = (await Promise.all(replicas.map((each) => openStreams(t, each, each.cliAll)))).flat()
    const others = (await Promise.all(replicas.map((each) => openStreams(t, each, each.cliA)))).flat()
    assert.ok([...theirs, ...others].every(({ status, hasEnded }) => status === 200 && !hasEnded()))
    const slow = { name: 'alpha__slow', arguments: { ms: 60_000 } }
    const calls = replicas.flatMap(({ cliAll }) => [
      cliAll.modern('tools/call', slow),
      cliAll.legacy('tools/call', slow),
      cliAll.initialize().then((session) => cliAll.legacy('tools/call', slow, session))
    ])
    await until('the calls are in progress', () => alpha.calls('tools/call').length === calls.length)

    assert.ok((await revoke(one.admin)).status < 300)
    await until('their streams end', () => theirs.every(({ hasEnded }) => hasEnded()))
    for (const answer of await Promise.all(calls)) assert.equal(answer.status, 401)
    for (const { cliAll } of replicas) {
      await until('the token is refused', async () => (await cliAll.modern('tools/list')).status === 401)
      assert.equal((await cliAll.send('GET', '/sse')).status, 401)
    }
    await until('the upstream is told', () => alpha.calls('notifications/cancelled').length === calls.length)

    const before = theirs.map(({ messages }) => messages.length)
    await one.admin.post('/api/v0/tools/disable?entity=alpha__echo')
    await until('the others hear of what changes', () =>
      others.every((stream) => methodsOf(stream).includes('notifications/tools/list_changed'))
    )
    assert.deepEqual(
      theirs.map(({ messages }) => messages.length),
      before
    )
    assert.ok(others.every(({ hasEnded }) => !hasEnded()))
  })
}

test(
  'IS-13 LC-13 a client whose allow list changes keeps its streams and hears that its lists changed',
  { skip },
  async (t) => {
    const { one, two, alpha } = await startTwo(t)
    const streams = (await Promise.all([one, two].map((each) => openStreams(t, each, each.cliAll)))).flat()
    const listeners = streams.filter((stream) => methodsOf(stream).includes('notifications/subscriptions/acknowledged'))
    assert.equal(listeners.length, 4)
    const heardOf = (method: string) => (stream: OpenStream) => methodsOf(stream).includes(method)
    await until('updates reach the listeners', () => {
      alpha.announce('notifications/resources/updated', { uri: 'fixture://note' })
      return listeners.every(heardOf('notifications/resources/updated'))
    })

    assert.equal((await one.admin.put('/api/v0/clients/cli-all', { allowed_servers: ['beta'] })).status, 200)
    await until('every stream tells of it', () => streams.every(heardOf('notifications/tools/list_changed')))
    for (const { cliAll } of [one, two]) {
      const { body } = await cliAll.modern('tools/list')
      const names = (body.result.tools as { name: string }[]).map(({ name }) => name)
      assert.ok(names.length > 0 && names.every((name) => name.startsWith('beta__')), names.join())
      const call = { name: 'alpha__echo', arguments: {} }
      assert.ok((await cliAll.modern('tools/call', call)).body.error)
    }
    assert.equal(alpha.calls('tools/call').length, 0)
    const updates = (stream: OpenStream) =>
      methodsOf(stream).filter((method) => method === 'notifications/resources/updated').length
    const before = listeners.map(updates)
    alpha.announce('notifications/resources/updated', { uri: 'fixture://note' })
    await until('nobody follows the resource any more', () => alpha.calls('resources/unsubscribe').length > 0)
    assert.deepEqual(listeners.map(updates), before)
    assert.ok(streams.every(({ hasEnded }) => !hasEnded()))
  }
)

test(
  'LC-13 what one enterprise replica switches off or removes, the other refuses within two seconds',
  { skip },
  async (t) => {
    const { one, two, beta } = await startTwo(t)
    const call = { name: 'alpha__echo', arguments: {} }
    const isServed = async () => (await two.cliAll.modern('tools/call', call)).body.result !== undefined
    const becomes = async (served: boolean) => {
      await until(`the other replica serves it: ${served}`, async () => (await isServed()) === served)
      for (let again = 0; again < 10; again++) assert.equal(await isServed(), served)
    }
    await becomes(true)
    for (const [off, on] of [
      ['tools/disable?entity=alpha__echo', 'tools/enable?entity=alpha__echo'],
      ['servers/alpha/disable', 'servers/alpha/enable']
    ]) {
      await one.admin.post(`/api/v0/${off}`)
      await becomes(false)
      await one.admin.post(`/api/v0/${on}`)
      await becomes(true)
    }
    await one.admin.put('/api/v0/clients/cli-all', { allowed_servers: [] })
    await becomes(false)
    await one.admin.put('/api/v0/clients/cli-all', { allowed_servers: ['*'] })
    await becomes(true)
    await one.admin.remove('/api/v0/servers/alpha')
    await becomes(false)
    const running = two.user.post('/api/v0/tools/invoke', { name: 'beta__slow', ms: 60_000 })
    await until('the call is under way', () => beta.calls('tools/call').length === 1)
    await one.admin.remove('/api/v0/users/user')
    const { status, headers, body } = await running
    assert.deepEqual([status, body], [401, { error: 'the access token is no longer valid' }])
    assert.match(headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/)
    await until('the upstream is told', () => beta.calls('notifications/cancelled').length === 1)
    await until('the user is refused', async () => (await two.user.get('/api/v0/tools')).status === 401)
  }
)

test(
  'LC-09 of twenty registrations of one name at two enterprise replicas exactly one succeeds',
  { skip },
  async (t) => {
    const one = await startEnterprise(t)
    const recorder = await addUpstream(t, one, 'beta')
    const two = await startReplica(t, one)
    const server = { name: 'alpha', transport: 'streamable_http', url: recorder.url }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => [one, two][i % 2]!.admin.post('/api/v0/servers', server))
    )
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    assert.deepEqual(statuses, [201, ...Array.from({ length: 19 }, () => 409)])
    for (const { admin } of [one, two]) {
      const names = async () =>
        ((await admin.get('/api/v0/servers')).body as { name: string }[]).map(({ name }) => name)
      await until('both replicas know it', async () => (await names()).includes('alpha'))
      assert.deepEqual(await names(), ['alpha', 'beta'])
      const tools = (await admin.get('/api/v0/tools?server=alpha')).body as { name: string }[]
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['alpha__echo', 'alpha__slow', 'alpha__whoami', 'alpha__fail']
      )
    }
  }
)

for (const [what, revoke] of [
  ['removed', ({ admin }: Enterprise) => admin.remove('/api/v0/users/second')],
  ['given another token', ({ admin }: Enterprise) => admin.put('/api/v0/users/second', {})]
] as const) {
  test(`what an administrator began is not finished once it is ${what}`, { skip }, async (t) => {
    const gateway = await startEnterprise(t)
    const second = gateway.as(await createUser(gateway.admin, { name: 'second', role: 'admin' }))
    const recorder = await startRecorder(null, { name: 'late' })
    addCleanup(t, recorder.close)
    const proxy = await startFaultProxy(recorder.url)
    addCleanup(t, proxy.close)
    proxy.freeze()
    const server = { name: 'late', transport: 'streamable_http', url: proxy.urlOf(recorder.url) }
    const registering = second.post('/api/v0/servers', server)
    await until('the upstream is asked', () => proxy.connections > 0)

    assert.ok((await revoke(gateway)).status < 300)
    proxy.thaw()
    const { status, headers, body } = await registering
    assert.deepEqual([status, body], [401, { error: 'the access token is no longer valid' }])
    assert.match(headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/)
    assert.deepEqual((await gateway.admin.get('/api/v0/servers')).body, [])
    assert.equal((await gateway.admin.post('/api/v0/servers', server)).status, 201)
  })
}
