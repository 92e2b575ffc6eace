import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createTaskHandles, handleKey } from '../../src/mcp/tasks/handles.ts'

const task = { serverId: '3f0a', tool: 'job', taskId: 'a task "with" ünïcode \u0000' }
const owner = { caller: { key: 'client:1', tokenHash: Buffer.alloc(32, 1) }, endpoint: '/mcp' }
const key = randomBytes(32)

test('a handle opens for its owner and shows nothing of the task', () => {
  const handles = createTaskHandles(key, 30)
  const before = Date.now()
  const handle = handles.seal(owner, task)
  assert.match(handle, /^t1\.[\w-]+$/)
  const { createdAt, ...opened } = handles.open(owner, handle)!
  assert.deepEqual(opened, task)
  assert.ok(createdAt >= before && createdAt <= Date.now())
  for (const text of ['3f0a', 'job', 'a task', 'client:1', '/mcp']) {
    assert.ok(!Buffer.from(handle.slice(3), 'base64url').includes(text), text)
  }
  assert.notEqual(handles.seal(owner, task), handle)
  assert.notEqual(handleKey(handles.seal(owner, task)), handleKey(handle))
})

test('a handle of another caller, token, endpoint or gateway does not open', () => {
  const handles = createTaskHandles(key, 30)
  const handle = handles.seal(owner, task)
  const { caller } = owner
  const others = [
    { caller: { ...caller, key: 'client:2' }, endpoint: '/mcp' },
    { caller: { ...caller, tokenHash: Buffer.alloc(32, 2) }, endpoint: '/mcp' },
    { caller: { key: 'client:1' }, endpoint: '/mcp' },
    { caller, endpoint: '/v0/groups/g/mcp' },
    { caller, endpoint: '/mcp"' },
    { caller, endpoint: '/sse' }
  ]
  for (const other of others) assert.equal(handles.open(other, handle), undefined, JSON.stringify(other))
  assert.equal(createTaskHandles(randomBytes(32), 30).open(owner, handle), undefined)
  assert.ok(createTaskHandles(key, 30).open(owner, handle), 'another replica with the same key')
})

test('a handle that was changed anywhere does not open', () => {
  const handles = createTaskHandles(key, 30)
  const handle = handles.seal(owner, task)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let at = 0; at < handle.length; at++) {
    const other = alphabet[(alphabet.indexOf(handle[at]!) + 1) % alphabet.length]!
    assert.equal(handles.open(owner, handle.slice(0, at) + other + handle.slice(at + 1)), undefined, `position ${at}`)
    assert.equal(handles.open(owner, handle.slice(0, at)), undefined, `cut at ${at}`)
  }
  for (const more of ['A', '=', ' ', '\n', '.']) assert.equal(handles.open(owner, handle + more), undefined, more)
  for (const text of ['', 't1.', 't1.AAAA', `t2.${handle.slice(3)}`, handle.toUpperCase(), '\u{1F600}'.repeat(4_000)]) {
    assert.equal(handles.open(owner, text), undefined)
  }
})

test('the last character of a handle has one spelling', () => {
  const handles = createTaskHandles(key, 30)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (const taskId of ['a', 'ab', 'abc']) {
    const handle = handles.seal(owner, { ...task, taskId })
    const spellings = alphabet.split('').filter((last) => handles.open(owner, handle.slice(0, -1) + last))
    assert.deepEqual(spellings, [handle.at(-1)], taskId)
  }
})

test('a handle expires after its days', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const handles = createTaskHandles(key, 2)
  const handle = handles.seal(owner, task)
  t.mock.timers.setTime(1_000_000 + 2 * 86_400_000)
  assert.ok(handles.open(owner, handle))
  t.mock.timers.setTime(1_000_001 + 2 * 86_400_000)
  assert.equal(handles.open(owner, handle), undefined)
})
