import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addReplica,
  addServer,
  allowEverybody,
  connectClient,
  createAuthorization,
  listTools,
  postToken,
  REDIRECT,
  registerClient,
  signIn,
  startSignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import { needs } from '../needs.ts'
import { someFor } from '../matrix.ts'
import { engines } from '../store.ts'
import { until } from '../until.ts'

interface Listed {
  readonly id: string
  readonly client_id: string
  readonly name?: string
  readonly endpoints: readonly { readonly url: string; readonly scopes: readonly string[] }[]
  readonly renewed_at?: string
}

const skip = needs('PostgreSQL', engines.includes('postgres'))

test('people see which clients act for them, and disconnect one on all replicas', { skip }, async (t) => {
  const gateway = await startSignInGateway(t, { engine: 'postgres' })
  const second = await addReplica(t, gateway)
  await addServer(t, gateway)
  await allowEverybody(gateway)
  const kept = await connectClient(gateway, { request: { scope: 'mcp offline_access' } })
  const clientId = await registerClient(gateway, { client_name: 'An editor' })
  const gone = await connectClient(gateway, { clientId, request: { scope: 'mcp offline_access' } })
  const others = await connectClient(gateway, { clientId, person: 'bob' })
  const { tokens } = await connectClient(gateway, {
    request: { resource: `${gateway.publicUrl}/api`, scope: 'towpath:read towpath:admin' }
  })
  const own = async (path: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    return fetch(`${gateway.url}/api/v0/me${path}`, { method, headers })
  }
  const listed = (await (await own('/clients')).json()) as Listed[]
  const editor = listed.find(({ client_id }) => client_id === clientId)!
  assert.deepEqual(
    [editor.name, editor.endpoints[0]!.url, editor.endpoints[0]!.scopes.includes('mcp'), listed.length],
    ['An editor', `${gateway.publicUrl}/mcp`, true, 3]
  )
  assert.ok(editor.renewed_at)
  assert.equal((await own(`/clients/${editor.id}`, 'DELETE')).status, 403, 'a token with scopes cannot')
  assert.equal((await gateway.api('DELETE', `/users/alice/clients/${editor.id}`)).status, 204)
  assert.equal((await gateway.api('DELETE', `/users/alice/clients/${editor.id}`)).status, 404)
  for (const each of [gateway, second]) {
    await until('the token is refused', async () => (await listTools(each, gone.tokens.access_token)).status === 401)
    assert.equal((await listTools(each, kept.tokens.access_token)).status, 200)
    assert.equal((await listTools(each, others.tokens.access_token)).status, 200, 'the same client of another person')
  }
  const renewed = await postToken(second, {
    grant_type: 'refresh_token',
    refresh_token: gone.tokens.refresh_token!,
    client_id: clientId
  })
  assert.equal(((await renewed.json()) as { error: string }).error, 'invalid_grant')
  const left = (await gateway.api('GET', '/users/alice/clients')).body as Listed[]
  assert.ok(!left.some(({ client_id }) => client_id === clientId))
})

