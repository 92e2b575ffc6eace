import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { addCleanup } from '../store.ts'
import {
  addUpstream,
  createClient,
  skip,
  startEnterprise,
  startReplica,
  type Actor,
  type Enterprise
} from './enterprise.ts'
import { until } from '../until.ts'
import { openEventClient } from './event-client.ts'

test('IS-01 fifty clients with tokens of their own get two thousand answers, each its own', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  await addUpstream(t, gateway, 'alpha', { legacy: 'sessionless' })
  const connect = async (number: number) => {
    const token = await createClient(gateway.admin, { name: `cli-${number}`, allowed_servers: ['*'] })
    const client = new Client({ name: `cli-${number}`, version: '1' })
    const headers = { authorization: `Bearer ${token}` }
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit: { headers } })
    await client.connect(transport as Transport)
    addCleanup(t, () => client.close())
    return client
  }
  const clients = await Promise.all(Array.from({ length: 50 }, (_, number) => connect(number)))
  const answers = clients.flatMap((client, number) =>
    Array.from({ length: 40 }, async (_, call) => {
      const args = { client: number, call, noise: 'x'.repeat((number * 40 + call) % 997) }
      const { content } = await client.callTool({ name: 'alpha__echo', arguments: args })
      const { text } = (content as { text: string }[])[0]!
      assert.deepEqual(JSON.parse(text), { server: 'alpha', arguments: args })
    })
  )
  await Promise.all(answers)
  assert.equal(answers.length, 2_000)
})

test('a session, a stream and what comes on it belong to the client that opened them', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const { admin, cliA, cliB, cliAll } = gateway
  const alpha = await addUpstream(t, gateway, 'alpha')
  await addUpstream(t, gateway, 'beta')
  await admin.post('/api/v0/tool-groups', { name: 'g1', included_servers: ['alpha'] })
  const called = () => alpha.calls('tools/call').length

  await t.test('IS-04 a session id is good for nobody else, at no method and no other endpoint', async () => {
    for (const endpoint of ['/mcp', '/v0/groups/g1/mcp']) {
      const session = await cliA.initialize(endpoint)
      const headers = { accept: 'application/json, text/event-stream', ...session }
      const before = called()
      for (const thief of [cliB, cliAll]) {
        const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'alpha__echo', arguments: {} } }
        for (const [method, body] of [
          ['POST', call],
          ['GET', undefined],
          ['DELETE', undefined]
        ] as const) {
          const stolen = await thief.send(method, endpoint, body, headers)
          assert.equal(stolen.status, 404, `${method} ${endpoint}`)
        }
      }
      const elsewhere = endpoint === '/mcp' ? '/v0/groups/g1/mcp' : '/mcp'
      assert.equal((await cliA.legacy('ping', {}, session, elsewhere)).status, 404)
      assert.equal(called(), before)
      assert.equal((await cliA.legacy('ping', {}, session, endpoint)).status, 200)
    }
  })

  await t.test('IS-05 nobody else posts into a stream of the HTTP+SSE transport', async () => {
    for (const path of ['/sse', '/v0/groups/g1/sse']) {
      const { stream, messagePath, request } = await openEventClient(t, gateway.url, path, cliA.headers)
      const [heard, before] = [stream.messages.length, called()]
      const call = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'alpha__echo', arguments: {} } }
      for (const thief of [cliB, cliAll]) assert.equal((await thief.send('POST', messagePath, call)).status, 404)
      assert.equal((await gateway.as().send('POST', messagePath, call)).status, 401)
      await request('ping')
      assert.deepEqual([stream.messages.length, called()], [heard + 1, before])
      stream.close()
    }
  })

  await t.test('IS-06 a thousand session ids are distinct, long and say nothing of each other', async () => {
    const ids = new Set<string>()
    for (let round = 0; round < 20; round++) {
      const opened = await Promise.all(Array.from({ length: 50 }, () => cliA.initialize()))
      for (const session of opened) ids.add(session['mcp-session-id']!)
    }
    assert.equal(ids.size, 1_000)
    for (const id of ids) assert.match(id, /^[\w.-]{22,}$/)
    const signatures = new Set([...ids].map((id) => id.slice(id.indexOf('.') + 1, id.indexOf('.') + 9)))
    assert.equal(signatures.size, 1_000)
  })

  await t.test("IS-09 nothing of a caller's credentials reaches an upstream", async () => {
    const planted = {
      cookie: 'session=sent-cookie',
      'x-forwarded-authorization': 'Bearer sent-forwarded',
      'proxy-authorization': 'Bearer sent-proxy'
    }
    const from = alpha.requests.length
    const call = { name: 'alpha__whoami', arguments: {} }
    await cliA.legacy('tools/call', call, planted)
    await cliA.modern('tools/call', call, planted)
    await gateway.user.send('POST', '/api/v0/tools/invoke', { name: 'alpha__whoami' }, planted)
    const seen = JSON.stringify(alpha.requests.slice(from))
    assert.ok(alpha.requests.length >= from + 3)
    const { cliA: client, user } = gateway.tokens
    for (const secret of ['sent-', client, user, Buffer.from(client).toString('base64')])
      assert.equal(seen.includes(secret), false, secret)
    assert.doesNotMatch(seen, /"authorization"|"cookie"/i)
  })
})

