import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addRecorder, legacyBody, modernBody, modernHeaders, startMcp, textOf, type Answer } from './mcp-helpers.ts'

const summaryOf = ({ status, body }: Answer) => [status, body.error?.code, body.id]

test('IN-15 what is no request gets a JSON-RPC error or 413, and the next valid request works', async (t) => {
  const mcp = await startMcp(t)
  const rows: [string, number, number, unknown][] = [
    ['{}', 400, -32600, null],
    ['[]', 400, -32600, null],
    ['"x"', 400, -32600, null],
    ["'x'", 400, -32700, null],
    ['', 400, -32700, null],
    ['{', 400, -32700, null],
    ['{"jsonrpc":"1.0","id":3,"method":"ping"}', 400, -32600, 3],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600, null],
    ['{"jsonrpc":"2.0","id":3,"method":5}', 400, -32600, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","name":"b"}}', 400, -32600, 3],
    ['['.repeat(100_000), 400, -32600, null],
    [`{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":${'['.repeat(100)}${']'.repeat(100)}}}`, 400, -32600, null],
    ['x'.repeat(2_000_000), 400, -32700, null]
  ]
  for (const [body, status, code, id] of rows) {
    const answer = await mcp.send(body)
    assert.deepEqual(summaryOf(answer), [status, code, id], body.slice(0, 80))
    assert.equal(answer.headers.get('content-type'), 'application/json')
    assert.equal(answer.body.jsonrpc, '2.0')
    assert.deepEqual((await mcp.legacy('ping')).body, { jsonrpc: '2.0', id: 7, result: {} })
  }
})

test('the HTTP layer answers as everywhere else: too large, another type, another method', async (t) => {
  const mcp = await startMcp(t)
  const large = await mcp.send(`"${'x'.repeat(4_194_304)}"`)
  assert.equal(large.status, 413)
  const other = await mcp.send('x', { 'content-type': 'text/plain' })
  assert.equal(other.status, 415)
  for (const answer of [large, other]) assert.deepEqual(Object.keys(JSON.parse(answer.text) as object), ['error'])
  for (const method of ['PUT', 'PATCH', 'HEAD', 'GET', 'DELETE']) {
    const response = await fetch(mcp.url, { method, headers: { accept: 'text/event-stream' } })
    assert.equal(response.status, 405, method)
    assert.match(response.headers.get('allow') ?? '', /POST/, method)
    const text = await response.text()
    if (method !== 'HEAD') assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error'], method)
  }
})

test('a legacy request must accept both kinds of answer, a modern one need not; none given means both', async (t) => {
  const mcp = await startMcp(t)
  for (const accept of ['application/json', 'text/event-stream', 'text/html']) {
    assert.deepEqual(summaryOf(await mcp.legacy('ping', {}, { accept })), [406, -32000, 7], accept)
  }
  assert.equal((await mcp.legacy('ping', {}, { accept: '*/*' })).status, 200)
  assert.equal((await mcp.modern('tools/list', {}, { accept: 'application/json' })).status, 200)
  const listen = { notifications: { toolsListChanged: true } }
  assert.deepEqual(
    summaryOf(await mcp.modern('subscriptions/listen', listen, { accept: 'application/json' })),
    [406, -32000, 7]
  )
})

test('an unknown method is refused in the way of each era', async (t) => {
  const mcp = await startMcp(t)
  for (const method of ['nothing', 'constructor', '__proto__', 'server/discover', 'tasks/list', '']) {
    assert.deepEqual(summaryOf(await mcp.legacy(method)), [200, -32601, 7], method)
  }
  for (const method of ['nothing', 'constructor', 'ping', 'initialize', 'logging/setLevel', 'resources/subscribe']) {
    assert.deepEqual(summaryOf(await mcp.modern(method)), [404, -32601, 7], method)
  }
})

test('notifications and answers are taken with 202 and nothing else', async (t) => {
  const mcp = await startMcp(t)
  const bodies = [
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}'
  ]
  for (const body of bodies) {
    const answer = await mcp.send(body)
    assert.deepEqual([answer.status, answer.text], [202, ''], body)
  }
})

