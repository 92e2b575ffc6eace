import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { actorAt, addUpstream, skip, startEnterprise, type Actor, type Enterprise } from './enterprise.ts'
import { root, startGateway } from './harness.ts'
import { until } from '../until.ts'
import { addCleanup } from '../store.ts'

/** Returns text with characters that JSON, URLs and base64 encode differently. */
const sentinel = (name: string) =>
  `SENT-${name}-${randomBytes(8).toString('hex')}+/"&=${randomBytes(4).toString('hex')}`

const makeSecrets = () => ({
  bearer: sentinel('bearer'),
  header: sentinel('header'),
  env: sentinel('env'),
  oauth: sentinel('oauth'),
  query: sentinel('query'),
  argument: sentinel('argument'),
  /** In requested names and URIs, which the call log records. */
  name: sentinel('name'),
  wrongToken: sentinel('wrong-token')
})
type Secrets = ReturnType<typeof makeSecrets>

/** Returns the encodings of a text in which it can occur; of base64, the part that does not depend on adjacent text. */
function formsOf(secret: string): string[] {
  const encoded = [0, 1, 2].map((before) => {
    const text = Buffer.from(`${'x'.repeat(before)}${secret}`).toString('base64')
    return text.slice(before === 0 ? 0 : 4, -4)
  })
  const inJson = JSON.stringify(secret).slice(1, -1)
  return [secret, inJson, JSON.stringify(inJson).slice(1, -1), encodeURIComponent(secret), ...encoded]
}

/** Returns the names of the secrets that a text contains in some encoding. */
const leaks = (text: string, secrets: Record<string, string>): string[] =>
  Object.entries(secrets).flatMap(([name, secret]) =>
    formsOf(secret).some((form) => text.includes(form)) ? [name] : []
  )

test('the search finds a secret in every form', () => {
  const secret = sentinel('x')
  const texts = [
    secret,
    `a${JSON.stringify({ secret })}`,
    JSON.stringify(JSON.stringify({ secret })),
    `?a=${encodeURIComponent(secret)}`,
    ...['', 'a', 'ab'].map((before) => Buffer.from(`${before}${secret} after`).toString('base64'))
  ]
  for (const text of texts) assert.deepEqual(leaks(text, { secret }), ['secret'], text)
  assert.deepEqual(leaks('SENT', { secret }), [])
})

