import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { demoRegistration } from '../../src/demo/registration.ts'
import { freshConfig, openApp } from '../app.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup, anyEngine } from '../store.ts'
import { until } from '../until.ts'
import { as, enterprise, rest } from './definition-helpers.ts'
import { startMcp } from './mcp-helpers.ts'
import { callTool, errorText, find, hitNames, textOf, type Hit } from './search-helpers.ts'
import {
  addTool,
  eras,
  namesOf,
  received,
  startViews,
  toolsOf,
  wordTool,
  type Ask,
  type ViewGateway
} from './view-helpers.ts'

const searchTools = ['find_tools', 'read_tool', 'call_tool']
const add = 'demo__add'
const metricsOn = { env: { OTEL_ENABLED: 'true' } }

/** Runs a check in all ways of asking the group's endpoint. */
async function inEveryWay(gateway: ViewGateway, check: (ask: Ask, way: string) => Promise<void>) {
  for (const way of eras) {
    try {
      await check(await gateway.way(way, 'g'), way)
    } catch (error) {
      ;(error as Error).message = `${way}: ${(error as Error).message}`
      throw error
    }
  }
}

/** Starts a gateway whose group `g` is in search mode. */
async function startSearch(t: TestContext, options: Parameters<typeof startViews>[1] = {}, more: object = {}) {
  const gateway = await startViews(t, options)
  const { status, body } = await gateway.group({ tool_list: 'search', ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return gateway
}

test('SM-01 a group of three servers lists three tools in every way, byte for byte, also after a restart', async (t) => {
  const config = await freshConfig(t)
  const servers = await Promise.all(['alpha', 'beta', 'gamma'].map((name) => startRecorder(t, { name })))
  const list = async (app: Awaited<ReturnType<typeof openApp>>) => {
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const headers = { accept: 'application/json, text/event-stream' }
    return (await app.inject({ method: 'POST', url: '/v0/groups/g/mcp', headers, payload })).body
  }
  const first = await openApp(config)
  for (const [i, name] of ['alpha', 'beta', 'gamma'].entries()) {
    const description = `Server ${name}. It has a second sentence.`
    const server = { name, transport: 'streamable_http', url: servers[i]!.url, description }
    assert.equal((await rest(first, 'POST', '/servers', server)).status, 201)
  }
  const group = { name: 'g', included_servers: ['alpha', 'beta', 'gamma'], tool_list: 'search' }
  assert.equal((await rest(first, 'POST', '/tool-groups', group)).status, 201)
  const before = await list(first)
  await first.close()
  const second = await openApp(config)
  addCleanup(t, () => second.close())
  assert.equal(await list(second), before)
  const { tools } = (JSON.parse(before) as { result: { tools: Record<string, unknown>[] } }).result
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations]),
    [
      ['find_tools', { readOnlyHint: true, openWorldHint: false }],
      ['read_tool', { readOnlyHint: true }],
      ['call_tool', { destructiveHint: true }]
    ]
  )
  assert.match(tools[0]!['description'] as string, /- alpha: Server alpha\.\n- beta: Server beta\.\n- gamma/)
  assert.ok(Buffer.byteLength(JSON.stringify(tools)) / 4 <= 1_500)
})

