import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { openStore } from '../../src/registry/store/store.ts'
import { freshConfig, openApp } from '../app.ts'
import { createRecorder } from '../fixtures/http/recorder.ts'
import { startHttp } from '../fixtures/http/server.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { engines, freshPlace, addCleanup, startRegistry, tempDir, type Engine, type StoreLocation } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { until } from '../until.ts'
import { change, follow, httpServer, offerOf } from './registry-helpers.ts'
import { cellsOf, someFor } from '../matrix.ts'

const admin = 'twp_SENTINEL-of-the-administrator'
const drawn = '8f14e45fceea167a5a36dedd4bea2543'
/** Each is searched in plain text, percent-encoded and base64 form. */
const sentinels = [
  'URLKEY-SENT/77',
  'BARE-SENT-66',
  drawn,
  'ARGKEY-SENT-88',
  'ARGTOK-SENT-99',
  'DBPASS-SENT-55',
  'HEADER-SENT-44'
]

const formsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -1)
]
const leaks = (text: string) => sentinels.filter((secret) => formsOf(secret).some((form) => text.includes(form)))

/** Returns every table as text, as in a database dump. */
async function dump(place: StoreLocation): Promise<string> {
  const store = await openStore({ ...limits, ...quiet, ...place })
  try {
    const tables = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = 'public'`.execute(store.db)
    const texts = await Promise.all(
      tables.rows.map(async ({ name }) => {
        const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.table(name)} t`.execute(store.db)
        return rows.map(({ text }) => text).join('\n')
      })
    )
    return texts.join('\n')
  } finally {
    await store.close()
  }
}

interface Upstreams {
  readonly http: string
  readonly sse: string
  /** Returns the requested paths with their queries. */
  paths(): string[]
  close(): Promise<unknown>
}

async function startUpstreams(t: TestContext): Promise<Upstreams> {
  const recorder = createRecorder({})
  const http = await startHttp((request, response) => recorder.handle(request, response))
  const sse = await startSse(null)
  const close = () => Promise.all([http.close(), sse.close()])
  addCleanup(t, close)
  return {
    http: http.origin,
    sse: new URL(sse.url).origin,
    paths: () => [...http.requests, ...sse.requests].map(({ path }) => path),
    close
  }
}

const good = fileURLToPath(new URL('../fixtures/stdio/good.mjs', import.meta.url))
const secretArgs = [
  '--api-key=ARGKEY-SENT-88',
  '--token',
  'ARGTOK-SENT-99',
  'postgres://user:DBPASS-SENT-55@db.example/x',
  '--header',
  'X-Any: HEADER-SENT-44',
  '--port=80'
]
const shownArgs = ['--api-key=***', '--token', '***', 'postgres://***', '--header', 'X-Any: ***', '--port=80']
/** Returns a server that first writes its arguments to a file. */
const recorded = (file: string) => ['-c', `printf '%s\\n' "$@" > '${file}'; exec '${process.execPath}' '${good}'`, 'sh']
const query = 'api_key=URLKEY-SENT%2F77&BARE-SENT-66'

/** Registrations with secrets on every transport, and their displayed form. */
const serversAt = ({ http, sse }: Upstreams, file: string) => [
  {
    given: { name: 'http', transport: 'streamable_http', url: `${http}/mcp/${drawn}?${query}` },
    shown: { url: `${http}/mcp/***?api_key=***&***` }
  },
  {
    given: { name: 'sse', transport: 'sse', url: `${sse}/sse?${query}` },
    shown: { url: `${sse}/sse?api_key=***&***` }
  },
  {
    given: { name: 'stdio', transport: 'stdio', command: '/bin/sh', args: [...recorded(file), ...secretArgs] },
    shown: { args: [...recorded(file), ...shownArgs] }
  }
]

const caller =
  (app: FastifyInstance, token?: string) => async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await app.inject({ method, url, headers, ...(payload ? { payload } : {}) })
    // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
    return {
      status: answer.statusCode,
      text: answer.body,
      body: (answer.body === '' ? undefined : JSON.parse(answer.body)) as any
    }
  }