/** Starts an upstream whose errors quote the whole request. */
async function startLeakingUpstream(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const told = `${request.url} ${JSON.stringify(request.headers)}`
    response.writeHead(request.url!.includes('refuse') ? 401 : 500, {
      'content-type': 'text/plain',
      'www-authenticate': told
    })
    response.end(told)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  addCleanup(t, () => new Promise((resolve) => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const fixture = (file: string) => join(root, 'test/fixtures/stdio', file)
const stdio = (name: string, file: string, secrets: Secrets) => ({
  name,
  transport: 'stdio',
  command: process.execPath,
  args: [fixture(file)],
  env: { KEY: secrets.env }
})

interface Actors {
  readonly url: string
  readonly admin: Actor
  readonly client: Actor
  readonly nobody: Actor
}

/** Puts a secret into every place that accepts one, uses all of them, and makes many uses fail. */
async function useEverything(t: TestContext, as: Actors, secrets: Secrets) {
  const { url, admin, client, nobody } = as
  const credentials = {
    bearer_token: secrets.bearer,
    headers: { 'X-Key': secrets.header },
    oauth_client_id: 'client',
    oauth_client_secret: secrets.oauth
  }
  const alpha = await addUpstream(t, { admin }, 'alpha', {}, credentials)
  const query = `?key=${encodeURIComponent(secrets.query)}`
  await addUpstream(t, { admin }, 'beta', { modern: true }, { session_mode: 'stateful' })
  for (const server of [stdio('child', 'good.mjs', secrets), stdio('dying', 'dies.mjs', secrets)]) {
    assert.equal((await admin.post('/api/v0/servers', server)).status, 201)
  }
  const shown = await admin.get('/api/v0/server_configs')
  assert.equal(leaks(shown.text, secrets).length, 4)
  for (const config of shown.body) assert.equal((await admin.post('/api/v0/servers?force=true', config)).status, 201)

  const talkative = await startLeakingUpstream(t)
  for (const [path, more] of [
    ['/fail', {}],
    ['/refuse', {}],
    ['/fail', { transport: 'sse' }]
  ] as const) {
    const url = `${talkative}${path}${query}`
    const failing = { name: 'bad', transport: 'streamable_http', url, ...credentials, ...more }
    const answer = await admin.post('/api/v0/servers', failing)
    assert.ok(answer.status >= 400)
    assert.deepEqual(leaks(answer.text, secrets), [], answer.text)
  }
  const broken = { ...stdio('broken', 'exits.mjs', secrets), args: [fixture('exits.mjs'), '--key'] }
  await admin.post('/api/v0/servers', broken)
  await admin.send('POST', '/api/v0/servers', { name: 'x', transport: 'streamable_http', url: `bad:${secrets.query}` })
  await admin.send('POST', '/api/v0/servers', {
    ...credentials,
    name: 'x',
    headers: { 'X-Key': `${secrets.header}\n` }
  })

  const args = { text: secrets.argument }
  for (const name of ['alpha__echo', 'beta__echo', 'child__echo', 'none__echo', `none__${secrets.name}`]) {
    await admin.post('/api/v0/tools/invoke', { name, ...args })
    await client.modern('tools/call', { name, arguments: args })
  }
  await admin.post('/api/v0/tools/invoke', { name: 'dying__die', ...args })
  await admin.post('/api/v0/tools/invoke', { name: 'child__stderr', text: `${secrets.env} ${secrets.argument}` })
  await admin.post('/api/v0/prompts/render', { name: 'alpha__greet', arguments: { who: secrets.argument } })
  await admin.post('/api/v0/resources/read', { uri: `fixture://${secrets.name}` })
  const session = await client.initialize()
  await client.legacy('tools/call', { name: 'alpha__echo', arguments: args }, session)
  await client.legacy('tools/call', { name: 'alpha__fail', arguments: args }, session)
  await client.legacy('nothing/of/that', args, session)
  await alpha.close()
  await client.legacy('tools/call', { name: 'alpha__echo', arguments: args }, session)
  await admin.post('/api/v0/servers/alpha/refresh')

  const wrong = { authorization: `Bearer ${secrets.wrongToken}`, 'content-type': 'application/json' }
  await nobody.send('POST', '/mcp', args, wrong)
  await nobody.send('GET', `/api/v0/servers?access_token=${encodeURIComponent(secrets.wrongToken)}`, undefined, wrong)
  await nobody.send('GET', `/nowhere/${encodeURIComponent(secrets.query)}${query}`, undefined, wrong)
  await admin.send('GET', `/nowhere${query}`)
  await admin.get(`/api/v0/tools${query}`)
  await fetch(`${url}/api/v0/tools/invoke`, {
    method: 'POST',
    headers: { ...admin.headers, 'content-type': 'application/json' },
    body: `{"name": ${JSON.stringify(secrets.argument)}`
  })
}

const debug = { TOWPATH_LOG_LEVEL: 'debug', TOWPATH_CONNECT_TIMEOUT_MS: '10000' }

async function startWithSecrets(
  t: TestContext,
  secrets: Secrets
): Promise<{ gateway: Enterprise; tokens: Record<string, string> }> {
  const gateway = await startEnterprise(t, { env: debug })
  const { admin, tokens } = gateway
  const own = {
    ownUser: sentinel('own-user').replaceAll('"', '-'),
    ownClient: sentinel('own-client').replaceAll('"', '-')
  }
  const user = await admin.post('/api/v0/users', { name: 'own', access_token: own.ownUser })
  assert.equal(user.status, 201, user.text)
  const client = await admin.post('/api/v0/clients', { name: 'own', access_token: own.ownClient })
  assert.equal(client.status, 201, client.text)
  await admin.post('/api/v0/users', { name: 'own-2', access_token: own.ownUser })
  const rotated = await admin.put('/api/v0/users/user', {})
  await useEverything(t, { url: gateway.url, admin, client: gateway.cliAll, nobody: gateway.as() }, secrets)
  await gateway.cliA.modern('tools/call', { name: 'beta__echo', arguments: { text: secrets.argument } })
  await gateway.cliA.get('/api/v0/servers')
  await admin.remove('/api/v0/clients/own')
  return { gateway, tokens: { ...tokens, ...own, rotated: rotated.body.access_token as string } }
}

const options = { skip }

test('SE-07 SE-04 SE-09 in enterprise mode no secret is logged, counted or stored readable', options, async (t) => {
  const secrets = makeSecrets()
  const { gateway, tokens } = await startWithSecrets(t, secrets)
  const all = { ...secrets, ...tokens }
  const refusals = await until('the refusals to be stored', async () => {
    const { body } = await gateway.admin.get('/api/v0/audit?outcome=refused')
    return body.entries.length >= 4 && body.entries
  })
  assert.ok(
    refusals.some(
      (entry: { action: string; actor: string }) => entry.action === 'tool.refused' && entry.actor === 'cli-a'
    )
  )
  const audit = await gateway.admin.get('/api/v0/audit?limit=500')
  assert.deepEqual(leaks(audit.text, all), [])

  const metrics = await gateway.as().get('/metrics')
  for (const told of [
    'towpath_tool_calls_total{mcp_server_name="alpha",tool_name="echo",outcome="ok"}',
    'towpath_tool_calls_total{mcp_server_name="alpha",tool_name="fail",outcome="tool_error"}',
    'towpath_tool_calls_total{mcp_server_name="other",tool_name="other",outcome="refused"}',
    'towpath_upstream_failures_total{mcp_server_name="alpha"',
    'towpath_database_pool{state="size"}',
    'towpath_http_request_duration_seconds_count{method="GET",route="other",status="4xx"}'
  ]) {
    assert.ok(metrics.text.includes(told), `${told} is not in ${metrics.text}`)
  }
  assert.deepEqual(leaks(metrics.text, { ...all, address: gateway.url, program: root }), [])
  // names are for administrators only
  assert.doesNotMatch(metrics.text, /cli-a|SENT|target_info|host_|127\.0\.0\.1|none__|nowhere/)

  const dump = await dumpOf(gateway.place.databaseUrl!)
  assert.ok(dump.includes('INSERT INTO public.servers') && dump.includes('INSERT INTO public.audit_log'))
  const { name: _name, ...confidential } = all
  assert.deepEqual(leaks(dump, confidential), [])
  assert.equal(await gateway.stop(), 0)
  assert.match(gateway.output(), /"level":20|"level":30/)
  assert.deepEqual(leaks(gateway.output(), all), [], gateway.output())
})

test('SE-07 in development mode no secret is logged, whatever is done', async (t) => {
  const secrets = makeSecrets()
  const gateway = await startGateway(t, { env: debug })
  const anybody = actorAt(t, gateway.url)
  await useEverything(t, { url: gateway.url, admin: anybody, client: anybody, nobody: anybody }, secrets)
  assert.equal(await gateway.stop(), 0)
  assert.deepEqual(leaks(gateway.output(), secrets), [], gateway.output())
})

test('SE-03 an administrator gets every configuration as it was given, and no one else does', options, async (t) => {
  const secrets = makeSecrets()
  const gateway = await startEnterprise(t)
  const credentials = { bearer_token: secrets.bearer, headers: { 'X-Key': secrets.header } }
  const { url } = await addUpstream(t, gateway, 'alpha', {}, credentials)
  const child = { ...stdio('child', 'good.mjs', secrets), session_mode: 'stateful' }
  await gateway.register(child)
  const answer = await gateway.admin.get('/api/v0/server_configs')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.deepEqual(answer.body, [
    { name: 'alpha', transport: 'streamable_http', session_mode: 'stateless', url, ...credentials },
    child
  ])
  for (const config of answer.body) {
    assert.equal((await gateway.admin.post('/api/v0/servers?force=true', config)).status, 201)
  }
  assert.deepEqual((await gateway.admin.get('/api/v0/server_configs')).body, answer.body)
  for (const actor of [gateway.user, gateway.cliAll, gateway.as()]) {
    const refused = await actor.get('/api/v0/server_configs')
    assert.ok([401, 403].includes(refused.status))
    assert.deepEqual(leaks(refused.text, secrets), [])
  }
  const { entries } = (await gateway.admin.get('/api/v0/audit?action=server_configs.read')).body
  assert.deepEqual(
    entries.map((entry: Record<string, unknown>) => [entry.actor_kind, entry.actor, entry.address, entry.outcome]),
    Array(2).fill(['admin', 'admin', '127.0.0.1', 'ok'])
  )
})

/** Returns a dump of the database, as a thief of a backup would have it. */
async function dumpOf(databaseUrl: string): Promise<string> {
  const folder = '/usr/lib/postgresql'
  const versions = (await readdir(folder).catch(() => [])).sort((a, b) => Number(b) - Number(a))
  const command = versions[0] ? join(folder, versions[0], 'bin/pg_dump') : 'pg_dump'
  const { stdout } = await promisify(execFile)(command, ['--inserts', databaseUrl], { maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
