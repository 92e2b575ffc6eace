import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../../src/app.ts'
import type { Diagnostics } from '../../src/schemas/dashboard/diagnostics.ts'
import type { ImportView } from '../../src/schemas/dashboard/import.ts'
import type { Overview } from '../../src/schemas/dashboard/overview.ts'
import type { ServerDetails, ServersView, ServerTrial, ServerView } from '../../src/schemas/dashboard/servers.ts'
import type { ToolGroupView } from '../../src/schemas/dashboard/tool-groups.ts'
import type { ToolsView } from '../../src/schemas/dashboard/tools.ts'
import { freshConfig, register, startApp, stdioServer } from '../app.ts'
import { registrationOf, startUpstream } from '../e2e/upstream.ts'
import { until } from '../until.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup, tempDir } from '../store.ts'
import { ask, read, views } from './dashboard-helpers.ts'

const invoke = (app: FastifyInstance, name: string) =>
  app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name } })

/** Starts the gateway with pages as a build leaves them, a secret next to them, and links that lead there. */
async function withPages(t: TestContext): Promise<FastifyInstance> {
  const folder = await tempDir(t)
  const root = join(folder, 'dashboard')
  await mkdir(join(root, 'assets'), { recursive: true })
  await writeFile(join(folder, 'package.json'), 'OUTSIDE')
  await writeFile(join(root, 'index.html'), '<!doctype html><title>pages</title>')
  await writeFile(join(root, 'assets', 'x-1a2b.js'), 'export {}')
  await writeFile(join(root, 'assets', '.hidden'), 'OUTSIDE')
  await symlink(join(folder, 'package.json'), join(root, 'assets', 'link.js'))
  await symlink(folder, join(root, 'assets', 'folder'))
  const app = await buildApp(await freshConfig(t), { dashboardRoot: root })
  addCleanup(t, () => app.close())
  await app.ready()
  return app
}

test('each view answers, and again with 304 to a page that has its contents', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('alpha'))
  for (const path of views) {
    const first = await ask(app, 'GET', path)
    assert.equal(first.status, 200, `${path} ${first.text}`)
    assert.equal(first.headers['cache-control'], 'no-store', path)
    if (path === '/diagnostics') continue
    const etag = String(first.headers.etag)
    const again = await app.inject({ url: `/api/dashboard${path}`, headers: { 'if-none-match': etag } })
    assert.deepEqual([again.statusCode, again.body], [304, ''], path)
  }
  const { status, server_count, endpoints } = await read<Overview>(app, '/overview')
  assert.deepEqual([status, server_count, endpoints[0]?.url], ['running', 1, 'http://localhost:80/mcp'])
  const { last_client_at, has_client, has_calls } = await read<Overview>(app, '/overview')
  assert.deepEqual([last_client_at, has_client, has_calls], [undefined, false, false])
  const { checks } = await read<Diagnostics>(app, '/diagnostics')
  const said = new Map(checks.map(({ id, status: outcome }) => [id, outcome]))
  for (const id of ['bind', 'mcp', 'database', 'clock', 'server:alpha', 'command:alpha'])
    assert.equal(said.get(id), 'pass', id)
  assert.ok(!(await app.inject('/openapi.json')).body.includes('/api/dashboard'))
})

test('DA-02 the pages come with a policy that lets nothing in, and are asked for again each time', async (t) => {
  const app = await withPages(t)
  for (const url of ['/', '/index.html']) {
    const { statusCode, headers, body } = await app.inject(url)
    assert.equal(statusCode, 200)
    assert.match(String(headers['content-type']), /^text\/html/)
    assert.match(body, /<title>pages/)
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'"])
      assert.ok(policy.includes(part), part)
    assert.ok(policy.includes("require-trusted-types-for 'script'") && !policy.includes('unsafe'))
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['cache-control'], 'no-cache')
  }
  const asset = await app.inject('/assets/x-1a2b.js')
  assert.equal(asset.statusCode, 200)
  assert.match(String(asset.headers['content-type']), /^(text|application)\/javascript/)
  assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
})

