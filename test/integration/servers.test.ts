import assert from 'node:assert/strict'
import test from 'node:test'
import { withoutExplanation } from '../explained.ts'
import type { FastifyInstance } from 'fastify'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { startHttp } from '../fixtures/http/server.ts'
import { freshConfig, openApp, register, startApp, stdioServer } from '../app.ts'
import { engines, addCleanup } from '../store.ts'

const send = (app: FastifyInstance, method: 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) =>
  app.inject({ method, url: `/api/v0/servers${path}`, ...(payload ? { payload } : {}) })
const names = async (app: FastifyInstance) =>
  (await app.inject('/api/v0/servers')).json<{ name: string }[]>().map(({ name }) => name)

for (const engine of engines) {
  test(`a server registers once, and the second time is a 409 (${engine})`, async (t) => {
    const app = await startApp(t, { engine })
    const alpha = stdioServer('alpha')
    const first = await send(app, 'POST', '', { ...alpha, description: 'first' })
    const record = { ...alpha, description: 'first', session_mode: 'stateless', enabled: true }
    // a slow machine adds what a start costs
    const { start_cost, server, ...made } = first.json<Record<string, Record<string, unknown>>>()
    const { start_cost: same, ...nested } = server!
    assert.deepEqual([first.statusCode, made, nested], [201, record, record])
    assert.deepEqual(same, start_cost)
    const second = await send(app, 'POST', '', alpha)
    assert.deepEqual([second.statusCode, second.json()], [409, { error: 'server "alpha" already exists' }])
  })

  test(`IN-01 what is incomplete is a 400 and registers nothing (${engine})`, async (t) => {
    const app = await startApp(t, { engine })
    const incomplete = [
      {},
      { transport: 'stdio', command: 'x' },
      { name: 'a', command: 'x' },
      { name: 'a', transport: 'ws', url: 'http://h' },
      { name: 'a', transport: 'stdio' },
      { name: 'a', transport: 'streamable_http' },
      { name: 'a', transport: 'sse' }
    ]
    for (const payload of incomplete) await refuse(app, payload)
    assert.deepEqual(await names(app), [])
  })
}

test('IN-02 URLs that are not http or https are a 400', async (t) => {
  const app = await startApp(t)
  for (const url of [
    'file:///etc/passwd',
    'ftp://h',
    'javascript:x',
    'gopher://h',
    '//h/x',
    'http://',
    'x',
    ' http://h'
  ]) {
    await refuse(app, { name: 'a', transport: 'streamable_http', url })
  }
})

test('DA-07 user information in a URL is a 400 that does not repeat it', async (t) => {
  const app = await startApp(t)
  const error = await refuse(app, { name: 'a', transport: 'sse', url: 'http://user:SENT@127.0.0.1:1/' })
  assert.doesNotMatch(error, /SENT/)
})

test('IN-03 AZ-12 names that cannot be qualified, stored or put in a path are a 400', async (t) => {
  const app = await startApp(t)
  for (const name of ['', ' ', 'a b', 'a/b', '../x', 'a\0b', '🙂', 'x'.repeat(300), 'a%2Fb', 'a__b', 'a_', '_a__']) {
    await refuse(app, { ...stdioServer('x'), name })
  }
})

test('IN-04 force is true or false, once', async (t) => {
  const app = await startApp(t)
  for (const query of ['?force=maybe', '?force=true&force=false', '?force=']) {
    assert.equal((await send(app, 'POST', query, stdioServer('a'))).statusCode, 400, query)
  }
  assert.deepEqual(await names(app), [])
})

test('IN-07 environment names and values that no process can have are a 400', async (t) => {
  const app = await startApp(t)
  for (const env of [{ 'A=B': 'x' }, { '': 'x' }, { A: 'x\0' }, { 'A\0': 'x' }]) {
    await refuse(app, { ...stdioServer('a'), env })
  }
})

test('IN-05 a name like __proto__ in env or headers is refused, and no answer shows it', async (t) => {
  const app = await startApp(t)
  const text = `{"name":"a","transport":"stdio","command":"x","env":{"__proto__":"POLLUTED"}}`
  const answer = await app.inject({
    method: 'POST',
    url: '/api/v0/servers',
    payload: text,
    headers: { 'content-type': 'application/json' }
  })
  assert.equal(answer.statusCode, 400)
  await register(app, stdioServer('b'))
  for (const url of ['/api/v0/servers', '/api/v0/server_configs', '/api/v0/tools']) {
    assert.doesNotMatch((await app.inject(url)).body, /POLLUTED/)
  }
})

test('SE-01 no answer but server_configs holds a secret', async (t) => {
  const app = await startApp(t)
  const { url } = await startRecorder(t)
  const secrets = { bearer_token: 'SENT1', headers: { 'X-Key': 'SENT2' }, oauth_client_secret: 'SENT3' }
  const given = { name: 'alpha', transport: 'streamable_http', url, session_mode: 'stateful', ...secrets }
  const created = await send(app, 'POST', '', given)
  const record = { name: 'alpha', transport: 'streamable_http', url, session_mode: 'stateful', enabled: true }
  assert.deepEqual([created.statusCode, created.json()], [201, { ...record, server: record }])
  for (const path of ['/api/v0/servers', '/api/v0/servers/alpha']) {
    assert.doesNotMatch((await app.inject(path)).body, /SENT|bearer|headers|oauth/)
  }
  const configs = await app.inject('/api/v0/server_configs')
  assert.equal(configs.headers['cache-control'], 'no-store')
  assert.deepEqual(configs.json(), [given])
})

