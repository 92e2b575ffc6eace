import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { acquireLock } from '../../src/registry/store/lock.ts'
import { freshDataDir, addCleanup, startRegistry, tempDir } from '../store.ts'
import { startChild } from './registry-helpers.ts'

const refusal = (dataDir: string, pid: number, host = hostname()) => ({
  name: 'StartupError',
  exitCode: 2,
  message:
    `data directory ${dataDir} is in use by process ${pid} on ${host}; ` +
    `if that process is not a gateway, remove ${join(dataDir, 'lock')}`
})

test('a data directory that another process has open is refused, and free once that process is killed', async (t) => {
  const dataDir = await freshDataDir(t)
  const child = startChild(t, 'hold', { dataDir })
  await child.has(1)
  await assert.rejects(startRegistry(t, { dataDir }), refusal(dataDir, child.pid))
  await child.kill()
  await startRegistry(t, { dataDir })
})

test('a data directory that this process has open is refused, and free once it is closed', async (t) => {
  const dataDir = await freshDataDir(t)
  const first = await startRegistry(t, { dataDir })
  await assert.rejects(startRegistry(t, { dataDir }), refusal(dataDir, process.pid))
  await first.close()
  await startRegistry(t, { dataDir })
})

test('a lock that is released while it is renewed is not reported as lost', async (t) => {
  let losses = 0
  const release = async () => {
    const lock = await acquireLock(await tempDir(t), () => void losses++)
    // created after the timer of the renewals, so that it runs right behind it
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await lock.release()
  }
  await Promise.all(Array.from({ length: 200 }, release))
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(losses, 0, 'nobody has taken a lock')
})

test('a lock of a dead process, of an earlier one with our pid, or of a silent host is taken over', async (t) => {
  const dataDir = await freshDataDir(t)
  const child = startChild(t, 'pass', { dataDir })
  await child.ended
  const host = hostname()
  const longAgo = new Date(Date.now() - 3_600_000)
  for (const owner of [
    { nonce: 'a', pid: child.pid, host },
    { nonce: 'b', pid: process.pid, host },
    { nonce: 'c', pid: 1, host: 'elsewhere.example' },
    'not even an owner'
  ]) {
    await writeFile(join(dataDir, 'lock'), JSON.stringify(owner))
    await utimes(join(dataDir, 'lock'), longAgo, longAgo)
    const registry = await startRegistry(t, { dataDir })
    await registry.close()
  }
  assert.deepEqual((await readdir(dataDir)).toSorted(), ['encryption.key', 'postgres'])
})

test(
  'a lock whose pid is by now that of a younger process is taken over, one of an older process is respected',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const dataDir = await freshDataDir(t)
    const child = spawn('sleep', ['60'])
    addCleanup(t, () => child.kill())
    const lock = join(dataDir, 'lock')
    await writeFile(lock, JSON.stringify({ nonce: 'a', pid: child.pid, host: hostname() }))
    await assert.rejects(startRegistry(t, { dataDir }), refusal(dataDir, child.pid!))
    const beforeIt = new Date(Date.now() - 60_000)
    await utimes(lock, beforeIt, beforeIt)
    await startRegistry(t, { dataDir })
  }
)

test('a lock of another host that still beats is respected', async (t) => {
  const dataDir = await freshDataDir(t)
  await writeFile(join(dataDir, 'lock'), JSON.stringify({ nonce: 'x', pid: 7, host: 'elsewhere.example' }))
  await assert.rejects(startRegistry(t, { dataDir }), refusal(dataDir, 7, 'elsewhere.example'))
})

test('a lock of another host that beats is respected, however far its clock is behind', async (t) => {
  const dataDir = await freshDataDir(t)
  const path = join(dataDir, 'lock')
  await writeFile(path, JSON.stringify({ nonce: 'x', pid: 7, host: 'elsewhere.example' }))
  let time = new Date(Date.now() - 3_600_000)
  const beat = async () => {
    time = new Date(time.getTime() + 1_000)
    await utimes(path, time, time)
  }
  await beat()
  const timer = setInterval(() => void beat(), 500)
  addCleanup(t, () => clearInterval(timer))
  await assert.rejects(startRegistry(t, { dataDir }), refusal(dataDir, 7, 'elsewhere.example'))
})

test('of several processes that take over a stale lock at once one gets it', async (t) => {
  const dataDir = await freshDataDir(t)
  const dead = startChild(t, 'pass', { dataDir })
  await dead.ended
  await writeFile(join(dataDir, 'lock'), JSON.stringify({ nonce: 'a', pid: dead.pid, host: hostname() }))
  const children = [1, 2, 3].map(() => startChild(t, 'hold', { dataDir }))
  const outcomes = await Promise.allSettled(children.map((child) => child.has(1)))
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('a process that has lost its lock ends at once and leaves the new one alone', async (t) => {
  const dataDir = await freshDataDir(t)
  const child = startChild(t, 'hold', { dataDir })
  await child.has(1)
  const other = JSON.stringify({ nonce: 'other', pid: 7, host: 'elsewhere.example' })
  await writeFile(join(dataDir, 'lock'), other)
  assert.equal(await child.ended, 1)
  assert.equal(await readFile(join(dataDir, 'lock'), 'utf8'), other)
})

test('a process ends by itself once its registry is closed', async (t) => {
  const child = startChild(t, 'pass', { dataDir: await freshDataDir(t) })
  assert.equal(await child.ended, 0)
})

test('a store of another format is refused with both versions and the way to move', async (t) => {
  const dataDir = await freshDataDir(t)
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
  await assert.rejects(startRegistry(t, { dataDir }), {
    name: 'StartupError',
    message:
      `the store in ${join(dataDir, 'postgres')} has format 17 and this version reads format 18: ` +
      'run "towpath export" with the version that wrote it, then "towpath apply" with this one on a new data directory'
  })
  assert.deepEqual((await readdir(dataDir)).toSorted(), ['postgres'])
})

test('a first start makes a private directory, and begins anew after one that was cut off', async (t) => {
  const dataDir = join(await tempDir(t), 'new', 'data')
  const first = await startRegistry(t, { dataDir })
  await first.close()
  assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
  assert.equal((await stat(join(dataDir, 'encryption.key'))).mode & 0o777, 0o600)

  const other = await tempDir(t)
  await writeFile(join(other, 'postgres.new'), 'left over')
  await startRegistry(t, { dataDir: other })
})

test('a data directory that cannot be made is refused in one line, whatever is in its way', async (t) => {
  const folder = await tempDir(t)
  const file = join(folder, 'file')
  await writeFile(file, '')
  for (const [dataDir, reason] of [
    [file, `${file} is not a folder`],
    [join(file, 'below', 'it'), `${file} is not a folder`],
    ['/proc/towpath/data', '/proc/towpath cannot be created (ENOENT)']
  ] as const) {
    if (dataDir.startsWith('/proc') && process.platform !== 'linux') continue
    await assert.rejects(startRegistry(t, { dataDir }), {
      name: 'StartupError',
      message: `the data directory ${dataDir} cannot be used: ${reason}`
    })
  }
})