for (const engine of someFor('grants', engines)) {
  test(`grants of all people are listed in pages, the newest first, and filtered by person and client (${engine})`, async (t) => {
    const gateway = await startSignInGateway(t, { engine })
    const first = await registerClient(gateway, { client_name: 'An editor' })
    const second = await registerClient(gateway, { client_name: 'A terminal' })
    const request = { scope: 'mcp offline_access' }
    const given = [
      ['alice', first],
      ['bob', first],
      ['alice', second],
      ['alice', first]
    ] as const
    for (const [person, clientId] of given) await connectClient(gateway, { person, clientId, request })

    interface Page {
      readonly grants: readonly (Listed & { readonly user: string })[]
      readonly next_cursor?: string
    }
    const list = async (query: Readonly<Record<string, string>>) => {
      const answer = await gateway.api('GET', `/oauth_grants?${new URLSearchParams(query).toString()}`)
      assert.equal(answer.status, 200)
      return answer.body as Page
    }
    const readAll = async (query: Readonly<Record<string, string>>) => {
      const pages: Page[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; cursor = pages.at(-1)!.next_cursor)
        pages.push(await list({ ...query, ...(cursor && { cursor }) }))
      return { pages, found: pages.flatMap(({ grants }) => grants.map(({ user, client_id }) => [user, client_id])) }
    }
    const newestFirst = given.map((each) => [...each]).toReversed()
    const whole = await list({})
    assert.deepEqual(
      whole.grants.map(({ user, client_id, name }) => [user, client_id, name]),
      newestFirst.map(([user, id]) => [user, id, id === first ? 'An editor' : 'A terminal'])
    )
    assert.equal(whole.next_cursor, undefined)
    assert.ok(whole.grants.every(({ endpoints, renewed_at }) => endpoints[0]!.scopes.includes('mcp') && renewed_at))
    for (const limit of ['1', '2', '3']) {
      const { pages, found } = await readAll({ limit })
      assert.deepEqual(found, newestFirst, `pages of ${limit}`)
      assert.ok(pages.every(({ grants }) => grants.length <= Number(limit)))
    }
    const ofFirst = newestFirst.filter(([, id]) => id === first)
    assert.deepEqual((await readAll({ client: first, limit: '1' })).found, ofFirst)
    assert.deepEqual((await readAll({ user: 'bob' })).found, [['bob', first]])
    assert.deepEqual((await readAll({ user: 'bob', client: second })).found, [])
    for (const query of [{ user: 'nobody' }, { client: 'nobody' }]) assert.deepEqual(await list(query), { grants: [] })

    const [newest] = whole.grants
    assert.equal((await gateway.api('DELETE', `/users/alice/clients/${newest!.id}`)).status, 204)
    assert.deepEqual((await readAll({})).found, [
      ['alice', second],
      ['bob', first]
    ])
  })
}

test('a cursor that no list of grants gave is refused', async (t) => {
  const gateway = await startSignInGateway(t)
  const id = `Grant:${'a'.repeat(64)}`
  const cursors = [
    ...['x', '{}', '[]', 'null', '["2026-01-01T00:00:00.000000Z"]'],
    ...['2026-02-30T00:00:00.000000Z', '0000-01-01T00:00:00.000000Z', '2026-01-01', 'infinity', 'now'].map((at) =>
      JSON.stringify([at, id])
    ),
    ...["' or 1=1", '\u0000', 7].map((each) => JSON.stringify(['2026-01-01T00:00:00.000000Z', each]))
  ]
  for (const text of cursors) {
    const cursor = Buffer.from(text).toString('base64url')
    const answer = await gateway.api('GET', `/oauth_grants?cursor=${cursor}`)
    assert.deepEqual([answer.status, answer.body], [400, { error: '"cursor" is not valid' }], text)
  }
  for (const query of ['cursor=%00', 'cursor=', 'limit=0', 'limit=1001', `cursor=${'a'.repeat(1_025)}`])
    assert.equal((await gateway.api('GET', `/oauth_grants?${query}`)).status, 400, query)
})

test('an administrator signs a person out everywhere; the access tokens of the gateway stay', async (t) => {
  const gateway = await startSignInGateway(t)
  await addServer(t, gateway)
  await allowEverybody(gateway)
  const alice = await connectClient(gateway)
  const bob = await connectClient(gateway, { person: 'bob' })
  assert.equal((await gateway.api('DELETE', '/users/alice/sessions')).status, 204)
  await until('the token is refused', async () => (await listTools(gateway, alice.tokens.access_token)).status === 401)
  assert.equal((await listTools(gateway, bob.tokens.access_token)).status, 200)
  assert.equal((await gateway.api('DELETE', '/users/nobody/sessions')).status, 404)
  assert.equal((await gateway.api('DELETE', '/users/admin/sessions')).status, 204)
  assert.equal((await gateway.api('GET', '/users')).status, 200, 'the token of the administrator')
})