async function start(t: TestContext, mode: string, engine: Engine) {
  const logged: string[] = []
  const env =
    mode === 'enterprise'
      ? {
          SERVER_MODE: mode,
          TOWPATH_ADMIN_TOKEN: admin,
          TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
        }
      : {}
  const config = await freshConfig(t, { ...env, TOWPATH_LOG_LEVEL: 'debug', OTEL_ENABLED: 'true' }, engine)
  const open = async () => {
    const app = await openApp(config, { log: { write: (line) => void logged.push(line) } })
    addCleanup(t, () => app.close())
    return app
  }
  return {
    config,
    logged,
    open,
    place: { dataDir: config.dataDir, ...(config.databaseUrl === undefined ? {} : { databaseUrl: config.databaseUrl }) }
  }
}

const echo = (name: string) => ({ name: `${name}__echo`, text: 'hello' })

for (const [engine, mode] of cellsOf(engines, ['development', 'enterprise'])) {
  test(`SR-M1 CR-A1 secrets in URLs and arguments are used, and shown and stored nowhere but in server_configs (${mode}, ${engine})`, async (t) => {
    const upstreams = await startUpstreams(t)
    const file = join(await tempDir(t), 'arguments')
    const servers = serversAt(upstreams, file)
    const { logged, open, place } = await start(t, mode, engine)
    let app = await open()
    const token = mode === 'enterprise' ? admin : undefined
    let ask = caller(app, token)
    const shows = (text: string) => assert.deepEqual(leaks(text), [], text.slice(0, 2_000))
    for (const { given, shown } of servers) {
      const { status, body, text } = await ask('POST', '/api/v0/servers', given)
      assert.equal(status, 201, text)
      assert.deepEqual({ ...body, ...shown }, body)
      shows(text)
    }
    const readers = [ask]
    if (mode === 'enterprise') {
      const { body } = await ask('POST', '/api/v0/users', { name: 'reader', role: 'user' })
      readers.push(caller(app, body.access_token))
    }
    for (const read of readers) {
      const { body, text } = await read('GET', '/api/v0/servers')
      shows(text)
      for (const { given, shown } of servers) {
        const found = body.find(({ name }: { name: string }) => name === given.name)
        assert.deepEqual({ ...found, ...shown }, found)
        const one = await read('GET', `/api/v0/servers/${given.name}`)
        assert.deepEqual(one.body, found)
      }
    }
    // the configuration shown to administrators can be registered again with the same meaning
    const configs = (await ask('GET', '/api/v0/server_configs')).body as (typeof servers)[number]['given'][]
    for (const { given } of servers) {
      const config = configs.find(({ name }) => name === given.name)!
      assert.deepEqual({ ...config, ...given }, config)
      for (const [method, path] of [
        ['PUT', `/api/v0/servers/${given.name}`],
        ['POST', '/api/v0/servers?force=true']
      ] as const) {
        const again = await ask(method, path, config)
        assert.ok([200, 201].includes(again.status), again.text)
        shows(again.text)
      }
      assert.equal((await ask('POST', '/api/v0/tools/invoke', echo(given.name))).status, 200)
    }
    assert.deepEqual((await ask('GET', '/api/v0/server_configs')).body, configs)
    await app.close()
    shows(await dump(place))

    app = await open()
    ask = caller(app, token)
    const count = (path: string) => upstreams.paths().filter((asked) => asked === path).length
    const wanted = [`/mcp/${drawn}?${query}`, `/sse?${query}`]
    const before = wanted.map(count)
    for (const { given } of servers) {
      assert.equal((await ask('POST', '/api/v0/tools/invoke', echo(given.name))).status, 200)
    }
    wanted.forEach((path, index) => assert.ok(count(path) > before[index]!, path))
    // a process that is started ahead of its call empties the file before it writes
    const written = async () => (await readFile(file, 'utf8')).split('\n').slice(0, -1)
    await until('the arguments', async () => isDeepStrictEqual(await written(), secretArgs))

    await upstreams.close()
    for (const { given } of servers) {
      for (const [path, payload] of [
        ['/api/v0/tools/invoke', echo(given.name)],
        [`/api/v0/servers/${given.name}/refresh`, undefined],
        ['/api/v0/servers?force=true', { ...given, command: '/nowhere/ARGKEY-SENT-88' }]
      ] as const)
        shows((await ask('POST', path, payload)).text.replaceAll('/nowhere/ARGKEY-SENT-88', ''))
    }
    const pages = ['/api/v0/audit', '/api/v0/calls', '/api/v0/calls/causes', '/api/v0/stats', '/metrics']
    const own = ['servers', 'servers/http', 'servers/sse', 'servers/stdio', 'overview', 'diagnostics'].map(
      (page) => `/api/dashboard/${page}`
    )
    for (const url of [...pages, ...(mode === 'development' ? own : [])]) {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const answer = await app.inject({ url, headers })
      assert.equal(answer.statusCode, 200, `${url} ${answer.body}`)
      // the attempt names the command, which must not contain secrets
      shows(answer.body.replaceAll('"command":"/nowhere/ARGKEY-SENT-88"', ''))
    }
    await app.close()
    shows(logged.join('').replaceAll('/nowhere/ARGKEY-SENT-88', ''))
    shows((await dump(place)).replaceAll('/nowhere/ARGKEY-SENT-88', ''))
  })
}

