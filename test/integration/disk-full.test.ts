import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { appendFileSync, chownSync, rmSync, statfsSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import type { FastifyInstance } from 'fastify'
import { readConfig } from '../../src/config/config.ts'
import type { CallRow } from '../../src/registry/logs/calls.ts'
import { openWithRecovery } from '../../src/registry/store/recovery.ts'
import { openApp, stdioServer } from '../app.ts'
import { startOwnPostgres } from '../own-postgres.ts'
import { engines, freshDataDir, addCleanup, tempDir } from '../store.ts'
import { administer, urlOf } from '../templates.ts'
import { until } from '../until.ts'
import { needsRoot } from '../needs.ts'

/** Only root can create a file system. */
const skip = needsRoot

/** Mounts a small file system and returns its path. */
async function mountSmall(t: TestContext, megabytes: number): Promise<string> {
  const folder = await tempDir(t)
  const at = join(folder, 'disk')
  await mkdir(at)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', at])
  addCleanup(t, () => execFileSync('umount', ['--lazy', at]))
  return at
}

async function roomy(t: TestContext): Promise<string> {
  const folder = join(await tempDir(t), 'postgres')
  await mkdir(folder)
  return folder
}

const freeBytes = (folder: string) => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Fills a file system except for `leave` bytes. Returns a function that frees the space. */
function fill(folder: string, leave: number): () => void {
  const path = join(folder, 'filling')
  while (freeBytes(folder) > leave) appendFileSync(path, Buffer.alloc(Math.min(65_536, freeBytes(folder) - leave)))
  return () => rmSync(path)
}

const call: CallRow = {
  ...{ at: Date.now(), kind: 'tool', caller_kind: 'client', caller: 'cli-a', endpoint: '/mcp', via: 'legacy' },
  ...{ server: 'there', item: 'echo', outcome: 'ok', total_ms: 5, upstream_ms: 4, request_bytes: 20 },
  ...{ response_bytes: 30, error: undefined, request_id: 'r-1' }
}

const full = {
  error: 'the registry database has no disk space left: nothing can be changed until there is',
  code: 'store_full'
}

const writes = [
  ['POST', '/servers', stdioServer('another')],
  ['POST', '/servers?force=true', stdioServer('there')],
  ['PUT', '/servers/there', { ...stdioServer('there'), description: 'x'.repeat(60_000) }],
  ['POST', '/servers/there/disable', undefined],
  ['POST', '/tools/disable?entity=there', undefined],
  ['PATCH', '/servers/there/switches', { enabled: false }],
  ['POST', '/tool-groups', { name: 'group', included_servers: ['there'] }],
  ['DELETE', '/servers/there', undefined]
] as const

const ask = async (
  app: FastifyInstance,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  payload?: object
) => {
  const answer = await app.inject({ method, url: `/api/v0${path}`, ...(payload ? { payload } : {}) })
  return { status: answer.statusCode, text: answer.body, retryAfter: answer.headers['retry-after'] }
}

/**
 * Asserts that every write is refused with a reason, that reads continue, and that everything works once there is
 * space.
 */
async function assertSurvivesFullDisk(app: FastifyInstance, logged: string[], makeRoom: () => void): Promise<void> {
  // the free space is read at most twice a second
  const change = () => ask(app, 'PUT', '/servers/there', { ...stdioServer('there'), description: randomUUID() })
  await until('the full disk is noticed', async () => (await change()).status === 503)
  for (const [method, path, payload] of writes) {
    const { status, text, retryAfter } = await ask(app, method, path, payload)
    assert.deepEqual([method, path, status, JSON.parse(text), retryAfter], [method, path, 503, full, '30'])
  }
  assert.equal((await ask(app, 'POST', '/tools/invoke', { name: 'there__echo', text: 'x' })).status, 200)
  assert.equal((await ask(app, 'GET', '/servers/there')).status, 200)
  assert.equal((await ask(app, 'GET', '/audit')).status, 200)
  assert.equal((await ask(app, 'GET', '/calls')).status, 200)
  assert.doesNotMatch(logged.join(''), /"level":(?:50|60)|at file:|\.ts:\d/)
  makeRoom()
  await until('writes to work again', async () => (await ask(app, 'POST', '/servers/there/disable')).status === 200)
  assert.equal((await ask(app, 'DELETE', '/servers/there')).status, 204)
}

async function startAt(t: TestContext, place: { TOWPATH_DATA_DIR: string; DATABASE_URL?: string }) {
  const logged: string[] = []
  const env = {
    PATH: process.env.PATH,
    ...place,
    TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '60000',
    TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '60000',
    TOWPATH_EVENT_LOOP_LAG_MS: '60000'
  }
  const app = await openApp(readConfig(env, {}, () => '').config, { log: { write: (line) => void logged.push(line) } })
  addCleanup(t, () => app.close())
  const { status, text } = await ask(app, 'POST', '/servers', stdioServer('there'))
  assert.equal(status, 201, text)
  return { app, logged }
}

test(
  'SR-L6 a full disk under the embedded store is a 503 with its reason on every route that writes',
  { skip },
  async (t) => {
    for (const leave of [0, 5_000_000]) {
      const disk = await mountSmall(t, 160)
      execFileSync('cp', ['-a', join(await freshDataDir(t), 'postgres'), disk])
      const { app, logged } = await startAt(t, { TOWPATH_DATA_DIR: disk })
      // those that wait in files cannot become rows on a full disk
      for (let n = 0; n < 300; n++) app.registry.calls.record(call)
      await until('the calls to be in a file', () => app.registry.calls.queued === 0)
      await assertSurvivesFullDisk(app, logged, fill(disk, leave))
      const { total } = await app.registry.calls.stats('1h')
      assert.ok(total.calls >= 300)
      await app.close()
    }
  }
)

test(
  'SR-L6 a store whose log met the end of the disk is not asked again, and opened anew with all that was answered',
  { skip },
  async (t) => {
    const disk = await mountSmall(t, 120)
    const folder = join(disk, 'postgres')
    execFileSync('cp', ['-a', join(await freshDataDir(t), 'postgres'), disk])
    const stops: Error[] = []
    const store = await openWithRecovery({
      // as with a quota: the reported free space does not exist
      folder: await roomy(t),
      open: async () => {
        const pglite = new PGlite({ dataDir: folder })
        await pglite.waitReady
        return pglite
      },
      onStopped: (error) => void stops.push(error)
    })
    addCleanup(t, () => store.close())
    await store.query('create table kept (id integer, noise text)', [])
    await store.query("insert into kept values (0, '')", [])
    const makeRoom = fill(disk, 5_000_000)
    let written = 0
    const write = () =>
      store.query('update kept set noise = $1, id = $2', [randomBytes(950).toString('hex'), written + 1])
    while (stops.length === 0 && written < 20_000) {
      await write().then(
        () => written++,
        (error: { code?: string }) => assert.equal(error.code, '53100')
      )
    }
    assert.equal(stops.length, 1)
    await assert.rejects(write(), { code: 'STORE_STOPPED' })
    await assert.rejects(store.query('select 1', []), { code: 'STORE_STOPPED' })
    makeRoom()
    const read = () => store.query('select id from kept', []).catch(() => undefined)
    await until('the store to be open again', async () => (await read()) !== undefined)
    const rows = (await read())!.rows as { id: number }[]
    assert.ok(rows[0]!.id === written || rows[0]!.id === written + 1)
    await write()
  }
)

test(
  'SR-L6 a full disk under PostgreSQL is the same 503',
  { skip: skip || (engines.includes('postgres') ? false : 'no PostgreSQL') },
  async (t) => {
    // a cluster with a full tablespace fails its checkpoints, which would break other tests on it
    const cluster = await startOwnPostgres(t)
    const [{ data_directory: data }] = (await administer(cluster.url, 'show data_directory')) as [
      { data_directory: string }
    ]
    const disk = await mountSmall(t, 64)
    const { uid, gid } = statSync(data)
    chownSync(disk, uid, gid)
    execFileSync('chmod', ['0711', join(disk, '..')])
    await administer(cluster.url, `create tablespace small location '${disk}'`)
    await administer(cluster.url, 'create database registry template template0 tablespace small')
    const { app, logged } = await startAt(t, {
      TOWPATH_DATA_DIR: await tempDir(t),
      DATABASE_URL: urlOf(cluster.url, 'registry')
    })
    await assertLargeRowsRefused(app, logged, fill(disk, 0))
  }
)

/** Small rows fit into existing pages, a long description does not. */
async function assertLargeRowsRefused(app: FastifyInstance, logged: string[], makeRoom: () => void): Promise<void> {
  const large = { ...stdioServer('there'), description: randomBytes(30_000).toString('hex') }
  for (const [method, path] of [
    ['PUT', '/servers/there'],
    ['POST', '/servers?force=true']
  ] as const) {
    const { status, text } = await ask(app, method, path, large)
    assert.deepEqual([status, JSON.parse(text)], [503, full])
  }
  assert.equal((await ask(app, 'POST', '/tools/invoke', { name: 'there__echo', text: 'x' })).status, 200)
  assert.doesNotMatch(logged.join(''), /"level":(?:50|60)|at file:|\.ts:\d/)
  makeRoom()
  assert.equal((await ask(app, 'PUT', '/servers/there', large)).status, 200)
}