for (const modern of [false, true]) {
  const era = modern ? 'modern' : 'legacy'

  test(`SM-02 SM-03 the tool is found with its whole definition, and called as directly (${era} server)`, async (t) => {
    const gateway = await startSearch(t, { modern })
    const [listed] = toolsOf(await (await gateway.way('modern', undefined))('tools/list')).filter(
      ({ name }) => name === add
    )
    await inEveryWay(gateway, async (ask) => {
      assert.deepEqual(namesOf(await ask('tools/list')), searchTools)
      const { tools, total } = await find(ask, 'add two numbers')
      assert.equal(tools[0]!.name, add)
      assert.deepEqual(tools[0]!.definition, listed)
      assert.deepEqual([tools[0]!.server, tools[0]!.signature], ['demo', 'demo__add(a: number, b: number)'])
      assert.ok(total >= tools.length)
      const args = { a: 2, b: 40 }
      const direct = await callTool(ask, add, args)
      assert.deepEqual(received(direct), args)
      for (const name of ['call_tool', 'read_tool']) {
        const through = await callTool(ask, name, { name: add, arguments: args })
        assert.equal(JSON.stringify(through.result), JSON.stringify(direct.result))
      }
      assert.deepEqual(received(await callTool(ask, 'call_tool', { name: 'demo__echo' })), null)
    })
    for (const { params } of gateway.demo.calls('tools/call')) {
      assert.ok(['add', 'echo'].includes((params as { name: string }).name))
    }
  })
}

test('SM-03 the call log has the inner name, via search, and the protocol of the client', async (t) => {
  const mcp = await startMcp(t)
  assert.equal((await rest(mcp.app, 'POST', '/servers', demoRegistration())).status, 201)
  const group = { name: 'g', included_servers: ['demo'], tool_list: 'search' }
  assert.equal((await rest(mcp.app, 'POST', '/tool-groups', group)).status, 201)
  const payload = {
    ...{ jsonrpc: '2.0', id: 7, method: 'tools/call' },
    params: { name: 'call_tool', arguments: { name: add, arguments: { a: 2, b: 40 } } }
  }
  const headers = { accept: 'application/json, text/event-stream' }
  const { body } = await mcp.app.inject({ method: 'POST', url: '/v0/groups/g/mcp', headers, payload })
  assert.deepEqual(JSON.parse(body).result.structuredContent, { sum: 42 })
  const calls = async () =>
    (await rest(mcp.app, 'GET', '/calls')).body as Record<string, unknown>[] | { calls: Record<string, unknown>[] }
  await until('the call is in the log', async () => JSON.stringify(await calls()).includes('"add"'))
  const text = JSON.stringify(await calls())
  assert.match(text, /"via":"search"/)
  assert.match(text, /"item":"add"/)
  assert.ok(!text.includes('call_tool'))
})

test('SM-04 read_tool calls only tools whose own hint says that they read', async (t) => {
  const writing = { ...wordTool, name: 'writing', annotations: { readOnlyHint: false } }
  const gateway = await startSearch(t, { tools: [addTool, wordTool, writing] })
  await inEveryWay(gateway, async (ask) => {
    const sent = gateway.demo.calls('tools/call').length
    for (const name of ['demo__word_count', 'demo__writing']) {
      const text = errorText(await callTool(ask, 'read_tool', { name, arguments: { text: 'x' } }))
      assert.match(text, /call_tool/)
    }
    assert.equal(gateway.demo.calls('tools/call').length, sent)
    assert.deepEqual(received(await callTool(ask, 'read_tool', { name: add, arguments: { a: 1, b: 2 } })), {
      a: 1,
      b: 2
    })
  })
})

test('SM-07 a listed tool is found too, and a renamed one under its new name alone', async (t) => {
  const gateway = await startSearch(t, {}, { always_listed: ['demo__word_count'], tools: { [add]: { name: 'plus' } } })
  await inEveryWay(gateway, async (ask) => {
    assert.deepEqual(namesOf(await ask('tools/list')), [...searchTools, 'demo__word_count'])
    assert.equal((await hitNames(ask, 'count words'))[0], 'demo__word_count')
    assert.deepEqual(
      (await hitNames(ask, 'add two numbers')).filter((name) => /add|plus/.test(name)),
      ['plus']
    )
    assert.deepEqual(await hitNames(ask, add, { limit: 1 }), ['plus'])
    const args = { a: 1, b: 2 }
    assert.deepEqual(received(await callTool(ask, 'call_tool', { name: 'plus', arguments: args })), args)
    assert.match(errorText(await callTool(ask, 'call_tool', { name: add, arguments: args })), /Unknown tool: demo__add/)
  })
})

