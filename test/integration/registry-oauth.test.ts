import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import type { TokenGrant, PendingSignIn, TokenSource } from '../../src/registry/model/model.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { engines, freshPlace, startRegistry, type StoreLocation } from '../store.ts'
import { administer } from '../templates.ts'
import { change, follow, httpServer, offerOf } from './registry-helpers.ts'

const skip = engines.includes('postgres') ? false : 'no PostgreSQL'

const source: TokenSource = {
  issuer: 'https://as.example',
  tokenEndpoint: 'https://as.example/token',
  client: { id: 'client', secret: 'client-secret', method: 'client_secret_basic' },
  resource: 'http://127.0.0.1:9/mcp'
}
const grant: TokenGrant = { access: 'access-1', refresh: 'refresh-1', lifetime: 3_600 }

/** Creates a server with tokens and returns its id. */
const create = (registry: Registry, name = 'guarded', given = grant) =>
  registry.write(change('server.create', name), async (tx) => {
    const id = await tx.servers.create(httpServer(name), offerOf([]))
    await tx.tokens.upsert(id, source, given)
    return id
  })

const pending: PendingSignIn = {
  config: httpServer('guarded'),
  serverId: null,
  force: false,
  source,
  redirectUri: 'https://gateway.example/callback',
  verifier: 'verifier-1',
  namesIssuer: true
}

async function onPostgres(
  t: TestContext
): Promise<{ place: StoreLocation; registry: Registry; run: (sql: string) => Promise<Record<string, unknown>[]> }> {
  const place = await freshPlace(t, 'postgres')
  return { place, registry: await startRegistry(t, place), run: (sql) => administer(place.databaseUrl!, sql) }
}

