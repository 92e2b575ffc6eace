import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../../src/app.ts'
import type { AuditEntry } from '../../src/registry/model/model.ts'
import { freshConfig, register, startApp, stdioServer } from '../app.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { engines, addCleanup, tempDir } from '../store.ts'
import { cellsOf, someFor } from '../matrix.ts'
import { until } from '../until.ts'
import { beginWith, complete, registration, setUp } from './oauth-helpers.ts'

const token = 'administrator-token-of-these-tests'
const modes = {
  development: {},
  enterprise: {
    SERVER_MODE: 'enterprise',
    TOWPATH_ADMIN_TOKEN: token,
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
  }
}
type Mode = keyof typeof modes

const ask = async (app: FastifyInstance, method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) => {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await app.inject({ method, url, headers, remoteAddress: '192.0.2.9', ...(payload && { payload }) })
  return { status: answer.statusCode, text: answer.body, id: answer.headers['x-request-id'] as string | undefined }
}
/** Returns the two newest rows about a target: the attempt, then its outcome. */
async function rowsOf(app: FastifyInstance, target: string): Promise<AuditEntry[]> {
  const { status, text } = await ask(app, 'GET', `/api/v0/audit?target=${target}`)
  assert.equal(status, 200, text)
  const { entries } = JSON.parse(text) as { entries: AuditEntry[] }
  return entries.toReversed()
}
const ofContacts = (entries: readonly AuditEntry[]) =>
  entries.filter(({ action }) => /^server\.(attempt|contact)$/.test(action))

