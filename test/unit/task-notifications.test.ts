import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskNotifications } from '../../src/mcp/tasks/task-notifications.ts'

const HALF = 524_288

/** Creates the states of a client and the texts that it was sent. */
function createStates() {
  const sent: string[] = []
  const notifications = new TaskNotifications()
  const receive = notifications.receiver()
  const give = (handle: string, text: string, { isFinal = false, characters = 10 } = {}) =>
    receive({ handle, characters, isFinal, send: () => sent.push(`${handle} ${text}`) })
  return { sent, notifications, give }
}

test('before the start the newest state of each task waits, and afterwards states are sent at once', () => {
  const { sent, notifications, give } = createStates()
  give('a', '1')
  give('b', '1', { isFinal: true })
  give('a', '2')
  assert.deepEqual(sent, [])
  notifications.start()
  assert.deepEqual(sent, ['b 1', 'a 2'])
  give('a', '3')
  assert.deepEqual(sent.slice(2), ['a 3'])
})

test('the length of a replaced state is given back', () => {
  const { sent, notifications, give } = createStates()
  for (let i = 0; i < 100; i++) give('a', String(i), { characters: HALF })
  give('b', 'end', { characters: HALF, isFinal: true })
  assert.deepEqual([notifications.hasLost('a'), notifications.hasLost('b')], [false, false])
  notifications.start()
  assert.deepEqual(sent, ['a 99', 'b end'])
})

test('a task whose newest state is too long to wait is known, until a shorter one comes', () => {
  const { sent, notifications, give } = createStates()
  give('a', '1')
  give('a', '2', { characters: 2 * HALF + 1 })
  give('b', 'end', { characters: 2 * HALF + 1, isFinal: true })
  give('b', 'after the end')
  assert.deepEqual([notifications.hasLost('a'), notifications.hasLost('b')], [true, true])
  give('a', '3')
  assert.equal(notifications.hasLost('a'), false)
  notifications.start()
  assert.deepEqual(sent, ['a 3'])
})

test('above the rate limit the newest state of a task waits for a second, and ends of tasks do not', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { sent, notifications, give } = createStates()
  notifications.start()
  for (let i = 0; i < 300; i++) give('a', String(i))
  assert.equal(sent.length, 100)
  for (let i = 0; i < 100; i++) give(`task${i}`, 'end', { isFinal: true })
  assert.equal(sent.length, 200)
  give('a', 'last')
  t.mock.timers.tick(1_000)
  assert.deepEqual(sent.slice(200), ['a last'])
  give('b', 'waits')
  give('b', 'end', { isFinal: true })
  t.mock.timers.tick(1_000)
  assert.deepEqual(sent.slice(201), ['b end'])
})

test('nothing is sent after the end of a task, nor what waits after the stream is closed', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { sent, notifications, give } = createStates()
  notifications.start()
  give('a', 'end', { isFinal: true })
  give('a', 'again')
  give('a', 'end', { isFinal: true })
  assert.deepEqual(sent, ['a end'])
  for (let i = 0; i < 200; i++) give('b', String(i))
  notifications.close()
  t.mock.timers.tick(1_000)
  assert.equal(sent.length, 101)
})