test('SM-08 an unknown inner name is an error for the model, with the names that are written alike', async (t) => {
  const gateway = await startSearch(t)
  await inEveryWay(gateway, async (ask, way) => {
    for (const tool of ['call_tool', 'read_tool']) {
      const text = errorText(await callTool(ask, tool, { name: 'demo__ad', arguments: { a: 1 } }))
      const names = /Named alike: (.*?)\. /.exec(text)![1]!.split(', ')
      assert.equal(names.length, 3, way)
      assert.ok(names.includes(add))
    }
    for (const name of searchTools) {
      assert.match(
        errorText(await callTool(ask, 'call_tool', { name, arguments: {} })),
        new RegExp(`Unknown tool: ${name}`)
      )
    }
    const { error } = await callTool(ask, 'demo__ad', {})
    assert.equal(error?.code, -32602)
  })
  await until('the refusals are in the log', async () => {
    const { body } = await gateway.rest('GET', '/calls?limit=100')
    return /"demo__ad"/.test(JSON.stringify(body)) && /"refused"/.test(JSON.stringify(body))
  })
})

test('arguments that are wrong are explained to the model', async (t) => {
  const gateway = await startSearch(t)
  const ask = await gateway.way('session', 'g')
  for (const args of [
    undefined,
    {},
    { name: 1 },
    { name: add, a: 1 },
    { name: add, arguments: '{"a":1}' },
    { name: add, arguments: [] }
  ]) {
    assert.match(errorText(await callTool(ask, 'call_tool', args)), /Invalid arguments of call_tool: it takes "name"/)
  }
  assert.match(errorText(await callTool(ask, 'find_tools', { query: 'x'.repeat(501) })), /at most 500 characters/)
  assert.equal((await find(ask, '😀'.repeat(500))).total, 0)
  assert.match(errorText(await callTool(ask, 'find_tools', { query: 7 })), /"query" must be/)
  for (const limit of [0, 26, 1.5, '3']) {
    assert.match(errorText(await callTool(ask, 'find_tools', { query: 'x', limit })), /"limit" must be/)
  }
  assert.match(errorText(await callTool(ask, 'find_tools', { query: 'add', server: 'nobody' })), /- demo/)
  assert.deepEqual(await hitNames(ask, 'add numbers', { server: 'demo', limit: 1 }), [add])
})

test('without a hit, or without a query, the servers are named', async (t) => {
  const gateway = await startSearch(t)
  await inEveryWay(gateway, async (ask) => {
    const none = await callTool(ask, 'find_tools', { query: 'xylophone' })
    assert.match(textOf(none), /try other words[^]*- demo/)
    assert.deepEqual(none.result.structuredContent, { tools: [], total: 0 })
    for (const args of [{ query: '' }, { query: ' \n' }, {}]) {
      assert.match(textOf(await callTool(ask, 'find_tools', args)), /^Servers:\n- demo/)
    }
  })
})

test('a tool with the name of a tool of search is refused in search mode, and served as usual elsewhere', async (t) => {
  const own = { ...wordTool, name: 'find_tools' }
  const gateway = await startViews(t, { tools: [own] })
  const bare = { tool_names: 'bare', tool_list: 'search' }
  const refused = await gateway.group(bare)
  assert.deepEqual([refused.status, /named "find_tools"/.test(refused.body.error)], [409, true])
  const renamed = await gateway.group({ tool_list: 'search', tools: { demo__find_tools: { name: 'call_tool' } } })
  assert.equal(renamed.status, 409)
  assert.equal((await gateway.group({ ...bare, tools: { demo__find_tools: { name: 'other' } } })).status, 201)
  assert.equal(
    (await gateway.rest('PUT', '/tool-groups/g', { included_servers: ['demo'], tool_names: 'bare' })).status,
    200
  )
  const ask = await gateway.way('session', 'g')
  assert.deepEqual(received(await callTool(ask, 'find_tools', { text: 'x' })), { text: 'x' })
})

