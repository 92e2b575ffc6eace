import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressResolver } from '../../src/domain/network/client-address.ts'
import { readConfig } from '../../src/config/config.ts'

const addressesFor = (given: string) =>
  createAddressResolver(readConfig({ TOWPATH_TRUSTED_PROXIES: given }, {}, () => '').config.trustedProxies)

const PROXIES = '10.0.0.0/8, 192.0.2.1, fd00::/8, loopback'
const cases: readonly [about: string, peer: string | undefined, header: string | string[] | undefined, string][] = [
  ['no header: the proxy itself', '10.0.0.1', undefined, '10.0.0.1'],
  ['an empty header: the proxy itself', '10.0.0.1', '', '10.0.0.1'],
  ['an untrusted peer names nobody', '203.0.113.9', '198.51.100.7', '203.0.113.9'],
  ['one proxy', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['a peer that is mapped into IPv6', '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['an entry that is mapped into IPv6', '10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
  ['the rightmost that is no proxy counts', '10.0.0.1', '6.6.6.6, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
  ['several headers are one list', '10.0.0.1', ['6.6.6.6', '198.51.100.7', '192.0.2.1'], '198.51.100.7'],
  ['nobody but proxies: the one farthest away', '127.0.0.1', '10.0.0.9,10.0.0.2', '10.0.0.9'],
  ['a port', '10.0.0.1', '198.51.100.7:50123', '198.51.100.7'],
  ['IPv6', '10.0.0.1', '2001:DB8::7', '2001:db8::7'],
  ['IPv6 with brackets and port', 'fd00::1', '[2001:db8::7]:443', '2001:db8::7'],
  ['garbage on the right: the proxy that passed it on', '10.0.0.1', '198.51.100.7, unknown', '10.0.0.1'],
  ['garbage behind a proxy: that proxy', '10.0.0.1', '198.51.100.7, <x>, 10.0.0.2', '10.0.0.2'],
  ['control characters', '10.0.0.1', '198.51.100.7\u001b[31m', '10.0.0.1'],
  ['an address with a zone', '10.0.0.1', 'fe80::1%eth0', '10.0.0.1'],
  ['an empty entry', '10.0.0.1', '198.51.100.7,', '10.0.0.1'],
  ['nothing but commas', '10.0.0.1', ','.repeat(9_000), '10.0.0.1'],
  ['a long entry', '10.0.0.1', '1'.repeat(16_000), '10.0.0.1'],
  [
    'a list of thousands of proxies is not read to its end',
    '10.0.0.1',
    `8.8.8.8${',10.1.1.1'.repeat(1_800)}`,
    '10.1.1.1'
  ],
  ['a connection that is gone', undefined, '198.51.100.7', '']
]
for (const [about, peer, header, address] of cases) {
  test(`SR-M2 the client behind trusted proxies is found: ${about}`, () => {
    assert.equal(addressesFor(PROXIES).resolve(peer, header), address)
  })
}

test('SR-M2 without trusted proxies no header changes the address', () => {
  const addresses = createAddressResolver([])
  assert.equal(addresses.resolve('127.0.0.1', '198.51.100.7'), '127.0.0.1')
  assert.equal(addresses.isProxy('127.0.0.1'), false)
})

test('SR-M2 a bound per address can tell proxies from clients', () => {
  const addresses = addressesFor(PROXIES)
  assert.deepEqual(
    ['10.9.9.9', '::ffff:192.0.2.1', '::1', '192.0.2.2', undefined, 'x'].map((peer) => addresses.isProxy(peer)),
    [true, true, true, false, false, false]
  )
})

for (const value of ['proxy.example.com', '10.0.0.0/33', '0.0.0.0/0', '::/0', '10.0.0.1;10.0.0.2', '10.0.0.0/8, x']) {
  test(`SR-M2 TOWPATH_TRUSTED_PROXIES=${value} stops the start`, () => {
    assert.throws(() => addressesFor(value), /TOWPATH_TRUSTED_PROXIES must list addresses and networks/)
  })
}