test('a legacy request with an unknown revision in its header is refused with those that are known', async (t) => {
  const mcp = await startMcp(t)
  const answer = await mcp.legacy('ping', {}, { 'mcp-protocol-version': '1999-01-01' })
  assert.deepEqual(summaryOf(answer), [400, -32000, 7])
  assert.match(answer.body.error!.message, /2024-11-05.*2025-11-25/)
})

test('the header rules of a modern request hold, each with both sides of the mismatch', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const call = { name: 'one__echo', arguments: {} }
  const base64 = `=?base64?${Buffer.from('one__echo').toString('base64')}?=`
  assert.equal((await mcp.modern('tools/call', call)).status, 200)
  assert.equal((await mcp.modern('tools/call', call, { 'mcp-name': base64 })).status, 200)
  const rows: [Record<string, string | undefined>, string, string][] = [
    [{ 'mcp-protocol-version': undefined }, '(missing)', '2026-07-28'],
    [{ 'mcp-protocol-version': '2025-11-25' }, '2025-11-25', '2026-07-28'],
    [{ 'mcp-method': undefined }, '(missing)', 'tools/call'],
    [{ 'mcp-method': 'tools/list' }, 'tools/list', 'tools/call'],
    [{ 'mcp-name': undefined }, '(missing)', 'one__echo'],
    [{ 'mcp-name': 'one__fail' }, 'one__fail', 'one__echo'],
    [{ 'mcp-name': '=?base64?bad!?=' }, '=?base64?bad!?=', 'one__echo']
  ]
  for (const [headers, header, body] of rows) {
    const answer = await mcp.modern('tools/call', call, headers)
    assert.deepEqual(summaryOf(answer), [400, -32020, 7], JSON.stringify(headers))
    assert.deepEqual(answer.body.error!.data, { mismatch: { header, body } })
  }
})

test('a modern envelope that is missing, malformed or of another revision is refused with what is wrong', async (t) => {
  const mcp = await startMcp(t)
  const headers = modernHeaders('tools/list')
  const bare = await mcp.send(legacyBody('tools/list'), headers)
  assert.deepEqual(summaryOf(bare), [400, -32602, 7])
  assert.deepEqual(bare.body.error!.data, { envelope: { missing: ['_meta'] } })
  const odd = await mcp.send(
    modernBody('tools/list', { _meta: { 'io.modelcontextprotocol/clientCapabilities': 5 } }),
    headers
  )
  assert.deepEqual(summaryOf(odd), [400, -32602, 7])
  const { key } = (odd.body.error!.data as { envelope: { key: string } }).envelope
  assert.equal(key, 'io.modelcontextprotocol/clientCapabilities')
  const future = modernBody('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2027-01-01' } })
  const unsupported = await mcp.send(future, { ...headers, 'mcp-protocol-version': '2027-01-01' })
  assert.deepEqual(summaryOf(unsupported), [400, -32022, 7])
  assert.deepEqual(unsupported.body.error!.data, { supported: ['2026-07-28'], requested: '2027-01-01' })
})

test('ids come back as they were, and arguments reach the upstream as they were', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  for (const id of ['0', '""', '"ü"', '12345678901234567890', '-5']) {
    const args = '{ "n":12345678901234567890.10, "n":2, "ü":"\\u00e9" }'
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"one__echo","arguments":${args}}}`
    const answer = await mcp.send(body)
    assert.ok(answer.text.startsWith(`{"jsonrpc":"2.0","id":${id},"result":`), answer.text)
    const sent = recorder.requests.findLast(({ message }) => message?.method === 'tools/call')!
    assert.ok(sent.body.includes(`"arguments":${args}`), sent.body)
    assert.ok(sent.body.includes('"name":"echo"'), sent.body)
  }
})

test('without a session requests are answered, as for a caller that declared nothing', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
    assert.equal((await mcp.legacy(method)).status, 200, method)
  }
  assert.deepEqual(textOf(await mcp.legacy('tools/call', { name: 'one__echo', arguments: { text: 'hi' } })), {
    server: 'one',
    arguments: { text: 'hi' }
  })
  // the gateway's own session, which reads lists, declares more and may be opened later
  const declared = recorder.calls('initialize').map(({ params }) => Object.keys(params!.capabilities as object))
  assert.ok(
    declared.some((names) => names.length === 0),
    JSON.stringify(declared)
  )
})
