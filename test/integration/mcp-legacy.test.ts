import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEvents, sendJson, startHttp } from '../fixtures/http/server.ts'
import { register } from '../app.ts'
import { addCleanup } from '../store.ts'
import {
  addFaulty,
  addRecorder,
  legacyBody,
  openStream,
  readAnswer,
  startMcp,
  textOf,
  type Answer
} from './mcp-helpers.ts'
import { until } from '../until.ts'

const summaryOf = ({ status, body }: Answer) => [status, body.error?.code, body.id]

test('initialize agrees on each legacy revision, and on the latest of them for any other', async (t) => {
  const mcp = await startMcp(t)
  const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', '1999-01-01', '']
  const ids = new Set<string | null>()
  for (const [i, version] of versions.entries()) {
    const answer = await mcp.legacy('initialize', { protocolVersion: version, capabilities: {}, clientInfo: {} })
    const { protocolVersion, serverInfo, capabilities, instructions } = answer.body.result
    assert.equal(protocolVersion, i < 4 ? version : '2025-11-25', version)
    assert.equal(serverInfo.name, 'towpath')
    const lists = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true } }
    assert.deepEqual(capabilities, lists)
    assert.match(instructions, /two underscores/)
    ids.add(answer.headers.get('mcp-session-id'))
  }
  assert.equal(ids.size, versions.length)
  assert.deepEqual(summaryOf(await mcp.legacy('initialize', { capabilities: {} })), [200, -32602, 7])
})

test('a session lists, calls, gets, reads and completes, with what every server says of itself', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const alone = await startHttp((request, response) => {
    const { id, method, params } = request.message ?? {}
    if (id === undefined) return void response.writeHead(202).end()
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { resources: {}, prompts: {}, completions: {} },
        serverInfo: { name: 'x', version: '1' }
      },
      'resources/list': { resources: [] },
      'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'doc://{id}/raw', name: 'doc' }] },
      'prompts/list': { prompts: [{ name: 'greet' }] },
      'resources/read': { contents: [{ uri: params?.uri, text: 'of the template', n: 1 }] },
      'completion/complete': { completion: { values: [JSON.stringify(params)] } }
    }
    const result = results[method ?? '']
    sendJson(response, 200, {
      jsonrpc: '2.0',
      id,
      ...(result ? { result } : { error: { code: -32601, message: 'x' } })
    })
  })
  addCleanup(t, alone.close)
  await register(mcp.app, { name: 'two', transport: 'streamable_http', url: alone.origin })
  const session = await mcp.initialize()
  const ask = async (method: string, params: object = {}) => (await mcp.legacy(method, params, session)).body.result

  assert.deepEqual(await ask('ping'), {})
  const names = (list: { name: string }[]) => list.map(({ name }) => name)
  assert.deepEqual(names((await ask('tools/list')).tools), ['one__echo', 'one__slow', 'one__whoami', 'one__fail'])
  assert.deepEqual(names((await ask('prompts/list')).prompts), ['one__greet', 'two__greet'])
  assert.deepEqual((await ask('resources/list')).resources, [
    { uri: 'fixture://note', name: 'note', mimeType: 'text/plain' }
  ])
  assert.deepEqual((await ask('resources/templates/list')).resourceTemplates, [
    { uriTemplate: 'doc://{id}/raw', name: 'doc' }
  ])
  assert.equal((await ask('tools/call', { name: 'one__fail' })).isError, true)
  const prompt = await ask('prompts/get', { name: 'one__greet', arguments: { who: 'Ann' } })
  assert.equal(prompt.messages[0].content.text, 'Greet Ann')
  assert.deepEqual((await ask('resources/read', { uri: 'fixture://note' })).contents, [
    { uri: 'fixture://note', text: 'a note' }
  ])
  const aliased = await ask('resources/read', { uri: 'towpath://one/fixture://note' })
  assert.deepEqual(aliased.contents, [{ uri: 'towpath://one/fixture://note', text: 'a note' }])
  assert.equal((await ask('resources/read', { uri: 'doc://5/raw' })).contents[0].uri, 'doc://5/raw')

  const argument = { name: 'id', value: '1' }
  const completed = async (ref: object) => {
    const { values } = (await ask('completion/complete', { ref, argument, context: { a: 1 } })).completion
    return values.length === 0 ? undefined : JSON.parse(values[0]).ref
  }
  assert.deepEqual(await completed({ type: 'ref/prompt', name: 'two__greet' }), { type: 'ref/prompt', name: 'greet' })
  assert.deepEqual(await completed({ type: 'ref/resource', uri: 'towpath://two/doc://{id}/raw' }), {
    type: 'ref/resource',
    uri: 'doc://{id}/raw'
  })
  assert.equal(await completed({ type: 'ref/prompt', name: 'one__greet' }), undefined)
})

