import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Recorder } from '../fixtures/http/recorder.ts'
import type { Answer } from '../integration/mcp-helpers.ts'
import { shareSetup } from '../shared-setup.ts'
import { openEventClient } from './event-client.ts'
import { addUpstream, createClient, skip, startEnterprise, type Actor, type Enterprise } from './enterprise.ts'

/** An MCP client for one era and transport. */
interface Speaker {
  readonly way: string
  ask(method: string, params?: Record<string, unknown>): Promise<Pick<Answer, 'body'>>
}

/** Returns clients for both eras and for HTTP+SSE, at the global endpoint or at a group's. */
async function speakers(t: TestContext, { url }: Enterprise, actor: Actor, group?: string): Promise<Speaker[]> {
  const base = group === undefined ? '' : `/v0/groups/${group}`
  const session = await actor.initialize(`${base}/mcp`)
  const events = await openEventClient(t, url, `${base}/sse`, actor.headers)
  return [
    { way: 'legacy without a session', ask: (method, params) => actor.legacy(method, params, {}, `${base}/mcp`) },
    { way: 'legacy in a session', ask: (method, params) => actor.legacy(method, params, session, `${base}/mcp`) },
    { way: 'modern', ask: (method, params) => actor.modern(method, params, {}, `${base}/mcp`) },
    { way: 'HTTP+SSE', ask: async (method, params) => ({ body: await events.request(method, params) }) }
  ]
}

const listing = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates'
} as const

async function lists({ ask }: Speaker): Promise<string[]> {
  const answers = await Promise.all(Object.keys(listing).map((method) => ask(method)))
  const keys = Object.values(listing)
  return answers.flatMap(({ body }, i) =>
    (body.result[keys[i]!] as { name: string; uri?: string }[]).map(({ name, uri }) => uri ?? name)
  )
}

/** Every MCP request that uses an item of a server. */
const uses = (server: string): [method: string, params: Record<string, unknown>][] => [
  ['tools/call', { name: `${server}__echo`, arguments: { text: 'x' } }],
  ['tools/call', { name: `${server}__slow`, arguments: { ms: 1 } }],
  ['prompts/get', { name: `${server}__greet`, arguments: { who: 'x' } }],
  ['resources/read', { uri: `towpath://${server}/fixture://note` }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: `${server}__greet` }, argument: { name: 'who', value: '' } }
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: `towpath://${server}/fixture://note` }, argument: { name: 'x', value: '' } }
  ]
]

/** Returns the response without the requested name and id. */
const answered = ({ body: { error, result } }: Pick<Answer, 'body'>, server: string) =>
  JSON.stringify({ error, result }).replaceAll(server, '<server>')

/** Items of the server `alpha` that a client sees. */
const own = ['alpha__echo', 'alpha__slow', 'alpha__whoami', 'alpha__fail', 'alpha__greet', 'fixture://note']

/** An enterprise gateway with the servers `alpha` and `beta` and groups that hold all or some of their tools. */
const setUp = shareSetup(async (t) => {
  // every upstream request must come from a client request
  const gateway = await startEnterprise(t, { env: { TOWPATH_SPARE_SESSIONS: '0' } })
  const { admin } = gateway
  const alpha = await addUpstream(t, gateway, 'alpha')
  const beta = await addUpstream(t, gateway, 'beta')
  await admin.post('/api/v0/tool-groups', { name: 'g1', included_tools: ['alpha__echo', 'beta__echo'] })
  await admin.post('/api/v0/tool-groups', { name: 'whole', included_servers: ['alpha', 'beta'] })
  await admin.post('/api/v0/tool-groups', { name: 'one', included_tools: ['alpha__echo'] })
  await admin.post('/api/v0/tool-groups', { name: 'bare', included_servers: ['beta'], tool_names: 'bare' })
  return { ...gateway, gateway, alpha, beta }
})

/** Asserts that `work` sends no request to the upstream. */
async function assertNoRequest({ requests }: Recorder, work: () => Promise<void>): Promise<void> {
  const before = requests.length
  await work()
  assert.equal(requests.length, before, 'the upstream was asked')
}

/** Asserts that each use of an item of the server gets the same response as the use of an unknown server's. */
async function assertInvisible(speaker: Speaker, server: string): Promise<void> {
  for (const [method, params] of uses(server)) {
    const answer = await speaker.ask(method, params)
    const stranger = JSON.parse(JSON.stringify(params).replaceAll(server, 'gamma')) as typeof params
    const unknown = await speaker.ask(method, stranger)
    assert.equal(answered(answer, server), answered(unknown, 'gamma'), `${speaker.way}: ${method}`)
    if ('name' in params) assert.ok(answer.body.error, `${speaker.way}: ${method}`)
  }
}

