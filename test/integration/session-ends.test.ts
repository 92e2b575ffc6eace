import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import pg from 'pg'
import { openStore } from '../../src/registry/store/store.ts'
import { deleteExpired } from '../../src/registry/logs/expiry.ts'
import { createSessionEnds, sessionEndExpiry } from '../../src/registry/session-ends.ts'
import { freshConfig, openApp } from '../app.ts'
import { cellsOf } from '../matrix.ts'
import { engines, freshPlace, addCleanup } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { until } from '../until.ts'

const both = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const send = (app: FastifyInstance, url: string, method: string, params: object, headers: object = {}) =>
  app.inject({
    method: 'POST',
    url,
    headers: { ...both, ...headers },
    payload: { jsonrpc: '2.0', id: 1, method, params }
  })

async function initialize(app: FastifyInstance, url: string, headers: object) {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const answer = await send(app, url, 'initialize', params, headers)
  assert.equal(answer.statusCode, 200, answer.body)
  return { ...headers, 'mcp-session-id': String(answer.headers['mcp-session-id']) }
}
const ping = async (app: FastifyInstance, url: string, session: object) =>
  (await send(app, url, 'ping', {}, session)).statusCode
const end = (app: FastifyInstance, url: string, headers: object) =>
  app.inject({ method: 'DELETE', url, headers: { ...headers } })

const admin = 'twp_SENTINEL-of-the-administrator'
const key = { TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
const modes = {
  development: {},
  enterprise: { SERVER_MODE: 'enterprise', TOWPATH_ADMIN_TOKEN: admin, ...key }
}

for (const [engine, [mode, env]] of cellsOf(engines, Object.entries(modes))) {
  test(`SR-L2 a session that was deleted stays so after a restart, on each endpoint; others live on (${mode}, ${engine})`, async (t) => {
    const config = await freshConfig(t, env, engine)
    const open = async () => {
      const app = await openApp(config)
      addCleanup(t, () => app.close())
      return app
    }
    const first = await open()
    const asAdmin = mode === 'enterprise' ? { authorization: `Bearer ${admin}` } : {}
    const post = (url: string, payload: object) => first.inject({ method: 'POST', url, headers: asAdmin, payload })
    let headers = {}
    if (mode === 'enterprise') {
      const { access_token } = (await post('/api/v0/clients', { name: 'c', allowed_servers: ['*'] })).json()
      headers = { authorization: `Bearer ${access_token}` }
    }
    const group = (await post('/api/v0/tool-groups', { name: 'group' })).json()
    const urls = ['/mcp', new URL(group.streamable_http_endpoint).pathname]
    const sessions = await Promise.all(
      urls.map(async (url) => ({
        url,
        deleted: await initialize(first, url, headers),
        kept: await initialize(first, url, headers)
      }))
    )
    for (const { url, deleted } of sessions) assert.equal((await end(first, url, deleted)).statusCode, 200)
    await first.close()
    for (let restart = 0; restart < 2; restart++) {
      const app = await open()
      for (const { url, deleted, kept } of sessions) {
        assert.equal(await ping(app, url, deleted), 404)
        assert.equal(await ping(app, url, kept), 200)
        assert.equal((await end(app, url, deleted)).statusCode, 404)
      }
      await app.close()
    }
  })
}

for (const engine of engines) {
  test(`SR-L2 stored ends hold no id, go when the id expires, and are bounded for each principal (${engine})`, async (t) => {
    const store = await openStore({ ...limits, ...quiet, ...(await freshPlace(t, engine)) })
    addCleanup(t, () => store.close())
    const ends = createSessionEnds(store.db, false)
    const mark = (text: string) => Buffer.from(text.padEnd(32, '.')).toString('base64url')
    await ends.add({ mark: mark('old'), principal: 'a', expiresAt: Date.now() - 1_000 })
    await ends.add({ mark: mark('new'), principal: 'a', expiresAt: Date.now() + 3_600_000 })
    await ends.add({ mark: mark('new'), principal: 'a', expiresAt: Date.now() + 3_600_000 })
    assert.deepEqual(await ends.load(), [{ mark: mark('new'), principal: 'a' }])
    await sql`
      insert into session_ends select sha256(n::text::bytea), 'b', now() + n * interval '1 second', now() + interval '1 hour'
      from generate_series(1, 10500) n`.execute(store.db)
    await sql`
      insert into session_ends select sha256(('c' || n)::bytea), 'c', now() + n * interval '1 second', now() + interval '1 hour'
      from generate_series(1, 100500) n`.execute(store.db)
    const loaded = await ends.load()
    assert.equal(loaded.length, 100_000, 'no more are loaded')
    assert.equal(loaded[0]!.principal, 'a', 'of whoever has most the oldest are not')
    await sql`delete from session_ends where principal = 'c'`.execute(store.db)
    assert.equal(await deleteExpired(store.db, sessionEndExpiry), 501)
    const { rows } = await sql<{ principal: string; count: string }>`
      select principal, count(*) from session_ends group by principal order by principal`.execute(store.db)
    assert.deepEqual(
      rows.map(({ principal, count }) => [principal, Number(count)]),
      [
        ['a', 1],
        ['b', 10_000]
      ]
    )
  })
}

const skip = engines.includes('postgres') ? false : 'no PostgreSQL'

test('SR-L2 every replica knows of the end, those too that did not hear of it', { skip }, async (t) => {
  const config = await freshConfig(t, {}, 'postgres')
  const [one, two] = await Promise.all([openApp(config), openApp(config)])
  addCleanup(t, () => Promise.all([one.close(), two.close()]))
  const session = await initialize(one, '/mcp', {})
  assert.equal(await ping(two, '/mcp', session), 200)
  const other = await initialize(two, '/mcp', {})
  assert.equal((await end(one, '/mcp', session)).statusCode, 200)
  await until('the other replica to know', async () => (await ping(two, '/mcp', session)) === 404)
  // a lost notification: the change is stored while no client listens
  const client = new pg.Client({ connectionString: config.databaseUrl })
  await client.connect()
  addCleanup(t, () => client.end())
  const [claims, mark] = other['mcp-session-id'].split('.') as [string, string]
  const { p: principal } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { p: string }
  await client.query(
    "insert into session_ends (mark, principal, expires_at) values ($1, $2, now() + interval '1 hour')",
    [Buffer.from(mark, 'base64url'), principal]
  )
  assert.equal(await ping(two, '/mcp', other), 200)
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like '% listener' and datname = current_database()"
  )
  await until('listening to begin again', async () => (await ping(two, '/mcp', other)) === 404)
})

