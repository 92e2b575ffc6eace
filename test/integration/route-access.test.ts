import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Access, TokenScope } from '../../src/domain/access/access.ts'
import { startApp } from '../app.ts'
import { until } from '../until.ts'

interface Document {
  readonly paths: Record<string, Record<string, unknown>>
}
const { paths } = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8')) as Document

/** Access of every route; a new route fails the test until it is listed. */
const routes: Readonly<Record<Access, readonly string[]>> = {
  public: ['GET /health', 'GET /metadata', 'GET /ready', 'GET /metrics', 'POST /init', 'GET /.well-known/oauth-client'],
  self: [
    'GET /api/v0/me',
    'GET /api/v0/me/session',
    'GET /api/v0/me/clients',
    'DELETE /api/v0/me/clients/{id}',
    'DELETE /api/v0/me/sessions',
    'GET /api/v0/me/tokens',
    'POST /api/v0/me/tokens',
    'DELETE /api/v0/me/tokens/{id}',
    'GET /api/v0/users/whoami',
    'POST /api/v0/approvals/{id}/approve',
    'POST /api/v0/approvals/{id}/deny'
  ],
  user: [
    'GET /api/v0/servers',
    'GET /api/v0/servers/{name}',
    'GET /api/v0/calls',
    'GET /api/v0/calls/{id}',
    'GET /api/v0/tools',
    'GET /api/v0/tool',
    'GET /api/v0/prompts',
    'GET /api/v0/prompt',
    'GET /api/v0/resources',
    'GET /api/v0/skills',
    'GET /api/v0/skill',
    'GET /api/v0/resource_templates',
    'GET /api/v0/resource',
    'POST /api/v0/resources/get',
    'GET /api/v0/approvals',
    'GET /api/v0/approvals/{id}'
  ],
  call: ['POST /api/v0/tools/invoke', 'POST /api/v0/prompts/render', 'POST /api/v0/resources/read'],
  auditor: [
    'GET /api/v0/servers/{name}/switches',
    'GET /api/v0/catalogue',
    'GET /api/v0/catalogue/{name}',
    'GET /api/v0/stats',
    'GET /api/v0/audit',
    'GET /api/v0/users',
    'GET /api/v0/users/{name}',
    'GET /api/v0/users/{name}/tokens',
    'GET /api/v0/users/{name}/clients',
    'GET /api/v0/oauth_clients',
    'GET /api/v0/oauth_grants',
    'GET /api/v0/clients',
    'GET /api/v0/clients/{name}',
    'GET /api/v0/tool-groups',
    'GET /api/v0/tool-groups/{name}',
    'GET /api/v0/tool-groups/{name}/effective-tools',
    'GET /api/v0/policies',
    'GET /api/v0/policies/effective',
    'POST /api/v0/policies/simulate',
    'GET /api/v0/policies/{name}',
    'GET /api/v0/definitions',
    'GET /api/v0/definitions/lock',
    'GET /api/v0/identity_provider/checks',
    'GET /api/v0/search/checks',
    'GET /api/v0/teams',
    'GET /api/v0/teams/{name}'
  ],
  admin: [
    'POST /api/v0/definitions/accept',
    'POST /api/v0/definitions/reject',
    'POST /api/v0/users/{name}/invite',
    'POST /api/v0/servers',
    'PUT /api/v0/servers/{name}',
    'DELETE /api/v0/servers/{name}',
    'POST /api/v0/servers/{name}/enable',
    'POST /api/v0/servers/{name}/disable',
    'PATCH /api/v0/servers/{name}/switches',
    'POST /api/v0/servers/{name}/refresh',
    'PUT /api/v0/servers/{name}/recording',
    'DELETE /api/v0/servers/{name}/recording',
    'PUT /api/v0/servers/{name}/definitions',
    'GET /api/v0/server_configs',
    'POST /api/v0/catalogue/install',
    'GET /api/v0/upstream_oauth/sessions/{id}',
    'POST /api/v0/upstream_oauth/sessions/{id}/complete',
    'POST /api/v0/tools/enable',
    'POST /api/v0/tools/disable',
    'POST /api/v0/prompts/enable',
    'POST /api/v0/prompts/disable',
    'POST /api/v0/resources/enable',
    'POST /api/v0/resources/disable',
    'POST /api/v0/skills/enable',
    'POST /api/v0/skills/disable',
    'GET /api/v0/calls/causes',
    'POST /api/v0/keys/rotate',
    'POST /api/v0/signing_keys/rotate',
    'POST /api/v0/oauth_clients/{id}/approve',
    'DELETE /api/v0/oauth_clients/{id}',
    'DELETE /api/v0/users/{name}/clients/{id}',
    'DELETE /api/v0/users/{name}/sessions',
    'POST /api/v0/users',
    'PUT /api/v0/users/{name}',
    'DELETE /api/v0/users/{name}',
    'PUT /api/v0/users/{name}/role',
    'POST /api/v0/users/{name}/suspend',
    'POST /api/v0/users/{name}/resume',
    'DELETE /api/v0/users/{name}/tokens/{id}',
    'POST /api/v0/clients',
    'PUT /api/v0/clients/{name}',
    'DELETE /api/v0/clients/{name}',
    'POST /api/v0/tool-groups',
    'POST /api/v0/tool-groups/preview',
    'PUT /api/v0/tool-groups/{name}',
    'DELETE /api/v0/tool-groups/{name}',
    'POST /api/v0/policies',
    'PUT /api/v0/policies/{name}',
    'DELETE /api/v0/policies/{name}',
    'POST /api/v0/policies/validate',
    'POST /api/v0/policies/replay',
    'POST /api/v0/teams',
    'PUT /api/v0/teams/{name}',
    'DELETE /api/v0/teams/{name}'
  ],
  client: [
    'POST /mcp',
    'GET /mcp',
    'DELETE /mcp',
    'POST /v0/groups/{name}/mcp',
    'GET /v0/groups/{name}/mcp',
    'DELETE /v0/groups/{name}/mcp',
    'GET /sse',
    'POST /message',
    'GET /v0/groups/{name}/sse',
    'POST /v0/groups/{name}/message'
  ]
}