test('DA-02 where the pages are not built, one that says so has the same policy', async (t) => {
  const app = await buildApp(await freshConfig(t), { dashboardRoot: join(await tempDir(t), 'nowhere') })
  addCleanup(t, () => app.close())
  const { statusCode, headers, body } = await app.inject('/')
  assert.equal(statusCode, 200)
  assert.match(body, /The dashboard is not built/)
  assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/)
  assert.equal((await app.inject('/assets/x.js')).statusCode, 404)
})

test('DA-09 no path leads out of the folder of the pages, nor to what is not meant to be there', async (t) => {
  const app = await withPages(t)
  const paths = [
    '/assets/..%2f..%2fpackage.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets/../../package.json',
    '/assets/..%5c..%5cpackage.json',
    '/assets/x-1a2b.js%00.html',
    '/assets//etc/passwd',
    '//etc/passwd',
    '/assets/link.js',
    '/assets/folder/package.json',
    '/assets/folder/dashboard/index.html',
    '/assets/.hidden',
    '/assets/missing.js',
    '/assets/',
    '/assets'
  ]
  for (const url of paths) {
    const { statusCode, body } = await app.inject(url)
    assert.ok([400, 403, 404].includes(statusCode), `${url} ${statusCode}`)
    assert.equal(typeof (JSON.parse(body) as { error?: unknown }).error, 'string', url)
    assert.doesNotMatch(body, /OUTSIDE|pages|root:/, url)
  }
})

test('DA-03 DA-04 DA-06 other sites and names reach no route of the dashboard', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('alpha'))
  for (const path of ['', ...views, '/events', '/oauth/callback', '/servers/alpha']) {
    const answer = await app.inject({ url: `/api/dashboard${path}`, headers: { host: 'evil.example' } })
    assert.equal(answer.statusCode, 403, path)
  }
  const before = (await app.inject('/api/v0/servers')).body
  const writes = [
    ['POST', '/servers'],
    ['POST', '/servers/import'],
    ['POST', '/servers/alpha/test'],
    ['PUT', '/servers/alpha'],
    ['DELETE', '/servers/alpha'],
    ['PATCH', '/servers/alpha/enabled'],
    ['POST', '/tool-groups'],
    ['POST', '/tool-groups/preview'],
    ['PATCH', '/tools/alpha__echo/enabled']
  ] as const
  const foreign = [{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]
  for (const headers of foreign) {
    for (const [method, path] of [...writes, ['GET', '/events'] as const]) {
      const answer = await app.inject({ method, url: `/api/dashboard${path}`, payload: {}, headers })
      assert.equal(answer.statusCode, 403, `${method} ${path} ${JSON.stringify(headers)}`)
      assert.equal(answer.headers['access-control-allow-origin'], undefined)
    }
  }
  assert.equal((await app.inject('/api/v0/servers')).body, before)
  const form = await app.inject({
    method: 'POST',
    url: '/api/dashboard/servers',
    headers: { 'content-type': 'text/plain' },
    payload: '{}'
  })
  assert.equal(form.statusCode, 415)
})