test('SR-L2 an end that cannot be stored is a 503, and the session lives on until it is', { skip }, async (t) => {
  const config = await freshConfig(t, { TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '1000' }, 'postgres')
  const app = await openApp(config)
  addCleanup(t, () => app.close())
  const session = await initialize(app, '/mcp', {})
  const client = new pg.Client({ connectionString: config.databaseUrl })
  await client.connect()
  addCleanup(t, () => client.end())
  await client.query('begin; lock table session_ends')
  const refused = await end(app, '/mcp', session)
  assert.equal(refused.statusCode, 503, refused.body)
  assert.deepEqual(refused.json().error, {
    code: -32603,
    message: 'Service Unavailable: the end of the session could not be stored, try again'
  })
  assert.equal(await ping(app, '/mcp', session), 200)
  await client.query('rollback')
  assert.equal((await end(app, '/mcp', session)).statusCode, 200)
  assert.equal(await ping(app, '/mcp', session), 404)
})

test(
  'SR-L2 ends that a client asks for at once keep no connection of the database from administrators',
  { skip },
  async (t) => {
    const env = { ...modes.enterprise, TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '4000' }
    const config = await freshConfig(t, env, 'postgres')
    const app = await openApp(config)
    addCleanup(t, () => app.close())
    const asAdmin = { authorization: `Bearer ${admin}` }
    const post = (url: string, payload: object) => app.inject({ method: 'POST', url, headers: asAdmin, payload })
    const { access_token } = (await post('/api/v0/clients', { name: 'c', allowed_servers: ['*'] })).json()
    const session = await initialize(app, '/mcp', { authorization: `Bearer ${access_token}` })
    const client = new pg.Client({ connectionString: config.databaseUrl })
    await client.connect()
    addCleanup(t, () => client.end())
    await client.query('begin; lock table session_ends')
    const ends = Array.from({ length: 80 }, () => end(app, '/mcp', session))
    assert.equal((await post('/api/v0/tool-groups', { name: 'made-meanwhile' })).statusCode, 201)
    await client.query('rollback')
    const statuses = (await Promise.all(ends)).map(({ statusCode }) => statusCode)
    assert.equal(statuses.filter((status) => status === 429).length, 80 - config.limits.callsPerPrincipal)
    assert.equal(statuses.filter((status) => status === 200).length, config.limits.callsPerPrincipal)
  }
)