const own = ['self', 'user', 'call', 'auditor', 'admin'] as const
/** Access of each caller besides public routes, as a table and not as the product computes it. */
const rights: Readonly<Record<string, readonly Access[]>> = {
  nobody: [],
  client: ['client'],
  user: ['self', 'user', 'call'],
  auditor: ['self', 'user', 'auditor'],
  admin: own,
  'user mcp': ['self', 'client'],
  'user towpath:read': ['self', 'user'],
  'user towpath:call': ['self', 'user', 'call'],
  'auditor towpath:read': ['self', 'user', 'auditor'],
  'admin mcp': ['self', 'client'],
  'admin towpath:read': ['self', 'user', 'auditor'],
  'admin towpath:call': ['self', 'user', 'call', 'auditor'],
  'admin towpath:admin': own
}

const adminToken = 'an-administrator-of-the-test'

/** Returns the tokens of the callers in `rights`. */
async function createCallers(app: FastifyInstance): Promise<Map<string, string>> {
  const post = async (token: string, url: string, payload: object) => {
    const answer = await app.inject({ method: 'POST', url, payload, headers: { authorization: `Bearer ${token}` } })
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json<{ access_token: string }>().access_token
  }
  const tokens = new Map([['admin', adminToken]])
  for (const role of ['user', 'auditor']) {
    tokens.set(role, await post(adminToken, '/api/v0/users', { name: `an-${role}`, role }))
  }
  tokens.set('client', await post(adminToken, '/api/v0/clients', { name: 'app', allowed_servers: ['*'] }))
  for (const caller of Object.keys(rights).filter((each) => each.includes(' '))) {
    const [role, scope] = caller.split(' ') as [string, TokenScope]
    const body = { name: scope.replace(':', '-'), scopes: [scope] }
    tokens.set(caller, await post(tokens.get(role)!, '/api/v0/me/tokens', body))
  }
  return tokens
}

const startEnterprise = (t: TestContext) =>
  startApp(t, {
    env: { SERVER_MODE: 'enterprise', TOWPATH_ADMIN_TOKEN: adminToken, TOWPATH_ENCRYPTION_KEY: 'a'.repeat(64) }
  })

