import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Registry } from '../../src/registry/registry.ts'
import { encryptedColumns } from '../../src/registry/crypto/encrypted-columns.ts'
import { keyId } from '../../src/registry/crypto/envelope-encryption.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { freshConfig, openApp } from '../app.ts'
import { registrationOf, startUpstream } from '../e2e/upstream.ts'
import { until } from '../until.ts'
import { someFor } from '../matrix.ts'
import { engines, freshPlace, addCleanup, startRegistry, type StoreLocation } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { change, follow, httpServer, offerOf, tool } from './registry-helpers.ts'

const create = (registry: Registry, name: string) =>
  registry.write(change('server.create', name), (tx) =>
    tx.servers.create(httpServer(name, { bearer_token: `token of ${name}` }), offerOf([tool('t')]))
  )
const rotate = (registry: Registry) => registry.rotateKeys(change('keys.rotate', '*'))
const tokens = async (registry: Registry) => {
  const { latest } = await follow(registry)
  return latest().servers.map((server) => registry.decryptSecrets(server).bearer_token)
}

/** Changes stored rows while no registry is open. */
async function tamper(place: StoreLocation, statement: ReturnType<typeof sql>): Promise<void> {
  const store = await openStore({ ...limits, ...quiet, ...place })
  await statement.execute(store.db)
  await store.close()
}

