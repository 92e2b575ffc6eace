import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test, type TestContext } from 'node:test'
import { Client, SSEClientTransport } from '@modelcontextprotocol/client'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import {
  addRecorder,
  legacyBody,
  META,
  modernBody,
  modernHeaders,
  openSession,
  openStream,
  readAnswer,
  startMcp,
  type Answer,
  type Mcp,
  type OpenStream,
  type RpcAnswer
} from './mcp-helpers.ts'

/** Sends one request; `params` is JSON text. */
type Ask = (method: string, params: string, id?: number) => Promise<RpcAnswer>

const summaryOf = ({ status, body }: Answer) => [status, body.error?.code]
const json = { 'content-type': 'application/json' }

async function openSse(t: TestContext, mcp: Mcp): Promise<{ stream: OpenStream; companion: string }> {
  const { origin } = new URL(mcp.url)
  const stream = await openStream(t, `${origin}/sse`, { headers: { accept: 'text/event-stream' } })
  await until('the companion is told', () => stream.messagePath() !== undefined)
  return { stream, companion: `${origin}${stream.messagePath()}` }
}

async function askBySse(t: TestContext, mcp: Mcp): Promise<Ask> {
  const { stream, companion } = await openSse(t, mcp)
  const ask: Ask = async (method, params, id = 7) => {
    const before = stream.messages.length
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
    const { status } = await fetch(companion, { method: 'POST', headers: json, body })
    assert.equal(status, 202, `${method} is taken`)
    return (await until('the answer', () => stream.messages.slice(before).find((one) => one.id === id)))!
  }
  await ask(
    'initialize',
    '{"protocolVersion":"2024-11-05","capabilities":null,"clientInfo":{"name":"x","version":"1"}}'
  )
  return ask
}

const wires: Record<string, (t: TestContext, mcp: Mcp) => Promise<Ask>> = {
  'a legacy session': async (_t, mcp) => {
    const session = await mcp.initialize()
    return async (method, params) =>
      (await mcp.send(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`, session)).body
  },
  'legacy without a session': async (_t, mcp) => async (method, params) =>
    (await mcp.send(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`)).body,
  'HTTP+SSE': askBySse,
  modern: async (_t, mcp) => async (method, params) => {
    const given = (JSON.parse(params) ?? {}) as { name?: string }
    return (await mcp.send(modernBody(method, given), modernHeaders(method, given.name))).body
  }
}

for (const [wire, open] of Object.entries(wires)) {
  test(`CR-F9: null and an empty cursor are taken as absent (${wire})`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one')
    const ask = await open(t, mcp)
    const called = await ask('tools/call', '{"name":"one__echo","arguments":null}')
    assert.equal(called.error, undefined, 'arguments of a tool may be null')
    const sent = recorder.requests.findLast(({ message }) => message?.method === 'tools/call')!
    assert.equal(Object.hasOwn(sent.message!.params!, 'arguments'), false, 'null arguments do not go upstream')
    const prompt = await ask('prompts/get', '{"name":"one__greet","arguments":null}')
    assert.equal(prompt.error, undefined, 'arguments of a prompt may be null')
    for (const list of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      const whole = await ask(list, '{}')
      for (const params of ['null', '{"cursor":null}', '{"cursor":""}']) {
        assert.deepEqual((await ask(list, params)).result, whole.result, `${list} with ${params} is the first page`)
      }
      assert.equal((await ask(list, '{"cursor":"x"}')).error?.code, -32602, 'any other cursor must be ours')
    }
    for (const value of ['[]', '"x"', '1', 'false']) {
      const refused = await ask('tools/call', `{"name":"one__echo","arguments":${value}}`)
      assert.equal(refused.error?.code, -32602, `${value} is no arguments object`)
    }
  })
}

test('CR-F9: a progress token of null is none', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const slow = { name: 'one__slow', arguments: { ms: 50 }, _meta: { progressToken: null } }
  const legacy = await mcp.legacy('tools/call', slow)
  assert.deepEqual([legacy.events, legacy.body.error], [[], undefined], 'legacy')
  const modern = await mcp.modern('tools/call', slow)
  assert.deepEqual([modern.events, modern.body.error], [[], undefined], 'modern')
})

test('CR-F9: one slash behind the path of an MCP endpoint means nothing, two do', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const { origin } = new URL(mcp.url)
  const group = { name: 'g', included_servers: ['one'] }
  const made = await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })
  assert.equal(made.statusCode, 201, made.body)
  const accept = 'application/json, text/event-stream'
  const post = async (url: string, body: string, headers: object = {}) =>
    readAnswer(await fetch(url, { method: 'POST', headers: { ...json, accept, ...headers }, body }))
  for (const path of ['', '/v0/groups/g']) {
    const url = `${origin}${path}/mcp`
    const session = await openSession((params) => post(`${url}/`, legacyBody('initialize', params)))
    assert.deepEqual(
      summaryOf(await post(url, legacyBody('tools/list'), session)),
      [200, undefined],
      'the same session'
    )
    assert.deepEqual(
      summaryOf(await post(`${url}/?a=b`, legacyBody('tools/list'), session)),
      [200, undefined],
      'a query'
    )
    const modern = await post(`${url}/`, modernBody('tools/list'), modernHeaders('tools/list'))
    assert.deepEqual(summaryOf(modern), [200, undefined], 'a modern request')
    assert.equal((await post(`${url}//`, legacyBody('tools/list'))).status, 404, 'two slashes')
    assert.equal((await fetch(`${url}/`, { method: 'PUT' })).status, 405, 'a wrong method')
    const ended = await fetch(`${url}/`, { method: 'DELETE', headers: session })
    assert.equal(ended.status, 200, 'the session is ended')
    const stream = await openStream(t, `${origin}${path}/sse/`, { headers: { accept: 'text/event-stream' } })
    assert.equal(stream.status, 200, 'a stream')
    await until('the companion is told', () => stream.messagePath() !== undefined)
    const companion = `${origin}${stream.messagePath()!.replace('?', '/?')}`
    const posted = await fetch(companion, { method: 'POST', headers: json, body: legacyBody('ping') })
    assert.equal(posted.status, 202, 'its companion')
  }
  assert.equal((await fetch(`${origin}/v0/groups/none/mcp/`, { method: 'POST' })).status, 404, 'an unknown group')
  assert.equal((await fetch(`${origin}/api/v0/tools/`)).status, 404, 'other paths are as they were')
})

