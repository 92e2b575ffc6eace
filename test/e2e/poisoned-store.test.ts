import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { ItemKind, OfferedItem } from '../../src/registry/model/model.ts'
import { change, httpServer, offerOf, tool } from '../integration/registry-helpers.ts'
import { firstOf } from '../matrix.ts'
import { engines, freshDatabase, freshPlace, startRegistry, tempDir } from '../store.ts'
import { until } from '../until.ts'
import { actorAt, skip } from './enterprise.ts'
import { request, startGateway } from './harness.ts'
import { registrationOf, startUpstream, textResult, type Message } from './upstream.ts'

const keys: Record<ItemKind, string> = {
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  template: 'uriTemplate',
  skill: 'uri'
}
const kinds = ['tool', 'prompt', 'resource', 'template', 'skill'] as const

/** Definitions as version 0.1 may have stored them. */
const poisons = ['"x-mcp-header \\q"', '"\\uZZZZ"', '"a\nb"', 'nope']
const poisoned = kinds.flatMap((kind): OfferedItem[] =>
  poisons.map((value, i) => ({
    kind,
    name: `bad${i}`,
    definition: `{"${keys[kind]}":"bad${i}","description":${value}}`
  }))
)

for (const engine of firstOf(engines)) {
  test(`SR-C1 the gateway starts on a store with malformed definitions, lists the others, and removes their server (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    for (const transport of ['streamable_http', 'sse'] as const) {
      const config = httpServer(transport === 'sse' ? 'events' : 'http', { transport })
      await registry.write(change('server.create', config.name), (tx) =>
        tx.servers.create(config, offerOf([...poisoned, tool('good')]))
      )
    }
    await registry.close()

    const gateway = await startGateway(t, { place })
    assert.deepEqual((await gateway.get('/ready')).body, { status: 'ready' })
    const names = async () => (await gateway.get('/api/v0/tools')).body.map(({ name }: { name: string }) => name)
    assert.deepEqual(await names(), ['events__good', 'http__good'])
    for (const list of ['prompts', 'resources', 'resource_templates']) {
      assert.deepEqual((await gateway.get(`/api/v0/${list}`)).body, [], list)
    }
    const listed = await actorAt(t, gateway.url).modern('tools/list')
    assert.equal(listed.body.result.tools.length, 2)
    const [shown] = (await gateway.get('/api/v0/servers')).body
    assert.equal(shown.left_out_count, poisoned.length)
    assert.equal((await gateway.remove('/api/v0/servers/http')).status, 204)
    assert.deepEqual(await names(), ['events__good'])
  })
}

/** Starts two enterprise replicas on one database, with one administrator. */
async function startReplicas(t: TestContext) {
  const databaseUrl = await freshDatabase(t)
  const token = 'twp_the-administrator-of-both'
  const env = {
    SERVER_MODE: 'enterprise',
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOWPATH_ADMIN_TOKEN: token
  }
  const start = async () => startGateway(t, { place: { databaseUrl, dataDir: await tempDir(t) }, env })
  const first = await start()
  return { first, second: await start(), start, headers: { authorization: `Bearer ${token}` } }
}

test(
  'SR-C1 after a server turned bad a revoked token is refused at both replicas, and a third starts',
  { skip },
  async (t) => {
    let description = '"good"'
    const onRequest = ({ id, method, params }: Message, response: import('node:http').ServerResponse) => {
      if (method !== 'tools/list' && method !== 'tools/call') return false
      const tools = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"b","description":${description},"inputSchema":{"type":"object"}}]}`
      const result = method === 'tools/list' ? tools : JSON.stringify(textResult(params!.name!))
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
      return true
    }
    const upstream = await startUpstream(t, 'p', { onRequest })
    const { first, second, start, headers } = await startReplicas(t)
    const admin = (method: string, path: string, body?: unknown) => request(first.url + path, method, body, headers)
    assert.equal((await admin('POST', '/api/v0/servers', registrationOf('p', upstream))).status, 201)
    const made = await admin('POST', '/api/v0/clients', { name: 'c1', allowed_servers: ['*'] })
    const call = async (url: string) =>
      (await actorAt(t, url, made.body.access_token).modern('tools/call', { name: 'p__echo', arguments: {} })).status
    for (const { url } of [first, second]) await until('the client to be known', async () => (await call(url)) === 200)

    description = '"x-mcp-header \\q"'
    assert.equal((await admin('POST', '/api/v0/servers/p/refresh')).status, 200)
    const server = (await admin('GET', '/api/v0/servers')).body[0]
    assert.equal(server.left_out_count, 1)
    assert.equal((await admin('DELETE', '/api/v0/clients/c1')).status, 204)
    for (const { url } of [first, second]) await until('the token to be refused', async () => (await call(url)) === 401)
    const third = await start()
    assert.equal(await call(third.url), 401)
    for (const { url } of [first, second, third]) assert.equal((await request(`${url}/ready`, 'GET')).status, 200)
  }
)
