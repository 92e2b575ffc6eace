import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { test, type TestContext } from 'node:test'
import { SKEW_S } from '../../src/identity/token-cache.ts'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import { signIn, startSignInGateway, type SignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { anyEngine, freshPlace, startRegistry } from '../store.ts'
import { change, follow } from './registry-helpers.ts'

/** Counts the requests for tokens that reach the provider. */
function countTokenRequests(t: TestContext, { idp }: SignInGateway): () => number {
  const { host } = new URL(idp.issuer)
  let count = 0
  const onRequest = (message: unknown) => {
    const { request } = message as { request: IncomingMessage }
    if (request.headers.host === host && request.method === 'POST' && request.url?.endsWith('/token')) count++
  }
  subscribe('http.server.request.start', onRequest)
  t.after(() => unsubscribe('http.server.request.start', onRequest))
  return () => count
}

test('a browser that has started one sign-in sends one code to the provider, whatever it brings back', async (t) => {
  const gateway = await startSignInGateway(t)
  const count = countTokenRequests(t, gateway)
  const login = await fetch(`${gateway.url}/auth/login`, { redirect: 'manual' })
  const headers = { cookie: login.headers.getSetCookie()[0]!.split(';')[0]! }
  const state = new URL(login.headers.get('location')!).searchParams.get('state')!
  for (let i = 0; i < 10; i++) {
    const query = new URLSearchParams({ code: `code ${i}`, state, iss: gateway.idp.issuer })
    const answer = await fetch(`${gateway.url}/auth/callback?${query.toString()}`, { headers, redirect: 'manual' })
    assert.notEqual(answer.status, 303)
    await answer.text()
  }
  assert.equal(count(), 1)
  const page = await signIn(createBrowser(), `${gateway.url}/auth/session`, 'alice')
  assert.equal(page.status, 200)
  assert.equal(count(), 2)
})

for (const path of ['/auth/login', '/auth/callback', '/auth/logout']) {
  test(`an address sends at most thirty requests a minute to ${path}`, async (t) => {
    const gateway = await startSignInGateway(t)
    const statuses: number[] = []
    for (let i = 0; i < 70; i++) {
      const answer = await fetch(gateway.url + path, { redirect: 'manual' })
      statuses.push(answer.status)
      if (answer.status === 429) assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
      await answer.text()
    }
    // a minute may end in between
    const admitted = statuses.filter((status) => status !== 429).length
    assert.ok(admitted >= 30 && admitted <= 60, `${admitted} of 70`)
  })
}

test('replicas read which sessions have ended, and not which ids were used', async (t) => {
  const registry = await startRegistry(t, await freshPlace(t, anyEngine))
  const seen = await follow(registry)
  const until = new Date(Date.now() + 60_000)
  const use = () =>
    registry.write(change('session.end', 'id'), (tx) =>
      tx.usedAssertions.use({ purpose: 'test', issuer: '', id: 'an id', expiresAt: until.getTime() / 1_000 })
    )
  const end = () =>
    registry.write(change('session.end', 'session'), (tx) => tx.tombstones.add('session', Buffer.alloc(32, 1), until))
  assert.equal(await use(), true)
  assert.equal(await end(), true)
  await seen.until(({ tombstones }) => tombstones.length === 1 && tombstones[0]!.kind === 'session')
  assert.equal(await use(), false, 'it counts once')
})

test('a grant that has ended is refused until no access token of it can count any more', async (t) => {
  const registry = await startRegistry(t, await freshPlace(t, anyEngine))
  const seen = await follow(registry)
  const hashes = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  await registry.write(change('oauth.disconnect', 'alice'), (tx) => tx.oauthGrants.end(hashes))
  await seen.until(({ tombstones }) => tombstones.length === 2)
  // an hour, the longest life of an access token, and the difference of clocks that is tolerated
  const longest = (3_600 + SKEW_S) * 1_000
  for (const { until: end } of seen.latest().tombstones) assert.ok(end > Date.now() + longest)
})

test('a record of the authorization server whose expiry is beyond all times is stored, and for a year at most', async (t) => {
  const { oauthRecords: records } = (await startSignInGateway(t)).app.registry
  await records.upsert('Record', 'an id', { kept: true }, 1e15)
  assert.deepEqual((await records.find('Record', 'an id'))?.payload, { kept: true })
  assert.equal(await records.deleteOldest('Record', 367 * 86_400), true)
})
