import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { freshConfig, openApp, register, stdioServer } from '../app.ts'
import { engines, addCleanup } from '../store.ts'
import {
  addRecorder,
  legacyBody,
  modernBody,
  modernHeaders,
  openStream,
  readAnswer,
  startMcp,
  textOf,
  type Answer,
  type Mcp
} from './mcp-helpers.ts'
import { until } from '../until.ts'

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Returns the group's endpoint with the same methods as the global one. */
function at(mcp: Mcp, group: string) {
  const url = mcp.url.replace(/\/mcp$/, `/v0/groups/${group}/mcp`)
  const send = async (body: string, headers: Record<string, string> = {}) =>
    readAnswer(await fetch(url, { method: 'POST', headers: { ...json, ...headers }, body }))
  const legacy = (method: string, params: object = {}, headers = {}) => send(legacyBody(method, params), headers)
  return {
    url,
    send,
    legacy,
    modern: (method: string, params: { name?: string; uri?: string; [member: string]: unknown } = {}) =>
      send(modernBody(method, params), modernHeaders(method, params.name ?? params.uri)),
    async initialize() {
      const clientInfo = { name: 'test', version: '1' }
      const answer = await legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
      assert.equal(answer.status, 200, answer.text)
      // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
      return { headers: { 'mcp-session-id': answer.headers.get('mcp-session-id')! }, result: answer.body.result as any }
    }
  }
}

