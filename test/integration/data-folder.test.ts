import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs'
import { chmod, chown, cp, lstat, mkdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { engines, freshDataDir, freshDatabase, addCleanup, startRegistry, tempDir } from '../store.ts'
import { storesFolder } from '../temporary.ts'
import { needs } from '../needs.ts'
import { until } from '../until.ts'
import { change, httpServer, offerOf, startChild, tool } from './registry-helpers.ts'

const modeOf = (path: string) => lstatSync(path).mode & 0o777

const entriesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))

/** Returns the paths in a folder, itself included, that group or others can access. */
const openPaths = (folder: string) => [folder, ...entriesOf(folder)].filter((path) => (modeOf(path) & 0o077) !== 0)

/** Sets the permissions that version 0.1 and a permissive umask left. */
function openUp(folder: string): void {
  for (const path of [folder, ...entriesOf(folder)]) chmodSync(path, lstatSync(path).isDirectory() ? 0o777 : 0o666)
}

const use = async (t: TestContext, dataDir: string) => {
  const registry = await startRegistry(t, { dataDir })
  const items = offerOf(Array.from({ length: 300 }, (_, index) => tool(`tool${index}`)))
  await registry.write(change('server.create', 'a'), (tx) => tx.servers.create(httpServer('a'), items))
  return registry
}

const refusedFor = (reason: RegExp) => (error: Error) => error.name === 'StartupError' && reason.test(error.message)

test('SR-H5 a folder that was there before, whatever its permissions, is closed to others before the store is made', async (t) => {
  for (const mode of [0o755, 0o777, 0o770, 0o701]) {
    const dataDir = mode === 0o755 ? await tempDir(t, storesFolder()) : await freshDataDir(t)
    await chmod(dataDir, mode)
    const registry = await use(t, dataDir)
    assert.deepEqual(openPaths(dataDir), [], `mode ${mode.toString(8)}`)
    await registry.close()
    assert.deepEqual(openPaths(dataDir), [])
  }
})

test('SR-H5 a folder that all users share, such as /tmp, is refused and keeps its permissions', async (t) => {
  const dataDir = await freshDataDir(t)
  const before = readdirSync(dataDir)
  await chmod(dataDir, 0o1777)
  await assert.rejects(startRegistry(t, { dataDir }), refusedFor(/is shared by all users: use a new folder inside it/))
  assert.equal(lstatSync(dataDir).mode & 0o7777, 0o1777)
  assert.deepEqual(readdirSync(dataDir), before)
})

test('SR-H5 a folder of version 0.1 with files for everybody is closed, and stays so through writes, checkpoints and restarts', async (t) => {
  const dataDir = await freshDataDir(t)
  await (await use(t, dataDir)).close()
  openUp(dataDir)
  await utimes(join(dataDir, 'postgres', 'PG_VERSION'), 0, 0)
  const registry = await startRegistry(t, { dataDir })
  assert.deepEqual(openPaths(dataDir), [])
  for (let index = 0; index < 20; index++) {
    const name = `server${index}`
    await registry.write(change('server.create', name), (tx) => tx.servers.create(httpServer(name), offerOf([])))
  }
  assert.deepEqual(openPaths(dataDir), [])
  await registry.close()
  assert.deepEqual(openPaths(dataDir), [])
  const again = await startRegistry(t, { dataDir })
  assert.equal((await again.configs()).length, 21)
  assert.deepEqual(openPaths(dataDir), [])
})

test(
  'SR-H5 the folder of a key file beside PostgreSQL is closed too',
  { skip: !engines.includes('postgres') },
  async (t) => {
    const dataDir = await tempDir(t)
    const databaseUrl = await freshDatabase(t)
    await chmod(dataDir, 0o755)
    await (await startRegistry(t, { dataDir, databaseUrl })).close()
    assert.deepEqual(openPaths(dataDir), [])
    openUp(dataDir)
    await (await startRegistry(t, { dataDir, databaseUrl })).close()
    assert.deepEqual(openPaths(dataDir), [])
  }
)

test('SR-H5 what is in the folder and not of the gateway keeps its permissions', async (t) => {
  const dataDir = await freshDataDir(t)
  const notes = join(dataDir, 'notes')
  await mkdir(notes)
  await chmod(notes, 0o755)
  await writeFile(join(notes, 'text'), '', { mode: 0o644 })
  await chmod(join(notes, 'text'), 0o644)
  await startRegistry(t, { dataDir })
  assert.deepEqual([modeOf(dataDir), modeOf(notes), modeOf(join(notes, 'text'))], [0o700, 0o755, 0o644])
})

