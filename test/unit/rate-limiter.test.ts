import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from '../../src/domain/network/client-address.ts'
import { createRateLimiter, type RateLimiter } from '../../src/domain/rates.ts'

const admitted = (rates: RateLimiter, key: string, times: number) =>
  Array.from({ length: times }, () => rates.admit(key)).filter(Boolean).length

test('SR-M2 of one key so many events a minute are admitted, and the others are counted', () => {
  let time = 0
  const rates = createRateLimiter({ perKey: 60, inAll: 600, now: () => time })
  assert.equal(admitted(rates, 'a', 100), 60)
  assert.equal(admitted(rates, 'b', 3), 3)
  assert.equal(rates.remainingMs(), 60_000)
  time = 60_000
  assert.equal(rates.remainingMs(), 0)
  assert.deepEqual(rates.startWindow(), [{ key: 'a', count: 40 }])
  assert.equal(rates.remainingMs(), 60_000)
  assert.equal(admitted(rates, 'a', 1), 1)
  assert.deepEqual(rates.startWindow(), [])
})

test('SR-M2 many keys together are held to one limit, and what they need does not grow', () => {
  const rates = createRateLimiter({ perKey: 60, inAll: 600, now: () => 0 })
  const rows = Array.from({ length: 5_000 }, (_, n) => rates.admit(`key ${n}`)).filter(Boolean)
  assert.equal(rows.length, 600)
  assert.deepEqual(rates.startWindow(), [{ key: undefined, count: 4_400 }])
})

const networks: readonly [address: string, network: string][] = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', '']
]
for (const [address, network] of networks) {
  test(`${address || 'no address'} counts as ${network || 'itself'}`, () => assert.equal(networkOf(address), network))
}
