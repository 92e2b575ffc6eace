import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsOf } from '../../dashboard/src/start/steps.ts'

const fresh = { server_count: 0, recorded: 'calls', has_calls: false, has_client: false } as const

test('the first steps follow what the gateway knows, and omit the call where calls are not recorded', () => {
  const done = (progress: Parameters<typeof stepsOf>[0]) => stepsOf(progress).map(({ id, isDone }) => `${id} ${isDone}`)
  assert.deepEqual(done(fresh), ['add false', 'try false', 'connect false'])
  assert.deepEqual(done({ ...fresh, server_count: 1, has_calls: true }), ['add true', 'try true', 'connect false'])
  assert.deepEqual(done({ ...fresh, recorded: 'nothing', has_client: true }), ['add false', 'connect true'])
})

test('in the console the last step is to invite somebody', () => {
  const open = (has_people: boolean) => stepsOf({ ...fresh, has_people }).at(-1)
  assert.deepEqual(open(false), { id: 'invite', isDone: false })
  assert.deepEqual(open(true), { id: 'invite', isDone: true })
})
