import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addUpstream, skip, startEmpty, startEnterprise, type Actor } from './enterprise.ts'
import type { Answer } from './harness.ts'

/** Asserts an error as in http-contract.md 7, without internal details. */
function assertError({ status, headers, body, text }: Answer, expected: readonly number[], what: string): void {
  assert.ok(expected.includes(status), `${what}: ${status} ${text}`)
  assert.match(headers.get('content-type') ?? '', /^application\/json/, what)
  assert.equal(typeof body.error, 'string', `${what}: ${text}`)
  assert.doesNotMatch(text, /node_modules|\/src\/|\/dist\/|\bat .+:\d+:\d+|\.[jt]s:\d|postgres|select /i, what)
}

const dashboard = [
  ...['/', '/index.html', '/assets/x.js', '/assets/'].map((path) => ['GET', path]),
  ...['overview', 'servers', 'tools', 'tool-groups', 'tool-groups/g1', 'prompts', 'resources', 'diagnostics'].map(
    (name) => ['GET', `/api/dashboard/${name}`]
  ),
  ...['oauth/callback', 'oauth/session/x'].map((name) => ['GET', `/api/dashboard/${name}`]),
  ...['servers', 'tool-groups'].map((name) => ['POST', `/api/dashboard/${name}`]),
  ...['servers/a', 'tool-groups/g1'].map((name) => ['DELETE', `/api/dashboard/${name}`]),
  ...['servers/a', 'tools/a__b', 'prompts/a__b'].map((name) => ['PATCH', `/api/dashboard/${name}/enabled`])
] as [method: string, path: string][]

async function assertNoDashboard(actors: Readonly<Record<string, Actor>>): Promise<void> {
  for (const [who, actor] of Object.entries(actors)) {
    for (const [method, path] of dashboard) {
      const body = method === 'POST' || method === 'PATCH' ? { name: 'a', enabled: true } : undefined
      assertError(await actor.send(method, path, body), [404], `${who} ${method} ${path}`)
    }
  }
}

test('DA-01 enterprise mode has no dashboard, whoever asks', { skip }, async (t) => {
  const { as, admin, user, cliAll } = await startEnterprise(t)
  await assertNoDashboard({ nobody: as(), admin, user, cliAll, stranger: as('a-token-that-nobody-has') })
})

test('DA-01 enterprise mode has no dashboard before it is initialised either', { skip }, async (t) => {
  const gateway = await startEmpty(t)
  for (const [method, path] of dashboard) {
    const response = await fetch(gateway.url + path, { method })
    assert.equal(response.status, 404, `${method} ${path}`)
    assert.equal(typeof ((await response.json()) as { error: unknown }).error, 'string')
  }
})

test('IN-08 NUL and half of a pair are refused wherever they stand, on PostgreSQL too', { skip }, async (t) => {
  const { admin } = await startEnterprise(t)
  const server = { name: 'a', transport: 'streamable_http', url: 'http://127.0.0.1:1/mcp' }
  for (const bad of ['a\0', 'a\ud800']) {
    const quoted = bad.endsWith('\0') ? 'a%00' : 'a%ED%A0%80'
    const requests: [method: string, path: string, body?: object][] = [
      ['GET', `/api/v0/tool?name=${quoted}`],
      ['GET', `/api/v0/tools?server=${quoted}`],
      ['GET', `/api/v0/resource?uri=${quoted}`],
      ['POST', `/api/v0/tools/enable?entity=${quoted}`],
      ['POST', `/api/v0/prompts/disable?entity=${quoted}`],
      ['GET', `/api/v0/servers/${quoted}`],
      ['DELETE', `/api/v0/servers/${quoted}`],
      ['GET', `/api/v0/tool-groups/${quoted}`],
      ['GET', `/api/v0/clients/${quoted}`],
      ['DELETE', `/api/v0/users/${quoted}`],
      ['POST', '/api/v0/servers', { ...server, name: bad }],
      ['POST', '/api/v0/servers', { ...server, description: bad }],
      ['POST', '/api/v0/tool-groups', { name: 'g', description: bad }],
      ['POST', '/api/v0/tool-groups', { name: bad }],
      ['POST', '/api/v0/users', { name: bad }],
      ['POST', '/api/v0/users', { name: 'u', access_token: `0123456789abcdef${bad}` }],
      ['POST', '/api/v0/clients', { name: 'c', description: bad }],
      ['POST', '/api/v0/clients', { name: 'c', allowed_servers: [bad] }],
      ['POST', '/api/v0/tools/invoke', { name: bad }]
    ]
    for (const [method, path, body] of requests) {
      assertError(await admin.send(method, path, body), [400, 404], `${method} ${path} ${JSON.stringify(body)}`)
    }
  }
  assert.deepEqual((await admin.get('/api/v0/servers')).body, [])
  assert.equal((await admin.get('/api/v0/clients')).body.length, 4)
})

test('IN-17 every refusal of enterprise mode is one JSON object that tells no secrets', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const { admin, user, cliAll, as } = gateway
  await addUpstream(t, gateway, 'alpha')
  const requests: [status: number, actor: Actor, method: string, path: string, body?: unknown][] = [
    [400, admin, 'POST', '/api/v0/servers', {}],
    [400, admin, 'GET', '/api/v0/tools?server=a&server=b'],
    [401, as(), 'GET', '/api/v0/servers'],
    [401, as('a-token-that-nobody-has'), 'POST', '/mcp', {}],
    [401, user, 'POST', '/mcp', {}],
    [401, as(), 'GET', '/api/v0/nowhere'],
    [403, user, 'GET', '/api/v0/server_configs'],
    [403, cliAll, 'GET', '/api/v0/servers'],
    [404, admin, 'GET', '/api/v0/servers/nobody'],
    [404, admin, 'GET', '/nowhere'],
    [404, cliAll, 'POST', '/v0/groups/nobody/mcp', {}],
    [405, admin, 'PATCH', '/api/v0/servers'],
    [409, admin, 'POST', '/api/v0/clients', { name: 'cli-a' }],
    [409, as(), 'POST', '/init'],
    [413, admin, 'POST', '/api/v0/tools/invoke', { name: 'a'.repeat(1_048_576) }],
    [413, cliAll, 'POST', '/mcp', { name: 'a'.repeat(4_194_304) }],
    [414, admin, 'GET', `/api/v0/servers/${'a'.repeat(4_097)}`],
    [431, admin, 'GET', `/${'a'.repeat(20_000)}`]
  ]
  for (const [status, actor, method, path, body] of requests) {
    const answer = await actor.send(method, path, body)
    const expected = path === '/api/v0/nowhere' ? [401, 404] : [status]
    assertError(answer, expected, `${method} ${path.slice(0, 40)}`)
  }
  const wrongType = await fetch(`${gateway.url}/api/v0/tools/invoke`, {
    method: 'POST',
    headers: { ...admin.headers, 'content-type': 'text/plain' },
    body: '{}'
  })
  assert.equal(wrongType.status, 415)
  assert.deepEqual(Object.keys((await wrongType.json()) as object), ['error'])
})
