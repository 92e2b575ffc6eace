import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSemaphore } from '../../src/lib/semaphore.ts'

test('at most as much work runs at a time as the limit says, in order of arrival, also after a failure', async () => {
  const { run } = createSemaphore(2)
  const started: number[] = []
  const ends: (() => void)[] = []
  const all = [0, 1, 2, 3].map((i) =>
    run(async () => {
      started.push(i)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (i === 0) throw new Error('failed')
      return i
    })
  )
  const settled = Promise.allSettled(all)
  assert.deepEqual(started, [0, 1])
  for (const next of [2, 3]) {
    ends.shift()!()
    while (started.length <= next) await new Promise(setImmediate)
    assert.equal(started.at(-1), next)
    assert.equal(ends.length, 2)
  }
  for (const end of ends) end()
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled']
  )
})

test('a turn is given back once, and a wait past its limit is given up', async () => {
  const { acquire } = createSemaphore(1)
  const release = await acquire()
  const waitLimit = { ms: 5, error: () => new Error('too long') }
  await assert.rejects(acquire(waitLimit), { message: 'too long' })
  const next = acquire(waitLimit)
  release()
  const releaseNext = await next
  release()
  await assert.rejects(acquire(waitLimit), { message: 'too long' })
  releaseNext()
  await acquire(waitLimit)
})
