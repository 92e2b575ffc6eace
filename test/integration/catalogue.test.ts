import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { registryServer, startMcpRegistry } from '../fixtures/http/mcp-registry.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import type { CatalogueDetails, CataloguePlan } from '../../src/schemas/catalogue.ts'
import { startApp } from '../app.ts'
import { someFor } from '../matrix.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'

interface Page {
  readonly servers: { readonly name: string; readonly options: string[] }[]
  readonly total: number
  readonly next_cursor?: string
  readonly source: { readonly registry?: string; readonly read_at: string; readonly problem?: string }
}

const token = 'administrator-token-of-these-tests'
const enterprise = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ADMIN_TOKEN: token,
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
}
const as = (bearer: string) => ({ authorization: `Bearer ${bearer}` })
const page = async (app: FastifyInstance, query = '', headers = {}) => {
  const answer = await app.inject({ url: `/api/v0/catalogue${query}`, headers })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json<Page>()
}
const install = (app: FastifyInstance, payload: object, query = '', headers = {}) =>
  app.inject({ method: 'POST', url: `/api/v0/catalogue/install${query}`, payload, headers })

const secretInput = { isRequired: true, isSecret: true }
const remoteEntry = (url: string) =>
  registryServer('com.example/echo-mcp', {
    packages: [],
    remotes: [
      {
        type: 'streamable-http',
        url,
        headers: [{ name: 'Authorization', value: 'Bearer {token}', variables: { token: secretInput } }]
      }
    ]
  })

test('without a registry the catalogue is the list of the package, page by page', async (t) => {
  const app = await startApp(t)
  const first = await page(app, '?limit=10')
  assert.deepEqual([first.servers.length, first.source.registry], [10, undefined])
  const names = first.servers.map(({ name }) => name)
  for (let next = first.next_cursor; next !== undefined;) {
    const more = await page(app, `?limit=10&cursor=${next}`)
    names.push(...more.servers.map(({ name }) => name))
    next = more.next_cursor
  }
  assert.deepEqual([names.length, new Set(names).size], [first.total, first.total])
  const found = await page(app, '?search=filesystem')
  assert.equal(found.servers[0]?.name, 'io.github.modelcontextprotocol/server-filesystem')
  const details = await app.inject(`/api/v0/catalogue/${encodeURIComponent(found.servers[0].name)}`)
  const { suggested_name, options } = details.json<CatalogueDetails>()
  assert.equal(suggested_name, 'filesystem')
  assert.match(options[0]!.preview!, /^npx -y @modelcontextprotocol\/server-filesystem@[\d.]+ <DIRECTORY>$/)
  assert.equal((await app.inject('/api/v0/catalogue/no.such%2Fserver')).statusCode, 404)
  for (const query of ['?cursor=x', '?limit=0', '?limit=101', '?other=1'])
    assert.equal((await app.inject(`/api/v0/catalogue${query}`)).statusCode, 400, query)
})

for (const engine of someFor('installation', engines)) {
  test(`a server of a registry is installed like any registration, and its secret is not shown (${engine})`, async (t) => {
    const upstream = await startRecorder(t, { authorization: 'Bearer S3CRET-VALUE' })
    const registry = await startMcpRegistry([remoteEntry(upstream.url), registryServer('com.example/other')])
    addCleanup(t, registry.close)
    const app = await startApp(t, { engine, env: { TOWPATH_REGISTRY_URL: registry.origin } })
    const found = await until('the registry to be read', async () => {
      const found = await page(app)
      return found.source.registry !== undefined && found
    })

    assert.ok(found)
    assert.equal(found.source.registry, registry.origin)
    const name = 'com.example/echo-mcp'
    const unset = await install(app, { name })
    assert.deepEqual(
      [unset.statusCode, unset.json()],
      [400, { error: 'values are missing: TOKEN', code: 'values_missing' }]
    )
    const values = { TOKEN: 'S3CRET-VALUE' }
    const planned = await install(app, { name, values }, '?dry_run=true')
    const { server_name, preview, headers, missing } = planned.json<CataloguePlan>()
    assert.deepEqual(
      [server_name, preview, headers, missing],
      ['echo', upstream.url, { Authorization: 'Bearer ***' }, []]
    )
    assert.doesNotMatch(planned.body, /S3CRET/)
    assert.equal(upstream.requests.length, 0)

    const done = await install(app, { name, values, version: '1.0.0', server_name: 'mine' })
    assert.equal(done.statusCode, 201, done.body)
    assert.equal(done.json<{ name: string }>().name, 'mine')
    assert.doesNotMatch(done.body, /S3CRET/)
    assert.equal((await install(app, { name, values, server_name: 'mine' })).statusCode, 409)
    assert.equal((await install(app, { name, values, server_name: 'mine' }, '?force=true')).statusCode, 201)
    const audit = (await app.inject('/api/v0/audit?limit=50')).json<{ entries: { action: string; target: string }[] }>()
    for (const action of ['server.create', 'server.force', 'server.attempt'])
      assert.ok(
        audit.entries.some((row) => row.action === action && row.target === 'mine'),
        action
      )
  })
}

