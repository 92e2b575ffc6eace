import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { paths } from '../generated/api.ts'

/** Returns a client of the gateway; with a token in enterprise mode. */
const clientOf = (baseUrl: string, token?: string) =>
  createClient<paths>({ baseUrl, ...(token && { headers: { Authorization: `Bearer ${token}` } }) })

type Client = ReturnType<typeof clientOf>

/** Returns the data of a response with the expected status. */
function expect<T>(answer: { data?: T; error?: unknown; response: Response }, status: number): T {
  assert.equal(answer.response.status, status, JSON.stringify(answer.error))
  return answer.data as T
}

async function callDemo(client: Client): Promise<void> {
  const tool = expect(await client.GET('/api/v0/tool', { params: { query: { name: 'demo__add' } } }), 200)
  assert.deepEqual([tool.name, tool.enabled, tool.title], ['demo__add', true, 'Add two numbers'])
  const sum = expect(await client.POST('/api/v0/tools/invoke', { body: { name: 'demo__add', a: 2, b: 40 } }), 200)
  assert.deepEqual(sum.structuredContent, { sum: 42 })
  const failed = expect(
    await client.POST('/api/v0/tools/invoke', { body: { name: 'demo__add', a: 2, b: 'forty' } }),
    200
  )
  assert.equal(failed.isError, true)
}

/** docs/tutorials/first-call.md */
async function development(url: string): Promise<void> {
  const client = clientOf(url)
  assert.equal(expect(await client.GET('/ready'), 200).status, 'ready')
  await callDemo(client)
}

/** docs/tutorials/team-gateway.md */
async function enterprise(url: string, demo: string): Promise<void> {
  const nobody = clientOf(url)
  const early = await nobody.GET('/api/v0/servers')
  assert.equal(early.response.status, 403)
  assert.equal(early.error?.error, 'server is not initialized')

  const initialized = expect(await nobody.POST('/init'), 200)
  const admin = clientOf(url, initialized.admin_access_token)
  const { name, role } = expect(await admin.GET('/api/v0/users/whoami'), 200)
  assert.deepEqual([name, role], ['admin', 'admin'])

  const body = { name: 'demo', transport: 'stdio', command: process.execPath, args: [demo] } as const
  const server = expect(await admin.POST('/api/v0/servers', { body: { ...body, args: [...body.args] } }), 201)
  assert.deepEqual('name' in server && [server.name, server.enabled], ['demo', true])

  const developer = expect(await admin.POST('/api/v0/users', { body: { name: 'developer' } }), 201)
  const user = clientOf(url, developer.access_token)
  const params = { params: { path: { name: 'demo' } } }
  const refused = await user.DELETE('/api/v0/servers/{name}', params)
  assert.equal(refused.response.status, 403)

  const allowed = { name: 'developer-editor', allowed_servers: ['demo'] }
  assert.ok(expect(await admin.POST('/api/v0/clients', { body: allowed }), 201).access_token)
  const client = expect(
    await admin.GET('/api/v0/clients/{name}', { params: { path: { name: 'developer-editor' } } }),
    200
  )
  assert.deepEqual([client.name, client.allowed_servers], ['developer-editor', ['demo']])
  assert.equal((await nobody.GET('/api/v0/tools')).response.status, 401)
  await callDemo(user)
}

const [, , mode, url = '', demo = ''] = process.argv
await (mode === 'enterprise' ? enterprise(url, demo) : development(url))
console.log(`TypeScript: the tutorial in ${mode} mode`)
