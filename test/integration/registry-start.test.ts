import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { migrations } from '../../migrations/index.ts'
import { migrateDown, migrateToLatest } from '../../src/registry/store/migrate.ts'
import { keyId } from '../../src/registry/crypto/envelope-encryption.ts'
import { openStore, type Store } from '../../src/registry/store/store.ts'
import {
  emptyDatabase,
  engines,
  freshPlace,
  addCleanup,
  startRegistry,
  tempDir,
  type Engine,
  type StoreLocation
} from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { change, follow, httpServer, offerOf } from './registry-helpers.ts'

for (const engine of engines) {
  test(`a database that was initialised in one mode is refused in the other (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const first = await startRegistry(t, place)
    await first.close()
    await assert.rejects(startRegistry(t, place, { mode: 'enterprise' }), {
      name: 'StartupError',
      exitCode: 2,
      message:
        'the database was initialised in development mode and cannot be started in enterprise mode: ' +
        'start it in development mode, or use another database'
    })
    await startRegistry(t, place)
  })

  test(`another encryption key is refused with both key ids, and nothing is changed (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const [right, wrong] = [randomBytes(32), randomBytes(32)]
    const first = await startRegistry(t, place, { encryptionKey: right })
    await first.close()
    await assert.rejects(startRegistry(t, place, { encryptionKey: wrong }), {
      name: 'StartupError',
      message: `the encryption key does not match this database (key id ${keyId(wrong)}, expected ${keyId(right)})`
    })
    await startRegistry(t, place, { encryptionKey: right })
    assert.equal((await readdir(place.dataDir)).includes('encryption.key'), false)
  })

  test(`a key file is made once, private, and refused when it is cut (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const path = join(place.dataDir, 'encryption.key')
    const first = await startRegistry(t, place)
    await first.close()
    const text = await readFile(path, 'utf8')
    assert.equal(Buffer.from(text, 'base64').length, 32)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    const second = await startRegistry(t, place)
    await second.close()
    assert.equal(await readFile(path, 'utf8'), text)

    await writeFile(path, text.slice(0, 20))
    await assert.rejects(startRegistry(t, place), {
      name: 'StartupError',
      message: `the encryption key file ${path} must have 32 bytes, it has 15`
    })
  })

  test(`a missing key file beside a used database is refused and not made anew (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const first = await startRegistry(t, place)
    await first.close()
    const path = join(place.dataDir, 'encryption.key')
    await rm(path)
    await assert.rejects(startRegistry(t, place), {
      name: 'StartupError',
      message: `the encryption key file ${path} is missing, and the database has values encrypted with it: restore the file`
    })
    assert.equal((await readdir(place.dataDir)).includes('encryption.key'), false)
  })

  test(`secrets are nowhere readable in what is stored (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    const secrets = {
      bearer_token: 'SENTINEL-1',
      headers: { 'x-a': 'SENTINEL-2' },
      env: { A: 'SENTINEL-3' },
      oauth_client_secret: 'SENTINEL-4'
    }
    await registry.write(change('server.create', 'time'), (tx) =>
      tx.servers.create(httpServer('time', { ...secrets, description: 'READABLE' }), offerOf([]))
    )
    await registry.close()
    const stored = await dumpStore(t, place)
    assert.equal(stored.includes('READABLE'), true)
    assert.equal(stored.includes('SENTINEL'), false)
  })

  test(`a sealed part that was altered or moved is refused with a code (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    for (const name of ['a', 'b']) {
      const config = httpServer(name, { bearer_token: name })
      await registry.write(change('server.create', name), (tx) => tx.servers.create(config, offerOf([])))
    }
    const [a, b] = latest().servers
    assert.deepEqual(registry.decryptSecrets(b!), { bearer_token: 'b' })
    assert.deepEqual(registry.decryptSecrets({ ...a!, sealed: null }), {})
    assert.throws(() => registry.decryptSecrets({ ...a!, sealed: b!.sealed }), {
      name: 'AppError',
      statusCode: 503,
      code: 'secrets_unreadable',
      message: 'the stored secrets of server "a" cannot be decrypted with the current encryption key'
    })
  })

  test(`migrations go down and up again (${engine})`, async (t) => {
    const store = await openAt(t, await freshPlace(t, engine))
    const names = Object.keys(migrations)
    for (const name of names.toReversed()) assert.deepEqual(await migrateDown(store), [name])
    assert.deepEqual(await migrateDown(store), [])
    assert.deepEqual(await migrateToLatest(store), names)
    assert.deepEqual(await migrateToLatest(store), [])
  })

  test(`a database that is ahead of this version is refused (${engine})`, async (t) => {
    const store = await openAt(t, await freshPlace(t, engine))
    await sql`insert into kysely_migration values ('9999_later', '2099-01-01')`.execute(store.db)
    await assert.rejects(migrateToLatest(store), {
      name: 'StartupError',
      message: 'the database was written by a newer version: start that version'
    })
  })

  test(`derived keys survive a restart (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const first = await startRegistry(t, place)
    const key = first.deriveKey('session ids')
    await first.close()
    assert.deepEqual((await startRegistry(t, place)).deriveKey('session ids'), key)
  })
}

if (engines.includes('postgres')) {
  test('of three processes that migrate one empty database at once one applies each migration', async (t) => {
    const databaseUrl = await emptyDatabase(t)
    const dataDir = await tempDir(t)
    const stores = await Promise.all([1, 2, 3].map(() => openAt(t, { databaseUrl, dataDir })))
    const applied = await Promise.all(stores.map(migrateToLatest))
    assert.deepEqual(applied.flat(), Object.keys(migrations))
  })

  test('registries that start on one empty database at once agree on one key', async (t) => {
    const place = { databaseUrl: await emptyDatabase(t), dataDir: await tempDir(t) }
    const registries = await Promise.all([1, 2, 3].map(() => startRegistry(t, place)))
    const keys = registries.map((registry) => registry.deriveKey('x').toString('hex'))
    assert.equal(new Set(keys).size, 1)
  })
}

async function openAt(t: Parameters<typeof addCleanup>[0], place: StoreLocation): Promise<Store> {
  const store = await openStore({ ...limits, ...quiet, ...place })
  addCleanup(t, () => store.close())
  return store
}

/** Returns all PostgreSQL rows, or all files of the embedded store, as text. */
async function dumpStore(t: Parameters<typeof addCleanup>[0], place: StoreLocation): Promise<string> {
  const engine: Engine = place.databaseUrl ? 'postgres' : 'pglite'
  if (engine === 'pglite') {
    const entries = await readdir(join(place.dataDir, 'postgres'), { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    const texts = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')))
    return texts.join('\n')
  }
  const { db } = await openAt(t, place)
  const { rows } = await sql<{ row: string }>`
    select encode(sealed, 'escape') || servers::text as row from servers
    union all select items::text from items union all select audit_log::text from audit_log`.execute(db)
  return rows.map(({ row }) => row).join('\n')
}
