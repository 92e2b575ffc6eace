import assert from 'node:assert/strict'
import { Agent, request, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { allowEverybody, connectClient, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { addCleanup } from '../store.ts'
import { legacyBody } from './mcp-helpers.ts'
import { both } from './mcp-messages.ts'

/** Sends all requests over one connection, each after the answer to the one before. */
function openConnection(t: TestContext, url: string, token: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  addCleanup(t, () => agent.destroy())
  const sockets = new Set<Socket>()
  const headers = { 'content-type': 'application/json', accept: both, authorization: `Bearer ${token}` }
  const send = (method: string, path: string) =>
    new Promise<number>((resolve, reject) => {
      const answer = async (response: IncomingMessage) => {
        await text(response)
        resolve(response.statusCode!)
      }
      const sent = request(url + path, { method, agent, headers }, (response) => {
        answer(response).catch(reject)
      })
      sent.on('socket', (socket) => sockets.add(socket)).on('error', reject)
      sent.end(method === 'POST' ? legacyBody('ping') : undefined)
    })
  return { send, sockets }
}

test('a kept caller of a connection is refused as soon as the token is revoked', async (t) => {
  const { url, api } = await startSignInGateway(t)
  const made = await api('POST', '/clients', { name: 'c', allowed_servers: [] })
  const { access_token: token } = made.body as { access_token: string }
  const { send, sockets } = openConnection(t, url, token)
  for (let turn = 0; turn < 5; turn++) assert.equal(await send('POST', '/mcp'), 200)
  assert.equal((await api('DELETE', '/clients/c')).status, 204)
  assert.equal(await send('POST', '/mcp'), 401)
  assert.equal(sockets.size, 1)
})

test('a kept caller of a connection is refused as soon as the person is suspended', async (t) => {
  const gateway = await startSignInGateway(t)
  await allowEverybody(gateway)
  const { tokens } = await connectClient(gateway)
  const { send, sockets } = openConnection(t, gateway.url, tokens.access_token)
  for (let turn = 0; turn < 5; turn++) assert.equal(await send('POST', '/mcp'), 200)
  const users = (await gateway.api('GET', '/users')).body as { name: string; role: string }[]
  const { name } = users.find(({ role }) => role === 'user')!
  assert.equal((await gateway.api('POST', `/users/${encodeURIComponent(name)}/suspend`)).status, 200)
  assert.equal(await send('POST', '/mcp'), 401)
  assert.equal(sockets.size, 1)
})

test('a kept caller of a connection has no access to other endpoints, methods and routes', async (t) => {
  const gateway = await startSignInGateway(t)
  await allowEverybody(gateway)
  assert.equal((await gateway.api('POST', '/tool-groups', { name: 'g', included_servers: [] })).status, 201)
  const { tokens } = await connectClient(gateway)
  const { send, sockets } = openConnection(t, gateway.url, tokens.access_token)
  const others = [
    ['POST', '/v0/groups/g/mcp'],
    ['GET', '/api/v0/servers'],
    ['PATCH', '/mcp']
  ] as const
  for (const [method, path] of others) {
    const alone = await openConnection(t, gateway.url, tokens.access_token).send(method, path)
    assert.equal(await send('POST', '/mcp'), 200)
    const after = await send(method, path)
    assert.deepEqual([method, path, after], [method, path, alone])
    assert.ok(after >= 400)
  }
  assert.equal(sockets.size, 1)
})
