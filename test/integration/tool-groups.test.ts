import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Environment } from '../../src/config/config.ts'
import { register, startApp, stdioServer } from '../app.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { engines, addCleanup, type Engine } from '../store.ts'

const root = '/api/v0/tool-groups'

/** Short names for the routes of groups. */
function client(app: FastifyInstance) {
  const send = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path = '', payload?: object | string) => {
    const answer = await app.inject({
      method,
      url: `${root}${path}`,
      ...(payload === undefined ? {} : { payload, headers: { 'content-type': 'application/json' } })
    })
    // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
    const body: any = answer.body === '' ? undefined : answer.json()
    return { status: answer.statusCode, body }
  }
  return {
    list: () => send('GET'),
    get: (path: string) => send('GET', `/${path}`),
    post: (payload: object | string) => send('POST', '', payload),
    put: (name: string, payload: object | string) => send('PUT', `/${name}`, payload),
    remove: (name: string) => send('DELETE', `/${name}`)
  }
}

async function start(t: TestContext, { engine, env = {} }: { engine?: Engine; env?: Environment } = {}) {
  const app = await startApp(t, { ...(engine ? { engine } : {}), env })
  for (const name of ['alpha', 'beta']) {
    const recorder = await startRecorder(null, { name })
    addCleanup(t, recorder.close)
    await register(app, { name, transport: 'streamable_http', url: recorder.url })
  }
  return { app, groups: client(app) }
}

const endpoints = (name: string, base = 'http://localhost:80') => ({
  streamable_http_endpoint: `${base}/v0/groups/${name}/mcp`,
  sse_endpoint: `${base}/v0/groups/${name}/sse`,
  sse_message_endpoint: `${base}/v0/groups/${name}/message`
})
const empty = { included_tools: [], included_servers: [], excluded_tools: [], missing: [] }

for (const engine of engines) {
  test(`a group is made, shown, replaced and removed (${engine})`, async (t) => {
    const { groups } = await start(t, { engine })
    const input = {
      name: 'g1',
      description: 'For agents',
      included_tools: ['alpha__echo', 'alpha__slow'],
      included_servers: ['beta'],
      excluded_tools: ['beta__fail']
    }
    const record = { ...input, missing: [] }
    assert.deepEqual(await groups.post(input), { status: 201, body: { ...record, ...endpoints('g1') } })
    assert.deepEqual(await groups.get('g1'), { status: 200, body: { ...record, ...endpoints('g1') } })
    assert.deepEqual(await groups.post({ name: 'a__b_' }), {
      status: 201,
      body: { name: 'a__b_', ...empty, ...endpoints('a__b_') }
    })
    assert.deepEqual(await groups.list(), { status: 200, body: [{ name: 'a__b_', ...empty }, record] })
    assert.deepEqual(await groups.get('g1/effective-tools'), {
      status: 200,
      body: { tools: ['alpha__echo', 'alpha__slow', 'beta__echo', 'beta__slow', 'beta__whoami'] }
    })
    assert.deepEqual(await groups.get('a__b_/effective-tools'), { status: 200, body: { tools: [] } })

    const changed = { name: 'g1', ...empty, included_servers: ['alpha'], excluded_tools: ['alpha__echo'] }
    assert.deepEqual(await groups.put('g1', { excluded_tools: ['alpha__echo'], included_servers: ['alpha'] }), {
      status: 200,
      body: { ...changed, ...endpoints('g1'), old: record, new: changed }
    })
    assert.deepEqual((await groups.get('g1/effective-tools')).body, {
      tools: ['alpha__slow', 'alpha__whoami', 'alpha__fail']
    })
    assert.deepEqual(await groups.remove('g1'), { status: 204, body: undefined })
    const unknown = { status: 404, body: { error: 'tool group "g1" does not exist' } }
    assert.deepEqual(await groups.remove('g1'), unknown)
    assert.deepEqual(await groups.get('g1'), unknown)
    assert.deepEqual(await groups.get('g1/effective-tools'), unknown)
    assert.deepEqual(await groups.put('g1', {}), unknown)
  })

  test(`a name is taken once, also in parallel, and a refused group changes nothing (${engine})`, async (t) => {
    const groups = client(await startApp(t, { engine }))
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => groups.post({ name: 'g', description: `${i}` }))
    )
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, ...Array<number>(7).fill(409)]
    )
    const taken = answers.find(({ status }) => status === 409)!
    assert.deepEqual(taken.body, { error: 'tool group "g" already exists' })
    assert.equal((await groups.post({ name: 'G' })).status, 201)
    assert.equal((await groups.list()).body.length, 2)
  })
}