test('what is unknown, disabled or of another kind gets the one answer', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=one__fail' })
  const session = await mcp.initialize()
  for (const name of ['one__fail', 'one__nothing', 'two__echo', 'echo', 'one__greet', '']) {
    const { body, status } = await mcp.legacy('tools/call', { name }, session)
    assert.deepEqual([status, body.error], [200, { code: -32602, message: `Unknown tool: ${name}` }])
  }
  const prompt = await mcp.legacy('prompts/get', { name: 'one__echo' }, session)
  assert.deepEqual(prompt.body.error, { code: -32602, message: 'Unknown prompt: one__echo' })
  for (const uri of ['towpath://two/x', 'towpath://one']) {
    const { error } = (await mcp.legacy('resources/read', { uri }, session)).body
    assert.deepEqual([error!.code, error!.data], [-32002, { uri }], uri)
  }
  for (const params of [{}, { name: 5 }, { name: 'one__echo', arguments: [] }, { name: 'one__echo', arguments: 'x' }]) {
    assert.deepEqual(
      summaryOf(await mcp.legacy('tools/call', params, session)),
      [200, -32602, 7],
      JSON.stringify(params)
    )
  }
  assert.deepEqual(summaryOf(await mcp.legacy('tools/list', { cursor: 'x' }, session)), [200, -32602, 7])
  assert.deepEqual(summaryOf(await mcp.legacy('tools/list', { cursor: 5 }, session)), [200, -32602, 7])
})

test('IS-04 a session that is unknown, forged or ended is one answer, and must be opened anew', async (t) => {
  const mcp = await startMcp(t)
  const session = await mcp.initialize()
  assert.deepEqual(
    summaryOf(await mcp.legacy('initialize', { protocolVersion: '2025-11-25' }, session)),
    [400, -32600, 7]
  )
  assert.equal((await mcp.legacy('ping', {}, session)).status, 200)
  const ended = await readAnswer(await fetch(mcp.url, { method: 'DELETE', headers: session }))
  assert.deepEqual([ended.status, ended.text], [200, ''])
  const id = session['mcp-session-id']!
  for (const bad of [id, `${id}x`, 'x', 'a.b']) {
    const headers = { 'mcp-session-id': bad }
    assert.deepEqual(summaryOf(await mcp.legacy('ping', {}, headers)), [404, -32001, 7], bad)
    for (const method of ['GET', 'DELETE']) {
      const answer = await readAnswer(
        await fetch(mcp.url, { method, headers: { ...headers, accept: 'text/event-stream' } })
      )
      assert.deepEqual(summaryOf(answer), [404, -32001, null], `${method} ${bad}`)
    }
  }
})

test('the stream of a session must be accepted, is one of several, and ends with the session', async (t) => {
  const mcp = await startMcp(t)
  const session = await mcp.initialize()
  const refused = await readAnswer(await fetch(mcp.url, { headers: { ...session, accept: 'application/json' } }))
  assert.deepEqual(summaryOf(refused), [406, -32000, null])
  const headers = { ...session, accept: 'text/event-stream' }
  const streams = [await openStream(t, mcp.url, { headers }), await openStream(t, mcp.url, { headers })]
  assert.equal(streams[0]!.headers.get('content-type'), 'text/event-stream')
  assert.equal(streams[0]!.headers.get('mcp-session-id'), session['mcp-session-id'])
  await fetch(mcp.url, { method: 'DELETE', headers: session })
  await until('both streams end', () => streams.every((stream) => stream.hasEnded()))
})

test('progress goes to the call that asked for it, with its own token, before the result', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const session = await mcp.initialize()
  for (const token of [0, '', 'p"1', 7]) {
    const params = { name: 'one__slow', arguments: { ms: 300 }, _meta: { progressToken: token, own: { a: 1 } } }
    const { events, headers, body } = await mcp.legacy('tools/call', params, session)
    assert.equal(headers.get('content-type'), 'text/event-stream', JSON.stringify(body))
    const progress = events.slice(0, -1) as { method?: string; params?: { progressToken: unknown; progress: number } }[]
    assert.ok(progress.length > 0)
    assert.deepEqual(progress[0], {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: token, progress: 1 }
    })
    assert.equal(events.at(-1)!.id, 7)
    const sent = recorder.calls('tools/call').at(-1)!.params!._meta as Record<string, unknown>
    assert.deepEqual(sent.own, { a: 1 })
    assert.notEqual(sent.progressToken, token)
  }
  const plain = await mcp.legacy('tools/call', { name: 'one__slow', arguments: { ms: 50 } }, session)
  assert.equal(plain.headers.get('content-type'), 'application/json')
})

