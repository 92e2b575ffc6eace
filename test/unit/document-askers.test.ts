import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { createDocumentAskers } from '../../src/authorization-server/document-askers.ts'

const ID = 'https://client.example/app.json'
const basic = (user: string) => `Basic ${Buffer.from(`${user}:secret`).toString('base64')}`
const request = (url: string, body = '', authorization?: string) =>
  ({ url, headers: { authorization }, body: Buffer.from(body) }) as unknown as IncomingMessage

for (const [where, asking] of [
  ['query', request(`/oauth/authorize?client_id=${encodeURIComponent(ID)}&scope=mcp`)],
  ['form', request('/oauth/token', `grant_type=refresh_token&client_id=${encodeURIComponent(ID)}`)],
  ['credentials', request('/oauth/token', '', basic(encodeURIComponent(ID)))]
] as const) {
  test(`the address of a request that names a client's document in its ${where} is known while it is served`, async () => {
    const askers = createDocumentAskers()
    await askers.serve(asking, '192.0.2.1', async () => {
      await Promise.resolve()
      assert.equal(askers.addressOf(ID), '192.0.2.1')
      assert.equal(askers.addressOf('https://other.example/'), '')
    })
    assert.equal(askers.addressOf(ID), '')
  })
}

test('the end of a request does not take the address of a later one that names the same document', async () => {
  const askers = createDocumentAskers()
  const asking = request(`/oauth/authorize?client_id=${encodeURIComponent(ID)}`)
  let end = () => {}
  const first = askers.serve(asking, '192.0.2.1', () => new Promise((resolve) => (end = resolve)))
  await askers.serve(asking, '192.0.2.2', async () => {
    end()
    await first
    assert.equal(askers.addressOf(ID), '192.0.2.2')
  })
})

test('a request that fails, that names no document, or whose credentials are broken leaves nothing behind', async () => {
  const askers = createDocumentAskers()
  const failing = askers.serve(request(`/?client_id=${ID}`), '192.0.2.1', () => Promise.reject(new Error('no')))
  await assert.rejects(failing, /no/)
  for (const broken of ['Basic %%%', 'Basic', basic('%E0%A4%A'), 'Bearer x']) {
    await askers.serve(request('/oauth/token', 'client_id=http://plain.example', broken), '192.0.2.1', async () => {
      assert.equal(askers.addressOf('http://plain.example'), '')
    })
  }
  assert.equal(askers.addressOf(ID), '')
})