for (const engine of someFor('change of the key', engines)) {
  test(`keys are changed without losing a secret, and the old key is then not needed (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const [old, current] = [randomBytes(32), randomBytes(32)]
    const names = Array.from({ length: 130 }, (_, index) => `s${String(index).padStart(3, '0')}`)
    const first = await startRegistry(t, place, { encryptionKey: old })
    await first.write(change('server.create', 'all'), async (tx) => {
      for (const name of names) {
        await tx.servers.create(httpServer(name, { bearer_token: `token of ${name}` }), offerOf([]))
      }
      await tx.servers.create(httpServer('without'), offerOf([]))
    })
    const derived = first.deriveKey('session ids')
    await first.close()

    const both = await startRegistry(t, place, { encryptionKey: current, previousKey: old })
    await create(both, 'new')
    const key_id = keyId(current)
    assert.deepEqual(await rotate(both), { rewrapped: 131, remaining: 0, unreadable: 0, key_id })
    assert.deepEqual(await rotate(both), { rewrapped: 0, remaining: 0, unreadable: 0, key_id })
    const rows = await both.audit({ action: 'keys.rotate', limit: 10 })
    assert.deepEqual(
      rows.map(({ target, count, after }) => [target, count, after]),
      [
        ['gateway.canary', 1, { key_id }],
        ['servers.sealed', 31, { key_id }],
        ['servers.sealed', 100, { key_id }]
      ]
    )
    await both.close()

    const last = await startRegistry(t, place, { encryptionKey: current })
    assert.deepEqual(last.deriveKey('session ids'), derived)
    assert.deepEqual(await tokens(last), ['token of new', ...names.map((name) => `token of ${name}`), undefined])
    await last.close()
    await assert.rejects(startRegistry(t, place, { encryptionKey: old }), {
      name: 'StartupError',
      message: `the encryption key does not match this database (key id ${keyId(old)}, expected ${key_id})`
    })
  })

  test(`until all is moved both keys are needed, and neither of two wrong ones will do (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const [old, current, wrong] = [randomBytes(32), randomBytes(32), randomBytes(32)]
    const first = await startRegistry(t, place, { encryptionKey: old })
    await first.close()
    await assert.rejects(startRegistry(t, place, { encryptionKey: current, previousKey: wrong }), {
      name: 'StartupError',
      message:
        'the encryption key does not match this database ' +
        `(key id ${keyId(current)}, previous ${keyId(wrong)}, expected ${keyId(old)})`
    })
    await assert.rejects(startRegistry(t, place, { encryptionKey: current }), { name: 'StartupError' })
    await startRegistry(t, place, { encryptionKey: current, previousKey: old })
  })

  test(`a secret that no key opens stays as it is, and holds up no others (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const [old, current] = [randomBytes(32), randomBytes(32)]
    const first = await startRegistry(t, place, { encryptionKey: old })
    for (const name of ['a', 'b', 'c']) await create(first, name)
    await first.close()
    await tamper(
      place,
      sql`update servers set sealed = set_byte(sealed, 30, 255 - get_byte(sealed, 30)) where name = 'b'`
    )

    const both = await startRegistry(t, place, { encryptionKey: current, previousKey: old })
    const found = { remaining: 0, unreadable: 1, key_id: keyId(current) }
    assert.deepEqual(await rotate(both), { rewrapped: 2, ...found })
    assert.deepEqual(await rotate(both), { rewrapped: 0, ...found })
    await both.close()
    const last = await startRegistry(t, place, { encryptionKey: current })
    const { latest } = await follow(last)
    const [a, b, c] = latest().servers
    assert.deepEqual(
      [last.decryptSecrets(a!).bearer_token, last.decryptSecrets(c!).bearer_token],
      ['token of a', 'token of c']
    )
    const refused = { statusCode: 503, code: 'secrets_unreadable' }
    assert.throws(() => last.decryptSecrets(b!), refused)
    assert.throws(() => last.decryptSecrets(b!), refused)
    await assert.rejects(last.configs(), { ...refused, message: /server "b"/ })
    const rows = await until('the row', async () => {
      const found = await last.audit({ action: 'secrets.unreadable', limit: 10 })
      return found.length > 0 && found
    })
    assert.deepEqual(
      [rows].flat().map((row) => row && [row.actor_kind, row.target, row.outcome]),
      [['system', 'b', 'failed']]
    )
  })

  test(`everything that is sealed takes part in changing keys (${engine})`, async (t) => {
    const store = await openStore({ ...limits, ...quiet, ...(await freshPlace(t, engine)) })
    addCleanup(t, () => store.close())
    // results are kept for an hour, under a key that is derived: they need no other
    const { rows } = await sql<{ table: string; column: string }>`
      select table_name as table, column_name as column from information_schema.columns
      where table_schema = 'public' and data_type = 'bytea' and column_name !~ '(^|_)hash$'
        and (table_name, column_name) not in (('gateway', 'canary'), ('session_ends', 'mark'), ('catalogue', 'entries'),
          ('approvals', 'digest'), ('approvals', 'caller_credential'), ('results', 'sealed'), ('embeddings', 'vector'))
      order by 1, 2`.execute(store.db)
    const listed = encryptedColumns.map(({ table, column }) => ({ table, column }))
    assert.deepEqual(
      rows,
      listed.toSorted((a, b) => (a.table < b.table ? -1 : 1))
    )
  })

  test(`changing keys over REST interrupts nobody, and what is read again is still stored (${engine})`, async (t) => {
    const [old, current] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'))
    const tools = [{ name: 'echo', inputSchema: { type: 'object' } }]
    const upstream = await startUpstream(t, 'alpha', { tools })
    const config = await freshConfig(t, { TOWPATH_ENCRYPTION_KEY: old }, engine)
    const first = await openApp(config)
    const inject = (app: typeof first, url: string, payload: object = {}) =>
      app.inject({ method: 'POST', url: `/api/v0${url}`, payload })
    assert.equal(
      (await inject(first, '/servers', { ...registrationOf('alpha', upstream), bearer_token: 'SENT' })).statusCode,
      201
    )
    await first.close()

    const encryptionKey = Buffer.from(current!, 'base64')
    const app = await openApp({ ...config, encryptionKey, previousKey: config.encryptionKey })
    addCleanup(t, () => app.close())
    const call = async () => (await inject(app, '/tools/invoke', { name: 'alpha__echo' })).statusCode
    assert.equal(await call(), 200)
    const answer = await inject(app, '/keys/rotate')
    assert.deepEqual(answer.json(), { rewrapped: 1, remaining: 0, unreadable: 0, key_id: keyId(encryptionKey) })
    assert.equal(await call(), 200)
    tools.push({ name: 'more', inputSchema: { type: 'object' } })
    const { added } = (await inject(app, '/servers/alpha/refresh')).json<{ added: string[] }>()
    assert.deepEqual(added, ['alpha__more'])
    assert.equal(await call(), 200)
  })

  test(`a server whose secrets do not open is not called, and the others are served (${engine})`, async (t) => {
    const [alpha, beta] = [await startUpstream(t, 'alpha'), await startUpstream(t, 'beta')]
    const config = await freshConfig(t, { TOWPATH_ENCRYPTION_KEY: randomBytes(32).toString('base64') }, engine)
    const first = await openApp(config)
    const inject = (app: typeof first, url: string, payload: object = {}) =>
      app.inject({ method: 'POST', url: `/api/v0${url}`, payload })
    for (const server of [registrationOf('alpha', alpha), registrationOf('beta', beta)]) {
      assert.equal((await inject(first, '/servers', { ...server, bearer_token: 'SENT' })).statusCode, 201)
    }
    await first.close()
    const place = { dataDir: config.dataDir, ...(config.databaseUrl && { databaseUrl: config.databaseUrl }) }
    await tamper(
      place,
      sql`update servers set sealed = set_byte(sealed, 5, 255 - get_byte(sealed, 5)) where name = 'alpha'`
    )
    const before = alpha.requests.length

    const app = await openApp(config)
    addCleanup(t, () => app.close())
    const error = 'server "alpha": its stored secrets cannot be decrypted with the current encryption key'
    const call = await inject(app, '/tools/invoke', { name: 'alpha__echo' })
    assert.deepEqual([call.statusCode, call.json()], [503, { error }])
    assert.equal((await inject(app, '/tools/invoke', { name: 'beta__echo' })).statusCode, 200)
    assert.equal((await inject(app, '/servers/alpha/refresh')).statusCode, 503)
    const listed = await app.inject('/api/v0/servers')
    assert.deepEqual(
      listed.json<{ name: string }[]>().map(({ name }) => name),
      ['alpha', 'beta']
    )
    assert.equal((await app.inject('/api/v0/server_configs')).statusCode, 503)
    assert.equal(alpha.requests.length, before)

    const payload = { ...registrationOf('alpha', alpha), bearer_token: 'SENT' }
    assert.equal((await app.inject({ method: 'PUT', url: '/api/v0/servers/alpha', payload })).statusCode, 200)
    assert.equal((await inject(app, '/tools/invoke', { name: 'alpha__echo' })).statusCode, 200)
  })
}

if (engines.includes('postgres')) {
  test('replicas seal with the key that the database is on, whichever keys each of them has', async (t) => {
    const place = await freshPlace(t, 'postgres')
    const [old, next] = [randomBytes(32), randomBytes(32)]
    const behind = await startRegistry(t, place, { encryptionKey: old })
    const both = await startRegistry(t, place, { encryptionKey: next, previousKey: old })
    const handed = await startRegistry(t, place, { encryptionKey: old, previousKey: next })
    for (const [name, registry] of Object.entries({ behind, both, handed })) await create(registry, name)
    const all = ['behind', 'both', 'handed'].map((name) => `token of ${name}`)
    for (const registry of [behind, both]) assert.deepEqual(await tokens(registry), all)
    assert.deepEqual(behind.deriveKey('session ids'), both.deriveKey('session ids'))

    assert.deepEqual(await rotate(both), { rewrapped: 3, remaining: 0, unreadable: 0, key_id: keyId(next) })
    await create(handed, 'later')
    await assert.rejects(create(behind, 'never'), {
      statusCode: 503,
      code: 'encryption_key_changed',
      message: `the database now uses another encryption key (key id ${keyId(next)}): configure it on this replica and restart it`
    })
    await behind.write(change('server.disable', 'later'), (tx) => tx.servers.setEnabled('later', false))
    await behind.close()
    await both.close()
    const last = await startRegistry(t, place, { encryptionKey: next })
    assert.deepEqual(await tokens(last), [...all, 'token of later'])
    assert.deepEqual((await rotate(last)).rewrapped, 0)
  })

  test('keys are changed at once although others never stop registering', async (t) => {
    const place = await freshPlace(t, 'postgres')
    const [old, next] = [randomBytes(32), randomBytes(32)]
    const left = await startRegistry(t, place, { encryptionKey: old, previousKey: next })
    const right = await startRegistry(t, place, { encryptionKey: next, previousKey: old })
    for (let n = 0; n < 10; n++) await create(left, `s${n}`)
    let isOver = false
    const registering = Array.from({ length: 8 }, async (_, who) => {
      for (let n = 0; !isOver; n++) await create(left, `s${who}-${n}`)
    })
    const { rewrapped, ...rest } = await rotate(right).finally(() => (isOver = true))
    await Promise.all(registering)
    assert.ok(rewrapped >= 10, String(rewrapped))
    assert.deepEqual(rest, { remaining: 0, unreadable: 0, key_id: keyId(next) })
    await left.close()
    await right.close()
    const last = await startRegistry(t, place, { encryptionKey: next })
    const { latest } = await follow(last)
    for (const server of latest().servers)
      assert.equal(last.decryptSecrets(server).bearer_token, `token of ${server.name}`)
  })
}
