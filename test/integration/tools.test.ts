import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { register, startApp } from '../app.ts'
import { startRecorder, type Recorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import { until } from '../until.ts'

async function start(
  t: TestContext,
  options: RecorderOptions = {}
): Promise<{ app: FastifyInstance; alpha: Recorder }> {
  const app = await startApp(t)
  const alpha = await startRecorder(t, options)
  await register(app, { name: 'alpha', transport: 'streamable_http', url: alpha.url })
  return { app, alpha }
}
const invoke = (app: FastifyInstance, payload: object | string) =>
  app.inject({
    method: 'POST',
    url: '/api/v0/tools/invoke',
    payload,
    headers: { 'content-type': 'application/json' }
  })

test('tools are listed with their definitions, qualified, in the order of the upstream', async (t) => {
  const { app } = await start(t)
  const answer = await app.inject('/api/v0/tools?server=alpha')
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  const list = answer.json<{ name: string }[]>()
  assert.deepEqual(
    list.map(({ name }) => name),
    ['alpha__echo', 'alpha__slow', 'alpha__whoami', 'alpha__fail']
  )
  assert.deepEqual(list[0], {
    name: 'alpha__echo',
    enabled: true,
    description: 'Returns its arguments',
    input_schema: { type: 'object', properties: { text: { type: 'string' } } }
  })
  assert.deepEqual((await app.inject('/api/v0/tool?name=alpha__echo')).json(), list[0])
})

test('AZ-15 the tools of a disabled server are not listed, and calling one is a 409', async (t) => {
  const { app, alpha } = await start(t)
  await app.inject({ method: 'POST', url: '/api/v0/servers/alpha/disable' })
  for (const url of ['/api/v0/tools', '/api/v0/tools?server=alpha'])
    assert.deepEqual((await app.inject(url)).json(), [])
  assert.equal((await invoke(app, { name: 'alpha__echo' })).statusCode, 409)
  assert.equal(alpha.calls('tools/call').length, 0)
  assert.equal((await app.inject('/api/v0/tool?name=alpha__echo')).json<{ enabled: boolean }>().enabled, false)
})

test('AZ-14 a disabled tool is shown as such, and calling it is a 409', async (t) => {
  const { app, alpha } = await start(t)
  const disable = () => app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=alpha__echo' })
  assert.deepEqual((await disable()).json(), ['alpha__echo'])
  assert.deepEqual((await disable()).json(), ['alpha__echo'], 'all names, also those that were disabled before')
  assert.equal((await invoke(app, { name: 'alpha__echo' })).statusCode, 409)
  assert.equal(alpha.calls('tools/call').length, 0)
  const enabled = (await app.inject('/api/v0/tools')).json<{ enabled: boolean }[]>().map((tool) => tool.enabled)
  assert.deepEqual(enabled, [false, true, true, true])
})

test('an entity that is a server stands for all its tools', async (t) => {
  const { app } = await start(t)
  const answer = await app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=alpha' })
  assert.deepEqual(answer.json(), ['alpha__echo', 'alpha__slow', 'alpha__whoami', 'alpha__fail'])
})

test('arguments reach the upstream byte for byte', async (t) => {
  const { app, alpha } = await start(t)
  const args = '"big":12345678901234567890,"float":1.0,"text":"\\u00e9","nested":{"b":1,"a":[2]}'
  const answer = await invoke(app, `{"name":"alpha__echo",${args}}`)
  assert.equal(answer.statusCode, 200, answer.body)
  const bodies = alpha.requests.filter(({ message }) => message?.method === 'tools/call').map(({ body }) => body)
  assert.equal(bodies.length, 1)
  assert.ok(bodies[0]!.includes(`"arguments":{${args}}`), bodies[0])
})

test('a lone arguments object is the arguments, unless the tool has that parameter', async (t) => {
  const inputSchema = { type: 'object', properties: { arguments: { type: 'object' } } }
  const { app, alpha } = await start(t, { extraTools: [{ name: 'odd', inputSchema }] })
  await invoke(app, { name: 'alpha__echo', arguments: { name: 'x' } })
  await invoke(app, { name: 'alpha__odd', arguments: { name: 'x' } })
  assert.deepEqual(
    alpha.calls('tools/call').map(({ params }) => params?.arguments),
    [{ name: 'x' }, { arguments: { name: 'x' } }]
  )
})

test('a tool that fails by its own logic is a 200 with isError', async (t) => {
  const { app } = await start(t)
  const answer = await invoke(app, { name: 'alpha__fail' })
  assert.deepEqual([answer.statusCode, answer.json<{ isError: boolean }>().isError], [200, true])
})

test('an unknown tool, an unknown server and a name that is no qualified name are a 404', async (t) => {
  const { app } = await start(t)
  for (const name of ['alpha__nope', 'nobody__echo', 'echo', '__', 'alpha__']) {
    const answer = await invoke(app, { name })
    assert.equal(answer.statusCode, 404, name)
  }
})

test('IS-09 nothing of the caller reaches the upstream', async (t) => {
  const { app, alpha } = await start(t)
  await app.inject({
    method: 'POST',
    url: '/api/v0/tools/invoke',
    payload: { name: 'alpha__whoami' },
    headers: {
      authorization: 'Bearer SENT',
      cookie: 'SENT',
      'x-forwarded-authorization': 'SENT',
      'proxy-authorization': 'SENT'
    }
  })
  assert.equal(alpha.calls('tools/call').length, 1)
  assert.doesNotMatch(JSON.stringify(alpha.requests), /SENT/)
})

test('a caller who leaves takes the call with it', async (t) => {
  const { app, alpha } = await start(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const call = httpRequest({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/v0/tools/invoke',
    headers: { 'content-type': 'application/json' }
  })
  call.on('error', () => {})
  call.end('{"name":"alpha__slow","ms":30000}')
  await until('the call upstream', () => alpha.calls('tools/call').length === 1)
  call.destroy()
  await until('the cancellation', () => alpha.calls('notifications/cancelled').length === 1)
})

test('LC-03 closing lets a call under way finish, and refuses new ones', async (t) => {
  const { app, alpha } = await start(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const post = (body: string) =>
    fetch(`http://127.0.0.1:${port}/api/v0/tools/invoke`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' }
    })
  const slow = post('{"name":"alpha__slow","ms":500}')
  await until('the call upstream', () => alpha.calls('tools/call').length === 1)
  const closed = app.close()
  const late = await post('{"name":"alpha__echo"}').catch(() => undefined)
  if (late) assert.deepEqual([late.status, await late.json()], [503, { error: 'the gateway is stopping' }])
  assert.equal((await slow).status, 200)
  await closed
})
