import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import pg from 'pg'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { freshConfig, openApp, startApp } from '../app.ts'
import { inNightly, someFor } from '../matrix.ts'
import { freePort } from '../ports.ts'
import { anyEngine, addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'
import { ask } from './dashboard-helpers.ts'

async function start(t: TestContext, engine: (typeof engines)[number]) {
  const app = await startApp(t, { engine })
  const input = {
    name: 'late',
    transport: 'streamable_http',
    url: `http://127.0.0.1:${await freePort()}/mcp`,
    bearer_token: 'kept-secret'
  }
  const send = async (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => {
    const answer = await app.inject({ method, url: `/api/v0${path}`, ...(payload ? { payload } : {}) })
    // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
    return { status: answer.statusCode, body: answer.json() as any, text: answer.body }
  }
  return { app, input, send }
}

for (const engine of someFor('saved disabled', engines)) {
  test(`a server that does not answer is saved disabled only if that was asked for (${engine})`, async (t) => {
    const { app, input, send } = await start(t, engine)
    const refused = await send('POST', '/servers', input)
    assert.deepEqual([refused.status, refused.body.cause], [502, 'connection_refused'])
    assert.deepEqual((await send('GET', '/servers')).body, [])

    const saved = await send('POST', '/servers?save=disabled', input)
    assert.deepEqual([saved.status, saved.body.enabled], [201, false])
    assert.match(saved.body.notes[0], /^saved without an answer of the server: connection refused/)
    assert.deepEqual((await send('GET', '/tools')).body, [])
    assert.equal((await send('POST', '/servers?save=disabled', input)).status, 409)
    const { body: configs } = await send('GET', '/server_configs')
    assert.equal(configs[0].bearer_token, 'kept-secret')

    const { body } = await ask(app, 'GET', '/servers/late')
    assert.deepEqual([body.status, body.save_failure, body.tool_count], ['disabled', 'connection refused', 0])
  })

  test(`enabling a server that was saved disabled contacts it and reads its lists (${engine})`, async (t) => {
    const { input, send } = await start(t, engine)
    await send('POST', '/servers?save=disabled', input)
    const early = await send('POST', '/servers/late/enable')
    assert.deepEqual([early.status, early.body.cause], [502, 'connection_refused'])
    assert.equal((await send('GET', '/servers/late')).body.enabled, false)

    const upstream = await startRecorder(null, {
      port: Number(new URL(input.url).port),
      authorization: 'Bearer kept-secret'
    })
    addCleanup(t, upstream.close)
    const enabled = await send('POST', '/servers/late/enable')
    assert.equal(enabled.status, 200, enabled.text)
    assert.ok(enabled.body.tools_affected.length > 0)
    const { body } = await send('GET', '/servers/late')
    assert.deepEqual([body.enabled, body.notes], [true, undefined])
    const { body: rows } = await send('GET', '/audit')
    const actions = rows.entries.map(({ action, purpose }: { action: string; purpose?: string }) => purpose ?? action)
    for (const action of ['server.create', 'server.enable', 'server.refresh']) assert.ok(actions.includes(action))
  })
}

test('saving disabled cannot replace a server, and a server that answers is registered as usual', async (t) => {
  const { input, send } = await start(t, inNightly('pglite', anyEngine))
  const both = await send('POST', '/servers?save=disabled&force=true', input)
  assert.deepEqual([both.status, /cannot be combined/.test(both.body.error)], [400, true])
  assert.equal((await send('POST', '/servers?save=enabled', input)).status, 400)
  const upstream = await startRecorder(null, {
    port: Number(new URL(input.url).port),
    authorization: 'Bearer kept-secret'
  })
  addCleanup(t, upstream.close)
  const done = await send('POST', '/servers?save=disabled', input)
  assert.deepEqual([done.status, done.body.enabled, done.body.notes], [201, true, undefined])
})

const needsReplicas = { skip: !engines.includes('postgres') }
test(
  'a replica that does not know of a saved server yet reads its lists before it enables it',
  needsReplicas,
  async (t) => {
    const upstream = await startRecorder(null)
    addCleanup(t, upstream.close)
    const config = await freshConfig(t, {}, 'postgres')
    const [one, two] = [await openApp(config), await openApp(config)]
    const client = new pg.Client({ connectionString: config.databaseUrl })
    await client.connect()
    addCleanup(t, () => Promise.all([client.end(), one.close(), two.close()]))
    // no replica can load the new state while this table is locked
    await client.query('begin; lock table users')
    const actor = { kind: 'system', name: 'towpath' } as const
    const input = {
      name: 'late',
      transport: 'streamable_http',
      session_mode: 'stateless',
      url: upstream.url
    } as const
    const saving = one.registry.write({ actor, action: 'server.create', target: 'late' }, (tx) =>
      tx.servers.createDisabled(input, 'no connection')
    )
    const isSaved = async () => (await client.query("select from servers where name = 'late'")).rowCount === 1
    await until('the server to be saved', isSaved)
    const enabling = two.inject({ method: 'POST', url: '/api/v0/servers/late/enable' })
    assert.equal((await two.inject('/api/v0/servers/late')).statusCode, 404)
    await client.query('commit')
    await saving
    const { statusCode, body } = await enabling
    assert.equal(statusCode, 200, body)
    assert.ok((JSON.parse(body) as { tools_affected: string[] }).tools_affected.length > 0)
    assert.ok(upstream.requests.length > 0)
  }
)

test('a server whose lists were never read cannot be enabled by a write', async (t) => {
  const { app, input, send } = await start(t, inNightly('pglite', anyEngine))
  await send('POST', '/servers?save=disabled', input)
  const actor = { kind: 'system', name: 'towpath' } as const
  const enabling = app.registry.write({ actor, action: 'server.enable', target: 'late' }, (tx) =>
    tx.servers.setEnabled('late', true)
  )
  await assert.rejects(enabling, { statusCode: 409, message: /have not been read yet/ })
})
