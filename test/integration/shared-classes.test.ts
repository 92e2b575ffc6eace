import assert from 'node:assert/strict'
import { tracingChannel } from 'node:diagnostics_channel'
import test, { type TestContext } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { startApp } from '../app.ts'
import { startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { addCleanup } from '../store.ts'

type Served = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/** Returns the classes of requests and replies that reach a handler from now on. */
function collectClasses(t: TestContext) {
  const routes = new Set<string>()
  const classes = new Set<unknown>()
  const { start } = tracingChannel('fastify.request.handler')
  const add = (message: unknown) => {
    const { request, reply } = message as Served
    routes.add(request.routeOptions.url ?? '')
    classes.add(request.constructor).add(reply.constructor)
  }
  start.subscribe(add)
  addCleanup(t, () => start.unsubscribe(add))
  return { routes, classes }
}

const urls = ['/health', '/api/v0/servers', '/api/v0/tools']

test('requests and replies of all plugins are objects of one class', async (t) => {
  const { routes, classes } = collectClasses(t)
  // documents and files of the dashboard come from apps of their own, which do not listen
  const app = await startApp(t)
  for (const url of [...urls, '/api/dashboard/servers', '/api/dashboard/groups']) await app.inject({ url })
  await app.inject({ method: 'POST', url: '/mcp', payload: {} })
  assert.ok(routes.size >= 4, [...routes].join())
  assert.equal(classes.size, 2)
})

test('requests and replies are objects of one class where people sign in', async (t) => {
  const { publicUrl } = await startSignInGateway(t, { env: { TOWPATH_CONSOLE: 'on' } })
  // the identity provider of the test serves without Fastify
  const { routes, classes } = collectClasses(t)
  const more = ['/console', '/api/console/session', '/auth/login', '/.well-known/oauth-authorization-server']
  for (const url of [...urls, ...more]) await fetch(publicUrl + url, { redirect: 'manual' })
  await fetch(`${publicUrl}/mcp`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
  assert.ok(routes.size >= 4, [...routes].join())
  assert.equal(classes.size, 2)
})