test('AZ-03 AZ-05 lists of every kind and over every transport contain only allowed items', { skip }, async (t) => {
  const { gateway, cliA, cliAll } = await setUp()
  for (const speaker of await speakers(t, gateway, cliA)) assert.deepEqual(await lists(speaker), own, speaker.way)
  for (const speaker of await speakers(t, gateway, cliA, 'whole'))
    assert.deepEqual(await lists(speaker), own, speaker.way)
  for (const speaker of await speakers(t, gateway, cliAll))
    assert.equal((await lists(speaker)).length, 2 * own.length, speaker.way)
})

test(
  'AZ-04 AZ-05 items that are not allowed cannot be called, rendered, read or completed, and look unknown',
  { skip },
  async (t) => {
    const { gateway, cliA, beta } = await setUp()
    await assertNoRequest(beta, async () => {
      for (const group of [undefined, 'whole', 'g1'])
        for (const speaker of await speakers(t, gateway, cliA, group)) await assertInvisible(speaker, 'beta')
    })
  }
)

test('AZ-07 a client without an allow list sees nothing', { skip }, async (t) => {
  const { gateway, cliNone, alpha, beta } = await setUp()
  await assertNoRequest(alpha, () =>
    assertNoRequest(beta, async () => {
      for (const speaker of await speakers(t, gateway, cliNone)) {
        assert.deepEqual(await lists(speaker), [], speaker.way)
        await assertInvisible(speaker, 'alpha')
        await assertInvisible(speaker, 'beta')
      }
      const { body } = await cliNone.modern('server/discover')
      assert.doesNotMatch(JSON.stringify(body), /alpha|beta/)
    })
  )
})

test('AZ-07 "*" is a wildcard only as a whole entry', { skip }, async () => {
  const { gateway, admin } = await setUp()
  const almost = gateway.as(
    await createClient(admin, { name: 'almost', allowed_servers: ['**', 'alph*', '*lpha', 'ALPHA', ' alpha'] })
  )
  assert.deepEqual((await almost.modern('tools/list')).body.result.tools, [])
})

test("AZ-08 a group never widens a client's allow list", { skip }, async (t) => {
  const { gateway, cliA, beta } = await setUp()
  await assertNoRequest(beta, async () => {
    for (const speaker of await speakers(t, gateway, cliA, 'g1')) {
      assert.deepEqual(await lists(speaker), ['alpha__echo'], speaker.way)
      const { body } = await speaker.ask('tools/call', { name: 'alpha__echo', arguments: {} })
      assert.ok(body.result, speaker.way)
    }
    const call = { name: 'echo', arguments: {} }
    assert.equal((await cliA.modern('tools/call', call, {}, '/v0/groups/bare/mcp')).status, 404)
    assert.equal((await cliA.legacy('tools/call', call, {}, '/v0/groups/bare/mcp')).status, 404)
  })
})

test('AZ-09 an allow list never widens a group', { skip }, async (t) => {
  const { gateway, cliAll, alpha, beta } = await setUp()
  await assertNoRequest(alpha, () =>
    assertNoRequest(beta, async () => {
      for (const speaker of await speakers(t, gateway, cliAll, 'one')) {
        assert.deepEqual(await lists(speaker), ['alpha__echo'], speaker.way)
        for (const name of ['alpha__slow', 'beta__echo'])
          assert.ok((await speaker.ask('tools/call', { name, arguments: {} })).body.error, `${speaker.way} ${name}`)
        assert.ok((await speaker.ask('prompts/get', { name: 'alpha__greet' })).body.error, speaker.way)
      }
    })
  )
})

test('AZ-17 headers that contradict the body are refused, whatever is allowed', { skip }, async () => {
  const { cliA, beta } = await setUp()
  await assertNoRequest(beta, async () => {
    const params = { name: 'beta__echo', arguments: {} }
    for (const [method, headers] of [
      ['tools/call', { 'mcp-name': 'alpha__echo' }],
      ['tools/call', { 'mcp-method': 'tools/list' }]
    ] as const) {
      const { status, body } = await cliA.modern(method, params, headers)
      assert.deepEqual([status, body.error?.code], [400, -32020], JSON.stringify(headers))
    }
    const agreed = await cliA.modern('tools/call', params)
    assert.ok(agreed.body.error)
  })
})

