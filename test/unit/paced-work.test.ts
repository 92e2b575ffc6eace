import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createPacedWork } from '../../src/lib/paced-work.ts'

/** Paced work of 1 ms each, by a clock of its own, with 3 ms in a turn. */
function fixture() {
  let time = 0
  const ran: number[] = []
  const pace = createPacedWork(3, () => time)
  const add = (at: number, then?: () => void) =>
    pace(() => {
      time++
      ran.push(at)
      then?.()
    })
  return { ran, add }
}

test('paced work runs at once up to its time in a turn, the rest in order in later turns', async () => {
  const { ran, add } = fixture()
  for (let at = 0; at < 8; at++) add(at)
  assert.deepEqual(ran, [0, 1, 2])
  await nextTurn()
  assert.deepEqual(ran, [0, 1, 2, 3, 4, 5])
  add(8)
  assert.deepEqual(ran, [0, 1, 2, 3, 4, 5], 'work that comes later does not overtake')
  await nextTurn()
  assert.deepEqual(ran, [0, 1, 2, 3, 4, 5, 6, 7, 8])
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  add(9)
  assert.equal(ran.at(-1), 9, 'after a pause it runs at once again')
})

test('paced work that adds more work runs all of it, in several turns', async () => {
  const { ran, add } = fixture()
  const again = (at: number) => add(at, () => at < 9 && again(at + 1))
  again(0)
  assert.deepEqual(ran, [0], 'what it adds waits for the next turn')
  for (let turn = 0; turn < 12; turn++) await nextTurn()
  assert.deepEqual(
    ran,
    Array.from({ length: 10 }, (_, at) => at)
  )
})