test('IS-04 a session id is good for nobody else on another replica either', { skip }, async (t) => {
  const one = await startEnterprise(t)
  const two = await startReplica(t, one)
  const session = await one.cliA.initialize()
  const status = async ({ cliA, cliB }: Enterprise) => [
    (await cliA.legacy('ping', {}, session)).status,
    (await cliB.legacy('ping', {}, session)).status
  ]
  assert.deepEqual(await status(two), [200, 404])
  assert.deepEqual(await status(one), [200, 404])
})

test('IS-04 who has the name of a removed client has nothing of its sessions', { skip }, async (t) => {
  const one = await startEnterprise(t)
  const two = await startReplica(t, one)
  const session = await one.cliA.initialize()
  assert.equal((await two.cliA.legacy('ping', {}, session)).status, 200)
  assert.equal((await one.admin.remove('/api/v0/clients/cli-a')).status, 204)
  const token = await createClient(one.admin, { name: 'cli-a', allowed_servers: ['alpha'] })
  for (const gateway of [one, two]) {
    const again = gateway.as(token)
    await until('the new client to be known', async () => (await again.legacy('ping')).status === 200)
    assert.equal((await again.legacy('ping', {}, session)).status, 404)
    assert.equal((await gateway.cliA.legacy('ping', {}, session)).status, 401)
  }
})

test('IS-08 what an upstream asks one client, no other client hears', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const bob = gateway.as(await createClient(gateway.admin, { name: 'bob', allowed_servers: ['*'] }))
  const alpha = await addUpstream(t, gateway, 'alpha', { tells: true }, { session_mode: 'stateful' })
  const open = async (actor: Actor) => {
    const session = await actor.initialize('/mcp', { roots: {} })
    const stream = await actor.listen('/mcp', session)
    const answer = await actor.legacy('tools/call', { name: 'alpha__echo', arguments: {} }, session)
    assert.ok(answer.body.result, answer.text)
    const call = alpha.requests.findLast(({ message }) => message?.method === 'tools/call')
    const asked = () =>
      (stream.messages as { method?: string }[]).filter(({ method }) => method === 'roots/list').length
    return { own: String(call?.headers['mcp-session-id']), session, asked }
  }
  const [ann, other] = [await open(gateway.cliAll), await open(bob)]
  assert.notEqual(ann.own, other.own, 'they share no session with the upstream')
  let questions = 0
  await until('the one is asked whose session it is', () => {
    alpha.ask(other.own, `q${questions++}`, 'roots/list')
    return other.asked() > 0
  })
  await gateway.cliAll.legacy('ping', {}, ann.session)
  assert.equal(ann.asked(), 0)
})