test('SR-M1 what a listing shows cannot be stored in the place of the secret, on any transport and route', async (t) => {
  const upstreams = await startUpstreams(t)
  const { open } = await start(t, 'development', engines.at(-1)!)
  const ask = caller(await open())
  for (const { given, shown } of serversAt(upstreams, join(await tempDir(t), 'arguments'))) {
    assert.equal((await ask('POST', '/api/v0/servers', given)).status, 201)
    const masked = { ...given, ...shown }
    const before = (await ask('GET', '/api/v0/server_configs')).text
    for (const [method, path] of [
      ['PUT', `/api/v0/servers/${given.name}`],
      ['POST', '/api/v0/servers?force=true'],
      ['POST', '/api/dashboard/servers?dry_run=true']
    ] as const) {
      const { status, body } = await ask(method, path, masked)
      assert.equal(status, 400, path)
      assert.match(body.error, /^"(?:url|args)" contains the mask "\*\*\*" instead of a secret/)
    }
    assert.equal((await ask('GET', '/api/v0/server_configs')).text, before)
    // the dashboard keeps values that it does not show
    const kept = given.transport === 'stdio' ? { command: '/bin/sh', args: null } : { url: null }
    const { status, text } = await ask('PUT', `/api/dashboard/servers/${given.name}`, {
      transport: given.transport,
      description: 'kept',
      ...kept
    })
    assert.equal(status, 200, text)
    const config = (await ask('GET', '/api/v0/server_configs')).body.find(
      ({ name }: { name: string }) => name === given.name
    )
    assert.deepEqual({ ...config, ...given }, config)
  }
  const env = await ask('POST', '/api/v0/servers', {
    name: 'env',
    transport: 'stdio',
    command: 'x',
    env: { KEY: '***' }
  })
  assert.deepEqual([env.status, /^"env" contains/.test(env.body.error)], [400, true])
})

