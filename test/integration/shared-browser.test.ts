import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrowser, type Browser } from '../fixtures/identity-provider/browser.ts'
import { connectClient, startSignInGateway, type SignInGateway } from '../fixtures/identity-provider/gateway.ts'

/** Returns the name of the person for whom a token was issued. */
async function personOf({ url }: SignInGateway, token: string): Promise<string> {
  const answer = await fetch(`${url}/api/v0/me`, { headers: { authorization: `Bearer ${token}` } })
  return ((await answer.json()) as { name: string }).name
}

/** Signs the person of a browser out, here and at the provider. */
async function signOut({ url }: SignInGateway, browser: Browser): Promise<void> {
  const isAtProvider = (to: URL) => to.pathname.startsWith('/session/end')
  const page = await browser.open(`${url}/auth/session`)
  const out = await browser.submit(page, {}, { action: '/auth/logout', stopsAt: isAtProvider })
  await browser.submit(await browser.open(out.url), { logout: 'yes' })
}

test('a second person in the same browser lets a client in, as themselves', async (t) => {
  const gateway = await startSignInGateway(t)
  const browser = createBrowser()
  const request = { resource: `${gateway.publicUrl}/api`, scope: 'towpath:read' }
  const { clientId, tokens } = await connectClient(gateway, { browser, request })
  assert.equal(await personOf(gateway, tokens.access_token), 'alice')
  await signOut(gateway, browser)
  const second = await connectClient(gateway, { browser, request, clientId, person: 'bob' })
  assert.equal(await personOf(gateway, second.tokens.access_token), 'bob')
  const again = await connectClient(gateway, { browser, request })
  assert.equal(await personOf(gateway, again.tokens.access_token), 'bob')
  assert.equal(await personOf(gateway, tokens.access_token), 'alice', 'the client of before goes on')
})
