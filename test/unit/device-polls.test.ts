import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDevicePolls } from '../../src/authorization-server/device-polls.ts'

test('each request of a device that comes too soon makes the interval five seconds longer', () => {
  let now = 0
  const polls = createDevicePolls(() => now)
  const after = (ms: number, code = 'one') => {
    now += ms
    return polls.isTooSoon(code)
  }
  assert.deepEqual([after(0), after(5_000), after(4_500)], [false, false, false], 'every five seconds, or almost')
  assert.deepEqual([after(1_000), after(5_000)], [true, true])
  assert.deepEqual([after(15_000), after(14_500)], [false, false])
  assert.equal(after(0, 'two'), false, 'another device is not slowed down')
})