test('DA-07 no view and no answer to a write holds a secret of a configuration', async (t) => {
  const app = await startApp(t)
  const sent = () => `SENT-${randomBytes(9).toString('hex')}`
  const [token, header, client, query, variable, argument] = [sent(), sent(), sent(), sent(), sent(), sent()]
  const http = await startRecorder(null)
  addCleanup(t, http.close)
  const texts: string[] = []
  const write = async (...given: Parameters<typeof ask>) => {
    const answer = await ask(...given)
    texts.push(answer.text)
    return answer
  }
  const remote = {
    name: 'remote',
    transport: 'streamable_http',
    url: `${http.url}?key=${query}`,
    bearer_token: token,
    headers: { 'X-Key': header },
    oauth_client_id: 'id',
    oauth_client_secret: client
  }
  const good = stdioServer('local')
  const local = { ...good, args: [...good.args, '--token', argument], env: { API_KEY: variable } }
  assert.equal((await write(app, 'POST', '/servers', remote)).status, 201)
  assert.equal((await write(app, 'POST', '/servers', local)).status, 201)
  // the error quotes its input
  const noisy = fileURLToPath(new URL('../fixtures/stdio/exits.mjs', import.meta.url))
  const quoting = [
    '-e',
    `console.error(process.argv.join(' ') + process.env.API_KEY); require('${noisy}')`,
    '--',
    '--token',
    argument
  ]
  const failing = { name: 'failing', transport: 'stdio', command: process.execPath, args: quoting, env: local.env }
  for (const path of ['/servers', '/servers?dry_run=true']) await write(app, 'POST', path, failing)
  await write(app, 'POST', '/servers/import?dry_run=true', {
    configuration: JSON.stringify({ mcpServers: { x: remote } })
  })
  const { name: _name, ...update } = { ...remote, bearer_token: null, headers: { 'X-Key': null }, url: null }
  assert.equal((await write(app, 'PUT', '/servers/remote', { ...update, oauth_client_secret: null })).status, 200)
  await write(app, 'PATCH', '/servers/local/enabled', { enabled: false })
  await write(app, 'POST', '/servers/remote/test')
  for (const path of [...views, '/servers/remote', '/servers/local']) texts.push((await ask(app, 'GET', path)).text)

  for (const secret of [token, header, client, query, variable, argument]) {
    for (const form of [secret, Buffer.from(secret).toString('base64').slice(0, -4), encodeURIComponent(secret)])
      assert.ok(!texts.join('\n').includes(form), form)
  }
  const { servers } = await read<ServersView>(app, '/servers')
  const [first, second] = servers.map(({ config_summary }) => config_summary)
  assert.deepEqual(first?.env_keys, ['API_KEY'])
  assert.deepEqual([second?.target, second?.header_keys], [`${http.url}?key=***`, ['X-Key']])
  assert.deepEqual(first?.args, [...good.args, '--token', '***'])
  const { command } = good
  const same = { transport: 'stdio', command, args: first?.args, env: { API_KEY: null } }
  assert.equal((await ask(app, 'PUT', '/servers/local', same)).status, 200)
  const configs = (await app.inject('/api/v0/server_configs')).json<Record<string, unknown>[]>()
  const config = configs.find(({ name }) => name === 'remote')
  assert.deepEqual(
    [config?.url, config?.bearer_token, config?.headers, config?.oauth_client_secret],
    [remote.url, token, remote.headers, client]
  )
  assert.deepEqual(configs.find(({ name }) => name === 'local')?.args, local.args)
})

test('DA-07 a kept secret does not follow to another origin or command', async (t) => {
  const app = await startApp(t)
  const [one, two] = [await startRecorder(null), await startRecorder(null)]
  for (const each of [one, two]) addCleanup(t, each.close)
  const base = { transport: 'streamable_http', url: one.url }
  await register(app, { ...base, name: 'alpha', bearer_token: 'secret-token' })
  const moved = await ask(app, 'PUT', '/servers/alpha', { ...base, url: two.url, bearer_token: null })
  assert.deepEqual([moved.status, moved.body.code], [400, 'secrets_not_kept'])
  assert.match(moved.body.error, /"bearer_token"/)
  const process = await ask(app, 'PUT', '/servers/alpha', { transport: 'stdio', command: 'node', env: { A: null } })
  assert.deepEqual([process.status, process.body.code], [400, 'secrets_not_kept'])
  assert.equal(two.requests.length, 0)
  const given = await ask(app, 'PUT', '/servers/alpha', { ...base, url: two.url, bearer_token: 'another-token' })
  assert.equal(given.status, 200)
  assert.ok(two.requests.every(({ headers }) => headers.authorization === 'Bearer another-token'))
})