async function rest(mcp: Mcp, method: 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) {
  const answer = await mcp.app.inject({ method, url: `/api/v0${path}`, ...(payload ? { payload } : {}) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const create = (mcp: Mcp, group: object) => rest(mcp, 'POST', '/tool-groups', group)

/** Starts a gateway with alpha, beta and a group. */
async function start(t: TestContext, group: object) {
  const mcp = await startMcp(t)
  const alpha = await addRecorder(t, mcp, 'alpha')
  const beta = await addRecorder(t, mcp, 'beta', { modern: true })
  await create(mcp, { name: 'g1', ...group })
  return { mcp, alpha, beta, g1: at(mcp, 'g1') }
}

const namesIn = ({ body }: Answer, list = 'tools'): string[] =>
  (body.result[list] as { name: string }[]).map(({ name }) => name)
const listed = async (group: ReturnType<typeof at>, list = 'tools') => {
  const answers = [await group.legacy(`${list}/list`), await group.modern(`${list}/list`)]
  assert.deepEqual(namesIn(answers[0]!, list), namesIn(answers[1]!, list))
  return namesIn(answers[0]!, list)
}
const refusalOf = (answer: Answer) => [answer.status, answer.body.error?.code, answer.body.error?.message]

/** Asserts that a call is refused in both eras like a call of an unknown tool. */
async function assertRefused(group: ReturnType<typeof at>, name: string) {
  const params = { name, arguments: {} }
  for (const answer of [await group.legacy('tools/call', params), await group.modern('tools/call', params)]) {
    assert.deepEqual(refusalOf(answer), [200, -32602, `Unknown tool: ${name}`])
  }
}

test('AZ-09 a group’s endpoint lists and calls what is in the group, and nothing else reaches an upstream', async (t) => {
  const { alpha, beta, g1 } = await start(t, { included_tools: ['alpha__echo'] })
  assert.deepEqual(await listed(g1), ['alpha__echo'])
  for (const list of ['prompts', 'resources']) assert.deepEqual(await listed(g1, list), [])
  assert.deepEqual((await g1.legacy('resources/templates/list')).body.result.resourceTemplates, [])
  for (const name of ['alpha__slow', 'beta__echo', 'echo', 'nobody__echo']) await assertRefused(g1, name)
  for (const name of ['alpha__greet', 'beta__greet']) {
    const answer = await g1.legacy('prompts/get', { name, arguments: { who: 'x' } })
    assert.deepEqual(refusalOf(answer), [200, -32602, `Unknown prompt: ${name}`])
    const ref = { type: 'ref/prompt', name }
    const completed = await g1.legacy('completion/complete', { ref, argument: { name: 'who', value: '' } })
    assert.equal(completed.body.error?.code, -32602)
  }
  for (const uri of ['fixture://note', 'towpath://alpha/fixture://note', 'towpath://beta/fixture://note']) {
    assert.equal((await g1.legacy('resources/read', { uri })).body.error?.code, -32002)
    assert.equal((await g1.modern('resources/read', { uri })).body.error?.code, -32602)
  }
  for (const { calls } of [alpha, beta]) {
    for (const method of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete']) {
      assert.equal(calls(method).length, 0, method)
    }
  }
  for (const send of [g1.legacy, g1.modern]) {
    assert.deepEqual(textOf(await send('tools/call', { name: 'alpha__echo', arguments: { text: 'hi' } })), {
      server: 'alpha',
      arguments: { text: 'hi' }
    })
  }
  assert.equal(alpha.calls('tools/call').length, 2)
})

test('AZ-14 a disabled tool is neither listed nor called through a group that holds it', async (t) => {
  const { mcp, alpha, g1 } = await start(t, { included_tools: ['alpha__echo'], included_servers: ['beta'] })
  await rest(mcp, 'POST', '/tools/disable?entity=alpha__echo')
  await rest(mcp, 'POST', '/tools/disable?entity=beta__echo')
  assert.deepEqual(await listed(g1), ['beta__slow', 'beta__whoami', 'beta__fail'])
  for (const name of ['alpha__echo', 'beta__echo']) await assertRefused(g1, name)
  assert.equal(alpha.calls('tools/call').length, 0)
  await rest(mcp, 'POST', '/tools/enable?entity=alpha__echo')
  assert.equal((await g1.legacy('tools/call', { name: 'alpha__echo' })).body.error, undefined)
})

test('a group of whole servers serves their prompts and resources, and exclusion holds for calls', async (t) => {
  const { mcp, beta, g1 } = await start(t, { included_servers: ['beta'], excluded_tools: ['beta__echo'] })
  assert.deepEqual(await listed(g1), ['beta__slow', 'beta__whoami', 'beta__fail'])
  assert.deepEqual(await listed(g1, 'prompts'), ['beta__greet'])
  assert.deepEqual((await g1.legacy('resources/list')).body.result.resources, [
    { uri: 'fixture://note', name: 'note', mimeType: 'text/plain' }
  ])
  // alpha is registered first, so this is an alias at the global endpoint
  assert.equal((await mcp.legacy('resources/list')).body.result.resources[1].uri, 'towpath://beta/fixture://note')
  await assertRefused(g1, 'beta__echo')
  const rendered = await g1.modern('prompts/get', { name: 'beta__greet', arguments: { who: 'ann' } })
  assert.equal(rendered.body.result.messages[0].content.text, 'Greet ann')
  const read = await g1.legacy('resources/read', { uri: 'fixture://note' })
  assert.deepEqual(read.body.result.contents, [{ uri: 'fixture://note', text: 'a note' }])
  assert.equal(beta.calls('resources/read').length, 1)
  const refused = await g1.legacy('prompts/get', { name: 'alpha__greet' })
  assert.equal(refused.body.error?.code, -32602)
})

test('an unknown group is a 404 of the HTTP layer for every method, and other methods are a 405', async (t) => {
  const { mcp, g1 } = await start(t, {})
  const unknown = at(mcp, 'g2').url
  for (const url of [unknown, unknown.replace(/mcp$/, 'sse'), unknown.replace(/mcp$/, 'message')]) {
    for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'PATCH', 'HEAD']) {
      const body = method === 'POST' ? { body: 'not even JSON' } : {}
      const response = await fetch(url, { method, headers: json, ...body })
      assert.equal(response.status, 404, `${method} ${url}`)
      if (method === 'HEAD') continue
      assert.deepEqual(await response.json(), { error: 'tool group "g2" does not exist' }, `${method} ${url}`)
    }
  }
  const stream = await fetch(g1.url.replace(/mcp$/, 'sse'), { method: 'PUT', headers: json, body: '{}' })
  assert.deepEqual([stream.status, stream.headers.get('allow')], [405, 'GET'])
  for (const method of ['PUT', 'PATCH', 'GET', 'DELETE']) {
    const response = await fetch(g1.url, { method, headers: { accept: 'text/event-stream' } })
    assert.deepEqual([response.status, Object.keys((await response.json()) as object)], [405, ['error']], method)
    assert.match(response.headers.get('allow') ?? '', /POST/)
  }
  const foreign = await fetch(g1.url, { method: 'OPTIONS', headers: { origin: 'https://elsewhere.test' } })
  assert.equal(foreign.status, 403)
  assert.equal((await fetch(`${g1.url}//`, { method: 'POST', headers: json, body: '{}' })).status, 404)
  assert.deepEqual((await g1.legacy('ping')).body, { jsonrpc: '2.0', id: 7, result: {} })
})

test('IS-04 a session belongs to the endpoint that it was opened at', async (t) => {
  const { mcp, g1 } = await start(t, { included_tools: ['alpha__echo'] })
  await create(mcp, { name: 'g2', included_tools: ['alpha__echo'] })
  const g2 = at(mcp, 'g2')
  const sessions = { g1: (await g1.initialize()).headers, g2: (await g2.initialize()).headers }
  const global = await mcp.initialize()
  const wrong: [string, Record<string, string>][] = [
    [g1.url, sessions.g2],
    [g1.url, global],
    [g2.url, sessions.g1],
    [mcp.url, sessions.g1]
  ]
  for (const [url, headers] of wrong) {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const body = method === 'POST' ? { body: legacyBody('tools/list') } : {}
      const answer = await readAnswer(await fetch(url, { method, headers: { ...json, ...headers }, ...body }))
      assert.deepEqual([answer.status, answer.body.error?.code], [404, -32001], `${method} ${url}`)
    }
  }
  assert.deepEqual(namesIn(await g1.legacy('tools/list', {}, sessions.g1)), ['alpha__echo'])
  assert.equal((await mcp.legacy('ping', {}, global)).status, 200)
})