test('log messages of a call come on its stream, say which server they are of, and keep their data as it was', async (t) => {
  const mcp = await startMcp(t)
  const upstream = await startHttp((request, response) => {
    const { id, method } = request.message ?? {}
    if (id === undefined) return void response.writeHead(202).end()
    const result = method === 'initialize' ? { protocolVersion: '2025-11-25', capabilities: { tools: {} } } : undefined
    const tools = { tools: [{ name: 'log', inputSchema: { type: 'object' } }] }
    if (method !== 'tools/call') return sendJson(response, 200, { jsonrpc: '2.0', id, result: result ?? tools })
    openEvents(response)
    for (const params of [
      '',
      ',"params":{}',
      ',"params":{"level":"info","logger":"db","data":{"n":12345678901234567890}}'
    ]) {
      response.write(`data: {"jsonrpc":"2.0","method":"notifications/message"${params}}\n\n`)
    }
    response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`)
  })
  addCleanup(t, upstream.close)
  await register(mcp.app, { name: 'one', transport: 'streamable_http', url: upstream.origin })
  const { text, events } = await mcp.legacy('tools/call', { name: 'one__log' }, await mcp.initialize())
  assert.equal(events.length, 4, 'no params are passed on as empty ones')
  assert.ok(text.includes('"params":{"logger":"one"}}'))
  assert.ok(text.includes('"params":{"logger":"one/db","level":"info","data":{"n":12345678901234567890}}}'))
})

test('a cancelled call is cancelled upstream and ends without an answer; those of others go on', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const [mine, theirs] = [await mcp.initialize(), await mcp.initialize()]
  const params = { name: 'one__slow', arguments: { ms: 600 } }
  const call = mcp.send(legacyBody('tools/call', params, '12'), mine)
  const sameId = mcp.send(legacyBody('tools/call', params, '12'), theirs)
  const sameText = mcp.send(legacyBody('tools/call', params, 12), mine)
  await until('all arrive', () => recorder.calls('tools/call').length === 3)
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: '12' } }
  assert.equal((await mcp.send(JSON.stringify(cancel), mine)).status, 202)
  const cancelled = await call
  assert.deepEqual([cancelled.status, cancelled.events], [200, []])
  await until('the upstream is told', () => recorder.calls('notifications/cancelled').length === 1)
  assert.equal((await sameId).body.id, '12')
  assert.equal((await sameText).body.id, 12)
  assert.equal(recorder.calls('notifications/cancelled').length, 1)
})

test('ending a session cancels its calls upstream', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const session = await mcp.initialize()
  const call = mcp.legacy('tools/call', { name: 'one__slow', arguments: { ms: 60_000 } }, session)
  await until('it arrives', () => recorder.calls('tools/call').length === 1)
  await fetch(mcp.url, { method: 'DELETE', headers: session })
  assert.deepEqual((await call).events, [])
  await until('the upstream is told', () => recorder.calls('notifications/cancelled').length === 1)
  await until('the upstream session is closed', () => recorder.sessions.size === 0)
  assert.equal(recorder.calls('tools/call').length, 1)
})

test('a stateful upstream keeps one session for each caller session and closes it with that', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', {}, { session_mode: 'stateful' })
  await until('the session of the registration is closed', () => recorder.sessions.size === 0)
  const call = { name: 'one__whoami' }
  const upstreamSession = async (headers: Record<string, string>) =>
    (textOf(await mcp.legacy('tools/call', call, headers)) as Record<string, string>)['mcp-session-id']
  const [mine, theirs] = [await mcp.initialize(), await mcp.initialize()]
  const first = await upstreamSession(mine)
  assert.equal(await upstreamSession(mine), first)
  const second = await upstreamSession(theirs)
  assert.notEqual(second, first)
  // the gateway itself may have another one open, to hear of changes
  assert.ok(recorder.sessions.has(first!) && recorder.sessions.has(second!))
  await fetch(mcp.url, { method: 'DELETE', headers: mine })
  await until('its upstream session is closed', () => !recorder.sessions.has(first!))
  assert.ok(recorder.sessions.has(second!))
})

test('what an upstream gets wrong is an error of the call with its reason, and nothing of the upstream in it', async (t) => {
  const mcp = await startMcp(t)
  const faulty = await addFaulty(t, mcp, 'one')
  const call = () => mcp.legacy('tools/call', { name: 'one__echo' })
  const reasons = {
    truncated: 'bad_response',
    wrong_id: 'bad_response',
    no_content: 'bad_response',
    no_jsonrpc: 'bad_response',
    bad_utf8: 'bad_response',
    html: 'bad_response',
    sse_ends: 'unreachable',
    sse_garbage: 'bad_response',
    reset: 'unreachable'
  } as const
  for (const [mode, reason] of Object.entries(reasons)) {
    faulty.mode = mode as keyof typeof reasons
    const answer = await call()
    assert.deepEqual(summaryOf(answer), [200, -32603, 7], mode)
    assert.equal(answer.body.error!.data!.server, 'one')
    assert.equal(answer.body.error!.data!.reason, reason, mode)
    assert.doesNotMatch(answer.text, /sentinel|127\.0\.0\.1|node_modules|\.ts:/)
  }
  faulty.mode = 'none'
  assert.equal((await call()).status, 200)
})