test('DA-10 switches and writes follow the rules of REST', async (t) => {
  const app = await startApp(t)
  const tools = [{ name: 'a/b c', inputSchema: { type: 'object' } }]
  const upstream = await startRecorder(null, { extraTools: tools })
  addCleanup(t, upstream.close)
  await register(app, { name: 'alpha', transport: 'streamable_http', url: upstream.url })
  const slashed = `/tools/${encodeURIComponent('alpha__a/b c')}/enabled`
  const uri = `/resources/${encodeURIComponent('fixture://note')}/enabled`
  for (const path of [
    '/servers/alpha/enabled',
    '/tools/alpha__echo/enabled',
    '/prompts/alpha__greet/enabled',
    slashed,
    uri
  ]) {
    for (const body of [{}, { enabled: 'yes' }, { enabled: true, more: 1 }, []])
      assert.equal((await ask(app, 'PATCH', path, body)).status, 400, path)
    for (const enabled of [false, true]) {
      const { status, body } = await ask(app, 'PATCH', path, { enabled })
      const name = decodeURIComponent(path.split('/')[2]!)
      assert.deepEqual([status, body], [200, { name, enabled }], path)
    }
  }
  // a server's name is not an item's
  for (const path of ['/servers/beta', '/tools/alpha', '/tools/alpha__none', '/prompts/alpha', '/resources/none'])
    assert.equal((await ask(app, 'PATCH', `${path}/enabled`, { enabled: false })).status, 404, path)
  assert.equal((await ask(app, 'POST', '/servers', stdioServer('alpha'))).status, 409)
  assert.equal((await ask(app, 'POST', '/servers', { name: 'x', transport: 'stdio', extra: 1 })).status, 400)
  assert.equal((await ask(app, 'PATCH', '/tools/alpha__echo/enabled', { enabled: false })).status, 200)
  const shown = (await read<ToolsView>(app, '/tools')).tools.map(({ name, enabled }) => [name, enabled])
  assert.deepEqual(shown, [
    ['echo', false],
    ['slow', true],
    ['whoami', true],
    ['fail', true],
    ['a/b c', true]
  ])
  assert.equal((await ask(app, 'DELETE', '/servers/alpha')).status, 204)
  assert.equal((await ask(app, 'DELETE', '/servers/alpha')).status, 404)
})

test('the status of a server is that of the last contact with it', async (t) => {
  const app = await startApp(t)
  const upstream = await startRecorder(null)
  const view = () => read<ServerDetails>(app, '/servers/alpha')
  const added = await ask(app, 'POST', '/servers', { name: 'alpha', transport: 'streamable_http', url: upstream.url })
  assert.equal((added.body as ServerView).status, 'connected')
  const { protocol, server_info, tool_count } = await view()
  assert.deepEqual([protocol?.legacy, server_info?.name, tool_count], ['2025-11-25', 'alpha', 4])

  await upstream.close()
  assert.equal((await invoke(app, 'alpha__echo')).statusCode, 502)
  // the gateway may be trying to connect again at this moment
  await until('the failure', async () => (await view()).status === 'failing')
  const failing = await view()
  assert.ok(failing.last_error && failing.status_since)
  const attention = async () => (await read<Overview>(app, '/overview')).attention[0]?.kind
  await until('the failure in the overview', async () => (await attention()) === 'server_failing')
  const trial = (await ask(app, 'POST', '/servers/alpha/test')).body as ServerTrial
  assert.deepEqual([trial.status, trial.tool_count], ['failing', 0])

  const again = await startRecorder(null, { port: Number(new URL(upstream.url).port) })
  addCleanup(t, again.close)
  const worked = (await ask(app, 'POST', '/servers/alpha/test')).body as ServerTrial
  assert.deepEqual([worked.status, worked.tool_count, (await view()).status], ['connected', 4, 'connected'])
  await ask(app, 'PATCH', '/servers/alpha/enabled', { enabled: false })
  assert.equal((await view()).status, 'disabled')

  const tried = await ask(app, 'POST', '/servers?dry_run=true', stdioServer('beta'))
  assert.deepEqual([tried.status, (tried.body as ServerTrial).status], [200, 'connected'])
  const exits = fileURLToPath(new URL('../fixtures/stdio/exits.mjs', import.meta.url))
  const dead = await ask(app, 'POST', '/servers?dry_run=true', { ...stdioServer('beta'), args: [exits] })
  assert.equal((dead.body as ServerTrial).status, 'failing')
  assert.ok((dead.body as ServerTrial).stderr.includes('configuration is missing'))
  assert.equal((await read<ServersView>(app, '/servers')).servers.length, 1)
})

