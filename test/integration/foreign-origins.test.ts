import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { register, startApp, stdioServer } from '../app.ts'
import { routesOf } from '../routes.ts'

const refusedOrigin = { error: 'this Origin is not allowed; see TOWPATH_ALLOWED_ORIGINS' }
const refusedSite = { error: 'requests from other sites are not allowed' }
const host = 'localhost:8080'
const mcp = /^\/(mcp|sse|message|v0\/groups\/:name\/(mcp|sse|message))$/

/**
 * Returns each route with each method that may change data; for MCP endpoints all methods, since they may open a
 * session.
 */
const writes = (app: FastifyInstance) =>
  routesOf(app.printRoutes()).filter(({ method, url }) => method !== 'get' || mcp.test(url))

/** Headers as pages of other programs on this machine send them: requests without a body need no CORS preflight. */
const foreign = [
  'http://localhost:3000',
  'http://127.0.0.1:8080',
  'http://[::1]:8080',
  'http://app.localhost:8080',
  'null'
].flatMap((origin) => ['cross-site', 'same-site', undefined].map((site) => ({ origin, site })))

const state = async (app: FastifyInstance) => {
  const pages = ['server_configs', 'servers', 'tools', 'prompts', 'resources', 'tool-groups']
  return (await Promise.all(pages.map((page) => app.inject(`/api/v0/${page}`)))).map(({ body }) => body).join('\n')
}

test('CR-A10: no write without a body is taken from another origin of this machine in development mode, on any route', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('alpha'))
  const before = await state(app)
  const routes = writes(app)
  for (const kind of [/^\/api\/v0\//, /^\/api\/dashboard\//, mcp]) {
    assert.ok(routes.filter(({ url }) => kind.test(url)).length >= 3, `routes are tried of ${kind}`)
  }
  for (const { method, url } of routes) {
    const path = url.replace(':name', 'alpha').replace(':id', 'x')
    const query = /\/v0\/(tools|prompts|resources)\/(enable|disable)$/.test(path) ? '?entity=alpha' : ''
    const send = (headers: Record<string, string>) =>
      app.inject({ method: method.toUpperCase() as 'POST', url: path + query, headers: { host, ...headers } })
    for (const { origin, site } of foreign) {
      const answer = await send({ origin, ...(site ? { 'sec-fetch-site': site } : {}) })
      assert.deepEqual([answer.statusCode, answer.json()], [403, refusedOrigin], `${method} ${path} ${origin} ${site}`)
      assert.equal(
        answer.headers['access-control-allow-origin'],
        undefined,
        `${method} ${path}: nor may it read answers`
      )
    }
    // without Origin, and with one that differs from ours only in the scheme, as behind a TLS-terminating proxy
    for (const origin of [undefined, `https://${host}`]) {
      for (const site of ['cross-site', 'same-site']) {
        const answer = await send({ ...(origin ? { origin } : {}), 'sec-fetch-site': site })
        assert.deepEqual([answer.statusCode, answer.json()], [403, refusedSite], `${method} ${path} ${origin} ${site}`)
      }
    }
  }
  assert.equal(await state(app), before, 'nothing has changed')
})

test('CR-A10: the way back from a sign-in is open to a browser that comes from elsewhere, and needs its own state', async (t) => {
  const app = await startApp(t)
  const headers = { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  const answer = await app.inject({ url: '/api/dashboard/oauth/callback?code=a&state=b', headers })
  assert.notEqual(answer.statusCode, 403, answer.body)
  assert.ok(answer.statusCode >= 400, 'a state that nobody has begun with ends nothing')
})