test('IS-04 a cursor is good only at the endpoint and for the list that gave it', async (t) => {
  const { mcp, g1 } = await start(t, {})
  const extraTools = Array.from({ length: 1_500 }, (_, i) => ({ name: `t${i}`, inputSchema: { type: 'object' } }))
  await addRecorder(t, mcp, 'many', { extraTools })
  const config = { included_servers: ['many'], excluded_tools: ['many__t0'] }
  await rest(mcp, 'PUT', '/tool-groups/g1', config)
  await create(mcp, { name: 'g2', ...config })
  const g2 = at(mcp, 'g2')
  const first = await g1.legacy('tools/list')
  const cursor = first.body.result.nextCursor as string
  const second = await g1.legacy('tools/list', { cursor })
  const all = [...namesIn(first), ...namesIn(second)]
  assert.deepEqual([all.length, new Set(all).size, all.includes('many__t0')], [1_503, 1_503, false])
  assert.deepEqual(namesIn(await g1.modern('tools/list', { cursor })), namesIn(second))
  for (const send of [g2.legacy, g2.modern, mcp.legacy, mcp.modern]) {
    assert.deepEqual(refusalOf(await send('tools/list', { cursor })), [200, -32602, 'Invalid cursor'])
  }
  assert.equal((await g1.legacy('prompts/list', { cursor })).body.error?.code, -32602)
  const theirs = (await mcp.legacy('tools/list')).body.result.nextCursor as string
  assert.equal((await g1.legacy('tools/list', { cursor: theirs })).body.error?.code, -32602)
})