test('SR-H5 a link to the folder stands for it; a link in the place of the store, of a file in it, of the key or the lock is refused and not followed', async (t) => {
  const linked = await tempDir(t, storesFolder())
  const real = await freshDataDir(t)
  await chmod(real, 0o755)
  await symlink(real, join(linked, 'data'))
  await (await startRegistry(t, { dataDir: join(linked, 'data') })).close()
  assert.deepEqual(openPaths(real), [])

  const outside = await tempDir(t, storesFolder())
  await writeFile(join(outside, 'file'), '')
  await cp(join(real, 'postgres'), join(outside, 'postgres'), { recursive: true })
  openUp(outside)
  const place = async (dataDir: string, name: string, target: string) => {
    await rm(join(dataDir, name), { recursive: true, force: true })
    await symlink(target, join(dataDir, name))
  }
  for (const [name, target] of [
    ['postgres', 'postgres'],
    ['postgres.new', 'postgres'],
    [join('postgres', 'pg_wal'), join('postgres', 'pg_wal')],
    [join('postgres', 'PG_VERSION'), 'file'],
    ['encryption.key', 'file'],
    ['lock', 'file']
  ] as const) {
    const dataDir = await freshDataDir(t)
    await place(dataDir, name, join(outside, target))
    await assert.rejects(startRegistry(t, { dataDir }), refusedFor(/is a symbolic link/), name)
    assert.equal(modeOf(join(outside, target)) & 0o066, 0o066, name)
    assert.equal((await lstat(join(dataDir, name))).isSymbolicLink(), true)
  }
})

test('SR-H5 a key file is closed to others with the store, even if a configured key is used instead', async (t) => {
  const encryptionKey = Buffer.alloc(32, 1)
  const dataDir = await freshDataDir(t)
  await (await startRegistry(t, { dataDir }, { encryptionKey })).close()
  await writeFile(join(dataDir, 'encryption.key'), encryptionKey.toString('base64'))
  openUp(dataDir)
  const registry = await startRegistry(t, { dataDir }, { encryptionKey })
  assert.deepEqual(openPaths(dataDir), [])
  await registry.close()
})

test('SR-H5 a folder or a file that belongs to another user is refused with what to do, and stays as it is', async (t) => {
  if (process.getuid?.() !== 0) {
    const refused = refusedFor(/\/usr belongs to user 0 and the gateway runs as user \d+: give it to that user/)
    return assert.rejects(startRegistry(t, { dataDir: '/usr' }), refused)
  }
  for (const [name, mode] of [
    ['', 0o755],
    ['postgres', 0o777],
    [join('postgres', 'global', 'pg_control'), 0o666]
  ] as const) {
    const dataDir = await freshDataDir(t)
    const foreign = join(dataDir, name)
    await chmod(foreign, mode)
    await chown(foreign, 65_534, 65_534)
    const message = /belongs to user 65534 and the gateway runs as user 0: give it to that user \(chown\)/
    await assert.rejects(startRegistry(t, { dataDir }), refusedFor(message), name)
    const { uid } = await stat(foreign)
    assert.deepEqual([uid, modeOf(foreign)], [65_534, mode])
    if (name === '') assert.deepEqual(readdirSync(dataDir), ['postgres'])
  }
})

test('SR-L7 a start right after the process that had the folder was killed waits for its end', async (t) => {
  const dataDir = await freshDataDir(t)
  for (let round = 0; round < 3; round++) {
    const child = startChild(t, 'hold', { dataDir })
    await child.has(1)
    process.kill(child.pid, 'SIGKILL')
    await (await startRegistry(t, { dataDir })).close()
  }
})

test(
  'SR-L7 CR-A3 a process that has ended and whose parent has not noticed holds no folder',
  { skip: needs('/proc', existsSync('/proc/self/status')) },
  async (t) => {
    const dataDir = await freshDataDir(t)
    // the shell starts a child and becomes `sleep`, which never reaps it; the shell itself may reap a child that ends
    const script = 'sleep 60 & echo $!; exec sleep 60'
    const parent = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] })
    addCleanup(t, () => parent.kill('SIGKILL'))
    const [line] = (await parent.stdout.take(1).toArray()) as Buffer[]
    const pid = Number(line!.toString())
    const status = (id: number) => readFileSync(`/proc/${id}/status`, 'utf8')
    await until('the end of the shell', () => /^Name:\s+sleep$/m.test(status(parent.pid!)))
    process.kill(pid, 'SIGKILL')
    await until('the end of its child', () => /^State:\s+Z/m.test(status(pid)))
    await writeFile(join(dataDir, 'lock'), JSON.stringify({ nonce: 'a', pid, host: hostname() }))
    await startRegistry(t, { dataDir })
  }
)

test('SR-L7 a process that ends while the start waits, and one that hands over, give the folder away', async (t) => {
  const dataDir = await freshDataDir(t)
  const lock = join(dataDir, 'lock')
  const dying = spawn('sleep', ['60'])
  addCleanup(t, () => dying.kill('SIGKILL'))
  await writeFile(lock, JSON.stringify({ nonce: 'a', pid: dying.pid, host: hostname() }))
  const started = startRegistry(t, { dataDir })
  await new Promise((resolve) => setTimeout(resolve, 300))
  dying.kill('SIGKILL')
  await (await started).close()

  const leaving = spawn('sleep', ['60'])
  addCleanup(t, () => leaving.kill('SIGKILL'))
  await writeFile(lock, JSON.stringify({ nonce: 'b', pid: leaving.pid, host: hostname() }))
  const next = startRegistry(t, { dataDir })
  await new Promise((resolve) => setTimeout(resolve, 300))
  await rename(lock, `${lock}.gone`)
  await next
})
