import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { createFileStore, type CallStore } from '../../src/registry/logs/call-store.ts'
import { callExpiry, readCalls, type CallRow } from '../../src/registry/logs/calls.ts'
import { deleteExpired } from '../../src/registry/logs/expiry.ts'
import { openStore, type Store } from '../../src/registry/store/store.ts'
import { addCleanup, freshPlace, startRegistry } from '../store.ts'
import { linesOf } from '../call-lines.ts'
import { needsRoot as skip } from '../needs.ts'
import { limits, quiet } from '../templates.ts'
import { until } from '../until.ts'

const call = (item: string, more: Partial<CallRow> = {}): CallRow => ({
  ...{ at: Date.now(), kind: 'tool', caller_kind: 'client', caller: 'cli-a', endpoint: '/mcp', via: 'legacy' },
  ...{ server: 'alpha', item, outcome: 'ok', total_ms: 5, upstream_ms: 4, request_bytes: 20, response_bytes: 30 },
  ...{ error: undefined, request_id: 'r-1' },
  ...more
})
const rowsFrom = (from: number, count: number) => Array.from({ length: count }, (_, n) => call(String(from + n)))
const calls = (from: number, count: number) => linesOf(rowsFrom(from, count))
const items = (from: number, count: number) => rowsFrom(from, count).map(({ item }) => item)

async function openEmbedded(t: TestContext, place: Awaited<ReturnType<typeof freshPlace>>): Promise<Store> {
  const store = await openStore({ ...limits, ...quiet, ...place })
  addCleanup(t, () => store.close())
  return store
}

interface World extends Store {
  readonly log: CallStore
  readonly folder: string
  readonly errors: string[]
  /** Items of `calls`, oldest first, without making calls of files rows */
  rows(): Promise<(string | undefined)[]>
  /** Bytes in files */
  bytes(): Promise<number>
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  if (!existsSync(folder)) return bytes
  for (const name of await readdir(folder)) bytes += (await stat(join(folder, name))).size
  return bytes
}

async function open(t: TestContext, keep = 100_000, fileBytes?: number): Promise<World> {
  const store = await openEmbedded(t, await freshPlace(t, 'pglite'))
  const errors: string[] = []
  const folder = store.callFolder!
  const log = createFileStore(store.db, { folder, keep, fileBytes, onError: (error) => errors.push(String(error)) })
  addCleanup(t, () => log.close())
  return {
    ...{ ...store, log, folder, errors },
    async rows() {
      return (await readCalls(store.db, { limit: 100_000 })).map(({ item }) => item).reverse()
    },
    bytes: () => bytesIn(folder)
  }
}

test('a few calls are rows at once, many wait in a private file until the log is read', async (t) => {
  const { log, rows, bytes, folder } = await open(t)
  await log.record(calls(0, 3))
  assert.deepEqual([await rows(), log.waiting, await bytes()], [items(0, 3), 0, 0])
  await log.record(calls(3, 250))
  assert.deepEqual([await rows(), log.waiting], [items(0, 3), 250])
  const [name] = await readdir(folder)
  assert.deepEqual(
    [(await stat(folder)).mode, (await stat(join(folder, name!))).mode].map((mode) => mode & 0o777),
    [0o700, 0o600]
  )
  // behind those that wait
  await log.record(calls(253, 2))
  assert.equal(log.waiting, 252)
  await log.flush()
  assert.deepEqual([await rows(), log.waiting, await readdir(folder)], [items(0, 255), 0, []])
})

test('calls that come while others become rows keep their order, and none is lost or doubled', async (t) => {
  const { log, rows } = await open(t)
  const recorded: Promise<void>[] = []
  for (let n = 0; n < 40; n++) recorded.push(log.record(calls(n * 120, n % 3 === 0 ? 120 : 20)))
  const flushed = [log.flush(), log.flush()]
  for (let n = 40; n < 60; n++) recorded.push(log.record(calls(n * 120, 120)))
  await Promise.all([...recorded, ...flushed])
  await log.flush()
  const found = (await rows()).map(Number)
  assert.equal(found.length, 14 * 120 + 26 * 20 + 20 * 120)
  assert.deepEqual(
    found,
    found.toSorted((a, b) => a - b)
  )
  assert.equal(new Set(found).size, found.length)
  assert.equal(log.waiting, 0)
})

test('calls become rows by themselves once few come', async (t) => {
  const { log, rows } = await open(t)
  await log.record(calls(0, 500))
  await until('the calls to be rows', async () => (await rows()).length === 500)
})

test('of calls in files only as many as are kept become rows, and older rows are deleted', async (t) => {
  const { db, log, rows, bytes } = await open(t, 1_000)
  await log.record(calls(0, 50))
  const expiry = callExpiry({ days: 7, rows: 1_000 }, () => log.waiting)
  let most = 0
  for (let n = 0; n < 40; n++) {
    await log.record(calls(50 + n * 250, 250))
    most = Math.max(most, log.waiting)
  }
  assert.ok(most <= 2_250, `${most} wait`)
  assert.ok((await bytes()) < 2_250 * 400)
  // calls of files count as calls that are kept
  assert.equal(await deleteExpired(db, expiry), 50)
  await log.flush()
  assert.deepEqual(await rows(), items(50 + 39 * 250 - 750, 1_000))
  // by the id of the newest call as many are counted as there were
  assert.equal((await readCalls(db, { limit: 1 }))[0]!.id, '10050')
  assert.equal(await deleteExpired(db, expiry), 0)
})

