import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { commandLine, type CommandLine } from './cli.ts'
import { clientRecord, skip, startEmpty, startEnterprise, userRecord } from './enterprise.ts'
import { startGateway } from './harness.ts'

const configOf = async ({ home }: CommandLine) => parse(await readFile(join(home, '.towpath.conf'), 'utf8'))

test('an enterprise gateway is initialised, filled and used, each by the one who may', { skip }, async (t) => {
  const gateway = await startEmpty(t)
  const recorder = await startRecorder(null, { name: 'alpha' })
  addCleanup(t, recorder.close)
  const admin = await commandLine(t)
  const user = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const path = join(admin.home, '.towpath.conf')
  await writeFile(path, '# kept\nother: 1\n', { mode: 0o600 })

  const early = await admin(['list', 'servers', '--registry', gateway.url])
  assert.equal(early.code, 4)
  assert.match(early.err, /hint: create the first administrator with `towpath init-server`/)
  assert.equal((await admin(['status', '--json', '--registry', gateway.url])).json.initialized, false)

  const initialised = await admin(['init-server', '--json', '--registry', gateway.url])
  assert.deepEqual(initialised.json, { status: 'initialized', config: path })
  const kept = await configOf(admin)
  assert.deepEqual([kept.other, kept.registry_url], [1, gateway.url])
  assert.match(kept.access_token, /^twp_/)
  assert.ok(!`${initialised.out}${initialised.err}`.includes(kept.access_token))
  assert.match(await readFile(path, 'utf8'), /^# kept/)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.equal((await admin(['init-server'])).code, 5)
  const me = (await admin(['status', '--json', '-v'])).json
  assert.deepEqual([me.mode, me.name, me.role, me.users], ['enterprise', 'admin', 'admin', 1])

  assert.equal((await admin(['register', 'alpha', '--url', recorder.url])).code, 0)
  const file = join(admin.home, 'principal.json')
  await writeFile(join(admin.home, 'token'), `${'f'.repeat(20)}\n`)
  await writeFile(
    file,
    JSON.stringify({ name: 'ci', allowed_servers: ['alpha'], access_token_ref: { file: join(admin.home, 'token') } })
  )
  const client = await admin(['create', 'mcp-client', '-c', file, '--json'])
  assert.deepEqual(client.json, clientRecord('ci', ['alpha']), client.err)
  await writeFile(file, JSON.stringify({ name: 'env', access_token_ref: { env: 'CLIENT_TOKEN' } }))
  assert.equal((await admin(['create', 'mcp-client', '-c', file])).code, 2)
  assert.equal((await admin(['create', 'mcp-client', '-c', file], { env: { CLIENT_TOKEN: 'e'.repeat(20) } })).code, 0)
  await writeFile(file, JSON.stringify({ name: 'none' }))
  assert.match((await admin(['create', 'user', '-c', file])).err, /has no token/)
  const made = await admin(['create', 'mcp-client', 'made', '--allow', 'alpha, beta', '--json'])
  assert.match(made.json.access_token, /^twp_/)
  assert.deepEqual(made.json.allowed_servers, ['alpha', 'beta'])
  assert.equal((await admin(['update', 'mcp-client', 'made', '--allow', '*'])).code, 0)
  assert.deepEqual((await admin(['get', 'mcp-client', 'made', '--json'])).json.allowed_servers, ['*'])
  assert.equal((await admin(['list', 'mcp-clients', '-o', 'name'])).out, 'ci\nenv\nmade\n')
  const set = { keys: [generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })] }
  await writeFile(file, JSON.stringify(set))
  assert.deepEqual((await admin(['update', 'mcp-client', 'made', '--jwks', file, '--json'])).json.jwks, set)
  const jwks_uri = 'https://keys.example/set'
  assert.equal(
    (await admin(['update', 'mcp-client', 'made', '--jwks-uri', jwks_uri, '--json'])).json.jwks_uri,
    jwks_uri
  )
  const bare = (await admin(['update', 'mcp-client', 'made', '--no-jwks', '--json'])).json
  assert.deepEqual([bare.jwks, bare.jwks_uri], [undefined, undefined])
  assert.equal((await admin(['delete', 'mcp-client', 'env'])).code, 0)
  assert.equal((await admin(['delete', 'mcp-client', 'mad'])).code, 3)

  const created = await admin(['create', 'user', 'dev', '--access-token-stdin', '--json'], { input: 'd'.repeat(20) })
  assert.deepEqual(created.json, userRecord('dev'))
  const details = { source: 'static', groups: [], teams: [], role_reason: 'manual' }
  assert.deepEqual((await admin(['get', 'user', 'dev', '--json'])).json, { ...userRecord('dev'), ...details })
  assert.equal((await admin(['get', 'user', 'dve'])).code, 3)

  assert.equal((await user(['list', 'tools'])).code, 4)
  const wrong = await user(['login', '--token-stdin'], { input: 'w'.repeat(20) })
  assert.equal(wrong.code, 4)
  await assert.rejects(configOf(user), /ENOENT/)
  const signedIn = await user(['login', '--token-stdin', '--json'], { input: `${'d'.repeat(20)}\n` })
  assert.deepEqual(signedIn.json, userRecord('dev'), signedIn.err)
  assert.deepEqual(await configOf(user), { access_token: 'd'.repeat(20) })
  assert.equal((await user(['invoke', 'alpha__echo'])).code, 0)
  assert.equal((await user(['disable', 'server', 'alpha'])).code, 4)
  assert.equal((await user(['audit'])).code, 4)
  const status = (await user(['status', '--json'])).json
  assert.deepEqual([status.role, status.servers, status.users], ['user', 1, undefined])

  const rotated = await admin(['update', 'user', 'dev', '--json'])
  assert.match(rotated.json.access_token, /^twp_/)
  assert.equal((await user(['list', 'tools'])).code, 4)
  const argued = await user(['login', rotated.json.access_token])
  assert.match(argued.err, /^warning: a secret on the command line/)
  assert.ok(!argued.err.includes(rotated.json.access_token))
  assert.equal((await user(['list', 'tools', '-o', 'name'])).out.split('\n').length, 5)

  const audit = await admin(['audit', '--action', 'server.create', '--json'])
  assert.deepEqual(
    audit.json.entries.map(({ target }: { target: string }) => target),
    ['alpha']
  )
  assert.match((await admin(['audit', '--limit', '1'])).err, /more entries: --before \d+/)
  const keys = await admin(['keys', 'rotate', '--json'])
  assert.deepEqual([keys.code, keys.json.remaining, keys.json.unreadable], [0, 0, 0])

  assert.equal((await user(['logout'])).code, 0)
  assert.deepEqual(await configOf(user), {})
  assert.equal((await user(['list', 'tools'])).code, 4)
  assert.equal((await admin(['delete', 'user', 'dev'])).code, 0)
  assert.equal((await admin(['delete', 'user', 'admin'])).code, 5)
})

