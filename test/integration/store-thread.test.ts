import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { PostgresPool } from 'kysely'
import { discardPrepared, openEmbedded, prepareEmbedded } from '../../src/registry/store/pglite.ts'
import { startStoreThread } from '../../src/registry/store/store-thread.ts'
import { STORE_STOPPED } from '../../src/registry/store/failures.ts'
import { addCleanup, freshDataDir, tempDir } from '../store.ts'

const options = { onStopped: (error: Error) => assert.fail(error) }
const TIMEOUT_MS = 30_000

async function ask(pool: PostgresPool, text: string, parameters: readonly unknown[] = []) {
  const connection = await pool.connect()
  try {
    return (await connection.query<Record<string, unknown>>(text, parameters)).rows
  } finally {
    connection.release()
  }
}

test('a long statement of the embedded store leaves the event loop free', async (t) => {
  const pool = await openEmbedded(await freshDataDir(t), TIMEOUT_MS, options)
  addCleanup(t, () => pool.end())
  let turns = 0
  const timer = setInterval(() => turns++, 10)
  await ask(pool, 'select pg_sleep(1)')
  clearInterval(timer)
  assert.ok(turns > 3, `${turns} turns in a second`)
})

test('bytes come back as they were stored, and without those around them', async (t) => {
  const pool = await openEmbedded(await freshDataDir(t), TIMEOUT_MS, options)
  addCleanup(t, () => pool.end())
  const large = Buffer.alloc(1_000, 7)
  const given = [large.subarray(10, 20), Buffer.alloc(0), Buffer.from('x')]
  for (const bytes of given) {
    const [row] = await ask(pool, 'select $1::bytea as bytes', [bytes])
    const found = row!.bytes as Uint8Array
    assert.deepEqual(Buffer.from(found), bytes)
    assert.equal(found.buffer.byteLength, bytes.length)
  }
})

test('errors of the embedded store have the code, constraint and message of PostgreSQL', async (t) => {
  const pool = await openEmbedded(await freshDataDir(t), TIMEOUT_MS, options)
  addCleanup(t, () => pool.end())
  await ask(pool, 'create table things (name text constraint only_once unique)')
  const insert = () => ask(pool, 'insert into things values ($1)', ['a'])
  await insert()
  await assert.rejects(insert, (error: object) => {
    const { code, constraint, message } = error as Record<string, unknown>
    assert.deepEqual([code, constraint], ['23505', 'only_once'])
    assert.match(String(message), /duplicate key/)
    assert.equal('params' in error, false, 'values of the statement stay in the thread')
    return true
  })
  await assert.rejects(() => ask(pool, 'select nothing'), { code: '42703', name: 'error' })
})

test('a thread that ends rejects what it was asked, and the next one finds what was stored', async (t) => {
  const folder = join(await freshDataDir(t), 'postgres')
  const first = startStoreThread()
  const store = await first.open(folder)
  await store.query('create table kept (id int)', [])
  await store.query('insert into kept values (1)', [])
  const waiting = store.query('select pg_sleep(60)', [])
  const rejected = assert.rejects(waiting, { code: STORE_STOPPED })
  await first.terminate()
  await rejected
  await assert.rejects(() => store.query('select 1', []), { code: STORE_STOPPED })
  const next = await startStoreThread().open(folder)
  assert.deepEqual((await next.query('select id from kept', [])).rows, [{ id: 1 }])
  await next.close()
})

test('a folder that holds no store is refused, and its thread ends', async (t) => {
  const thread = startStoreThread()
  await assert.rejects(() => thread.open('/proc/nothing/here'))
  await assert.rejects(() => thread.open('/proc/nothing/here'), { code: STORE_STOPPED })
  t.diagnostic('this process would not end if the thread did not')
})

test('a store that was prepared is opened once, and is free after it is closed', async (t) => {
  const dataDir = await freshDataDir(t)
  prepareEmbedded(dataDir, TIMEOUT_MS)
  const pool = await openEmbedded(dataDir, TIMEOUT_MS, { ...options, onCreate: () => assert.fail('it exists') })
  assert.deepEqual(await ask(pool, 'select 1 as one'), [{ one: 1 }])
  await pool.end()
  const again = await openEmbedded(dataDir, TIMEOUT_MS, options)
  await again.end()
})

test('a prepared store that nobody asked for gives its folder back, and another folder does not get it', async (t) => {
  const [prepared, other] = [await freshDataDir(t), await freshDataDir(t)]
  prepareEmbedded(prepared, TIMEOUT_MS)
  const pool = await openEmbedded(other, TIMEOUT_MS, options)
  await pool.end()
  await discardPrepared()
  assert.equal(existsSync(join(prepared, 'lock')), false)
  await discardPrepared()
})

test('a store that does not exist is not prepared: nothing is created before somebody asks', async (t) => {
  const dataDir = join(await tempDir(t), 'new')
  prepareEmbedded(dataDir, TIMEOUT_MS)
  await discardPrepared()
  assert.equal(existsSync(dataDir), false)
  let created = 0
  const pool = await openEmbedded(dataDir, TIMEOUT_MS, { ...options, onCreate: () => created++ })
  await pool.end()
  assert.equal(created, 1)
})

test('a prepared store that cannot be opened is reported to its owner', async (t) => {
  const dataDir = await freshDataDir(t)
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '1\n')
  prepareEmbedded(dataDir, TIMEOUT_MS)
  await assert.rejects(() => openEmbedded(dataDir, TIMEOUT_MS, options), { name: 'StartupError' })
})