/** Starts an app that has read these entries. */
async function startWithEntries(t: TestContext, entries: readonly object[]) {
  const registry = await startMcpRegistry(entries)
  addCleanup(t, registry.close)
  const app = await startApp(t, { env: { TOWPATH_REGISTRY_URL: registry.origin } })
  await until('the registry to be read', async () => (await page(app)).source.registry !== undefined)
  return app
}

test('every value that a publisher fixed beside a secret is in the preview, and the secret is not', async (t) => {
  const secret = { isRequired: true, isSecret: true }
  const stdio = { transport: { type: 'stdio' }, version: '1.0.0' }
  const environmentVariables = [
    { name: 'API_KEY', ...secret },
    { name: 'API_BASE_URL', value: 'https://collector.example' },
    { name: 'REGION', default: 'eu-west-1' },
    { name: 'DSN', value: 'https://{key}@collector.example', variables: { key: secret } },
    { name: 'OPTIONAL' }
  ]
  const headers = [
    { name: 'X-Key', ...secret },
    { name: 'X-Forward-To', value: 'https://collector.example' }
  ]
  const app = await startWithEntries(t, [
    registryServer('com.example/fixed', {
      packages: [{ registryType: 'npm', identifier: 'some-server', ...stdio, environmentVariables }],
      remotes: [{ type: 'streamable-http', url: 'https://api.example/mcp', headers }]
    })
  ])
  const name = 'com.example/fixed'
  const details = (await app.inject(`/api/v0/catalogue/${encodeURIComponent(name)}`)).json<CatalogueDetails>()
  const [remote, npm] = details.options
  const fixed = { API_BASE_URL: 'https://collector.example', REGION: 'eu-west-1' }
  const forward = { 'X-Forward-To': 'https://collector.example' }
  assert.deepEqual(npm!.env, { API_KEY: '<API_KEY>', ...fixed, DSN: 'https://<KEY>@collector.example' })
  assert.deepEqual(remote!.headers, { 'X-Key': '<X_KEY>', ...forward })

  const plan = async (body: object) => {
    const answer = await install(app, { name, ...body }, '?dry_run=true')
    assert.doesNotMatch(answer.body, /S3CRET/)
    return answer.json<CataloguePlan>()
  }
  const packaged = await plan({ option: 'npm', values: { API_KEY: 'S3CRET-1', KEY: 'S3CRET-2' } })
  assert.deepEqual(packaged.env, { API_KEY: '***', ...fixed, DSN: 'https://***@collector.example' })
  const sent = await plan({ option: 'remote', values: { X_KEY: 'S3CRET-3' } })
  assert.deepEqual(sent.headers, { 'X-Key': '***', ...forward })
})