const listenTo = (id: string) => ({
  method: 'POST',
  headers: modernHeaders('subscriptions/listen'),
  body: modernBody('subscriptions/listen', { notifications: { toolsListChanged: true, promptsListChanged: true } }, id)
})

test('an edit of a group holds at once for open sessions, and those that it concerns are told', async (t) => {
  const { mcp, alpha, g1 } = await start(t, { included_tools: ['alpha__echo', 'alpha__slow'] })
  await create(mcp, { name: 'g2', included_tools: ['alpha__echo'] })
  const g2 = at(mcp, 'g2')
  const { headers } = await g1.initialize()
  const other = (await g2.initialize()).headers
  const stream = await openStream(t, g1.url, { headers: { accept: 'text/event-stream', ...headers } })
  const untouched = await openStream(t, g2.url, { headers: { accept: 'text/event-stream', ...other } })
  const modern = await openStream(t, g1.url, listenTo('listen-1'))
  const global = await openStream(t, mcp.url, listenTo('listen-2'))
  await until('the listeners are acknowledged', () => modern.messages.length === 1 && global.messages.length === 1)

  await rest(mcp, 'PUT', '/tool-groups/g1', { included_tools: ['alpha__slow'] })
  await assertRefused(g1, 'alpha__echo')
  const refused = await g1.legacy('tools/call', { name: 'alpha__echo' }, headers)
  assert.equal(refused.body.error?.code, -32602)
  assert.equal(alpha.calls('tools/call').length, 0)
  assert.deepEqual(namesIn(await g1.legacy('tools/list', {}, headers)), ['alpha__slow'])
  const methods = ({ messages }: typeof stream) => messages.map((message) => (message as { method?: string }).method)
  await until('both are told', () => stream.messages.length >= 1 && modern.messages.length >= 2)
  assert.deepEqual(methods(stream), ['notifications/tools/list_changed'])
  assert.deepEqual(methods(modern).slice(1), ['notifications/tools/list_changed'])

  await rest(mcp, 'PUT', '/tool-groups/g1', { included_servers: ['alpha'] })
  await until('both are told again', () => stream.messages.length >= 4 && modern.messages.length >= 4)
  assert.deepEqual(methods(stream).slice(1), [
    'notifications/tools/list_changed',
    'notifications/prompts/list_changed',
    'notifications/resources/list_changed'
  ])
  assert.equal((await g1.legacy('tools/call', { name: 'alpha__echo' }, headers)).body.error, undefined)
  assert.deepEqual([untouched.messages.length, global.messages.length], [0, 1])
})

test('removing a group ends its sessions, streams and their calls; one made anew knows none of them', async (t) => {
  const { mcp, alpha, g1 } = await start(t, { included_servers: ['alpha'] })
  const { headers } = await g1.initialize()
  const elsewhere = await mcp.initialize()
  const accept = { accept: 'text/event-stream' }
  const stream = await openStream(t, g1.url, { headers: { ...accept, ...headers } })
  const modern = await openStream(t, g1.url, listenTo('listen-1'))
  const global = await openStream(t, mcp.url, { headers: { ...accept, ...elsewhere } })
  await until('the listener is acknowledged', () => modern.messages.length === 1)
  const slow = g1.legacy('tools/call', { name: 'alpha__slow', arguments: { ms: 60_000 } }, headers)
  await until('the call has arrived', () => alpha.calls('tools/call').length === 1)

  await rest(mcp, 'DELETE', '/tool-groups/g1')
  await until('the streams end', () => stream.hasEnded() && modern.hasEnded())
  const last = modern.messages.at(-1)!
  assert.equal(last.id, 'listen-1')
  assert.equal(last.result.resultType, 'complete')
  assert.equal(last.result._meta['io.modelcontextprotocol/subscriptionId'], 'listen-1')
  await until('the call is cancelled upstream', () => alpha.calls('notifications/cancelled').length === 1)
  await slow.catch(() => {})
  const gone = await g1.legacy('ping', {}, headers)
  assert.deepEqual([gone.status, JSON.parse(gone.text)], [404, { error: 'tool group "g1" does not exist' }])
  assert.equal(global.hasEnded(), false)

  await create(mcp, { name: 'g1', included_servers: ['alpha'] })
  const again = await g1.legacy('ping', {}, headers)
  assert.deepEqual([again.status, again.body.error?.code], [404, -32001])
  assert.equal((await mcp.legacy('ping', {}, elsewhere)).status, 200)
})

