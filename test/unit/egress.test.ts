import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEgressEntry, reachableAddresses } from '../../src/domain/network/egress.ts'
import { policyOf } from '../egress.ts'

/** Returns a URL's host as a connector sees it: parsed, without brackets. */
const hostOf = (text: string) => new URL(`http://${text}/`).hostname.replace(/^\[|\]$/g, '')

const metadata = [169, 254, 169, 254] as const

/** Returns every IPv4 notation that the WHATWG parser accepts. */
function notationsOf([a, b, c, d]: readonly [number, number, number, number]): string[] {
  const whole = ((a * 256 + b) * 256 + c) * 256 + d
  const octal = (value: number) => `0${value.toString(8)}`
  const hex = (value: number) => `0x${value.toString(16)}`
  return [
    `${a}.${b}.${c}.${d}`,
    `${a}.${b}.${c}.${d}.`,
    String(whole),
    hex(whole),
    hex(whole).toUpperCase(),
    octal(whole),
    `${a}.${b * 65_536 + c * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    [a, b, c, d].map(hex).join('.'),
    [a, b, c, d].map(octal).join('.'),
    `${hex(a)}.${b}.${octal(c)}.${d}`,
    `${a}%2e${b}.${c}.${d}`
  ]
}

/** Returns every IPv6 form that leads to an IPv4 address, short and expanded. */
function formsOf([a, b, c, d]: readonly [number, number, number, number]): string[] {
  const pair = (high: number, low: number) => (high * 256 + low).toString(16)
  const hex = `${pair(a, b)}:${pair(c, d)}`
  const inverted = `${pair(a ^ 255, b ^ 255)}:${pair(c ^ 255, d ^ 255)}`
  return [
    `::ffff:${a}.${b}.${c}.${d}`,
    `::ffff:${hex}`,
    `0:0:0:0:0:ffff:${hex}`,
    `0000:0000:0000:0000:0000:FFFF:${hex}`,
    `::ffff:0:${hex}`,
    `::${hex}`,
    `64:ff9b::${hex}`,
    `64:ff9b::${a}.${b}.${c}.${d}`,
    `64:ff9b:1::${hex}`,
    `64:ff9b:1:abcd:0:0:${hex}`,
    `64:ff9b:1:${pair(a, b)}:${c.toString(16)}:${pair(d, 0)}::`,
    `2002:${hex}::1`,
    `2001:0:5db8:d822::${inverted}`
  ]
}

test('IN-18 every notation of a denied IPv4 address is denied', () => {
  const policy = policyOf()
  for (const notation of notationsOf(metadata)) assert.equal(policy.checkHost(hostOf(notation)), 'denied', notation)
})

test('IN-18 every IPv6 form of a denied IPv4 address is denied, as host and as resolved address', () => {
  const policy = policyOf()
  for (const form of formsOf(metadata)) {
    assert.equal(policy.checkHost(hostOf(`[${form}]`)), 'denied', form)
    assert.equal(policy.isDenied(form), true, form)
  }
})

const denied = [
  ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
  [
    'link-local',
    ['169.254.0.1', '169.254.169.254', '169.254.170.2', 'fe80::1', 'febf:ffff::1', 'fe80::1%eth0', 'fe80::1%2']
  ],
  ['metadata services', ['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254']],
  ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1']],
  ['broadcast', ['255.255.255.255']],
  ['what is no address', ['', 'localhost', '1.2.3', '::g', '300.1.1.1', '127.0.0.1/8']]
] as const

for (const [kind, addresses] of denied) {
  test(`IN-18 denied by default: ${kind}`, () => {
    const policy = policyOf()
    for (const address of addresses) assert.equal(policy.isDenied(address), true, address)
  })
}

test('IN-18 loopback, private networks and public addresses are allowed by default, also inside IPv6', () => {
  const policy = policyOf()
  const plain = ['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.5.9', '100.64.0.1', '93.184.216.34', '8.8.8.8']
  const ipv6 = ['::1', 'fd12:3456::1', '2606:4700::1111', '2001:db8::1']
  const inside = plain.flatMap((address) => formsOf(address.split('.').map(Number) as [number, number, number, number]))
  for (const address of [...plain, ...ipv6, ...inside]) assert.equal(policy.isDenied(address), false, address)
})

test('the neighbours of a denied network are not denied', () => {
  const policy = policyOf()
  for (const address of [
    '169.253.255.255',
    '169.255.0.0',
    'fe7f::1',
    'fec0::1',
    '223.255.255.255',
    '100.100.100.201'
  ]) {
    assert.equal(policy.isDenied(address), false, address)
  }
})

test('"loopback" and "private" deny all that they name, in every form, and nothing else', () => {
  const policy = policyOf({ deny: ['loopback', 'private'] })
  const inside = ['127.0.0.1', '127.255.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', '172.31.255.255', '192.168.0.1']
  const more = ['100.127.0.1', 'fc00::1', 'fdff::1', 'fec0::1', '64:ff9b::a00:1', '2002:7f00:1::', '64:ff9b:1::c0a8:1']
  for (const address of [...inside, ...more]) assert.equal(policy.isDenied(address), true, address)
  for (const address of ['126.0.0.1', '172.32.0.1', '192.169.0.1', '100.128.0.1', '2600::1']) {
    assert.equal(policy.isDenied(address), false, address)
  }
})

test('an exception wins over what is denied, by default or by a setting', () => {
  const policy = policyOf({ deny: ['0.0.0.0/0', '::/0'], allow: ['10.0.0.0/8', '169.254.169.254', 'fd00::/8'] })
  const allowed = ['10.9.8.7', '169.254.169.254', '::ffff:10.0.0.1', 'fd00:ec2::254']
  for (const address of allowed) assert.deepEqual([policy.isDenied(address), policy.isAllowed(address)], [false, true])
  for (const address of ['8.8.8.8', '127.0.0.1', '2600::1', '::1', '169.254.169.253', '64:ff9b::808:808']) {
    assert.deepEqual([policy.isDenied(address), policy.isAllowed(address)], [true, false], address)
  }
})

test('a host rule decides for that name alone, in any letter case and with a dot at the end', () => {
  const policy = policyOf({ deny: ['Evil.example', 'bücher.example'], allow: ['metadata.example', 'LOCALHOST'] })
  for (const host of ['evil.example', 'EVIL.example.', 'xn--bcher-kva.example']) {
    assert.equal(policy.checkHost(host), 'denied', host)
  }
  for (const host of ['metadata.example', 'metadata.example.', 'localhost']) {
    assert.equal(policy.checkHost(host), 'allowed', host)
  }
  for (const host of ['an.evil.example', 'evil.example.org', 'example', 'localhost.example']) {
    assert.equal(policy.checkHost(host), undefined, host)
  }
})

test('an exception for a name beats a denial of the same name', () => {
  assert.equal(policyOf({ deny: ['a.example'], allow: ['a.example'] }).checkHost('a.example'), 'allowed')
})

test('entries are networks, addresses in any notation, names and two words', () => {
  const network = (address: string, prefix: number) => [{ kind: 'network', address, prefix }]
  assert.deepEqual(parseEgressEntry('10.0.0.0/8'), network('10.0.0.0', 8))
  assert.deepEqual(parseEgressEntry('fd00::/8'), network('fd00::', 8))
  assert.deepEqual(parseEgressEntry('[fd00::]/8'), network('fd00::', 8))
  assert.deepEqual(parseEgressEntry('::ffff:10.0.0.0/104'), network('10.0.0.0', 8))
  assert.deepEqual(parseEgressEntry('0x7f.1'), network('127.0.0.1', 32))
  assert.deepEqual(parseEgressEntry('::1'), network('::1', 128))
  assert.deepEqual(parseEgressEntry('[::1]'), network('::1', 128))
  assert.deepEqual(parseEgressEntry('::ffff:127.0.0.1'), network('127.0.0.1', 32))
  assert.deepEqual(parseEgressEntry('API.Example.'), [{ kind: 'host', name: 'api.example' }])
  assert.deepEqual(parseEgressEntry('Private'), parseEgressEntry('private'))
  assert.notEqual(parseEgressEntry('loopback')?.length, 0)
})

test('entries that mean nothing are refused', () => {
  const wrong = [
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0/8',
    'a.example/8',
    'a b',
    'http://a.example',
    '*.a.example'
  ]
  const more = ['a.example:80', '[::1]:80', 'user@a.example', 'a.example/path', '300.1.1.1', 'a?b', '[::1', '/', '%']
  for (const entry of [...wrong, ...more]) assert.equal(parseEgressEntry(entry), undefined, entry)
})

test('an address that is another one in disguise is read as that one alone', () => {
  assert.deepEqual(reachableAddresses('::ffff:10.0.0.1'), ['10.0.0.1'])
  assert.deepEqual(reachableAddresses('::1'), ['::1'])
  assert.deepEqual(reachableAddresses('::'), ['::'])
  assert.deepEqual(reachableAddresses('64:ff9b::10.0.0.1'), ['64:ff9b::10.0.0.1', '10.0.0.1'])
  assert.deepEqual(reachableAddresses('fe80::1%eth0'), ['fe80::1'])
  assert.deepEqual(reachableAddresses('name'), [])
})

test('a form of an address is denied exactly where the address is', () => {
  const policy = policyOf({ deny: ['private', '203.0.113.0/24'], allow: ['10.1.0.0/16'] })
  // a fixed sequence, so that a failure can be repeated
  let seed = 1
  const byte = () => (seed = (seed * 48_271) % 2_147_483_647) % 256
  const firsts = [10, 100, 127, 169, 172, 192, 203, 224, 1, 93]
  for (let round = 0; round < 2_000; round++) {
    const parts = [firsts[round % firsts.length]!, byte(), byte(), byte()] as const
    const expected = policy.isDenied(parts.join('.'))
    for (const notation of notationsOf(parts)) {
      assert.equal(policy.checkHost(hostOf(notation)) === 'denied', expected, notation)
    }
    for (const form of formsOf(parts).filter((one) => !one.startsWith('64:ff9b:1:'))) {
      assert.equal(policy.isDenied(form), expected, form)
    }
    // the position of the address is not known there: no form of a denied one may pass, others may be refused
    for (const form of formsOf(parts)) if (expected) assert.equal(policy.isDenied(form), true, form)
  }
})