test('AZ-17 a member with other capitals does not bypass authorization', { skip }, async () => {
  const { cliA, alpha } = await setUp()
  const argument = { name: 'who', value: '' }
  const asked: [string, Record<string, unknown>][] = [
    ['tools/call', { name: 'alpha__echo', Name: 'slow', arguments: {} }],
    ['prompts/get', { name: 'alpha__greet', NAME: 'other' }],
    ['resources/read', { uri: 'fixture://note', URI: 'fixture://other' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'alpha__greet', Name: 'other' }, argument }]
  ]
  await assertNoRequest(alpha, async () => {
    for (const [method, params] of asked) {
      for (const answer of [await cliA.legacy(method, params), await cliA.modern(method, params)]) {
        assert.deepEqual([answer.status, answer.body.error?.code], [400, -32600], method)
      }
    }
  })
})

test('AZ-18 each message of a batch is authorized by itself', { skip }, async () => {
  const { cliA, beta } = await setUp()
  await assertNoRequest(beta, async () => {
    const call = (id: number, name: string) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: {} }
    })
    const answer = await cliA.send('POST', '/mcp', [call(1, 'alpha__echo'), call(2, 'beta__echo')], {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-03-26'
    })
    assert.equal(answer.status, 200, answer.text)
    const answers = answer.body as { id: number; result?: unknown; error?: unknown }[]
    const [first, second] = answers.toSorted((a, b) => a.id - b.id)
    assert.ok(first!.result && second!.error)
  })
})

test('IS-11 responses that depend on the principal are marked private', { skip }, async () => {
  const { admin, cliA } = await setUp()
  for (const method of [...Object.keys(listing), 'server/discover']) {
    const { headers, body } = await cliA.modern(method)
    assert.equal(body.result.cacheScope, 'private', method)
    assert.equal(headers.get('cache-control'), 'no-store', method)
  }
  const read = await cliA.modern('resources/read', { uri: 'fixture://note' })
  assert.deepEqual([read.body.result.cacheScope, read.headers.get('cache-control')], ['private', 'no-store'])
  for (const path of ['servers', 'tools', 'server_configs', 'users', 'nothing'])
    assert.equal((await admin.get(`/api/v0/${path}`)).headers.get('cache-control'), 'no-store', path)
  for (const endpoint of ['/sse', '/mcp']) {
    const session = endpoint === '/mcp' ? await cliA.initialize() : {}
    const stream = await cliA.listen(endpoint, session)
    assert.match(stream.headers.get('cache-control') ?? '', /no-store|private/, endpoint)
    stream.close()
  }
})

test('AZ-14 AZ-15 disabled items are unknown to clients, and reported as disabled to users', { skip }, async (t) => {
  const { gateway, admin, user, cliAll, alpha } = await setUp()
  await assertNoRequest(alpha, async () => {
    for (const [change, back, error] of [
      ['tools/disable?entity=alpha__echo', 'tools/enable?entity=alpha__echo', 'tool "alpha__echo" is disabled'],
      ['servers/alpha/disable', 'servers/alpha/enable', 'server "alpha" is disabled']
    ] as const) {
      assert.equal((await admin.post(`/api/v0/${change}`)).status, 200)
      for (const group of [undefined, 'g1', 'whole']) {
        for (const speaker of await speakers(t, gateway, cliAll, group)) {
          assert.ok(!(await lists(speaker)).includes('alpha__echo'), speaker.way)
          const { body } = await speaker.ask('tools/call', { name: 'alpha__echo', arguments: {} })
          assert.ok(body.error, speaker.way)
        }
      }
      const invoked = await user.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
      assert.deepEqual([invoked.status, invoked.body], [409, { error }])
      if (change.startsWith('servers')) {
        assert.deepEqual((await user.get('/api/v0/tools?server=alpha')).body, [])
        const prompts = (await user.get('/api/v0/prompts')).body as { name: string }[]
        assert.deepEqual(
          prompts.map(({ name }) => name),
          ['beta__greet']
        )
        assert.equal((await user.post('/api/v0/prompts/render', { name: 'alpha__greet' })).status, 409)
        for (const speaker of await speakers(t, gateway, cliAll))
          assert.ok((await speaker.ask('prompts/get', { name: 'alpha__greet' })).body.error, speaker.way)
      }
      assert.equal((await admin.post(`/api/v0/${back}`)).status, 200)
    }
  })
})