test('a group that names something gone serves the rest, and has it back when it is there again', async (t) => {
  const { mcp, g1 } = await start(t, { included_tools: ['alpha__echo', 'beta__echo'] })
  await rest(mcp, 'DELETE', '/servers/beta')
  assert.deepEqual(await listed(g1), ['alpha__echo'])
  await assertRefused(g1, 'beta__echo')
  await addRecorder(t, mcp, 'beta')
  assert.deepEqual(await listed(g1), ['alpha__echo', 'beta__echo'])
})

test('a tool that the upstream drops leaves the group, and a new one of a whole server joins it', async (t) => {
  const extraTools = [{ name: 'old', inputSchema: { type: 'object' } }]
  const mcp = await startMcp(t)
  const alpha = await addRecorder(t, mcp, 'alpha', { extraTools })
  await create(mcp, { name: 'g1', included_tools: ['alpha__old'] })
  await create(mcp, { name: 'g2', included_servers: ['alpha'], excluded_tools: ['alpha__echo'] })
  const [g1, g2] = [at(mcp, 'g1'), at(mcp, 'g2')]
  assert.deepEqual(await listed(g1), ['alpha__old'])
  alpha.setExtraTools([{ name: 'new', inputSchema: { type: 'object' } }])
  await rest(mcp, 'POST', '/servers/alpha/refresh')
  assert.deepEqual(await listed(g1), [])
  await assertRefused(g1, 'alpha__old')
  assert.deepEqual(await listed(g2), ['alpha__slow', 'alpha__whoami', 'alpha__fail', 'alpha__new'])
})

const bare = { included_servers: ['beta'], tool_names: 'bare', excluded_tools: ['beta__fail'] }

test('a bare group is its server in its own words: names, instructions, capabilities', async (t) => {
  const { mcp, beta, g1 } = await start(t, bare)
  assert.deepEqual(await listed(g1), ['echo', 'slow', 'whoami'])
  assert.deepEqual(await listed(g1, 'prompts'), ['greet'])
  assert.deepEqual((await g1.modern('resources/list')).body.result.resources[0].uri, 'fixture://note')
  const { result } = await g1.initialize()
  assert.equal(result.instructions, 'Be kind')
  const lists = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true } }
  assert.deepEqual(result.capabilities, lists)
  const discovered = (await g1.modern('server/discover')).body.result
  assert.deepEqual([discovered.instructions, discovered.capabilities], ['Be kind', lists])

  for (const name of ['beta__echo', 'fail', 'beta__fail', 'alpha__echo']) await assertRefused(g1, name)
  assert.equal((await g1.legacy('prompts/get', { name: 'beta__greet' })).body.error?.code, -32602)
  for (const send of [g1.legacy, g1.modern]) {
    assert.deepEqual(textOf(await send('tools/call', { name: 'echo', arguments: { n: 1 } })), {
      server: 'beta',
      arguments: { n: 1 }
    })
    assert.equal((await send('prompts/get', { name: 'greet', arguments: { who: 'x' } })).body.error, undefined)
    const read = await send('resources/read', { uri: 'fixture://note' })
    assert.equal(read.body.result.contents[0].uri, 'fixture://note')
  }
  assert.equal(beta.calls('tools/call').length, 2)
  assert.deepEqual(refusalOf(await mcp.legacy('tools/call', { name: 'echo' })), [200, -32602, 'Unknown tool: echo'])
  // REST always uses the qualified names
  const invoked = await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name: 'beta__echo' } })
  assert.equal(invoked.statusCode, 200)
})