test('every route is listed here with its access', () => {
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`)
  )
  assert.deepEqual(Object.values(routes).flat().toSorted(), documented.toSorted())
})

test('every route is open to the roles and scopes of its access, and to nobody else', async (t) => {
  const app = await startEnterprise(t)
  const tokens = await createCallers(app)
  for (const [access, listed] of Object.entries(routes) as [Access, readonly string[]][]) {
    for (const route of listed) {
      const [method, pattern] = route.split(' ') as ['GET', string]
      for (const [caller, allowed] of Object.entries(rights)) {
        const isOpen = access === 'public' || allowed.includes(access)
        // an event stream that is open does not end
        if (isOpen && pattern.endsWith('/sse')) continue
        const token = tokens.get(caller)
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
        const answer = await app.inject({ method, url: pattern.replace(/\{\w+\}/g, 'nothing'), headers })
        const what = `${route} by ${caller}: ${answer.statusCode} ${answer.body.slice(0, 200)}`
        // a route that the caller may use may still refuse by its own rules, without a challenge
        const isRefused = answer.headers['www-authenticate'] !== undefined
        assert.equal(isRefused, !isOpen, what)
        if (isRefused) assert.ok(answer.statusCode === 401 || (answer.statusCode === 403 && token), what)
      }
    }
  }
})

test('an auditor reads neither secrets of servers nor the contents of calls', async (t) => {
  const app = await startEnterprise(t)
  const tokens = await createCallers(app)
  const ask = async (caller: string, method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) => {
    const headers = { authorization: `Bearer ${tokens.get(caller)!}` }
    return app.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  }
  const args = [join(import.meta.dirname, '../fixtures/stdio/good.mjs')]
  const server = {
    name: 'local',
    transport: 'stdio',
    command: process.execPath,
    args,
    env: { KEY: 'a-secret-of-the-test' }
  }
  assert.equal((await ask('admin', 'POST', '/api/v0/servers', server)).statusCode, 201)
  await ask('admin', 'PUT', '/api/v0/servers/local/recording', { minutes: 5 })
  const [tool] = (await ask('admin', 'GET', '/api/v0/tools')).json<{ name: string }[]>()
  await ask('admin', 'POST', '/api/v0/tools/invoke', { name: tool!.name, text: 'said-in-a-call' })
  const read = async (caller: string, url: string) => (await ask(caller, 'GET', url)).body
  const id = await until('the call is logged', async () => {
    const { calls } = JSON.parse(await read('admin', '/api/v0/calls')) as { calls: { id: string }[] }
    return calls[0]?.id
  })
  assert.match(await read('admin', `/api/v0/calls/${id}`), /said-in-a-call/)
  assert.match(await read('admin', '/api/v0/servers'), /a-secret-of-the-test/)
  for (const caller of ['auditor', 'admin towpath:read']) {
    for (const url of [
      '/api/v0/calls',
      `/api/v0/calls/${id}`,
      '/api/v0/servers',
      '/api/v0/servers/local',
      '/api/v0/audit'
    ]) {
      const body = await read(caller, url)
      assert.ok(body.includes('local'), `${caller} ${url}`)
      assert.doesNotMatch(body, /said-in-a-call|a-secret-of-the-test/, `${caller} ${url}`)
    }
  }
})

test('a user reads the own calls, without contents, and no call of anybody else', async (t) => {
  const app = await startEnterprise(t)
  const tokens = await createCallers(app)
  const ask = (caller: string, method: 'GET' | 'POST', url: string, payload?: object) =>
    app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${tokens.get(caller)!}` },
      ...(payload && { payload })
    })
  const server = {
    name: 'local',
    transport: 'stdio',
    command: process.execPath,
    args: [join(import.meta.dirname, '../fixtures/stdio/good.mjs')]
  }
  assert.equal((await ask('admin', 'POST', '/api/v0/servers', server)).statusCode, 201)
  await app.inject({
    method: 'PUT',
    url: '/api/v0/servers/local/recording',
    payload: { minutes: 5 },
    headers: { authorization: `Bearer ${adminToken}` }
  })
  const [tool] = (await ask('admin', 'GET', '/api/v0/tools')).json<{ name: string }[]>()
  for (const caller of ['admin', 'user']) {
    await ask(caller, 'POST', '/api/v0/tools/invoke', { name: tool!.name, text: `said-by-${caller}` })
  }
  type Calls = { calls: { id: string; caller: string }[] }
  const all = await until('both calls are logged', async () => {
    const { calls } = (await ask('admin', 'GET', '/api/v0/calls')).json<Calls>()
    return calls.length === 2 ? { calls } : undefined
  })
  const own = await ask('user', 'GET', '/api/v0/calls')
  assert.deepEqual(
    own.json<Calls>().calls.map(({ caller }) => caller),
    ['an-user']
  )
  assert.deepEqual((await ask('user', 'GET', '/api/v0/calls?caller=admin')).json<Calls>().calls, [])
  for (const { id, caller } of all!.calls) {
    const answer = await ask('user', 'GET', `/api/v0/calls/${id}`)
    assert.equal(answer.statusCode, caller === 'an-user' ? 200 : 404)
    assert.doesNotMatch(answer.body, /said-by/)
  }
})
