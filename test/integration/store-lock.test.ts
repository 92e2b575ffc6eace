import assert from 'node:assert/strict'
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { freshDataDir, startRegistry, tempDir } from '../store.ts'
import { startChild } from './registry-helpers.ts'

const refusal = (dataDir: string, pid: number, host = hostname()) => ({
  name: 'StartRefusal',
  exitCode: 2,
  message: `data directory ${dataDir} is in use by process ${pid} on ${host}`
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

test('a lock of another host that still beats is respected', async (t) => {
  const dataDir = await freshDataDir(t)
  await writeFile(join(dataDir, 'lock'), JSON.stringify({ nonce: 'x', pid: 7, host: 'elsewhere.example' }))
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
  const limit = passed(6_000, 'still there', { ref: false })
  assert.equal(await Promise.race([child.ended, limit]), 1)
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
    name: 'StartRefusal',
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
