import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addUpstream, skip, startEnterprise, userRecord } from './enterprise.ts'
import { root } from './harness.ts'

interface Document {
  readonly paths: Record<string, Record<string, unknown>>
}
const { paths } = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')) as Document

/** Routes for the role user: http-contract.md 5.4 and later decisions. All others are for administrators. */
const forUsers = new Set([
  'GET /api/v0/calls',
  'GET /api/v0/calls/{id}',
  'GET /api/v0/servers',
  'GET /api/v0/servers/{name}',
  'GET /api/v0/tools',
  'GET /api/v0/tool',
  'POST /api/v0/tools/invoke',
  'GET /api/v0/prompts',
  'GET /api/v0/prompt',
  'POST /api/v0/prompts/render',
  'GET /api/v0/resources',
  'GET /api/v0/resource_templates',
  'GET /api/v0/resource',
  'GET /api/v0/skills',
  'GET /api/v0/skill',
  'POST /api/v0/resources/read',
  'POST /api/v0/resources/get',
  'GET /api/v0/users/whoami',
  'GET /api/v0/me',
  'GET /api/v0/me/session',
  'GET /api/v0/me/clients',
  'DELETE /api/v0/me/clients/{id}',
  'DELETE /api/v0/me/sessions',
  'GET /api/v0/me/tokens',
  'POST /api/v0/me/tokens',
  'DELETE /api/v0/me/tokens/{id}',
  'GET /api/v0/approvals',
  'GET /api/v0/approvals/{id}',
  'POST /api/v0/approvals/{id}/approve',
  'POST /api/v0/approvals/{id}/deny'
])

const routes = Object.entries(paths).flatMap(([path, operations]) =>
  path.startsWith('/api/') ? Object.keys(operations).map((method) => [method.toUpperCase(), path] as const) : []
)

test('what a user may do is what the contract lists, and no more', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const { admin, user } = gateway
  const alpha = await addUpstream(t, gateway, 'alpha')
  await admin.post('/api/v0/tool-groups', { name: 'g1', included_servers: ['alpha'] })

  await t.test('AZ-01 every other route is refused, and nothing has changed', async () => {
    const read = async () => {
      const names = ['servers', 'server_configs', 'tools', 'prompts', 'resources', 'users', 'clients', 'tool-groups']
      return Promise.all(names.map(async (name) => (await admin.get(`/api/v0/${name}`)).text))
    }
    const before = await read()
    const seen = alpha.requests.length
    const closed = routes.filter((route) => !forUsers.has(route.join(' ')))
    assert.equal(closed.length, routes.length - forUsers.size)
    for (const [method, pattern] of closed) {
      for (const name of ['alpha', 'g1', 'user', 'cli-a', 'admin']) {
        const path = pattern.replace(/\{\w+\}/, name)
        const query = /able$/.test(pattern) && !pattern.includes('{') ? '?entity=alpha' : ''
        const body = ['POST', 'PUT'].includes(method) ? { name, role: 'admin', included_servers: [] } : undefined
        const answer = await user.send(method, path + query, body)
        const error = 'this needs the access token of an administrator; the given one belongs to a user'
        assert.deepEqual([answer.status, answer.body], [403, { error }], `${method} ${path}`)
        assert.equal(answer.headers.get('www-authenticate'), 'Bearer error="insufficient_scope"')
      }
    }
    assert.deepEqual(await read(), before)
    assert.equal(alpha.requests.length, seen)
  })

  await t.test('AZ-02 a user reads servers, tools, prompts and resources, and uses them', async () => {
    const reads = ['servers', 'servers/alpha', 'tools', 'tools?server=alpha', 'tool?name=alpha__echo', 'prompts']
    const more = ['prompt?name=alpha__greet', 'resources', 'resource_templates', 'resource?uri=fixture%3A%2F%2Fnote']
    for (const path of [...reads, ...more, 'users/whoami']) {
      assert.equal((await user.get(`/api/v0/${path}`)).status, 200, path)
    }
    const uses: [path: string, body: object][] = [
      ['tools/invoke', { name: 'alpha__echo', text: 'x' }],
      ['prompts/render', { name: 'alpha__greet', arguments: { who: 'x' } }],
      ['resources/read', { uri: 'fixture://note' }]
    ]
    for (const [path, body] of uses) assert.equal((await user.post(`/api/v0/${path}`, body)).status, 200, path)
    assert.deepEqual((await user.get('/api/v0/users/whoami')).body, userRecord('user'))
  })
})
