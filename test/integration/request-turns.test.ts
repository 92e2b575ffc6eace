import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { startApp } from '../app.ts'
import { legacyBody, modernBody, modernHeaders } from './mcp-messages.ts'

const admin = 'turns-admin-token-0123456789'
const tokens = { flood: 'turns-flood-token-0123456789', other: 'turns-other-token-0123456789' } as const
const env = { SERVER_MODE: 'enterprise', TOWPATH_ADMIN_TOKEN: admin, TOWPATH_ENCRYPTION_KEY: 'aa'.repeat(32) }
const FLOOD = 200

const text = 'x'.repeat(50_000)
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const call = { name: 'none__none', arguments: { text } }

interface Way {
  readonly url: string
  readonly headers: Record<string, string>
  readonly payload: string
}

const ways: Readonly<Record<string, Way>> = {
  'legacy MCP': { url: '/mcp', headers: json, payload: legacyBody('tools/call', call) },
  'modern MCP': {
    url: '/mcp',
    headers: { ...json, ...modernHeaders('tools/call', call.name) },
    payload: modernBody('tools/call', call)
  },
  REST: { url: '/api/v0/tools/invoke', headers: json, payload: JSON.stringify({ name: call.name, text }) }
}

async function start(t: TestContext): Promise<FastifyInstance> {
  const app = await startApp(t, { env })
  const headers = { authorization: `Bearer ${admin}` }
  for (const [name, access_token] of Object.entries(tokens)) {
    for (const [url, body] of [
      ['/api/v0/clients', { name, allowed_servers: ['*'], access_token }],
      ['/api/v0/users', { username: name, access_token: `${access_token}-user` }]
    ] as const) {
      const { statusCode, body: answer } = await app.inject({ method: 'POST', url, headers, payload: body })
      assert.equal(statusCode, 201, answer)
    }
  }
  return app
}

/** Sends a request as this caller, or without a token. Resolves with the status. */
async function send(app: FastifyInstance, { url, headers, payload }: Way, name: 'flood' | 'other' | null) {
  const token = name && (url === '/mcp' ? tokens[name] : `${tokens[name]}-user`)
  const all = { ...headers, ...(token !== null && { authorization: `Bearer ${token}` }) }
  return (await app.inject({ method: 'POST', url, headers: all, payload })).statusCode
}

/** Sends many requests of one caller and then one of another; returns how many were answered before it. */
async function answeredBefore(flood: () => Promise<number>, other: () => Promise<number>) {
  let answered = 0
  const floods = Array.from({ length: FLOOD }, async () => {
    const status = await flood()
    answered++
    return status
  })
  const status = await other()
  const before = answered
  return { before, status, statuses: new Set(await Promise.all(floods)) }
}

for (const [way, asked] of Object.entries(ways)) {
  test(`SR-H2 a request does not wait behind the burst of another caller, over ${way}`, async (t) => {
    const app = await start(t)
    const expected = await send(app, asked, 'other')
    const { before, status, statuses } = await answeredBefore(
      () => send(app, asked, 'flood'),
      () => send(app, asked, 'other')
    )
    assert.deepEqual([status, [...statuses]], [expected, [expected]], 'every request has its answer')
    assert.ok(before < FLOOD / 2, `${before} of ${FLOOD} were answered before`)
  })

  test(`SR-H2 a request does not wait behind a burst without a token from its own address, over ${way}`, async (t) => {
    const app = await start(t)
    const expected = await send(app, asked, 'other')
    const { before, status, statuses } = await answeredBefore(
      () => send(app, asked, null),
      () => send(app, asked, 'other')
    )
    assert.deepEqual([status, [...statuses]], [expected, [401]])
    assert.ok(before < FLOOD / 2, `${before} of ${FLOOD} were answered before`)
  })
}
