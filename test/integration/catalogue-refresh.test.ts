import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test, { type TestContext } from 'node:test'
import { createCatalogue, type ServerCatalogue } from '../../src/control/catalogue/catalogue.ts'
import { createOAuthHttp } from '../../src/upstream/oauth/oauth-http.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { egressOf, policyOf } from '../egress.ts'
import { registryServer, startMcpRegistry } from '../fixtures/http/mcp-registry.ts'
import { sendJson, startHttp } from '../fixtures/http/server.ts'
import { addCleanup, anyEngine, engines, freshPlace, startRegistry, type Engine } from '../store.ts'
import { until } from '../until.ts'

const silent = { info() {}, warn() {} }

/** One replica; by default it reads the registry again and again. */
interface Given {
  readonly registry: Registry
  readonly url: string
  readonly deny?: readonly string[]
  readonly maxBytes?: number
  readonly timeoutMs?: number
  readonly freshMs?: number
  readonly retryMs?: number
}

/** Starts the catalogue of one replica. */
function startCatalogue(
  t: TestContext,
  { registry, url, deny = [], freshMs = 1, retryMs = 1, ...limits }: Given
): ServerCatalogue {
  const egress = egressOf({ policy: policyOf({ deny }) })
  const http = createOAuthHttp({ egress, userAgent: 'test', maxBytes: 100_000, ...limits })(url)
  const catalogue = createCatalogue({
    store: registry.catalogue,
    registryUrl: url,
    allow: undefined,
    get: (page) => http.get(page, 'the MCP registry'),
    log: silent,
    intervals: { pollMs: 20, freshMs, retryMs }
  })
  addCleanup(t, egress.close)
  addCleanup(t, () => catalogue.close())
  catalogue.start()
  return catalogue
}

const openStore = async (t: TestContext, engine: Engine = anyEngine) => startRegistry(t, await freshPlace(t, engine))

const namesOf = async (catalogue: ServerCatalogue) =>
  (await catalogue.search({ search: '', limit: 100, after: undefined })).entries.map(({ name }) => name)
const problemOf = (catalogue: ServerCatalogue) =>
  until('a problem', async () => (await catalogue.source()).problem ?? '')
const readFrom = (catalogue: ServerCatalogue, names: readonly string[]) =>
  until(`${names.length} servers`, async () => (await namesOf(catalogue)).join() === names.join())

for (const engine of engines) {
  test(`all pages are read, other replicas and later processes load the same data, and changes arrive (${engine})`, async (t) => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((letter) => registryServer(`com.example/${letter}`))
    const mcpRegistry = await startMcpRegistry([...all, registryServer('not a name')])
    addCleanup(t, mcpRegistry.close)
    const registry = await openStore(t, engine)
    const names = all.map(({ name }) => name)
    const given = { registry, url: mcpRegistry.origin }
    const first = startCatalogue(t, given)
    await readFrom(first, names)
    assert.deepEqual(
      mcpRegistry.requests.slice(0, 3).map(({ path }) => new URL(path, 'http://x').searchParams.get('cursor')),
      [null, '2', '4']
    )
    assert.equal(new URL(mcpRegistry.requests[0]!.path, 'http://x').searchParams.get('version'), 'latest')
    first.close()

    await mcpRegistry.close()
    const second = startCatalogue(t, { ...given, freshMs: 3_600_000 })
    await readFrom(second, names)
    assert.equal((await second.source()).registry, mcpRegistry.origin)
  })
}

test('a registry that changes is read again', async (t) => {
  const mcpRegistry = await startMcpRegistry([registryServer('com.example/a')])
  addCleanup(t, mcpRegistry.close)
  const catalogue = startCatalogue(t, { registry: await openStore(t), url: mcpRegistry.origin })
  await readFrom(catalogue, ['com.example/a'])
  mcpRegistry.setServers([registryServer('com.example/b')])
  await readFrom(catalogue, ['com.example/b'])
})