/** Starts an HTTP server that counts requests and answers nothing useful. */
async function startListener(t: TestContext) {
  const listener = { requests: 0, url: '' }
  const server = createServer((_request, response) => {
    listener.requests++
    response.writeHead(500).end('no')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  addCleanup(t, () => new Promise((resolve) => server.close(resolve)))
  listener.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return listener
}

/** Returns a failing server for a transport, with a check if it was run or contacted. */
async function failingServer(t: TestContext, transport: string, name: string) {
  if (transport === 'stdio') {
    const marker = join(await tempDir(t), 'ran')
    const args = ['-c', 'touch "$0"; exit 3', marker]
    return { server: { name, transport, command: '/bin/sh', args }, wasReached: () => existsSync(marker) }
  }
  const listener = await startListener(t)
  return {
    server: { name, transport, url: `${listener.url}?api_key=SENTINEL-1` },
    wasReached: () => listener.requests > 0
  }
}

interface Way {
  readonly purpose: string
  readonly modes: readonly Mode[]
  /** True if a working server of that name must exist before. */
  readonly replaces?: true
  readonly go: (app: FastifyInstance, server: { name: string }) => ReturnType<typeof ask>
}
const both = ['development', 'enterprise'] as const
const ways: Readonly<Record<string, Way>> = {
  'POST /api/v0/servers': {
    purpose: 'server.create',
    modes: both,
    go: (app, server) => ask(app, 'POST', '/api/v0/servers', server)
  },
  'POST /api/v0/servers?force=true': {
    purpose: 'server.force',
    modes: both,
    go: (app, server) => ask(app, 'POST', '/api/v0/servers?force=true', server)
  },
  'PUT /api/v0/servers/:name': {
    purpose: 'server.replace',
    modes: both,
    replaces: true,
    go: (app, server) => ask(app, 'PUT', `/api/v0/servers/${server.name}`, server)
  },
  'POST /api/dashboard/servers': {
    purpose: 'server.create',
    modes: ['development'],
    go: (app, server) => ask(app, 'POST', '/api/dashboard/servers', server)
  },
  'POST /api/dashboard/servers?dry_run=true': {
    purpose: 'server.dry_run',
    modes: ['development'],
    go: (app, server) => ask(app, 'POST', '/api/dashboard/servers?dry_run=true', server)
  },
  'PUT /api/dashboard/servers/:name': {
    purpose: 'server.replace',
    modes: ['development'],
    replaces: true,
    go: (app, { name, ...server }) => ask(app, 'PUT', `/api/dashboard/servers/${name}`, server)
  },
  'POST /api/dashboard/servers/import': {
    purpose: 'server.create',
    modes: ['development'],
    go: (app, { name, ...server }) =>
      ask(app, 'POST', '/api/dashboard/servers/import', {
        configuration: JSON.stringify({ mcpServers: { [name]: server } })
      })
  }
}

for (const [way, { purpose, modes: inModes, replaces, go }] of Object.entries(ways)) {
  for (const [transport, mode] of cellsOf(['stdio', 'streamable_http', 'sse'], inModes)) {
    const engine = engines[(way.length + transport.length + mode.length) % engines.length]!
    test(`SR-H4 ${way} leaves an attempt and its outcome, ${transport}, ${mode} mode (${engine})`, async (t) => {
      const app = await startApp(t, { engine, env: modes[mode] })
      if (replaces) {
        const made = await ask(app, 'POST', '/api/v0/servers', stdioServer('fd'))
        assert.equal(made.status, 201, made.text)
      }
      const { server, wasReached } = await failingServer(t, transport, 'fd')
      const answer = await go(app, server)
      assert.ok(wasReached(), answer.text)

      const [attempt, outcome] = ofContacts(await rowsOf(app, 'fd')).slice(-2) as [AuditEntry, AuditEntry]
      assert.deepEqual(
        [attempt?.action, attempt?.outcome, outcome?.action, outcome?.outcome],
        ['server.attempt', 'begun', 'server.contact', 'failed']
      )
      const kind = mode === 'development' ? 'development' : 'admin'
      for (const row of [attempt, outcome]) {
        assert.deepEqual([row.actor_kind, row.actor, row.address], [kind, kind, '192.0.2.9'])
        assert.equal(row.purpose, purpose)
        assert.match(row.fingerprint!, /^[0-9a-f]{64}$/)
        assert.ok(row.request_id)
      }
      assert.equal(outcome.attempt, attempt.id)
      assert.equal(outcome.request_id, attempt.request_id)
      assert.equal(outcome.fingerprint, attempt.fingerprint)
      assert.match(outcome.failure!, /^(crashed|bad_response|unreachable)$/)
      assert.ok(outcome.reason && outcome.duration_ms! >= 0)
      assert.equal(attempt.after?.transport, transport)
      const reached = 'url' in server ? server.url.replace('SENTINEL-1', '***') : server.command
      assert.equal(attempt.after.url ?? attempt.after.command, reached)
      assert.doesNotMatch(JSON.stringify([attempt, outcome]), /SENTINEL/)
    })
  }
}

for (const engine of someFor('attempts', engines)) {
  test(`SR-H4 re-reading and testing a registered server leave rows of both results (${engine})`, async (t) => {
    const app = await startApp(t, { engine })
    await register(app, stdioServer('fd'))
    for (const url of ['/api/v0/servers/fd/refresh', '/api/dashboard/servers/fd/test']) {
      const { status, text } = await ask(app, 'POST', url)
      assert.equal(status, 200, text)
    }
    const rows = ofContacts(await rowsOf(app, 'fd'))
    assert.deepEqual(
      rows.map(({ purpose, outcome }) => `${purpose} ${outcome}`),
      ['server.create', 'server.refresh', 'server.test'].flatMap((purpose) => [`${purpose} begun`, `${purpose} ok`])
    )
    assert.equal(new Set(rows.map(({ fingerprint }) => fingerprint)).size, 1)
  })

  test(`SR-H4 what the settings forbid is an attempt that was refused (${engine})`, async (t) => {
    const app = await startApp(t, { engine, env: { TOWPATH_STDIO: 'off' } })
    await ask(app, 'POST', '/api/v0/servers', stdioServer('fd'))
    const [attempt, outcome] = ofContacts(await rowsOf(app, 'fd')) as [AuditEntry, AuditEntry]
    assert.deepEqual([attempt.outcome, outcome.outcome, outcome.failure], ['begun', 'refused', 'denied'])
  })
}

test('SR-H4 a sign-in leaves rows when authorization servers are contacted, begun and completed', async (t) => {
  const setup = await setUp(t)
  const begun = await beginWith(setup.app, registration(setup.upstream))
  const first = ofContacts(await rowsOf(setup.app, 'guarded'))
  assert.deepEqual(
    first.map(({ purpose, outcome, failure }) => [purpose, outcome, failure]),
    [
      ['server.create', 'begun', undefined],
      ['server.create', 'failed', 'auth'],
      ['upstream_oauth.begin', 'begun', undefined],
      ['upstream_oauth.begin', 'ok', undefined]
    ]
  )
  assert.equal((await complete(setup, begun)).status, 201)
  const rows = ofContacts(await rowsOf(setup.app, 'guarded')).slice(4)
  assert.deepEqual(
    rows.map(({ purpose, outcome }) => `${purpose} ${outcome}`),
    ['upstream_oauth.complete begun', 'upstream_oauth.complete ok']
  )
})

test('SR-H4 a fingerprint is the same for the same launch, whatever its name, and cannot be computed by others', async (t) => {
  const shared = { ...modes.enterprise }
  const start = (env: object) => startApp(t, { env: { ...env } })
  const app = await start(shared)
  const base = { transport: 'stdio', command: '/bin/false', args: ['a', 'b'], env: { A: '1', B: '2' } }
  const fingerprint = async (on: FastifyInstance, config: object) => {
    const name = `s${Math.random().toString(36).slice(2)}`
    await ask(on, 'POST', '/api/v0/servers', { name, ...config })
    return (await rowsOf(on, name))[0]!.fingerprint
  }
  const first = await fingerprint(app, base)
  assert.equal(await fingerprint(app, base), first)
  assert.equal(await fingerprint(app, { ...base, env: { B: '2', A: '1' } }), first)
  const others = [
    { ...base, command: '/bin/true' },
    { ...base, args: ['ab'] },
    { ...base, args: ['b', 'a'] },
    { ...base, env: { A: '1', B: '3' } },
    { ...base, env: { A: '1' } }
  ]
  for (const other of others) assert.notEqual(await fingerprint(app, other), first, JSON.stringify(other))
  const elsewhere = await start({ ...shared, TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64') })
  assert.notEqual(await fingerprint(elsewhere, base), first)
})

const skip = engines.includes('postgres') ? false : 'needs PostgreSQL'
for (const [mode, env] of Object.entries(modes)) {
  test(
    `SR-H4 while the audit log cannot be written nothing is contacted or started (${mode} mode)`,
    { skip },
    async (t) => {
      const direct = await freshConfig(t, { ...env, TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '1000' }, 'postgres')
      const proxy = await startFaultProxy(direct.databaseUrl!)
      addCleanup(t, proxy.close)
      const databaseUrl = proxy.urlOf(direct.databaseUrl!)
      const app = await buildApp({ ...direct, databaseUrl, directDatabaseUrl: databaseUrl })
      addCleanup(t, () => app.close())
      await app.ready()
      await until('the gateway is ready', async () => (await app.inject('/ready')).statusCode === 200)
      const made = await ask(app, 'POST', '/api/v0/servers', stdioServer('known'))
      assert.equal(made.status, 201, made.text)
      await proxy.cut()
      for (const transport of ['stdio', 'streamable_http', 'sse']) {
        for (const [way, { go, modes: inModes, replaces }] of Object.entries(ways)) {
          if (!(inModes as readonly string[]).includes(mode)) continue
          const { server, wasReached } = await failingServer(t, transport, replaces ? 'known' : 'fd')
          const { status, text } = await go(app, server)
          assert.ok(!wasReached(), `${way} ${transport}`)
          if (!way.endsWith('import')) assert.equal(status, 503, `${way}: ${text}`)
        }
      }
      const refreshed = await ask(app, 'POST', '/api/v0/servers/known/refresh')
      assert.equal(refreshed.status, 503, refreshed.text)
      await proxy.mend()
    }
  )
}

test('SR-H4 the line about a started process names its server, its actor and its request', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  const app = await startApp(t, { log })
  const server = stdioServer('fd')
  await register(app, { ...server, args: [...server.args, '--api-key=SENTINEL-1', '--token', 'SENTINEL-2'] })
  const begun = (await rowsOf(app, 'fd'))[0]!
  const started = () => lines.filter(({ msg }) => msg === 'process started')
  for (const line of started()) {
    assert.deepEqual([line['server'], line['actor'], line['request_id']], ['fd', 'development', begun.request_id])
  }
  const before = started().length
  assert.ok(before > 0)
  await app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name: 'fd__echo', text: 'hi' } })
  await until(
    'the call is logged',
    async () => (await app.inject('/api/v0/calls')).json<{ calls: object[] }>().calls.length > 0
  )
  const [{ request_id }] = (await app.inject('/api/v0/calls')).json<{ calls: [{ request_id: string }] }>().calls
  const line = started()[before]!
  assert.deepEqual([line['server'], line['actor'], line['request_id']], ['fd', 'development', request_id])
  assert.equal((line['args'] as string[]).at(-1), '***')
  assert.doesNotMatch(JSON.stringify(lines), /SENTINEL/)
})