/** Rewrites rows as version 0.1 wrote them: settings in plain text, only the rest encrypted. */
async function makeOld(t: TestContext, place: StoreLocation): Promise<void> {
  const registry = await startRegistry(t, place)
  const plain = { url: 'http://127.0.0.1:9/mcp', bearer_token: 'token' }
  for (const [name, more] of [
    ['http', {}],
    ['sse', { transport: 'sse' }],
    ['plain', {}]
  ] as const) {
    await registry.write(change('server.create', name), (tx) =>
      tx.servers.create(httpServer(name, { ...plain, ...more }), offerOf([]))
    )
  }
  const { url: _, ...stdio } = httpServer('stdio', { transport: 'stdio', command: 'run', args: ['x'] })
  await registry.write(change('server.create', 'stdio'), (tx) => tx.servers.create(stdio, offerOf([])))
  await registry.close()
  const store = await openStore({ ...limits, ...quiet, ...place })
  const url = `http://127.0.0.1:9/mcp/${drawn}?${query}`
  await sql`update servers set settings = ${JSON.stringify({ url })} where name in ('http', 'sse')`.execute(store.db)
  await sql`update servers set settings = ${JSON.stringify({ command: 'run', args: secretArgs })} where name = 'stdio'`.execute(
    store.db
  )
  await store.close()
}

for (const engine of someFor('old secrets', engines)) {
  test(`SR-M1 what version 0.1 stored readable is sealed at the first start, once, with a row in the audit log (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    await makeOld(t, place)
    assert.equal(leaks(await dump(place)).length, sentinels.length)
    const first = await startRegistry(t, place)
    const url = `http://127.0.0.1:9/mcp/${drawn}?${query}`
    const summary = (await first.configs()).map(({ name, url: to, args, bearer_token }) => [
      name,
      to ?? args,
      bearer_token
    ])
    const expected = [
      ['http', url, 'token'],
      ['plain', 'http://127.0.0.1:9/mcp', 'token'],
      ['sse', url, 'token'],
      ['stdio', secretArgs, undefined]
    ]
    assert.deepEqual(summary, expected)
    const { latest } = await follow(first)
    assert.deepEqual(leaks(JSON.stringify(latest())), [])
    const { version } = latest()
    await first.close()
    assert.deepEqual(leaks(await dump(place)), [])
    const second = await startRegistry(t, place)
    const rows = await second.audit({ action: 'server.seal', limit: 10 })
    assert.deepEqual(
      rows.map(({ actor_kind, after }) => [actor_kind, after]),
      [['system', { servers: ['http', 'sse', 'stdio'] }]]
    )
    assert.equal((await follow(second)).latest().version, version)
  })
}

test(
  'SR-M1 of replicas that start at once on a database of version 0.1 one seals, and all serve the same',
  { skip: !engines.includes('postgres') },
  async (t) => {
    const place = await freshPlace(t, 'postgres')
    await makeOld(t, place)
    const replicas = await Promise.all(Array.from({ length: 4 }, () => startRegistry(t, place)))
    const texts = await Promise.all(replicas.map(async (registry) => JSON.stringify(await registry.configs())))
    assert.equal(new Set(texts).size, 1)
    assert.equal(leaks(texts[0]!).length, sentinels.length)
    assert.equal((await replicas[0]!.audit({ action: 'server.seal', limit: 10 })).length, 1)
    const followers = await Promise.all(replicas.map((registry) => follow(registry)))
    await until(
      'all to have the same',
      () => new Set(followers.map(({ latest }) => JSON.stringify(latest().servers))).size === 1
    )
    await Promise.all(replicas.map((registry) => registry.close()))
    assert.deepEqual(leaks(await dump(place)), [])
  }
)

for (const engine of someFor('sealed secrets', engines)) {
  test(`SR-M1 a server whose secrets do not open stays as it is, and the start goes on (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    await makeOld(t, place)
    const store = await openStore({ ...limits, ...quiet, ...place })
    await sql`update servers set sealed = (select sealed from servers where name = 'plain') where name = 'http'`.execute(
      store.db
    )
    await store.close()
    const registry = await startRegistry(t, place)
    const { latest } = await follow(registry)
    const found = latest().servers.map(({ name, settings }) => [name, leaks(JSON.stringify(settings)).length > 0])
    assert.deepEqual(found, [
      ['http', true],
      ['plain', false],
      ['sse', false],
      ['stdio', false]
    ])
  })
}