test('SE-03 what server_configs shows can be posted back unchanged', async (t) => {
  const app = await startApp(t)
  await register(app, { ...stdioServer('alpha'), env: { K: 'SENT' }, description: 'd' })
  const [config] = (await app.inject('/api/v0/server_configs')).json<[object]>()
  const again = await send(app, 'POST', '?force=true', config)
  assert.equal(again.statusCode, 201, again.body)
  assert.deepEqual((await app.inject('/api/v0/server_configs')).json(), [config])
})

test('PUT replaces the configuration of a server that exists, under its name', async (t) => {
  const app = await startApp(t)
  assert.equal((await send(app, 'PUT', '/alpha', stdioServer('alpha'))).statusCode, 404)
  await register(app, stdioServer('alpha'))
  const renamed = await send(app, 'PUT', '/alpha', stdioServer('beta'))
  assert.equal(renamed.statusCode, 400)
  const changed = await send(app, 'PUT', '/alpha', { ...stdioServer('alpha'), description: 'changed' })
  assert.deepEqual([changed.statusCode, changed.json<{ description: string }>().description], [200, 'changed'])
})

test('DELETE answers 204 without content, and 404 the second time', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('alpha'))
  const first = await send(app, 'DELETE', '/alpha')
  assert.deepEqual([first.statusCode, first.body], [204, ''])
  assert.equal((await send(app, 'DELETE', '/alpha')).statusCode, 404)
  assert.deepEqual(await names(app), [])
})

test('disabling and enabling a server tells what changed', async (t) => {
  const app = await startApp(t)
  const { url } = await startRecorder(t)
  await register(app, { name: 'alpha', transport: 'streamable_http', url })
  const tools_affected = ['alpha__echo', 'alpha__slow', 'alpha__whoami', 'alpha__fail']
  for (const verb of ['disable', 'enable']) {
    const { statusCode, ...answer } = await send(app, 'POST', `/alpha/${verb}`)
    assert.deepEqual(
      [statusCode, answer.json()],
      [200, { name: 'alpha', tools_affected, prompts_affected: ['alpha__greet'] }]
    )
    const again = await send(app, 'POST', `/alpha/${verb}`)
    assert.deepEqual(again.json(), { name: 'alpha', tools_affected: [], prompts_affected: [] })
  }
})

test('the switches of a server and of what it offers are read and set at once, by own names, also while it is disabled', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('s'))
  const url = '/api/v0/servers/s/switches'
  const before = (await app.inject({ url })).json()
  assert.deepEqual(Object.keys(before), ['name', 'enabled', 'tools', 'prompts', 'resources', 'templates', 'skills'])
  const [tool, other] = Object.keys(before.tools)
  assert.ok(tool && other)

  const payload = { enabled: false, tools: { [tool]: false } }
  const set = await app.inject({ method: 'PATCH', url, payload })
  const after = { ...before, enabled: false, tools: { ...before.tools, [tool]: false } }
  assert.deepEqual([set.statusCode, set.json()], [200, after])
  assert.deepEqual((await app.inject({ url })).json(), after)

  const unknown = { enabled: true, tools: { [other]: false, nothing: true } }
  const refused = await app.inject({ method: 'PATCH', url, payload: unknown })
  assert.deepEqual(
    [refused.statusCode, refused.json()],
    [400, { error: '"tools" has names that server "s" does not offer: nothing' }]
  )
  assert.deepEqual((await app.inject({ url })).json(), after)

  await app.inject({ method: 'PATCH', url, payload: { enabled: true } })
  const listed = (await app.inject({ url: '/api/v0/tools' })).json() as { name: string; enabled: boolean }[]
  assert.equal(listed.find(({ name }) => name === `s__${tool}`)!.enabled, false)
  assert.equal(listed.find(({ name }) => name === `s__${other}`)!.enabled, true)
  assert.equal((await app.inject({ url: '/api/v0/servers/x/switches' })).statusCode, 404)
  const gone = await app.inject({ method: 'PATCH', url: '/api/v0/servers/x/switches', payload: { enabled: false } })
  assert.equal(gone.statusCode, 404)
})

test('refresh reads the lists again and tells what is new', async (t) => {
  const app = await startApp(t)
  const alpha = await startRecorder(t)
  await register(app, { name: 'alpha', transport: 'streamable_http', url: alpha.url })
  alpha.setExtraTools([{ name: 'later', inputSchema: { type: 'object' } }])
  const answer = await send(app, 'POST', '/alpha/refresh')
  assert.deepEqual(
    [answer.statusCode, answer.json()],
    [200, { name: 'alpha', added: ['alpha__later'], removed: [], changed: [] }]
  )
})

