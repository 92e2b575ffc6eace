import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { AuditEntry } from '../../src/registry/model/model.ts'
import { startApp } from '../app.ts'
import { engines } from '../store.ts'
import { until } from '../until.ts'
import { cellsOf } from '../matrix.ts'

const token = 'administrator-token-of-these-tests'
const env = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ADMIN_TOKEN: token,
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
}
const as = (bearer: string) => ({ authorization: `Bearer ${bearer}` })

async function makePrincipals(app: FastifyInstance) {
  const create = async (url: string, payload: object) => {
    const answer = await app.inject({ method: 'POST', url, payload, headers: as(token) })
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json<{ access_token: string }>().access_token
  }
  return {
    user: await create('/api/v0/users', { name: 'bob' }),
    client: await create('/api/v0/clients', { name: 'cli-a', allowed_servers: [] })
  }
}
const rowsOf = async (app: FastifyInstance, actor: string) =>
  (await app.inject({ url: `/api/v0/audit?outcome=refused&actor=${actor}&limit=500`, headers: as(token) })).json<{
    entries: AuditEntry[]
  }>().entries

for (const [engine, remoteAddress] of cellsOf(engines, ['192.0.2.9', '2001:db8:1:2::9'])) {
  test(`SR-M2 anonymous requests of one address leave the rows of principals behind it (${engine}, ${remoteAddress})`, async (t) => {
    const app = await startApp(t, { engine, env })
    const { user, client } = await makePrincipals(app)
    for (let n = 0; n < 70; n++) await app.inject({ url: '/api/v0/servers', remoteAddress })
    for (let n = 0; n < 70; n++)
      await app.inject({ url: '/api/v0/servers', remoteAddress, headers: as(`wrong-${n}-0123456789`) })
    for (let n = 0; n < 5; n++) {
      const asUser = await app.inject({
        method: 'POST',
        url: '/api/v0/users',
        payload: {},
        remoteAddress,
        headers: as(user)
      })
      const asClient = await app.inject({ url: '/api/v0/servers', remoteAddress, headers: as(client) })
      assert.deepEqual([asUser.statusCode, asClient.statusCode], [403, 403])
    }
    for (const actor of ['bob', 'cli-a']) {
      const rows = (await until(`the rows of ${actor}`, async () => {
        const found = await rowsOf(app, actor)
        return found.length >= 5 ? found : undefined
      })) as AuditEntry[]
      assert.deepEqual(
        rows.map(({ address, count }) => [address, count]),
        Array(5).fill([remoteAddress, 1])
      )
    }
    assert.equal((await rowsOf(app, 'anonymous')).length, 60)
  })
}

for (const url of ['/api/v0/servers', '/mcp', '/sse', '/nowhere', '/v0/groups/g/mcp']) {
  test(`SR-L14 past six hundred wrong tokens a minute an address gets 429, and valid tokens of it are never refused: ${url}`, async (t) => {
    const app = await startApp(t, { env })
    const { client } = await makePrincipals(app)
    const guess = async (n: number, remoteAddress = '192.0.2.9') =>
      app.inject({ url, remoteAddress, headers: as(`guess-${n}-0123456789`) })
    for (let n = 0; n < 600; n++) assert.equal((await guess(n)).statusCode, 401)
    const limited = await guess(600)
    assert.equal(limited.statusCode, 429)
    assert.ok(Number(limited.headers['retry-after']) >= 1 && Number(limited.headers['retry-after']) <= 60)
    assert.deepEqual(Object.keys(limited.json<object>()), ['error'])

    const behindIt = { remoteAddress: '192.0.2.9' }
    const valid = await app.inject({ url: '/api/v0/servers', headers: as(token), ...behindIt })
    assert.equal(valid.statusCode, 200)
    const asClient = await app.inject({ url: '/api/v0/servers', headers: as(client), ...behindIt })
    assert.equal(asClient.statusCode, 403)
    assert.equal((await app.inject({ url, ...behindIt })).statusCode, 401)
    assert.equal((await guess(601, '192.0.2.10')).statusCode, 401)
  })
}

test('SR-L14 behind a trusted proxy each client has its own number of wrong tokens', async (t) => {
  const app = await startApp(t, {
    env: { ...env, TOWPATH_TRUSTED_PROXIES: 'loopback', TOWPATH_FAILED_AUTHENTICATIONS: '2' }
  })
  const guess = async (client: string) =>
    (await app.inject({ url: '/mcp', headers: { ...as('wrong-0123456789ab'), 'x-forwarded-for': client } })).statusCode
  assert.deepEqual(
    [await guess('198.51.100.1'), await guess('198.51.100.1'), await guess('198.51.100.1')],
    [401, 401, 429]
  )
  assert.equal(await guess('198.51.100.2'), 401)
})
