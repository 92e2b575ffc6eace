import assert from 'node:assert/strict'
import test from 'node:test'
import { createHostCheck, createOriginCheck, type GuardOptions } from '../../src/plugins/guard.ts'

const local: GuardOptions = {
  mode: 'development' as const,
  host: '127.0.0.1',
  publicUrl: undefined,
  allowedHosts: [],
  allowedOrigins: []
}

test('DA-03 on loopback only loopback names pass, with any port', () => {
  const isKnown = createHostCheck(local)
  for (const host of ['localhost', 'LocalHost:8080', '127.0.0.1:1', '[::1]', '[::1]:8080'])
    assert.ok(isKnown(host), host)
  for (const host of ['', 'evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80', '10.0.0.1', '[::2]']) {
    assert.ok(!isKnown(host), host)
  }
})

test('DA-03 a wider bind lets IP addresses pass, but no other names', () => {
  const isKnown = createHostCheck({ ...local, host: '0.0.0.0' })
  for (const host of ['10.0.0.1:8080', '[2001:db8::1]:8080', 'localhost']) assert.ok(isKnown(host), host)
  for (const host of ['evil.example', '10.0.0.1.evil.example', '2001:db8::1.evil', '[evil]'])
    assert.ok(!isKnown(host), host)
})

test('the configured names and that of the public URL pass', () => {
  const isKnown = createHostCheck({ ...local, allowedHosts: ['gw.lan'], publicUrl: 'https://gw.example.com:8443/x' })
  for (const host of ['gw.lan:8080', 'GW.LAN', 'gw.example.com']) assert.ok(isKnown(host), host)
  assert.ok(!isKnown('other.lan'))
})

test('without an allow list every Host passes', () => {
  assert.ok(createHostCheck({ ...local, allowedHosts: null })('anything.example'))
})

test('DA-04 pages of loopback names may read, pages of the very host may change, others and null may do neither', () => {
  const { canSend, canWrite } = createOriginCheck({ ...local, host: '0.0.0.0' })
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1', 'https://[::1]:1', 'http://10.0.0.1:8080']) {
    assert.ok(canSend(origin, '10.0.0.1:8080'), origin)
    assert.equal(canWrite(origin, '10.0.0.1:8080'), origin === 'http://10.0.0.1:8080', origin)
  }
  const foreign = ['null', '', 'http://evil.example', 'http://localhost.evil.example', 'http://10.0.0.1:81', 'file://x']
  for (const origin of [...foreign, 'http://localhost/path', 'chrome-extension://localhost']) {
    assert.ok(!canSend(origin, '10.0.0.1:8080') && !canWrite(origin, '10.0.0.1:8080'), origin)
  }
})

test('in enterprise mode pages of loopback names are as foreign as all others', () => {
  const { canSend } = createOriginCheck({ ...local, mode: 'enterprise', allowedHosts: null })
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1', 'null', 'https://evil.example'])
    assert.ok(!canSend(origin, 'gw.example.com'), origin)
  assert.ok(canSend('https://gw.example.com', 'gw.example.com'))
})

test('DA-06 only configured origins and that of the public URL read answers', () => {
  const options = { ...local, allowedOrigins: ['https://app.example.com'], publicUrl: 'https://gw.example.com/x' }
  const { canSend, canWrite, canReadAnswers } = createOriginCheck(options)
  for (const origin of ['https://app.example.com', 'https://gw.example.com']) {
    assert.ok(canReadAnswers(origin) && canSend(origin, 'localhost') && canWrite(origin, 'localhost'), origin)
  }
  for (const origin of ['http://app.example.com', 'http://localhost:8080', 'null'])
    assert.ok(!canReadAnswers(origin), origin)
})