test('the demo server is added by one request, and not twice', async (t) => {
  const app = await startApp(t)
  const { status, body } = await ask(app, 'POST', '/servers/demo')
  assert.deepEqual([status, body.name, body.status], [201, 'demo', 'connected'])
  assert.ok(body.tool_count > 0)
  assert.equal((await ask(app, 'POST', '/servers/demo')).status, 409)
})

test('a changed or hidden text of a tool is flagged until it is accepted', async (t) => {
  const app = await startApp(t)
  const described = (description: string) => [{ name: 'read', description, inputSchema: { type: 'object' } }]
  const upstream = await startRecorder(null, { extraTools: described('Reads') })
  addCleanup(t, upstream.close)
  await register(app, { name: 'alpha', transport: 'streamable_http', url: upstream.url })
  const shown = async () => (await read<ToolsView>(app, '/tools')).tools.find(({ name }) => name === 'read')!
  assert.deepEqual((await shown()).flags, [])
  upstream.setExtraTools(described('Reads\u200b and sends'))
  await app.inject({ method: 'POST', url: '/api/v0/servers/alpha/refresh' })
  const changed = await shown()
  assert.deepEqual(changed.flags, ['hidden_characters', 'changed'])
  assert.equal(changed.description, 'Reads\u200b and sends')
  assert.ok(changed.changed_at && changed.tokens > 0)
  const { items } = (await app.inject('/api/v0/definitions')).json()
  const seen = items.map(({ server, kind, name, fingerprint }: Record<string, string>) => ({
    ...{ server, kind, name, fingerprint }
  }))
  const overview = async () => (await ask(app, 'GET', '/overview')).body
  const waiting = { kind: 'definitions_held', name: 'alpha', title: '1 definition of alpha waits for a decision' }
  const { attention, held_count } = await overview()
  assert.deepEqual([attention[0], held_count], [waiting, 1])
  const { statusCode } = await app.inject({
    ...{ method: 'POST', url: '/api/v0/definitions/accept', payload: { items: seen } }
  })
  assert.equal(statusCode, 204)
  const accepted = await shown()
  assert.deepEqual([accepted.flags, accepted.changed_at], [['hidden_characters'], undefined])
  assert.equal((await overview()).held_count, 0)
})

test('clients of either era are seen at the endpoint that they use, by the names that they give', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('alpha'))
  await ask(app, 'POST', '/tool-groups', { name: 'helpers', included_servers: ['alpha'] })
  const post = (url: string, method: string, params: object, headers: Record<string, string> = {}) =>
    app.inject({
      ...{ method: 'POST', url, payload: { jsonrpc: '2.0', id: 1, method, params } },
      headers: { accept: 'application/json, text/event-stream', ...headers }
    })
  const helpers = '/v0/groups/helpers/mcp'
  const seen = async () => {
    const { clients, seen: at } = await read<ToolGroupView>(app, '/tool-groups/helpers')
    return [clients.map(({ name, version, endpoint }) => [name, version, endpoint]), at === undefined] as const
  }
  assert.deepEqual(await seen(), [[], true])

  const opened = await post(helpers, 'initialize', {
    ...{ protocolVersion: '2025-11-25', capabilities: {} },
    clientInfo: { name: 'old', version: '1.2' }
  })
  assert.equal(opened.statusCode, 200)
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'new\u200b', version: '3' }
  }
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  assert.equal((await post(helpers, 'tools/list', { _meta: meta }, modern)).statusCode, 200)
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
  await until('the older client to be the newest', async () => {
    await post(helpers, 'ping', {}, session)
    return (await seen())[0][0]?.[0] === 'old'
  })
  assert.deepEqual(await seen(), [
    [
      ['old', '1.2', helpers],
      ['new\u200b', '3', helpers]
    ],
    false
  ])
  const { clients, last_client_at, has_client } = await read<Overview>(app, '/overview')
  assert.deepEqual([clients.length, clients[0]?.name, has_client], [2, 'old', true])
  assert.ok(last_client_at)
  await ask(app, 'DELETE', '/tool-groups/helpers')
  await until('its clients to be forgotten', async () => (await read<Overview>(app, '/overview')).clients.length === 0)
})