for (const engine of engines) {
  test(`tokens come back as they were stored, with their times, and their issuer is the server's (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const id = await create(registry)
    assert.equal(latest().servers[0]!.issuer, 'https://as.example')
    const stored = await registry.tokens.read(id)
    assert.deepEqual(stored!.tokens, { access: 'access-1', refresh: 'refresh-1', source })
    assert.equal(stored!.lifetimeMs, 3_600_000)
    assert.ok(stored!.leftMs! > 3_500_000 && stored!.leftMs! <= 3_600_000)
    for (const [lifetime, ms] of [
      [null, null],
      [1e300, 365 * 86_400_000],
      [0.5, 500]
    ] as const) {
      await registry.write(change('x', 'guarded'), (tx) => tx.tokens.upsert(id, source, { access: 'a', lifetime }))
      assert.equal((await registry.tokens.read(id))!.lifetimeMs, ms)
    }
    const seen = latest().servers[0]!
    const elsewhere = { ...httpServer('guarded'), url: 'http://127.0.0.1:9/elsewhere' }
    const replace = () =>
      registry.write(change('x', 'guarded'), (tx) => tx.servers.replace('guarded', elsewhere, offerOf([]), seen))
    await replace()
    await assert.rejects(replace(), { statusCode: 409 }, 'what was read is not there any more')
    await registry.write(change('x', 'guarded'), async (tx) => {
      await tx.tokens.remove(id)
      await tx.servers.replace('guarded', httpServer('guarded'), offerOf([]))
    })
    assert.equal(await registry.tokens.read(id), undefined)
    assert.equal(latest().servers[0]!.issuer, null)
  })

  test(`one at a time has the claim to renew tokens, and what it stores is what others read (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const id = await create(registry)
    const claims = await Promise.all(Array.from({ length: 8 }, () => registry.tokens.tryClaim(id)))
    const [claim, ...more] = claims.filter((each) => each !== undefined)
    assert.deepEqual(more, [])
    assert.equal(claim!.current.tokens.access, 'access-1')
    assert.equal(
      await claim!.storeRenewed({ grant: { access: 'access-2', refresh: 'refresh-2', lifetime: null }, source }),
      true
    )
    assert.equal(
      await claim!.storeRenewed({ grant: { access: 'access-3', lifetime: null }, source }),
      false,
      'a claim is good for one renewal'
    )
    const next = await registry.tokens.tryClaim(id)
    assert.deepEqual(next!.current.tokens, { access: 'access-2', refresh: 'refresh-2', source })
    await next!.release()
    const last = await registry.tokens.tryClaim(id)
    await last!.recordProblem('invalid_grant')
    assert.equal(await registry.tokens.tryClaim(id), undefined, 'there is nothing to renew any more')
    assert.equal((await registry.tokens.read(id))!.problem, 'invalid_grant')
    await registry.write(change('x', 'guarded'), (tx) => tx.tokens.upsert(id, source, grant))
    assert.equal((await registry.tokens.read(id))!.problem, null)
    assert.equal(await registry.tokens.tryClaim(randomUUID()), undefined)
  })

  test(`a sign-in is taken once, and nothing of it is kept (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const sessions = registry.oauthSessions
    const [id, state] = [randomUUID(), 'state-1']
    const session = await sessions.create({ id, state, lifetimeMs: 60_000, pending })
    assert.deepEqual(await sessions.find(id), session)
    assert.deepEqual(await sessions.findByState(state), session)
    assert.equal(await sessions.findByState('state-2'), undefined)
    assert.deepEqual(await sessions.getPending(id), pending)
    const taken = await Promise.all(Array.from({ length: 8 }, () => sessions.takePending(id)))
    assert.deepEqual(
      taken.filter((each) => each !== undefined),
      [pending]
    )
    assert.equal(await sessions.getPending(id), undefined)
    assert.equal((await sessions.find(id))!.status, 'pending', 'it is being completed')
    await sessions.finish(id, 'failed', 'why')
    const { status, error } = (await sessions.find(id))!
    assert.deepEqual([status, error], ['failed', 'why'])
    await sessions.deleteExpired(60_000)
    assert.equal((await sessions.find(id))!.status, 'failed')
  })
}

test('the claim of a replica that died can be taken over, and the dead one stores nothing', { skip }, async (t) => {
  const { registry, run } = await onPostgres(t)
  const id = await create(registry)
  const dead = await registry.tokens.tryClaim(id)
  assert.equal(await registry.tokens.tryClaim(id), undefined)
  await run(`update upstream_tokens set claimed_until = now() - interval '1 ms'`)
  const heir = await registry.tokens.tryClaim(id)
  assert.equal(await dead!.storeRenewed({ grant: { access: 'late', lifetime: null }, source }), false)
  await dead!.recordProblem('late')
  assert.equal(await heir!.storeRenewed({ grant: { access: 'access-2', lifetime: null }, source }), true)
  const { tokens, problem } = (await registry.tokens.read(id))!
  assert.deepEqual([tokens.access, problem], ['access-2', null])
})

test('SE-04 sealed tokens and sign-ins show nothing, and do not open for another server', { skip }, async (t) => {
  const { registry, run } = await onPostgres(t)
  const [one, other] = [
    await create(registry, 'one'),
    await create(registry, 'other', { ...grant, access: 'access-2' })
  ]
  await registry.oauthSessions.create({ id: randomUUID(), state: 'state-1', lifetimeMs: 60_000, pending })
  const rows = [
    ...(await run(`select encode(sealed, 'escape') as text from upstream_tokens`)),
    ...(await run(
      `select encode(sealed, 'escape') || encode(state_hash, 'escape') as text from upstream_oauth_sessions`
    ))
  ]
  assert.equal(rows.length, 3)
  for (const { text } of rows) assert.doesNotMatch(String(text), /access-|refresh-|client-secret|verifier-|state-1/)
  await run(
    `update upstream_tokens set sealed = (select sealed from upstream_tokens where server_id = '${one}') where server_id = '${other}'`
  )
  await assert.rejects(registry.tokens.read(other), { statusCode: 503, code: 'secrets_unreadable' })
  assert.equal((await registry.tokens.read(one))!.tokens.access, 'access-1')
})

test('what a sign-in holds is removed when it expires, and the rest after a while', { skip }, async (t) => {
  const { registry, run } = await onPostgres(t)
  const sessions = registry.oauthSessions
  const id = randomUUID()
  await sessions.create({ id, state: 'state-1', lifetimeMs: 60_000, pending })
  await sessions.deleteExpired(60_000)
  assert.deepEqual(await sessions.getPending(id), pending)
  await run(`update upstream_oauth_sessions set expires_at = now() - interval '30 s'`)
  assert.equal(await sessions.takePending(id), undefined)
  await sessions.deleteExpired(60_000)
  assert.deepEqual(await run('select sealed from upstream_oauth_sessions'), [{ sealed: null }])
  assert.equal((await sessions.find(id))!.status, 'expired')
  await sessions.deleteExpired(20_000)
  assert.equal(await sessions.find(id), undefined)
})