test('the clients of both SDKs use a bare group as if it were the server itself', async (t) => {
  const { g1 } = await start(t, bare)
  const identity = { name: 'test', version: '1' }
  const v1 = new Client(identity)
  // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
  await v1.connect(new StreamableHTTPClientTransport(new URL(g1.url)) as Transport)
  addCleanup(t, () => v1.close())
  const v2 = new ClientV2(identity, { versionNegotiation: { mode: 'auto' } })
  await v2.connect(new TransportV2(new URL(g1.url)))
  addCleanup(t, () => v2.close())
  assert.equal(v2.getProtocolEra(), 'modern')
  for (const client of [v1, v2]) {
    assert.equal(client.getInstructions(), 'Be kind')
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['echo', 'slow', 'whoami']
    )
    const { content } = await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
    assert.deepEqual(content, [{ type: 'text', text: '{"server":"beta","arguments":{"text":"hi"}}' }])
    const { prompts } = await client.listPrompts()
    assert.deepEqual([prompts.length, prompts[0]!.name], [1, 'greet'])
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { who: 'ann' } })
    assert.deepEqual(messages[0]!.content, { type: 'text', text: 'Greet ann' })
    const { contents } = await client.readResource({ uri: 'fixture://note' })
    assert.equal(contents[0]!.uri, 'fixture://note')
    await assert.rejects(client.callTool({ name: 'beta__echo', arguments: {} }), /Unknown tool: beta__echo/)
  }
})

test('log messages name their server in a group, and stay as they are in a bare one', async (t) => {
  const mcp = await startMcp(t)
  await register(mcp.app, stdioServer('good'))
  await create(mcp, { name: 'g1', included_servers: ['good'] })
  await create(mcp, { name: 'g2', included_servers: ['good'], tool_names: 'bare' })
  const logged = async (group: ReturnType<typeof at>, name: string) => {
    const { headers } = await group.initialize()
    const { events } = await group.legacy('tools/call', { name, arguments: {} }, headers)
    return (events[0] as { params?: object }).params
  }
  assert.deepEqual(await logged(at(mcp, 'g1'), 'good__log'), { logger: 'good', level: 'info', data: 'hello' })
  assert.deepEqual(await logged(at(mcp, 'g2'), 'log'), { level: 'info', data: 'hello' })
})

const skip = engines.includes('postgres') ? false : 'no PostgreSQL'

test('LC-13 a group that one replica removes ends at the other, with its sessions', { skip }, async (t) => {
  const config = await freshConfig(t, {}, 'postgres')
  const start = async () => {
    const app = await openApp(config)
    addCleanup(t, () => app.close())
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp`
    return { app, url } as Mcp
  }
  const [a, b] = [await start(), await start()]
  await addRecorder(t, a, 'alpha')
  await create(a, { name: 'g1', included_tools: ['alpha__echo'] })
  await until('the other has it', () => b.app.gateway.groups.has('g1'))
  const there = at(b, 'g1')
  const { headers } = await there.initialize()
  const stream = await openStream(t, there.url, { headers: { accept: 'text/event-stream', ...headers } })
  assert.deepEqual(await listed(there), ['alpha__echo'])
  await rest(a, 'PUT', '/tool-groups/g1', { included_tools: ['alpha__slow'] })
  await until('the stream is told', () => stream.messages.length === 1)
  assert.deepEqual(await listed(there), ['alpha__slow'])
  await rest(a, 'DELETE', '/tool-groups/g1')
  await until('the stream ends', stream.hasEnded)
  assert.equal((await there.legacy('ping', {}, headers)).status, 404)
})