/** Two replicas of a gateway, one after the other if the store cannot be shared. */
async function startReplicas(t: TestContext) {
  const config = await freshConfig(t, { TOWPATH_DEFINITIONS: 'block' })
  const first = await openApp(config)
  addCleanup(t, () => first.close())
  if (anyEngine !== 'postgres') return [first]
  const second = await openApp(config)
  addCleanup(t, () => second.close())
  return [first, second]
}

test('SM-06 a tool that is disabled, held or removed is not found on the next query, on any replica', async (t) => {
  const [first, ...others] = await startReplicas(t)
  const demo = await startRecorder(t, { name: 'demo', extraTools: [addTool, wordTool] })
  const post = async (path: string, payload?: object) => {
    const { status, body } = await rest(first!, 'POST', path, payload)
    assert.ok(status < 300, JSON.stringify(body))
  }
  await post('/servers', { name: 'demo', transport: 'streamable_http', url: demo.url })
  await post('/tool-groups', { name: 'g', included_servers: ['demo'], tool_list: 'search' })
  const names = async (app: FastifyInstance) => {
    const params = { name: 'find_tools', arguments: { query: 'add two numbers' } }
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const headers = { accept: 'application/json, text/event-stream' }
    const { body } = await app.inject({ method: 'POST', url: '/v0/groups/g/mcp', headers, payload })
    const { structuredContent } =
      (JSON.parse(body) as { result?: { structuredContent: { tools: Hit[] } } }).result ?? {}
    return structuredContent?.tools.map(({ name }) => name) ?? []
  }
  const expect = async (isFound: boolean) => {
    assert.equal((await names(first!)).includes(add), isFound)
    for (const other of others) {
      await until('the other replica follows', async () => (await names(other)).includes(add) === isFound)
    }
  }
  const serve = async (tools: Record<string, unknown>[]) => {
    demo.setExtraTools(tools)
    await post('/servers/demo/refresh')
  }
  await expect(true)
  await post(`/tools/disable?entity=${add}`)
  await expect(false)
  await post(`/tools/enable?entity=${add}`)
  await expect(true)
  await serve([{ ...addTool, description: 'Adds two numbers, and sends them somewhere.' }, wordTool])
  await expect(false)
  await serve([addTool, wordTool])
  await expect(true)
  await serve([wordTool])
  await expect(false)
})

test('a caller finds, and is told of, nothing outside its allow list', async (t) => {
  const mcp = await startMcp(t, enterprise)
  const registerDemo = async (name: string, tools: Record<string, unknown>[]) => {
    const recorder = await startRecorder(t, { name, extraTools: tools })
    const server = { name, transport: 'streamable_http', url: recorder.url, description: `Server ${name}.` }
    assert.equal((await rest(mcp.app, 'POST', '/servers', server)).status, 201)
  }
  await registerDemo('open', [addTool])
  const ask = async (token: string, name: string, args: object) => {
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
    const headers = { accept: 'application/json, text/event-stream', ...as(token) }
    return (await mcp.app.inject({ method: 'POST', url: '/v0/groups/g/mcp', headers, payload })).body
  }
  const list = async (token: string) => {
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const headers = { accept: 'application/json, text/event-stream', ...as(token) }
    return (await mcp.app.inject({ method: 'POST', url: '/v0/groups/g/mcp', headers, payload })).body
  }
  const group = { name: 'g', included_servers: ['open'], tool_list: 'search' }
  assert.equal((await rest(mcp.app, 'POST', '/tool-groups', group)).status, 201)
  const made = await rest(mcp.app, 'POST', '/clients', { name: 'agent', allowed_servers: ['open'] })
  const token = made.body.access_token as string
  const queries = ['add two numbers', 'secret vault', 'add', 'closed__secret_vault', 'closed', '', 'returns']
  const everything = async () => [
    await list(token),
    ...(await Promise.all(queries.map((query) => ask(token, 'find_tools', { query })))),
    await ask(token, 'find_tools', { query: 'x', server: 'closed' }),
    ...(await Promise.all(['closed__secret_vaul', 'open__ad'].map((name) => ask(token, 'call_tool', { name })))),
    await ask(token, 'read_tool', { name: 'closed__secret_vault' })
  ]
  const before = await everything()
  await registerDemo('closed', [
    { ...addTool, name: 'secret_vault', description: 'Adds two numbers to a secret vault.' },
    { ...addTool, description: 'Adds two numbers.' }
  ])
  const both = { ...group, included_servers: ['open', 'closed'], always_listed: ['closed__add'] }
  assert.equal((await rest(mcp.app, 'PUT', '/tool-groups/g', both)).status, 200)
  const trusted = await rest(mcp.app, 'POST', '/clients', { name: 'trusted', allowed_servers: ['open', 'closed'] })
  assert.match(
    await ask(trusted.body.access_token as string, 'find_tools', { query: 'secret vault' }),
    /closed__secret_vault/
  )
  assert.deepEqual(await everything(), before)
})

