import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import { clientDocument } from '../fixtures/identity-provider/client-documents.ts'
import { createAuthorization } from '../fixtures/identity-provider/gateway.ts'
import { createAuthority } from '../fixtures/tls.ts'
import { until } from '../until.ts'
import { startDocumentHost, startSignInProcess } from './sign-in-gateway.ts'

const MAX_BYTES = 5_120

test('IA-18 a document behind TLS is read within its size and time, and only at its own URL', async (t) => {
  const gateway = await startSignInProcess(t)
  const { host } = gateway
  /** Opens an authorization request; resolves with the page of the gateway, undefined if the client is known. */
  const refusalOf = async (clientId: string) => {
    const { url } = createAuthorization(gateway, clientId)
    const page = await createBrowser().open(url, (to) => !to.href.startsWith(gateway.url))
    return page.url.href.startsWith(gateway.url) ? page.text : undefined
  }
  const serveBytes = (path: string, bytes: number) => {
    const text = JSON.stringify(clientDocument(host.urlOf(path)))
    host.handlers.set(path, (_request, response) => void response.end(text.padEnd(bytes)))
    return host.urlOf(path)
  }
  // on a busy machine one may take too long, which would be remembered for a minute
  let attempts = 0
  const isRead = async () => (await refusalOf(serveBytes(`/largest-${attempts++}.json`, MAX_BYTES))) === undefined
  await until('the largest document to be read', isRead)
  assert.match((await refusalOf(serveBytes('/larger.json', MAX_BYTES + 1)))!, /it cannot be read/)

  serveBytes('/there.json', 0)
  host.handlers.set('/moved.json', (_request, response) => {
    response.writeHead(302, { location: host.urlOf('/there.json') }).end()
  })
  assert.match((await refusalOf(host.urlOf('/moved.json')))!, /its status is 302/)
  assert.ok(!host.requests.includes('/there.json'))

  // one sends nothing, the other sends spaces for ever
  const ended: string[] = []
  const endless = (name: string, begin: (response: ServerResponse) => void) =>
    host.handlers.set(name, (_request, response) => {
      response.on('close', () => ended.push(name))
      begin(response)
    })
  endless('/silent.json', () => {})
  endless('/slow.json', (response) => {
    const timer = setInterval(() => response.write(' '), 200)
    response.on('close', () => clearInterval(timer))
  })
  for (const path of ['/silent.json', '/slow.json']) {
    assert.match((await refusalOf(host.urlOf(path)))!, /it cannot be read/, path)
    await until('the connection to be closed', () => ended.includes(path))
  }

  const stranger = await startDocumentHost(t, await createAuthority(t))
  const unknown = stranger.addDocument('/app.json', 'http://127.0.0.1/callback')
  assert.match((await refusalOf(unknown))!, /it cannot be read/, 'nobody vouches for its host')
  assert.deepEqual(stranger.requests, [])
})