test('a refresh tells what is new although a read in the background has stored it before', async (t) => {
  const app = await startApp(t)
  const alpha = await startRecorder(t)
  await register(app, { name: 'alpha', transport: 'streamable_http', url: alpha.url })
  alpha.setExtraTools([{ name: 'later', inputSchema: { type: 'object' } }])
  const answers = await Promise.all([send(app, 'POST', '/alpha/refresh'), send(app, 'POST', '/alpha/refresh')])
  for (const answer of answers) {
    assert.deepEqual(answer.json(), { name: 'alpha', added: ['alpha__later'], removed: [], changed: [] })
  }
  alpha.setExtraTools([])
  const others = await Promise.all([send(app, 'POST', '/alpha/refresh'), send(app, 'POST', '/alpha/refresh')])
  for (const answer of others) {
    assert.deepEqual(answer.json(), { name: 'alpha', added: [], removed: ['alpha__later'], changed: [] })
  }
})

test('an upstream that is not there is a 502 and registers nothing', async (t) => {
  const app = await startApp(t)
  for (const server of [
    { name: 'a', transport: 'streamable_http', url: 'http://127.0.0.1:1/mcp' },
    { name: 'a', transport: 'stdio', command: '/does/not/exist' }
  ]) {
    const answer = await send(app, 'POST', '', server)
    assert.equal(answer.statusCode, 502, answer.body)
    assert.deepEqual(Object.keys(answer.json<object>()), ['error', 'cause', 'summary', 'next_step'])
  }
  assert.deepEqual(await names(app), [])
})

test('stdio servers can be switched off', async (t) => {
  const app = await startApp(t, { env: { TOWPATH_STDIO: 'off' } })
  const error = await refuse(app, stdioServer('a'))
  assert.match(error, /TOWPATH_STDIO/)
})

test('a list of allowed commands holds at registration', async (t) => {
  const app = await startApp(t, { env: { TOWPATH_STDIO_COMMANDS: `/bin/true,${process.execPath}` } })
  const { command: _, ...server } = stdioServer('a')
  for (const command of ['/bin/sh', 'node', '/bin/../bin/true', '']) {
    assert.match(await refuse(app, { ...server, command }), command === '' ? /command/ : /TOWPATH_STDIO_COMMANDS/)
  }
  await register(app, stdioServer('a'))
})

test('servers that the settings came to forbid are not started, and that is a 502 that names the setting', async (t) => {
  const config = await freshConfig(t)
  const first = await openApp(config)
  await register(first, stdioServer('a'))
  await first.close()
  for (const [stdio, text] of [
    [{ enabled: false }, 'stdio servers are disabled (TOWPATH_STDIO)'],
    [{ commands: ['/bin/true'] }, 'the command is not in the list of allowed commands (TOWPATH_STDIO_COMMANDS)']
  ] as const) {
    const app = await openApp({ ...config, stdio: { ...config.stdio, ...stdio } })
    try {
      for (const [url, payload] of [
        ['/api/v0/tools/invoke', { name: 'a__pid' }],
        ['/api/v0/servers/a/refresh', undefined]
      ] as const) {
        const answer = await app.inject({ method: 'POST', url, ...(payload && { payload }) })
        assert.deepEqual(
          [answer.statusCode, withoutExplanation(answer.json<object>())],
          [502, { error: `server "a": ${text}` }]
        )
      }
    } finally {
      await app.close()
    }
  }
})

async function refuse(app: FastifyInstance, payload: object): Promise<string> {
  const answer = await send(app, 'POST', '', payload)
  assert.equal(answer.statusCode, 400, `${JSON.stringify(payload)} ${answer.body}`)
  const body = answer.json<{ error: string }>()
  assert.deepEqual(Object.keys(withoutExplanation(body)), ['error'])
  return body.error
}

test('an upstream that asks for authorization is refused with what to give it, one that forbids as it is', async (t) => {
  const app = await startApp(t)
  const guarded = await startRecorder(t, { authorization: 'Bearer good' })
  const answer = await app.inject({
    method: 'POST',
    url: '/api/v0/servers',
    payload: { name: 'guarded', transport: 'streamable_http', url: guarded.url }
  })
  assert.deepEqual(withoutExplanation(answer.json<object>()), {
    error:
      'the upstream asks for authorization: give "bearer_token", or an "Authorization" header in "headers", ' +
      'or "oauth_redirect_uri" to sign in with OAuth',
    code: 'upstream_oauth_required'
  })
  const forbidding = await startHttp((_request, response) => void response.writeHead(403).end())
  addCleanup(t, forbidding.close)
  const refused = await app.inject({
    method: 'POST',
    url: '/api/v0/servers',
    payload: { name: 'forbidding', transport: 'streamable_http', url: forbidding.origin }
  })
  assert.deepEqual(
    [refused.statusCode, refused.json<{ error: string }>().error, refused.json<{ cause: string }>().cause],
    [502, 'server "forbidding": refused the request (HTTP 403)', 'access_forbidden']
  )
})