test('doctor fails when a server fails, lists only that, and leaves no rows in the audit log', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const recorder = await startRecorder(null, { name: 'alpha' })
  const admin = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: gateway.tokens.admin })
  const user = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: gateway.tokens.user })
  assert.equal((await admin(['register', 'alpha', '--url', recorder.url])).code, 0)
  const rows = async () => (await admin(['audit', '--json'])).json.entries.length as number
  const before = await rows()
  const healthy = await admin(['doctor'])
  assert.equal(healthy.code, 0, healthy.out + healthy.err)
  await recorder.close()
  assert.notEqual((await admin(['test', 'alpha'])).code, 0)
  const contacts = await rows()
  // at the moment of another attempt the server is connecting
  let broken = await admin(['doctor'])
  await until('doctor to fail', async () => {
    if (broken.code !== 1) broken = await admin(['doctor'])
    return broken.code === 1
  })
  assert.match(broken.out, /^STATUS +CHECK +FINDING\nFAIL +server:alpha +alpha is failing: /)
  assert.match(broken.err, /1 failed/)
  assert.ok(contacts > before)
  assert.equal(await rows(), contacts)

  const [seen] = (await user(['list', 'servers', '--json'])).json as { health: object }[]
  assert.deepEqual(Object.keys(seen!.health).toSorted(), [
    'prompt_count',
    'resource_count',
    'since',
    'skill_count',
    'status',
    'tool_count'
  ])
  const [known] = (await admin(['list', 'servers', '--json'])).json as { health: { last_error: string } }[]
  assert.match(known!.health.last_error, /refused|closed|fetch failed|reach/)
})

test('doctor leaves no rows in the audit log of a development gateway', async (t) => {
  const gateway = await startGateway(t)
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  assert.equal((await cli(['doctor'])).code, 0)
  assert.equal((await cli(['status'])).code, 0)
  assert.deepEqual((await gateway.get('/api/v0/audit')).body.entries, [])
})
