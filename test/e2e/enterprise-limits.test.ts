import assert from 'node:assert/strict'
import { test } from 'node:test'
import { legacyBody, type Answer as McpAnswer, type RpcAnswer } from '../integration/mcp-helpers.ts'
import type { AuditEntry } from '../../src/registry/model/model.ts'
import { addUpstream, createClient, skip, startEnterprise } from './enterprise.ts'
import { openEventClient } from './event-client.ts'
import { until } from '../until.ts'
import { descendants } from './process-tree.ts'

const count = (statuses: readonly number[], status: number) => statuses.filter((each) => each === status).length
const slow = (ms: number) => ({ name: 'alpha__slow', arguments: { ms } })

test(
  'LI-12 of 200 calls of one client 64 are served, the others are 429; another client is served',
  { skip },
  async (t) => {
    const gateway = await startEnterprise(t)
    const upstream = await addUpstream(t, gateway, 'alpha')
    const flood = gateway.as(await createClient(gateway.admin, { name: 'flood', allowed_servers: ['*'] }))
    const statuses: number[] = []
    const flooding = Array.from({ length: 200 }, async () => {
      const answer = await flood.modern('tools/call', slow(3_600_000))
      statuses.push(answer.status)
      return answer
    })
    const other = await gateway.cliAll.modern('tools/call', slow(1))
    assert.deepEqual([other.status, other.body.error], [200, undefined])

    await until('the others to be refused', () => statuses.length === 136)
    assert.equal(count(statuses, 429), 136)
    await until('those that are served', () => upstream.calls('tools/call').length === 65)
    upstream.finish()
    const answers = await Promise.all(flooding)
    assert.equal(count(statuses, 200), 64)
    const refused = answers.find(({ status }) => status === 429)!
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.deepEqual(JSON.parse(refused.text), { error: 'too many of your calls are in progress' })
    assert.equal((await flood.modern('tools/call', slow(1))).status, 200, 'all have been given back')
  }
)