test('what a tool says in JSON is shown as it came, numbers beyond a double included', async (t) => {
  const app = await startApp(t)
  let limit = '9007199254740993'
  const schema = () => `{"type":"object","properties":{"id":{"const":${limit},"maximum":1.0e400}}}`
  const upstream = await startUpstream(t, 'exact', {
    onRequest({ id, method }, response) {
      if (method !== 'tools/list') return false
      const tool = `{"name":"pick","inputSchema":${schema()},"outputSchema":null,"annotations":{"weight":0.10}}`
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[${tool},{"name":"bare","inputSchema":{"type":"object"}}]}}`
        )
      return true
    }
  })
  await register(app, registrationOf('exact', upstream))
  const text = async () => (await app.inject('/api/dashboard/tools')).payload
  assert.ok((await text()).includes(`"input_schema":${schema()},"annotations":{"weight":0.10}}`), await text())
  limit = '9007199254740992'
  await app.inject({ method: 'POST', url: '/api/v0/servers/exact/refresh' })
  const changed = await text()
  assert.ok(changed.includes(`"input_schema":${schema()}`), changed)
  assert.deepEqual((JSON.parse(changed) as ToolsView).tools[0]?.flags, ['changed'])
})

test('a group shows what it serves and why, before and after it is stored', async (t) => {
  const app = await startApp(t)
  const upstream = await startRecorder(null)
  addCleanup(t, upstream.close)
  for (const name of ['alpha', 'beta']) await register(app, { name, transport: 'streamable_http', url: upstream.url })
  await ask(app, 'PATCH', '/tools/alpha__fail/enabled', { enabled: false })
  const rules = {
    name: 'g',
    included_servers: ['alpha'],
    included_tools: ['beta__echo'],
    excluded_tools: ['alpha__slow']
  }
  const served = [
    ['alpha__echo', 'server'],
    ['alpha__whoami', 'server'],
    ['beta__echo', 'picked']
  ]
  const left = [
    ['alpha__fail', 'disabled'],
    ['alpha__slow', 'excluded']
  ]
  const preview = await ask(app, 'POST', '/tool-groups/preview', {
    ...rules,
    included_tools: ['beta__echo', 'beta__gone']
  })
  assert.equal(preview.status, 200, preview.text)
  const pairs = (list: { name: string; reason: string }[]) => list.map(({ name, reason }) => [name, reason])
  assert.deepEqual(pairs(preview.body.tools), served)
  assert.deepEqual(pairs(preview.body.left_out), [...left, ['beta__gone', 'missing']])
  assert.deepEqual([preview.body.missing, preview.body.total_tool_count], [['beta__gone'], 7])
  assert.equal((await ask(app, 'POST', '/tool-groups/preview', { ...rules, tool_names: 'bare' })).status, 400)

  const created = await ask(app, 'POST', '/tool-groups', rules)
  assert.equal(created.status, 201, created.text)
  const group = await read<ToolGroupView>(app, '/tool-groups/g')
  assert.deepEqual(pairs(group.tools), served)
  assert.equal(group.streamable_http_endpoint, 'http://localhost:80/v0/groups/g/mcp')
  const { body } = await app.inject('/api/v0/tool-groups/g/effective-tools')
  assert.deepEqual(
    (JSON.parse(body) as { tools: string[] }).tools,
    served.map(([name]) => name)
  )
  const put = await ask(app, 'PUT', '/tool-groups/g', { included_tools: ['beta__echo'] })
  assert.deepEqual([put.status, put.body.tool_count], [200, 1])
  assert.equal((await ask(app, 'DELETE', '/tool-groups/g')).status, 204)
  assert.equal((await ask(app, 'GET', '/tool-groups/g')).status, 404)
})

test('servers are taken over from a pasted configuration, each by itself', async (t) => {
  const app = await startApp(t)
  const upstream = await startRecorder(null, { authorization: 'Bearer value-of-token' })
  addCleanup(t, upstream.close)
  const { command, args } = stdioServer('x')
  const configuration = `{ // as it is pasted
    "mcpServers": {
      "good one": { "command": ${JSON.stringify(command)}, "args": ${JSON.stringify(args)}, "disabled": false },
      "asks": { "url": "${upstream.url}", "headers": { "Authorization": "Bearer \${TOKEN}" } },
      "dead": { "url": "http://127.0.0.1:9/mcp" },
      "loop": { "url": "http://localhost:80/mcp" },
    }
  }`
  const preview = (await ask(app, 'POST', '/servers/import?dry_run=true', { configuration })).body as ImportView
  assert.deepEqual(
    preview.servers.map(({ name, problems, needs, exists, result }) => [
      name,
      problems.length,
      needs[0]?.name,
      exists,
      result
    ]),
    [
      ['good-one', 0, undefined, false, undefined],
      ['asks', 0, 'TOKEN', false, undefined],
      ['dead', 0, undefined, false, undefined],
      ['loop', 1, undefined, false, undefined]
    ]
  )
  assert.deepEqual(preview.servers[0]?.ignored, ['disabled'])
  assert.deepEqual((await read<ServersView>(app, '/servers')).servers, [])

  const outcomes = async (more: object) => {
    const { status, body, text } = await ask(app, 'POST', '/servers/import', { configuration, ...more })
    assert.equal(status, 200, text)
    return (body as ImportView).servers.map(({ name, result }) => [name, result?.outcome])
  }
  assert.deepEqual(await outcomes({ names: ['asks'] }), [['asks', 'failed']])
  assert.deepEqual(await outcomes({ values: { TOKEN: 'value-of-token' } }), [
    ['good-one', 'added'],
    ['asks', 'added'],
    ['dead', 'failed'],
    ['loop', 'failed']
  ])
  assert.deepEqual(await outcomes({ names: ['good-one'] }), [['good-one', 'skipped']])
  assert.deepEqual(await outcomes({ names: ['good-one'], replace: true }), [['good-one', 'replaced']])
  assert.equal((await ask(app, 'POST', '/servers/import', { configuration: '{"a"' })).status, 400)
  for (const [count, status] of [
    [1_000, 200],
    [1_001, 400]
  ] as const) {
    const mcpServers = Object.fromEntries(Array.from({ length: count }, (_, i) => [`s${i}`, { command: 'x' }]))
    const many = { configuration: JSON.stringify({ mcpServers }) }
    assert.equal((await ask(app, 'POST', '/servers/import?dry_run=true', many)).status, status)
  }
})

test('pages that listen are told what has changed, and nothing of it', async (t) => {
  const app = await startApp(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const stream = await fetch(`http://127.0.0.1:${port}/api/dashboard/events`)
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/)
  let text = ''
  const reading = stream.body!.pipeTo(
    new WritableStream({ write: (chunk: Uint8Array) => void (text += Buffer.from(chunk).toString()) })
  )
  await register(app, stdioServer('alpha'))
  await until('the event of a server', () => /data: \{"kinds":\[[^\]]*"servers"/.test(text))
  await invoke(app, 'alpha__echo')
  await until('the event of a call', () => /"kinds":\[[^\]]*"calls"/.test(text))
  assert.doesNotMatch(text, /alpha|echo/)
  await app.close()
  await reading.catch(() => {})
})