test('an entry that changed under its version after it was shown is refused, whatever its values and way to be shown', async (t) => {
  const stdio = { transport: { type: 'stdio' }, version: '1.0.0' }
  const name = 'com.example/changing'
  const entryWith = (members: object, description = 'Files') =>
    registryServer(name, {
      description,
      packages: [{ registryType: 'npm', identifier: 'some-server', ...stdio, ...members }]
    })
  const input = { name: 'API_KEY', isRequired: true, isSecret: true }
  const original = entryWith({ environmentVariables: [input, { name: 'BASE', value: 'https://api.example' }] })
  const digests = async (entry: object) => {
    const app = await startWithEntries(t, [entry])
    const details = await app.inject(`/api/v0/catalogue/${encodeURIComponent(name)}`)
    const planned = await install(app, { name, values: { API_KEY: 'S3CRET' } }, '?dry_run=true')
    const [option] = details.json<CatalogueDetails>().options
    assert.equal(planned.json<CataloguePlan>().digest, option!.digest, 'the values are not part of the digest')
    return { app, digest: option!.digest! }
  }
  const shown = await digests(original)
  assert.equal((await digests(original)).digest, shown.digest)
  const body = { name, version: '1.0.0', digest: shown.digest }
  assert.match((await install(shown.app, body)).body, /"values_missing"/)

  const changes = [
    entryWith({ environmentVariables: [input, { name: 'BASE', value: 'https://collector.example' }] }),
    entryWith({
      environmentVariables: [
        { ...input, isSecret: false },
        { name: 'BASE', value: 'https://api.example' }
      ]
    }),
    entryWith({ packageArguments: [{ type: 'positional', value: '--upload' }] }),
    entryWith({ identifier: 'other-server' }),
    entryWith({ environmentVariables: [input, { name: 'BASE', value: 'https://api.example' }] }, 'Other files')
  ]
  for (const entry of changes) {
    const { app, digest } = await digests(entry)
    assert.notEqual(digest, shown.digest)
    for (const query of ['', '?force=true', '?dry_run=true']) {
      const refused = await install(app, { ...body, values: { API_KEY: 'S3CRET' } }, query)
      assert.deepEqual([refused.statusCode, refused.json<{ code: string }>().code], [409, 'catalogue_entry_changed'])
      assert.match(refused.body, /has changed since it was shown/)
    }
    assert.deepEqual((await app.inject('/api/v0/servers')).json(), [])
  }
})

test('an installation is refused for another version, option, name or value, and starts nothing', async (t) => {
  const app = await startApp(t)
  const name = 'io.github.modelcontextprotocol/server-filesystem'
  const refused = async (payload: object, status: number) => {
    const answer = await install(app, { name, ...payload })
    assert.equal(answer.statusCode, status, answer.body)
    assert.doesNotMatch(answer.body, /SENT/)
  }
  await refused({ version: '0.0.1', values: { DIRECTORY: '/tmp' } }, 409)
  await refused({ option: 'oci', values: { DIRECTORY: '/tmp' } }, 400)
  await refused({ values: { DIRECTORY: '/tmp' }, server_name: 'a__b' }, 400)
  await refused({ values: { DIRECTORY: '/tmp', OTHER: 'SENT' } }, 400)
  await refused({ values: { DIRECTORY: 'SENT\u0000' } }, 400)
  await refused({ values: { DIRECTORY: 1 } }, 400)
  await refused({ name: 'no.such/server' }, 404)
  await refused({ unknown: true }, 400)
  assert.deepEqual((await app.inject('/api/v0/servers')).json(), [])
})

test('in enterprise mode only administrators see the catalogue, the allow list limits it, and commands stay restricted', async (t) => {
  const env = {
    ...enterprise,
    TOWPATH_CATALOGUE_ALLOW: 'io.github.modelcontextprotocol/*',
    TOWPATH_STDIO_COMMANDS: '/usr/bin/nothing'
  }
  const app = await startApp(t, { env })
  const user = await app.inject({ method: 'POST', url: '/api/v0/users', payload: { name: 'bob' }, headers: as(token) })
  const { access_token } = user.json<{ access_token: string }>()
  const memory = 'io.github.modelcontextprotocol/server-memory'
  for (const [headers, status] of [
    [{}, 401],
    [as(access_token), 403]
  ] as const) {
    assert.equal((await app.inject({ url: '/api/v0/catalogue', headers })).statusCode, status)
    assert.equal((await install(app, { name: memory }, '', headers)).statusCode, status)
  }
  const { servers, total } = await page(app, '?limit=100', as(token))
  assert.ok(total > 3 && servers.every(({ name }) => name.startsWith('io.github.modelcontextprotocol/')))
  const hidden = 'io.github.upstash/context7'
  const url = `/api/v0/catalogue/${encodeURIComponent(hidden)}`
  assert.equal((await app.inject({ url, headers: as(token) })).statusCode, 404)
  assert.equal((await install(app, { name: hidden }, '', as(token))).statusCode, 404)
  const denied = await install(app, { name: memory }, '', as(token))
  assert.deepEqual([denied.statusCode, /TOWPATH_STDIO_COMMANDS|command/.test(denied.body)], [400, true], denied.body)
})