const page = (members: object) => JSON.stringify({ servers: [], ...members })
const badAnswers: Readonly<Record<string, (response: ServerResponse, path: string) => void>> = {
  'a status of 500': (response) => sendJson(response, 500, { servers: [] }),
  'no JSON': (response) => void response.end('<html>'),
  'another object': (response) => sendJson(response, 200, { items: [] }),
  'a list that is not one': (response) => sendJson(response, 200, { servers: {} }),
  'only unusable servers': (response) => sendJson(response, 200, { servers: [{}, null, 'x'] }),
  'too many bytes': (response) => void response.end(page({ junk: 'x'.repeat(200_000) })),
  'a page that repeats': (response) => sendJson(response, 200, { servers: [], metadata: { nextCursor: 'same' } }),
  'a deep object': (response) => void response.end(`{"servers":[],"a":${'['.repeat(500)}${']'.repeat(500)}}`),
  'a repeated member': (response) => void response.end('{"servers":[],"servers":[]}'),
  'a redirect to another origin': (response) => void response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end(),
  'a redirect that does not end': (response, path) => void response.writeHead(302, { location: path }).end(),
  'a connection that ends': (response) => void response.socket?.destroy(),
  'no answer in time': () => {}
}

for (const [what, answer] of Object.entries(badAnswers)) {
  test(`a registry that answers with ${what} leaves the last data in place`, async (t) => {
    const mcpRegistry = await startMcpRegistry([registryServer('com.example/a')])
    addCleanup(t, mcpRegistry.close)
    const catalogue = startCatalogue(t, { registry: await openStore(t), url: mcpRegistry.origin, timeoutMs: 2_000 })
    await readFrom(catalogue, ['com.example/a'])
    mcpRegistry.answerWith(answer)
    assert.doesNotMatch(await problemOf(catalogue), /html|junk/)
    assert.deepEqual(await namesOf(catalogue), ['com.example/a'])
    mcpRegistry.answerWith(null)
    mcpRegistry.setServers([registryServer('com.example/b')])
    await readFrom(catalogue, ['com.example/b'])
    assert.equal((await catalogue.source()).problem, undefined)
  })
}

test('pages that never end are given up, and so is everything read from them', async (t) => {
  let count = 0
  const endless = await startHttp((_request, response) =>
    sendJson(response, 200, {
      servers: [registryServer(`com.example/s${count}`)],
      metadata: { nextCursor: `${++count}` }
    })
  )
  addCleanup(t, endless.close)
  const catalogue = startCatalogue(t, { registry: await openStore(t), url: endless.origin })
  assert.match(await problemOf(catalogue), /more than 1000 pages/)
  assert.equal((await catalogue.source()).registry, undefined)
})

test('a registry on a denied network is not contacted', async (t) => {
  const mcpRegistry = await startMcpRegistry([registryServer('com.example/a')])
  addCleanup(t, mcpRegistry.close)
  const registry = await openStore(t)
  const catalogue = startCatalogue(t, { registry, url: mcpRegistry.origin, deny: ['loopback'] })
  assert.match(await problemOf(catalogue), /egress policy/)
  assert.deepEqual(mcpRegistry.requests, [])
  assert.ok((await namesOf(catalogue)).includes('io.github.modelcontextprotocol/server-memory'))
})

test('of several replicas one reads the registry', async (t) => {
  const mcpRegistry = await startMcpRegistry([registryServer('com.example/a')])
  addCleanup(t, mcpRegistry.close)
  const registry = await openStore(t)
  const given = { registry, url: mcpRegistry.origin, freshMs: 3_600_000, retryMs: 3_600_000 }
  const replicas = [startCatalogue(t, given), startCatalogue(t, given), startCatalogue(t, given)]
  for (const replica of replicas) await readFrom(replica, ['com.example/a'])
  assert.equal(mcpRegistry.requests.length, 1)
})
