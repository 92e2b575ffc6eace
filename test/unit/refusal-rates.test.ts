import assert from 'node:assert/strict'
import test from 'node:test'
import { networkOf } from '../../src/domain/client-address.ts'
import { createRefusalRates } from '../../src/registry/refusal-rates.ts'

const admitted = (rates: ReturnType<typeof createRefusalRates>, address: string, times: number) =>
  Array.from({ length: times }, () => rates.admits(address)).filter(Boolean).length

test('of one address sixty refusals a minute get a row, and the others are counted', () => {
  let time = 0
  const rates = createRefusalRates(() => time)
  assert.equal(admitted(rates, '192.0.2.1', 100), 60)
  assert.equal(admitted(rates, '192.0.2.2', 3), 3)
  assert.equal(rates.remaining(), 60_000)
  time = 60_000
  assert.equal(rates.remaining(), 0)
  assert.deepEqual(rates.settle(), [{ address: '192.0.2.1', count: 40 }])
  assert.equal(rates.remaining(), 60_000)
  assert.equal(admitted(rates, '192.0.2.1', 1), 1)
  assert.deepEqual(rates.settle(), [])
})

test('many addresses together get six hundred rows a minute, and what they need does not grow', () => {
  const rates = createRefusalRates(() => 0)
  const rows = Array.from({ length: 5_000 }, (_, n) => rates.admits(`192.0.${n >> 8}.${n & 255}`)).filter(Boolean)
  assert.equal(rows.length, 600)
  assert.deepEqual(rates.settle(), [{ address: undefined, count: 4_400 }])
})

test('an IPv6 network of 64 bits is one address', () => {
  const rates = createRefusalRates(() => 0)
  const rows = Array.from({ length: 100 }, (_, n) => rates.admits(`2001:db8:1:2::${n.toString(16)}`)).filter(Boolean)
  assert.equal(rows.length, 60)
  assert.deepEqual(rates.settle(), [{ address: '2001:db8:1:2::/64', count: 40 }])
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