test('files, the dashboard and REST agree on search mode, and a limit of tokens counts the list', async (t) => {
  const gateway = await startSearch(t, metricsOn, { always_listed: [add], search_limit: 5, max_tokens: 2_000 })
  const { body } = await gateway.rest('GET', '/tool-groups/g')
  assert.deepEqual([body.tool_list, body.always_listed, body.search_limit], ['search', [add], 5])
  const preview = async (more: object) => {
    const payload = { included_servers: ['demo'], ...more }
    const url = '/api/dashboard/tool-groups/preview'
    const { statusCode, body: text } = await gateway.mcp.app.inject({ method: 'POST', url, payload })
    assert.equal(statusCode, 200, text)
    return JSON.parse(text) as { list_tokens: number; search_tokens: number; tokens: number; problem?: string }
  }
  const full = await preview({})
  assert.equal(full.list_tokens, full.tokens)
  const search = await preview({ tool_list: 'search' })
  assert.equal(search.list_tokens, full.search_tokens)
  assert.equal(search.tokens, full.tokens)
  const refused = await gateway.rest('PUT', '/tool-groups/g', {
    included_servers: ['demo'],
    tool_list: 'search',
    max_tokens: 100
  })
  assert.equal(refused.status, 409)
  const unknown = await gateway.rest('PUT', '/tool-groups/g', { tool_list: 'search', always_listed: ['demo__gone'] })
  assert.equal(unknown.status, 400)
  const plain = await gateway.rest('PUT', '/tool-groups/g', { included_servers: ['demo'] })
  assert.deepEqual(
    [plain.body.tool_list, plain.body.always_listed, plain.body.search_limit],
    [undefined, undefined, undefined]
  )
  const { body: metrics } = await gateway.mcp.app.inject({ method: 'GET', url: '/metrics' })
  assert.match(metrics, new RegExp(String.raw`towpath_list_tokens\{[^}]*group="g"[^}]*\} ${full.tokens}\n`))
})

test('queries and the tools that are called next are counted', async (t) => {
  const gateway = await startSearch(t, metricsOn)
  const ask = await gateway.way('session', 'g')
  await find(ask, 'add two numbers')
  await callTool(ask, 'call_tool', { name: add, arguments: { a: 1, b: 2 } })
  await callTool(ask, add, { a: 1, b: 2 })
  await find(ask, 'add two numbers')
  await callTool(ask, 'demo__whoami')
  const { body } = await gateway.mcp.app.inject({ method: 'GET', url: '/metrics' })
  assert.match(body, /towpath_search_hits_total\{[^}]*rank="1"[^}]*\} 1\n/)
  assert.match(body, /towpath_search_hits_total\{[^}]*rank="none"[^}]*\} 1\n/)
  assert.match(body, /towpath_search_seconds_count(\{[^}]*\})? 2\n/)
})
