import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  entryOf,
  readTableNow,
  signalEntry,
  treeOf,
  type ProcessEntry
} from '../../src/upstream/stdio/process-table.ts'
import { until } from '../until.ts'
import { needs } from '../needs.ts'

const skip = needs('/proc', entryOf(process.pid) !== undefined)

/** `pid parent session start`, above all pids that the system assigns. */
const BASE = 10_000_000
const table = (...lines: readonly (readonly [pid: number, parent: number, session: number, start: number])[]) =>
  new Map(
    lines.map(([pid, parent, session, start]) => [
      BASE + pid,
      { pid: BASE + pid, parent: BASE + parent, session: BASE + session, start }
    ])
  )
const child = { pid: BASE + 10, start: 100, mark: 'TOWPATH_STDIO_SESSION=none', uid: undefined }
const pidsOf = (entries: readonly ProcessEntry[]) => entries.map(({ pid }) => pid - BASE).toSorted((a, b) => a - b)

test('CR-A6: a tree is the session of the child and all that descends from it, whatever session that has', () => {
  const processes = table(
    [10, 1, 10, 100],
    [11, 10, 10, 101],
    [12, 11, 12, 102],
    [13, 12, 13, 103],
    // orphaned, still in the session
    [14, 1, 10, 104],
    [20, 1, 20, 100],
    [21, 20, 20, 105]
  )
  assert.deepEqual(pidsOf(treeOf(processes, child, [])), [10, 11, 12, 13, 14])
})

test('CR-A6: what was found before stays in the tree when its parents are gone', () => {
  const before = treeOf(table([10, 1, 10, 100], [11, 10, 11, 101], [12, 11, 12, 102]), child, [])
  const now = table([12, 1, 12, 102], [15, 12, 15, 200], [20, 1, 20, 100])
  assert.deepEqual(pidsOf(treeOf(now, child, before)), [12, 15])
})

test('CR-A6: a pid that another process has by now is none of the tree', () => {
  const before = treeOf(table([10, 1, 10, 100], [11, 10, 11, 101]), child, [])
  // 10 and 11 now belong to others, with children of their own
  const now = table([10, 1, 9, 500], [11, 1, 11, 501], [12, 10, 12, 502], [13, 11, 13, 503])
  assert.deepEqual(pidsOf(treeOf(now, child, before)), [])
  // older than the process that now has its parent's pid
  assert.deepEqual(pidsOf(treeOf(table([10, 1, 10, 100], [16, 10, 16, 50]), child, [])), [10])
})

test('CR-A6: orphans are known by the mark of their server, whole, and nothing else is', { skip }, async (t) => {
  const mark = 'TOWPATH_STDIO_SESSION=2b1c.1'
  const start = (value: string) => {
    const one = spawn('sleep', ['60'], {
      detached: true,
      env: { PATH: process.env.PATH, A: mark, [value]: '', B: '1' }
    })
    t.after(() => one.kill('SIGKILL'))
    return one
  }
  const set = (value: string) =>
    spawn('sleep', ['60'], { detached: true, env: { PATH: process.env.PATH, TOWPATH_STDIO_SESSION: value } })
  const ours = set('2b1c.1')
  const others = [set('2b1c.11'), set('2b1c.'), set('x2b1c.1'), start('OTHER')]
  for (const one of [ours, ...others]) t.after(() => one.kill('SIGKILL'))
  const ended = { pid: BASE, start: 0, mark, uid: undefined }
  const find = (more: object = {}) => treeOf(readTableNow(), { ...ended, ...more }, []).map(({ pid }) => pid)
  // until its exec, a child has the environment of the test
  await until('the mark', () => find().includes(ours.pid!))
  assert.deepEqual(find(), [ours.pid])
  assert.deepEqual(find({ uid: 65_533 }), [], "another user's process is none of it")
  assert.deepEqual(find({ start: entryOf(ours.pid!)!.start + 1 }), [], 'nor is one that is older than the server')
})

test('CR-A6: a signal reaches the very process that was seen, or nobody', { skip }, async (t) => {
  const one = spawn('sleep', ['60'])
  t.after(() => one.kill('SIGKILL'))
  const seen = entryOf(one.pid!)!
  signalEntry({ ...seen, start: seen.start - 1 }, 'SIGKILL')
  signalEntry({ ...seen, pid: BASE }, 'SIGKILL')
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(one.signalCode, null, 'one that started at another time is another')
  const exit = once(one, 'exit')
  signalEntry(seen, 'SIGTERM')
  assert.deepEqual(await exit, [null, 'SIGTERM'], 'the one that was seen ends')
})