test('files do not grow while the log is read as fast as calls come', async (t) => {
  const { log, bytes, rows } = await open(t, 100_000, 100_000)
  await log.record(calls(0, 250))
  let most = 0
  for (let n = 1; n < 40; n++) {
    // the calls that come meanwhile are not read by this flush
    await Promise.all([log.flush(), log.record(calls(n * 250, 250))])
    most = Math.max(most, await bytes())
  }
  assert.equal(log.waiting, 250)
  assert.ok(most < 250_000, `${most} bytes`)
  await log.flush()
  assert.deepEqual(await rows(), items(0, 10_000))
})

test('of a write that meets the end of the disk no call is kept twice, and no file is left', { skip }, async (t) => {
  const { db, log, rows, bytes, folder } = await open(t)
  await mkdir(folder)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=0700', 'tmpfs', folder])
  addCleanup(t, () => execFileSync('umount', ['--lazy', folder]))
  await log.record(calls(0, 250))
  const kept = await bytes()
  for (let n = 0; n < 3; n++) await assert.rejects(log.record(calls(1_000, 1_500)), { statusCode: 503 })
  assert.deepEqual([await bytes(), (await readdir(folder)).length], [kept, 1])
  await log.record(calls(250, 250))
  await log.close()
  const next = createFileStore(db, { folder, keep: 100_000, onError() {} })
  addCleanup(t, () => next.close())
  await next.flush()
  assert.deepEqual(await rows(), items(0, 500))
})

test('calls that a process left in files are rows of the next one, before its own, however the first ended', async (t) => {
  const place = await freshPlace(t, 'pglite')
  const first = await openEmbedded(t, place)
  const folder = first.callFolder!
  const log = createFileStore(first.db, { folder, keep: 500, onError() {} })
  // into several files
  for (let n = 0; n < 4; n++) await log.record(calls(n * 250, 250))
  await log.flush()
  for (let n = 4; n < 8; n++) await log.record(calls(n * 250, 250))
  await log.close()
  await first.close()
  const names = (await readdir(folder)).toSorted()
  assert.equal(names.length, 2)
  // a line that was being written
  await appendFile(join(folder, names[1]!), JSON.stringify(rowsFrom(9_000, 3)).slice(0, -9))
  const registry = await startRegistry(t, place)
  for (const row of rowsFrom(2_000, 130)) registry.calls.record(row)
  await until('the new calls to be stored', () => registry.calls.queued === 0)
  const found = (await registry.calls.list({ limit: 10_000 })).map(({ item }) => item).reverse()
  // the first process kept 500 of the first 1,000
  assert.deepEqual(found, [...items(500, 500), ...items(1_000, 1_130)])
  assert.equal((await registry.calls.stats('1h')).total.calls, 1_630)
  assert.deepEqual(await readdir(folder), [])
})

test('a line that has become rows is not read again if the process ends before it knows', async (t) => {
  const place = await freshPlace(t, 'pglite')
  const store = await openEmbedded(t, place)
  const options = { folder: store.callFolder!, keep: 100_000, onError() {} }
  const first = createFileStore(store.db, options)
  await first.record(calls(0, 250))
  await first.record(calls(250, 250))
  await first.close()
  // a process made one line rows, and ended before it deleted the file
  await sql`insert into call_files (number, position) values (1, ${JSON.stringify(rowsFrom(0, 250)).length + 1})`.execute(
    store.db
  )
  const second = createFileStore(store.db, options)
  addCleanup(t, () => second.close())
  await second.flush()
  const found = await readCalls(store.db, { limit: 1_000 })
  assert.deepEqual(found.map(({ item }) => item).reverse(), items(250, 250))
  const { rows } = await sql`select * from call_files`.execute(store.db)
  assert.deepEqual(rows, [])
})

test('calls that cannot become rows are reported and hold up no others', async (t) => {
  const { log, rows, errors, folder } = await open(t)
  await log.record(calls(0, 200))
  await log.record(linesOf([...rowsFrom(1_000, 150), call('a\u0000b')]))
  await log.record(calls(200, 200))
  await log.flush()
  assert.deepEqual([await rows(), log.waiting, errors.length], [items(0, 400), 0, 1])
  assert.deepEqual(await readdir(folder), [])
})

test('the log goes on if somebody deletes its files', async (t) => {
  const { log, rows, folder, errors } = await open(t)
  await log.record(calls(0, 200))
  await rm(folder, { recursive: true })
  await log.flush()
  assert.deepEqual([await rows(), errors.length], [[], 1])
  await log.record(calls(200, 2_200))
  await log.flush()
  assert.deepEqual([await rows(), errors.length], [items(200, 2_200), 1])
})

test('calls wait for as long as no file can be written', async (t) => {
  const { log, rows, folder } = await open(t)
  await writeFile(folder, 'in the way')
  await assert.rejects(log.record(calls(0, 200)), { statusCode: 503 })
  await rm(folder)
  await log.record(calls(0, 200))
  await log.flush()
  assert.deepEqual(await rows(), items(0, 200))
})