test('CR-F3: what a modern client probes over HTTP+SSE is taken, and refused on the stream', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const { stream, companion } = await openSse(t, mcp)
  const post = async (body: string, headers: object = {}) =>
    (await fetch(companion, { method: 'POST', headers: { ...json, ...headers }, body })).status
  const answer = async (id: unknown) =>
    (await until(`the answer to ${String(id)}`, () => stream.messages.find((one) => one.id === id)))!
  assert.equal(await post(modernBody('server/discover', {}, 1)), 202, 'the probe')
  assert.deepEqual((await answer(1)).error, { code: -32601, message: 'Method not found' })
  assert.equal(await post(modernBody('server/discover', {}, 2), modernHeaders('server/discover')), 202, 'with headers')
  assert.equal((await answer(2)).error?.code, -32601)
  assert.equal(await post(legacyBody('server/discover', {}, 3)), 202, 'without an envelope')
  assert.equal((await answer(3)).error?.code, -32601)
  const odd = { _meta: { [`${META}protocolVersion`]: '2027-01-01' } }
  assert.equal(await post(modernBody('server/discover', odd, 4)), 202, 'of a revision to come')
  assert.equal((await answer(4)).error?.code, -32601)
  for (const [id, method, params] of [
    [5, 'tools/list', {}],
    ['six', 'tools/call', { name: 'one__echo', arguments: {} }],
    [7, 'subscriptions/listen', { notifications: {} }]
  ] as const) {
    assert.equal(await post(modernBody(method, params, id), modernHeaders(method)), 202, method)
    const { error } = await answer(id)
    const supported = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
    assert.deepEqual([error?.code, error?.data], [-32022, { supported, requested: '2026-07-28' }], method)
  }
  const broken = { _meta: { [`${META}clientCapabilities`]: 5 } }
  assert.equal(await post(modernBody('tools/list', broken, 8)), 202, 'a malformed envelope')
  assert.equal((await answer(8)).error?.code, -32602)
  assert.equal(await post(legacyBody('tools/list', {}, 9), { 'mcp-protocol-version': '2026-07-28' }), 202, 'a header')
  assert.equal((await answer(9)).error?.code, -32602)
  const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"_meta":{"${META}protocolVersion":"2026-07-28"}}}`
  assert.equal(await post(cancelled), 202, 'a notification is taken')
  assert.equal(await post(legacyBody('ping', {}, 10)), 202, 'the stream goes on')
  assert.deepEqual((await answer(10)).result, {})
})

for (const path of ['/sse', '/v0/groups/g/sse']) {
  test(`CR-F3: a client that finds out by itself what is spoken works over ${path}`, async (t) => {
    const mcp = await startMcp(t)
    await addRecorder(t, mcp, 'one')
    const group = { name: 'g', included_servers: ['one'] }
    await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })
    const client = new Client({ name: 'auto', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(new SSEClientTransport(new URL(path, mcp.url)))
    addCleanup(t, () => client.close())
    const { tools } = await client.listTools()
    assert.ok(
      tools.some(({ name }) => name === 'one__echo'),
      'its tools are listed'
    )
    const { isError } = await client.callTool({ name: 'one__echo', arguments: {} })
    assert.notEqual(isError, true, 'they can be called')
  })
}

test('CR-F12: any method that an MCP path does not know is a 405, with a content type or without', async (t) => {
  const mcp = await startMcp(t)
  const { port } = new URL(mcp.url)
  const group = { name: 'g' }
  await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })
  const ask = (method: string, path: string, headers: Record<string, string>, body: string) =>
    new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
      const request = httpRequest({ port, host: '127.0.0.1', method, path, headers })
      request.on('response', (response) => {
        response.resume()
        resolve([response.statusCode, response.headers.allow])
      })
      request.on('error', reject)
      request.end(body)
    })
  for (const prefix of ['', '/v0/groups/g']) {
    for (const [path, allow] of [
      ['/mcp', 'DELETE, GET, POST'],
      ['/sse', 'GET'],
      ['/message', 'POST']
    ] as const) {
      for (const method of ['QUERY', 'PUT', 'PATCH', 'PROPFIND', 'SEARCH']) {
        for (const [headers, body] of [
          [{}, ''],
          [{}, '{}'],
          [json, '{}'],
          [{ 'content-type': 'text/plain' }, 'x']
        ] as const) {
          const told = `${method} ${prefix}${path} ${JSON.stringify(headers)} ${body}`
          assert.deepEqual(await ask(method, `${prefix}${path}`, { ...headers }, body), [405, allow], told)
        }
      }
    }
  }
})