test('LI-12 REST, sessions and the elements of a batch count as well', { skip }, async (t) => {
  const gateway = await startEnterprise(t, {
    env: {
      TOWPATH_CALLS_PER_PRINCIPAL: '3',
      TOWPATH_SESSIONS_PER_PRINCIPAL: '2',
      TOWPATH_SUBSCRIPTIONS_PER_PRINCIPAL: '2'
    }
  })
  const upstream = await addUpstream(t, gateway, 'alpha', { tells: true })
  const invoke = (ms: number) => gateway.user.post('/api/v0/tools/invoke', { name: 'alpha__slow', ms })
  const taken = [1, 2, 3].map(() => invoke(1_500))
  await until('three calls upstream', () => upstream.calls('tools/call').length === 3)
  const refused = await invoke(1)
  assert.deepEqual(
    [refused.status, refused.headers.get('retry-after'), refused.body],
    [429, '1', { error: 'too many of your calls are in progress' }]
  )
  assert.equal((await gateway.admin.post('/api/v0/tools/invoke', { name: 'alpha__slow', ms: 1 })).status, 200)
  assert.deepEqual(
    (await Promise.all(taken)).map(({ status }) => status),
    [200, 200, 200]
  )

  const session = await gateway.cliA.initialize()
  const batch = [1, 2, 3, 4, 5].map((id) => legacyBody('tools/call', slow(300), id)).join(',')
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  // batches exist only in 2025-03-26, whose clients may omit the session
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: { ...headers, ...gateway.cliA.headers, 'mcp-protocol-version': '2025-03-26' },
    body: `[${batch}]`
  })
  const parts = (await response.json()) as RpcAnswer[]
  const errors = parts.flatMap(({ error }) => (error ? [error.message] : []))
  assert.deepEqual(errors, ['too many of your calls are in progress', 'too many of your calls are in progress'])
  const again = await Promise.all([1, 2, 3, 4].map(() => gateway.cliA.legacy('tools/call', slow(300), session)))
  assert.deepEqual(
    again.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 200, 200, 429]
  )

  const { cliAll: greedy, cliA: other } = gateway
  const refusal = ({ status, headers, text }: McpAnswer) => [status, headers.get('retry-after'), JSON.parse(text)]
  const tooMany = (what: string) => [429, '30', { error: `too many of your ${what} are open` }] as const
  await t.test('sessions and streams that a client holds open are its own share', async () => {
    const sessions = [await greedy.initialize(), await greedy.initialize()]
    const streams = [await greedy.listen('/mcp', sessions[0]), await greedy.listen('/mcp', sessions[1])]
    assert.deepEqual(
      streams.map(({ status }) => status),
      [200, 200]
    )
    assert.deepEqual(refusal(await greedy.legacy('initialize', { protocolVersion: '2025-11-25' })), tooMany('sessions'))
    assert.deepEqual(refusal(await greedy.modern('subscriptions/listen')), tooMany('streams'))
    for (const path of ['/sse', '/mcp']) {
      const { status, text } = await greedy.send('GET', path, undefined, {
        accept: 'text/event-stream',
        ...(path === '/mcp' ? sessions[0] : {})
      })
      assert.deepEqual([status, text], [429, JSON.stringify(tooMany('streams')[2])], path)
    }
    assert.equal((await other.listen('/mcp', await other.initialize())).status, 200)
    for (const stream of streams) stream.close()
    await until('what was closed is given back', async () => {
      const { status, close } = await greedy.listen('/sse')
      close()
      return status === 200
    })
    for (const what of ['sessions', 'streams']) {
      const row = await until('the row', async () => {
        const { body } = await gateway.admin.get('/api/v0/audit?action=request.refused&limit=100')
        return (body.entries as AuditEntry[]).find(({ target }) => target === what)
      })
      assert.deepEqual([row?.actor, row?.reason, row?.address], ['cli-all', tooMany(what)[2].error, '127.0.0.1'])
    }
  })

  await t.test(
    'subscriptions are shared out as well, and one counts as a call while the upstream is asked',
    async () => {
      const own = await greedy.initialize()
      const uris = ['fixture://note', 'towpath://alpha/fixture://note', 'fixture://note/part']
      const subscribe = (uri: string) => greedy.legacy('resources/subscribe', { uri }, own)
      assert.deepEqual((await subscribe(uris[0]!)).body.result, {})
      assert.deepEqual((await subscribe(uris[1]!)).body.result, {})
      assert.deepEqual((await subscribe(uris[1]!)).body.result, {}, 'the same again is no other')
      assert.deepEqual(refusal(await subscribe(uris[2]!)), tooMany('subscriptions'))
      const listening = { notifications: { resourceSubscriptions: uris } }
      assert.deepEqual(refusal(await greedy.modern('subscriptions/listen', listening)), tooMany('subscriptions'))
      await greedy.legacy('resources/unsubscribe', { uri: uris[0] }, own)
      assert.deepEqual((await subscribe(uris[2]!)).body.result, {})

      const busy = [1, 2, 3].map(() => greedy.modern('tools/call', slow(1_500)))
      const before = upstream.calls('tools/call').length
      await until('three calls upstream', () => upstream.calls('tools/call').length >= before + 3 - 1)
      const first = { notifications: { resourceSubscriptions: [uris[0]] } }
      assert.deepEqual(refusal(await greedy.modern('subscriptions/listen', first)), [
        429,
        '1',
        { error: 'too many of your calls are in progress' }
      ])
      await Promise.all(busy)
    }
  )
})

test(
  'LC-03 on SIGTERM calls are answered, on event streams too, streams end, and the exit code is 0',
  { skip },
  async (t) => {
    const gateway = await startEnterprise(t, { env: { TOWPATH_DRAIN_TIMEOUT_MS: '3600000' } })
    const upstream = await addUpstream(t, gateway, 'alpha')
    const { headers } = gateway.cliAll
    const clients = await Promise.all(
      Array.from({ length: 20 }, () => openEventClient(t, gateway.url, '/sse', headers))
    )
    const streamed = clients[0]!.request('tools/call', slow(3_600_000))
    const call = gateway.user.post('/api/v0/tools/invoke', { name: 'alpha__slow', ms: 3_600_000 })
    await until('both calls upstream', () => upstream.calls('tools/call').length === 2)

    gateway.child.kill('SIGTERM')
    await until('new work to be refused', async () => (await gateway.user.get('/api/v0/tools')).status === 503)
    assert.deepEqual([(await gateway.get('/health')).status, (await gateway.get('/ready')).status], [200, 503])
    upstream.finish()
    assert.equal((await call).status, 200)
    assert.equal(await gateway.exited, 0)
    assert.ok((await streamed).result, 'the answer came on the stream')
    await until('the end of every stream', () => clients.every(({ stream }) => stream.hasEnded()))
    assert.deepEqual(descendants(gateway.pid), [])
  }
)
