import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { VERSION } from '../../src/domain/version.ts'
import { startApp } from '../app.ts'

test('AN-06 health, readiness and version need nothing', async (t) => {
  const app = await startApp(t)
  for (const [url, body] of [
    ['/health', { status: 'ok' }],
    ['/ready', { status: 'ready' }],
    ['/metadata', { version: VERSION }]
  ] as const) {
    const answer = await app.inject(url)
    assert.deepEqual([answer.statusCode, answer.json()], [200, body])
  }
})

test('the reader of the API description needs no other site, and says so in its policy', async (t) => {
  const app = await startApp(t)
  const page = await app.inject('/docs')
  assert.equal(page.statusCode, 200)
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'; script-src 'self'; /)
  assert.match(String(page.headers['content-security-policy']), /frame-ancestors 'none'/)
  assert.doesNotMatch(page.body, /https?:|<script>[^<]/)
  for (const [, path] of page.body.matchAll(/(?:src|href)="([^"]+)"/g)) {
    const file = await app.inject(path!)
    assert.equal(file.statusCode, 200, path)
    assert.equal(Number(file.headers['content-length']), file.rawPayload.length, path)
  }
  const style = { url: '/docs/static/swagger-ui.css' }
  const { headers } = await app.inject({ ...style, method: 'HEAD' })
  const again = await app.inject({ ...style, headers: { 'if-none-match': headers.etag } })
  assert.deepEqual([again.statusCode, again.body], [304, ''])
})

test('DA-12 the default is to listen on 127.0.0.1 alone', async (t) => {
  const app = await startApp(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const addresses = app.addresses().map((each) => (each as AddressInfo).address)
  assert.deepEqual(addresses, ['127.0.0.1'])
})