test('a 400 names every tool and server that does not exist, in any of the lists', async (t) => {
  const { groups } = await start(t)
  const answer = await groups.post({
    name: 'g',
    included_tools: ['alpha__echo', 'alpha__Echo', 'gamma__echo', 'echo'],
    included_servers: ['alpha', 'ALPHA', 'gamma'],
    excluded_tools: ['beta__ech', 'beta__echo']
  })
  assert.deepEqual(answer, {
    status: 400,
    body: {
      error: 'unknown tools: "alpha__Echo", "gamma__echo", "echo", "beta__ech"; unknown servers: "ALPHA", "gamma"'
    }
  })
  assert.deepEqual((await groups.post({ name: 'g', included_servers: [''] })).body, { error: 'unknown server: ""' })
  assert.deepEqual((await groups.list()).body, [])
})

test('names that go are shown as missing and the rest is served; they may stay in a new configuration, others may not', async (t) => {
  const { app, groups } = await start(t)
  const config = {
    included_tools: ['alpha__echo', 'beta__echo'],
    included_servers: ['beta'],
    excluded_tools: ['beta__whoami']
  }
  await groups.post({ name: 'g', ...config })
  await app.inject({ method: 'DELETE', url: '/api/v0/servers/beta' })
  const missing = ['beta__echo', 'beta__whoami', 'beta']
  assert.deepEqual((await groups.list()).body, [{ name: 'g', ...config, missing }])
  assert.deepEqual((await groups.get('g')).body.missing, missing)
  assert.deepEqual((await groups.get('g/effective-tools')).body, { tools: ['alpha__echo'] })

  const kept = await groups.put('g', { ...config, description: 'still' })
  assert.deepEqual([kept.status, kept.body.missing], [200, missing])
  assert.deepEqual(await groups.put('g', { ...config, included_tools: ['beta__fail'] }), {
    status: 400,
    body: { error: 'unknown tool: "beta__fail"' }
  })
  await register(app, stdioServer('beta'))
  assert.deepEqual((await groups.get('g')).body.missing, ['beta__whoami'])
})

test('effective tools are what can be called: neither disabled ones nor those of disabled servers', async (t) => {
  const { app, groups } = await start(t)
  await groups.post({ name: 'g', included_servers: ['alpha'], included_tools: ['beta__echo'] })
  const effective = async () => (await groups.get('g/effective-tools')).body.tools as string[]
  await app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=alpha__slow' })
  assert.deepEqual(await effective(), ['alpha__echo', 'alpha__whoami', 'alpha__fail', 'beta__echo'])
  await app.inject({ method: 'POST', url: '/api/v0/servers/alpha/disable' })
  assert.deepEqual(await effective(), ['beta__echo'])
  assert.deepEqual((await groups.get('g')).body.missing, [])
})

test('bare names need exactly one included server and nothing else, and are shown only where they are in force', async (t) => {
  const { groups } = await start(t)
  const error =
    '"tool_names" can be bare only if "included_servers" names exactly one server and "included_tools" is empty'
  const refused = [
    {},
    { included_servers: ['alpha', 'beta'] },
    { included_servers: ['alpha'], included_tools: ['alpha__echo'] },
    { included_tools: ['alpha__echo'] }
  ]
  for (const more of refused) {
    assert.deepEqual(await groups.post({ name: 'g', tool_names: 'bare', ...more }), { status: 400, body: { error } })
  }
  const bare = { tool_names: 'bare', included_servers: ['alpha', 'alpha'], excluded_tools: ['alpha__fail'] }
  const made = await groups.post({ name: 'g', ...bare })
  assert.deepEqual(made.body, {
    name: 'g',
    ...empty,
    included_servers: ['alpha'],
    excluded_tools: ['alpha__fail'],
    tool_names: 'bare',
    ...endpoints('g')
  })
  assert.deepEqual((await groups.get('g/effective-tools')).body.tools, ['alpha__echo', 'alpha__slow', 'alpha__whoami'])
  const other = await groups.put('g', { tool_names: 'qualified', included_servers: ['alpha', 'beta'] })
  assert.equal('tool_names' in other.body, false)
  assert.deepEqual(await groups.put('g', { tool_names: 'bare' }), { status: 400, body: { error } })
  assert.deepEqual((await groups.get('g')).body.included_servers, ['alpha', 'beta'])
})

test('endpoints are under the public URL where there is one, with its path', async (t) => {
  const app = await startApp(t, { env: { TOWPATH_PUBLIC_URL: 'https://mcp.example.test/gate' } })
  const made = await client(app).post({ name: 'g' })
  assert.deepEqual(made.body, { name: 'g', ...empty, ...endpoints('g', 'https://mcp.example.test/gate') })
  const other = await startApp(t)
  await client(other).post({ name: 'g' })
  const answer = await other.inject({ url: `${root}/g`, headers: { host: '127.0.0.1:1234' } })
  assert.equal(answer.json<Record<string, string>>().sse_endpoint, 'http://127.0.0.1:1234/v0/groups/g/sse')
})

