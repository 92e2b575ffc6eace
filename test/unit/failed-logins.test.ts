import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFailedLogins } from '../../src/http/failed-logins.ts'

interface Line {
  readonly address?: string
  readonly count?: number
}

function start(perAddress: number) {
  const lines: Line[] = []
  const clock = { now: 0 }
  const log = { warn: (line: Line) => void lines.push(line) }
  const failed = createFailedLogins(log as never, perAddress, () => clock.now)
  const notes = (address: string, times: number) => Array.from({ length: times }, () => failed.record(address))
  return { lines, clock, notes }
}

test('SR-M2 an address has ten log lines a minute, an IPv6 network of 64 bits is one address, and the rest is counted', () => {
  const { lines, clock, notes } = start(60)
  notes('10.0.0.1', 1_000)
  notes('10.0.0.2', 5)
  for (let n = 0; n < 5_000; n++) notes(`2001:db8:1:2::${n.toString(16)}`, 1)
  assert.equal(lines.length, 25)
  clock.now = 60_000
  notes('10.0.0.1', 1)
  assert.deepEqual(lines.slice(25), [{ count: 990 + 4_990 }, { address: '10.0.0.1' }])
})

test('SR-M2 ever so many addresses have two hundred log lines a minute together', () => {
  const { lines, notes } = start(60)
  for (let n = 0; n < 5_000; n++) notes(`10.${n >> 8}.${n & 255}.1`, 1)
  assert.equal(lines.length, 200)
})

test('SR-L14 past so many wrong tokens a minute an address is told to come back later, each address for itself', () => {
  const { clock, notes } = start(3)
  assert.deepEqual(notes('10.0.0.1', 5), [undefined, undefined, undefined, 60, 60])
  assert.deepEqual(notes('10.0.0.2', 1), [undefined])
  clock.now = 59_500
  assert.deepEqual(notes('10.0.0.1', 1), [1])
  clock.now = 60_000
  assert.deepEqual(notes('10.0.0.1', 1), [undefined])
})