test('a new signing key keeps the tokens of the older ones, unless it revokes them', async (t) => {
  const gateway = await startSignInGateway(t)
  await addServer(t, gateway)
  await allowEverybody(gateway)
  const keyIds = async () => {
    const { keys } = (await (await fetch(`${gateway.url}/oauth/jwks`)).json()) as { keys: { kid: string }[] }
    return keys.map(({ kid }) => kid)
  }
  const kidOf = (token: string) =>
    (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid
  const before = await connectClient(gateway)
  const rotated = await gateway.api('POST', '/signing_keys/rotate', {})
  assert.equal(rotated.status, 200)
  const after = await connectClient(gateway)
  assert.equal(kidOf(after.tokens.access_token), rotated.body.kid)
  assert.notEqual(kidOf(before.tokens.access_token), rotated.body.kid)
  assert.equal((await listTools(gateway, before.tokens.access_token)).status, 200)
  assert.equal((await keyIds()).length, 2)
  const revoked = await gateway.api('POST', '/signing_keys/rotate', { revoke: true })
  for (const { tokens } of [before, after]) {
    await until('the token is refused', async () => (await listTools(gateway, tokens.access_token)).status === 401)
  }
  assert.deepEqual(await keyIds(), [revoked.body.kid])
  assert.equal((await listTools(gateway, (await connectClient(gateway)).tokens.access_token)).status, 200)
})

test('with approval, people let in a client that registered itself once an administrator approved it', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OAUTH_DCR: 'approve' } })
  await addServer(t, gateway)
  await allowEverybody(gateway)
  const clientId = await registerClient(gateway, { client_name: 'An editor' })
  const browser = createBrowser()
  const { url } = createAuthorization(gateway, clientId)
  const page = await signIn(browser, url, 'alice')
  assert.equal(page.status, 403)
  assert.match(page.text, /An administrator has to approve “An editor”/)
  assert.match(page.text, new RegExp(clientId))
  const [listed] = (await gateway.api('GET', '/oauth_clients')).body
  assert.deepEqual(
    [listed.id, listed.name, listed.approved, listed.redirect_uris],
    [clientId, 'An editor', false, [REDIRECT]]
  )
  assert.equal((await gateway.api('POST', '/oauth_clients/unknown/approve')).status, 404)
  assert.equal((await gateway.api('POST', `/oauth_clients/${clientId}/approve`)).body.approved, true)
  const { tokens } = await connectClient(gateway, { clientId })
  assert.equal((await listTools(gateway, tokens.access_token)).status, 200)
  assert.equal((await gateway.api('DELETE', `/oauth_clients/${clientId}`)).status, 204)
  await until('the token is refused', async () => (await listTools(gateway, tokens.access_token)).status === 401)
  assert.equal((await gateway.api('DELETE', `/oauth_clients/${clientId}`)).status, 404)
  assert.deepEqual((await gateway.api('GET', '/oauth_clients')).body, [])
  const authorization = await fetch(createAuthorization(gateway, clientId).url, { redirect: 'manual' })
  assert.equal(authorization.status, 400, 'the client is not known any more')
})

test('lives of tokens and sessions are as configured', async (t) => {
  const gateway = await startSignInGateway(t, {
    env: { TOWPATH_ACCESS_TOKEN_MS: '120000', TOWPATH_BROWSER_SESSION_MS: '600000' }
  })
  const { tokens, browser } = await connectClient(gateway)
  assert.equal(tokens.expires_in, 120)
  const { exp, iat } = JSON.parse(Buffer.from(tokens.access_token.split('.')[1]!, 'base64url').toString()) as {
    exp: number
    iat: number
  }
  assert.equal(exp - iat, 120)
  const session = JSON.parse((await browser.open(`${gateway.url}/api/v0/me/session`)).text) as { expires_at: string }
  const left = Date.parse(session.expires_at) - Date.now()
  assert.ok(left > 0 && left <= 600_000, `${left} ms`)
})