test('bodies are strict, and messages say what is wrong', async (t) => {
  const groups = client(await startApp(t))
  const rows: [object | string, string][] = [
    [{}, '"name" is required'],
    [{ name: 'g', x: 1 }, 'unknown member "x"'],
    [{ name: 'g', missing: [] }, 'unknown member "missing"'],
    [{ name: 'g', included_tools: 'a__b' }, '"included_tools" must be an array'],
    [{ name: 'g', included_tools: [1] }, '"included_tools.0" must be a string'],
    [{ name: 'g', included_servers: null }, '"included_servers" must be an array'],
    [{ name: 'g', tool_names: 'short' }, '"tool_names" must be one of qualified, bare'],
    [{ name: 'g', description: 1 }, '"description" must be a string'],
    [[], 'the body must be an object']
  ]
  for (const [payload, error] of rows) assert.deepEqual(await groups.post(payload), { status: 400, body: { error } })
  await groups.post({ name: 'g' })
  assert.deepEqual((await groups.put('g', { name: 'h' })).body, {
    error: '"name" must be the name in the path: a group cannot be renamed'
  })
  assert.equal((await groups.put('g', { name: 'g', description: 'new' })).status, 200)
  assert.deepEqual((await groups.put('g', { x: 1 })).body, { error: 'unknown member "x"' })
})

test('IN-03 names of groups that cannot stand in a path are a 400', async (t) => {
  const groups = client(await startApp(t))
  const error = '"name" must be 1 to 64 letters, digits, "_" or "-" and begin with a letter or digit'
  for (const name of ['', ' ', 'a b', 'a/b', '../x', '_a', '-a', 'ü', '😀', 'a'.repeat(65), 'a%2Fb', 'a.b', 'a\n']) {
    assert.deepEqual(await groups.post({ name }), { status: 400, body: { error } }, JSON.stringify(name))
  }
  for (const name of ['constructor', 'a'.repeat(64), '0', 'A__b--']) {
    assert.equal((await groups.post({ name })).status, 201, name)
    assert.equal((await groups.get(name)).status, 200, name)
  }
  assert.equal((await groups.get('toString')).status, 404)
})

test('IN-05 a group body that reaches for prototypes is refused, and no later answer shows it', async (t) => {
  const { app, groups } = await start(t)
  const bodies = [
    '{"name":"g","__proto__":{"injected":1}}',
    '{"name":"g","constructor":{"prototype":{"injected":1}}}',
    '{"name":"g","included_tools":[{"__proto__":{"injected":1}}]}',
    '{"name":"g","included_servers":{"__proto__":["injected"]}}'
  ]
  for (const body of bodies) {
    const answer = await groups.post(body)
    assert.equal(answer.status, 400, body)
    assert.deepEqual(Object.keys(answer.body as object), ['error'])
    assert.equal((await groups.put('g', body)).status, 400, body)
  }
  assert.deepEqual(
    await groups.post({ name: 'g', included_servers: ['__proto__'], included_tools: ['constructor__x'] }),
    {
      status: 400,
      body: { error: 'unknown tool: "constructor__x"; unknown server: "__proto__"' }
    }
  )
  for (const url of [root, '/api/v0/servers', '/api/v0/tools', '/api/v0/prompts', '/api/v0/resources']) {
    const answer = await app.inject(url)
    assert.equal(answer.statusCode, 200)
    assert.doesNotMatch(answer.body, /injected/)
  }
  assert.equal((await groups.post({ name: 'g', included_servers: ['alpha'] })).status, 201)
})

test('IN-08 NUL and lone surrogates in a group are a 400 or 404, never a 500', async (t) => {
  const { app, groups } = await start(t)
  for (const bad of ['a\0', 'a\ud800']) {
    const rows: object[] = [
      { name: bad },
      { name: 'g', description: bad },
      { name: 'g', included_tools: [bad] },
      { name: 'g', included_servers: [bad] },
      { name: 'g', excluded_tools: ['alpha__echo', bad] }
    ]
    for (const row of rows) assert.equal((await groups.post(row)).status, 400, JSON.stringify(row))
    assert.equal((await groups.put('g', { description: bad })).status, 400)
  }
  for (const path of ['a%00', 'a%00/effective-tools']) assert.equal((await groups.get(path)).status, 400, path)
  assert.equal((await groups.remove('a%00')).status, 400)
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    const answer = await app.inject({ method, url: '/v0/groups/a%00/mcp' })
    assert.deepEqual([answer.statusCode, Object.keys(answer.json<object>())], [404, ['error']], method)
  }
  assert.deepEqual((await groups.list()).body, [])
})

test('LI-11 descriptions and lists beyond their bounds are refused', async (t) => {
  const groups = client(await startApp(t))
  const rows: [object, RegExp][] = [
    [{ name: 'g', description: 'x'.repeat(65_537) }, /"description" must not be longer than 65536/],
    [{ name: 'g', included_tools: ['x'.repeat(4_097)] }, /"included_tools.0" must not be longer than 4096/],
    [{ name: 'g', included_tools: Array<string>(10_001).fill('x') }, /"included_tools"/],
    [{ name: 'g', included_servers: Array<string>(1_001).fill('x') }, /"included_servers"/]
  ]
  for (const [row, error] of rows) {
    const answer = await groups.post(row)
    assert.equal(answer.status, 400)
    assert.match((answer.body as { error: string }).error, error)
  }
})
