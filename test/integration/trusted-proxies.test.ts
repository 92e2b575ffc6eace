import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry } from '../../src/registry/model/model.ts'
import { startApp } from '../app.ts'
import { until } from '../until.ts'

const token = 'administrator-token-of-these-tests'
const modes = {
  development: {},
  enterprise: {
    SERVER_MODE: 'enterprise',
    TOWPATH_ADMIN_TOKEN: token,
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
  }
}
const requests = [
  { method: 'GET', url: '/api/v0/servers' },
  { method: 'POST', url: '/mcp' },
  { method: 'GET', url: '/sse' },
  { method: 'GET', url: '/nowhere' }
] as const

for (const [mode, env] of Object.entries(modes)) {
  const authorization = `Bearer ${token}`
  /** Returns the addresses in the audit log rows of refused requests to every kind of route. */
  const addressesOf = async (app: Awaited<ReturnType<typeof startApp>>, remoteAddress: string, given: string) => {
    const headers = { host: 'evil.example', 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    for (const request of requests) {
      const answer = await app.inject({ ...request, remoteAddress, headers: { ...headers, 'x-forwarded-for': given } })
      assert.ok([401, 403].includes(answer.statusCode), answer.body)
    }
    const entries = await until('each has its row', async () => {
      const page = await app.inject({ url: '/api/v0/audit?action=request.refused', headers: { authorization } })
      const rows = page.json<{ entries: AuditEntry[] }>().entries
      return rows.length >= requests.length ? rows : undefined
    })
    return (entries as AuditEntry[]).map(({ address }) => address)
  }

  test(`SR-M2 behind a trusted proxy the audit log names the client, on every route (${mode})`, async (t) => {
    const app = await startApp(t, { env: { ...env, TOWPATH_TRUSTED_PROXIES: '10.0.0.0/8' } })
    const addresses = await addressesOf(app, '10.1.2.3', '6.6.6.6, 198.51.100.7')
    assert.deepEqual(
      addresses,
      requests.map(() => '198.51.100.7')
    )
  })

  test(`SR-M2 a peer that is no trusted proxy cannot name another address (${mode})`, async (t) => {
    const app = await startApp(t, { env: { ...env, TOWPATH_TRUSTED_PROXIES: '10.0.0.0/8' } })
    const addresses = await addressesOf(app, '203.0.113.9', '198.51.100.7')
    assert.deepEqual(
      addresses,
      requests.map(() => '203.0.113.9')
    )
  })

  test(`SR-M2 a trusted proxy decides neither Host nor protocol (${mode})`, async (t) => {
    const app = await startApp(t, { env: { ...env, TOWPATH_TRUSTED_PROXIES: '127.0.0.1' } })
    const forged = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'for=6.6.6.6' }
    const payload = { name: 'g', included_servers: [] }
    const headers = { ...forged, authorization, host: 'localhost:8080' }
    await app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload, headers })
    const answer = await app.inject({ url: '/api/v0/tool-groups/g', headers })
    assert.equal(answer.statusCode, 200, answer.body)
    assert.match(answer.body, /http:\/\/localhost:8080\//)
    assert.doesNotMatch(answer.body, /evil|https:/)
    const page = await app.inject({ url: '/api/v0/audit?action=tool_group.create', headers })
    assert.equal(page.json<{ entries: AuditEntry[] }>().entries[0]!.address, '127.0.0.1')
  })
}

test('SR-M2 log lines about refused tokens name the client behind a trusted proxy', async (t) => {
  const lines: string[] = []
  const env = { ...modes.enterprise, TOWPATH_TRUSTED_PROXIES: 'loopback' }
  const app = await startApp(t, { env, log: { write: (line) => lines.push(line) } })
  const headers = { authorization: 'Bearer not-a-token-of-anybody', 'x-forwarded-for': '198.51.100.7' }
  await app.inject({ url: '/api/v0/servers', headers })
  const line = lines.find((one) => one.includes('without a valid access token'))
  assert.equal((JSON.parse(line!) as { address: string }).address, '198.51.100.7')
})
