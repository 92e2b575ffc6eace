import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Recorder } from '../fixtures/http/recorder.ts'
import { addUpstream, createClient, skip, startEnterprise, startReplica, type Enterprise } from './enterprise.ts'
import { until } from '../until.ts'
import { noNginx, startNginx, type Nginx } from './nginx.ts'
import { connectSse, connectV1, connectV2 } from './peers.ts'

interface BalancedGateway {
  readonly replicas: readonly [Enterprise, Enterprise]
  readonly nginx: Nginx
  readonly upstream: Recorder
}

async function startBalanced(t: TestContext): Promise<BalancedGateway> {
  const first = await startEnterprise(t)
  const second = await startReplica(t, first)
  const upstream = await addUpstream(t, first, 'alpha')
  const isServed = async () => (await second.cliA.modern('tools/list')).body.result.tools.length > 0
  await until('the other replica to have its tools', isServed)
  return { replicas: [first, second], upstream, nginx: await startNginx(t, [first.port, second.port]) }
}

type Callable = Pick<Client, 'callTool'> | Awaited<ReturnType<typeof connectV2>>

async function echo(client: Callable, text: string): Promise<void> {
  const { content } = await client.callTool({ name: 'alpha__echo', arguments: { text } })
  assert.ok(JSON.stringify(content).includes(text), JSON.stringify(content))
}

const sessionOf = (client: Client) => (client.transport as unknown as StreamableHTTPClientTransport).sessionId!

/** Returns the replica that answers a session's requests; fails if there are several. */
async function replicaOf({ replicas, nginx }: BalancedGateway, session: string): Promise<Enterprise> {
  const routed = (await nginx.routedRequests()).filter((one) => one.session === session)
  const homes = new Set(routed.map(({ replica }) => replica))
  assert.equal(homes.size, 1, [...homes].join(' and '))
  return replicas.find(({ port }) => homes.has(`127.0.0.1:${port}`))!
}

const options = { skip: skip || noNginx }

test('a session stays at one replica and outlives it: calls go on, its stream comes back', options, async (t) => {
  const balanced = await startBalanced(t)
  const { nginx, replicas } = balanced
  const client = await connectV1(t, nginx.url, replicas[0].cliA.headers)
  let changes = 0
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++)
  const session = sessionOf(client)
  for (let call = 0; call < 10; call++) await echo(client, `before ${call}`)

  const lost = await replicaOf(balanced, session)
  const left = replicas.find((replica) => replica !== lost)!
  await left.admin.post('/api/v0/tools/disable?entity=alpha__fail')
  await until('news on the stream', () => changes > 0)

  await lost.stop('SIGKILL')
  for (let call = 0; call < 10; call++) await echo(client, `after ${call}`)
  assert.equal(sessionOf(client), session)

  // the stream ended with the replica; notifications may be lost until it is open again, but not later
  changes = 0
  let isOn = false
  await until(
    'news on the stream of the other replica',
    async () => {
      isOn = !isOn
      await left.admin.post(`/api/v0/tools/${isOn ? 'enable' : 'disable'}?entity=alpha__fail`)
      return changes > 0
    },
    30_000
  )
  const after = (await nginx.routedRequests()).filter((one) => one.session === session).at(-1)!
  assert.equal(after.replica, `127.0.0.1:${left.port}`)
})

test('calls that run while a replica is killed: those at the other succeed, no call runs twice', options, async (t) => {
  const balanced = await startBalanced(t)
  const { nginx, replicas, upstream } = balanced
  const clients = await Promise.all(Array.from({ length: 8 }, () => connectV1(t, nginx.url, replicas[0].cliA.headers)))
  for (const client of clients) await echo(client, 'first')
  const homes = await Promise.all(clients.map((client) => replicaOf(balanced, sessionOf(client))))
  const [lost] = homes as [Enterprise, ...Enterprise[]]
  const results = clients.map(async (client, index) => {
    let failed = 0
    for (let call = 0; call < 30; call++) {
      await echo(client, `${index}/${call}`).catch(() => failed++)
      if (index === 0 && call === 5) void lost.stop('SIGKILL')
    }
    return failed
  })
  const failures = await Promise.all(results)
  for (const [index, failed] of failures.entries()) {
    assert.ok(failed <= (homes[index] === lost ? 1 : 0), `${failed} calls of client ${index} failed`)
  }
  for (const client of clients) await echo(client, 'last')
  const taken = upstream.calls('tools/call').map(({ params }) => JSON.stringify(params?.['arguments']))
  const once = taken.filter((text) => text.includes('/'))
  assert.equal(new Set(once).size, once.length)
  assert.ok(once.length >= 8 * 30 - failures.reduce((sum, failed) => sum + failed, 0))
})

test(
  'clients of 2026-07-28 and of HTTP+SSE are served by replicas too, and through the loss of one',
  options,
  async (t) => {
    const { nginx, replicas } = await startBalanced(t)
    const [first] = replicas
    const tokens = await Promise.all(
      // enough clients that nginx, which routes by token, sends some to each replica
      Array.from({ length: 12 }, (_, index) => createClient(first.admin, { name: `c${index}`, allowed_servers: ['*'] }))
    )
    const headers = tokens.map((token) => ({ authorization: `Bearer ${token}` }))
    // a replica would refuse a token that it has not loaded yet
    for (const replica of replicas) {
      for (const token of tokens) {
        await until('the token to be known', async () => (await replica.as(token).legacy('ping')).status !== 401)
      }
    }
    const modern = await Promise.all(headers.map((own) => connectV2(t, nginx.url, own)))
    const sse = await Promise.all(headers.map((own) => connectSse(t, nginx.url, own)))
    for (const client of [...modern, ...sse]) await echo(client, 'both')
    const replicasOf = async (request: string) =>
      new Set((await nginx.routedRequests()).filter((one) => one.request === request).map(({ replica }) => replica))
    assert.equal((await replicasOf('POST /mcp')).size, 2)
    assert.equal((await replicasOf('POST /message')).size, 2)

    await replicas[1].stop('SIGKILL')
    for (const client of modern) await echo(client, 'after the loss')
    for (const own of headers) await echo(await connectSse(t, nginx.url, own), 'after the loss')
  }
)

test('what the gateway refuses comes through the proxy in its own words', options, async (t) => {
  const { nginx, replicas } = await startBalanced(t)
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${nginx.url}/mcp`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  const anonymous = await post('{}')
  assert.equal(anonymous.status, 401)
  assert.deepEqual(Object.keys((await anonymous.json()) as object), ['error'])
  for (const path of ['/metrics', '/docs', '/docs/static/index.css', '/openapi.json']) {
    assert.equal((await fetch(nginx.url + path)).status, 403, path)
  }
  assert.equal((await fetch(`${nginx.url}/init`, { method: 'POST' })).status, 403)
  assert.equal((await fetch(`${replicas[0].url}/metrics`)).status, 200)
  const large = await post(`"${'x'.repeat(4_500_000)}"`, replicas[0].cliA.headers)
  assert.equal(large.status, 413)
  assert.match(large.headers.get('content-type')!, /^application\/json/)
})
