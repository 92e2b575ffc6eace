import assert from 'node:assert/strict'
import { test } from 'node:test'
import { register } from '../app.ts'
import { hostileTransports, startHostile, type Opening } from '../fixtures/hostile/hostile.ts'
import { poisons } from '../fixtures/hostile/messages.mjs'
import { openEvents, sendEvent, sendJson, startHttp } from '../fixtures/http/server.ts'
import { startAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { addCleanup } from '../store.ts'
import { addRecorder, startMcp, type Mcp } from './mcp-helpers.ts'
import { completeWith, registration, send } from './oauth-helpers.ts'
import { cellsOf } from '../matrix.ts'

const add = (mcp: Mcp, server: object) => mcp.app.inject({ method: 'POST', url: '/api/v0/servers', payload: server })

/** Asserts that the gateway is ready, and the other server is listed and can be called over each era. */
async function assertUnharmed(mcp: Mcp, what: string) {
  assert.equal((await mcp.app.inject('/ready')).statusCode, 200, what)
  for (const era of ['legacy', 'modern'] as const) {
    const { tools } = (await mcp[era]('tools/list')).body.result
    assert.ok(
      tools.some(({ name }: { name: string }) => name === 'good__echo'),
      what
    )
    const called = await mcp[era]('tools/call', { name: 'good__echo', arguments: { text: what } })
    assert.equal(called.body.error, undefined, `${what}: ${called.text}`)
  }
}

const members: readonly NonNullable<Opening['member']>[] = [
  'instructions',
  'serverInfo',
  'capabilities',
  'version',
  'twice'
]

for (const [transport, era] of cellsOf(hostileTransports, ['legacy', 'modern'] as const)) {
  // HTTP+SSE exists only in the legacy era
  if (transport === 'sse' && era === 'modern') continue
  test(`SR-C1 a malformed answer of ${era === 'legacy' ? 'initialize' : 'server/discover'} costs its own server alone: ${transport}`, async (t) => {
    const mcp = await startMcp(t)
    await addRecorder(t, mcp, 'good', { modern: true })
    const sound = await startHostile(t, transport, { era })
    await register(mcp.app, { name: 'sound', ...sound.registration })
    // processes are slow: here all kinds of broken JSON are tried in one member only
    const [tried, broken] = [Object.keys(poisons), transport === 'stdio' ? ['escape', 'utf8', 'surrogate'] : undefined]
    for (const member of members) {
      for (const poison of member === 'instructions' ? tried : (broken ?? tried)) {
        if (member === 'twice' && poison !== 'escape') continue
        const hostile = await startHostile(t, transport, { era, member, poison })
        const answer = await add(mcp, { name: 'h', ...hostile.registration })
        const what = `${member} ${poison}`
        assert.ok([502, 504].includes(answer.statusCode), `${what}: ${answer.statusCode} ${answer.body}`)
        assert.match(answer.json<{ error: string }>().error, /h/, what)
      }
    }
    await assertUnharmed(mcp, `${transport} ${era}`)
  })
}

for (const [what, shown] of [
  ['an object', '{"a":"\u009b"}'],
  ['a text with control characters', '"\\u001b[31mred\\n"'],
  ['a number', '5'],
  ['no value', 'null'],
  ['a text of a megabyte', `"${'v'.repeat(1_000_000)}"`]
] as const) {
  test(`SR-C1 a protocol version that is ${what} fails its own server, and is shown on one plain line`, async (t) => {
    const mcp = await startMcp(t)
    await addRecorder(t, mcp, 'good', { modern: true })
    const upstream = await startHttp(({ method, message }, response) => {
      if (method !== 'POST') return void response.writeHead(405).end()
      const result = `{"protocolVersion":${shown},"capabilities":{},"serverInfo":{"name":"h","version":"1"}}`
      const about = message?.method === 'initialize' ? `"result":${result}` : '"error":{"code":-32601,"message":"no"}'
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(message?.id ?? null)},${about}}`)
    })
    addCleanup(t, upstream.close)
    const answer = await add(mcp, { name: 'h', transport: 'streamable_http', url: upstream.origin })
    assert.equal(answer.statusCode, 502, answer.body.slice(0, 500))
    const { error } = answer.json<{ error: string }>()
    assert.match(error, /^[\x20-\x7e\u2026]{1,500}$/, 'one line of visible characters')
    assert.doesNotMatch(error, /\[object Object\]/, 'a value that is no text is shown as it came')
    await assertUnharmed(mcp, what)
  })
}

test('SR-C1 the name of a member that is given twice is shown without hidden characters', async (t) => {
  const mcp = await startMcp(t)
  const name = '\\u202e\\u0007\\nred'
  const upstream = await startHttp(({ method, message }, response) => {
    if (method !== 'POST') return void response.writeHead(405).end()
    if (message?.id === undefined) return void response.writeHead(202).end()
    const tool = `{"name":"t","inputSchema":{"type":"object"},"${name}":1,"${name}":2}`
    const answers: Readonly<Record<string, string>> = {
      initialize:
        '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}',
      'tools/list': `{"tools":[${tool}]}`
    }
    const result = answers[message.method ?? '']
    const about = result ? `"result":${result}` : '"error":{"code":-32601,"message":"no"}'
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},${about}}`)
  })
  addCleanup(t, upstream.close)
  await register(mcp.app, { name: 'h', transport: 'streamable_http', url: upstream.origin })
  const { left_out } = (await mcp.app.inject('/api/v0/servers/h')).json<{ left_out: { reason: string }[] }>()
  assert.equal(left_out[0]!.reason, 'it repeats the member "\\u{202e}\\u{7}\\u{a}red"')
})

const endpoints: readonly (readonly [string, Buffer | string])[] = [
  ['bytes that are not UTF-8', Buffer.from([0x2f, 0xff, 0xfe])],
  ['half of a pair in UTF-8', Buffer.from([0x2f, 0xed, 0xa0, 0x80])],
  ['no URL', 'http://['],
  ['a URL at another origin', 'http://127.0.0.2:9/message'],
  ['the same without a scheme', '//127.0.0.2:9/message'],
  ['a script', 'javascript:alert(1)'],
  ['JSON with an escape that is none', '"\\q"'],
  ['control characters', '/a\u0001b\u0000c'],
  ['a credential', 'http://user:password@127.0.0.2/x'],
  ['nothing', ' '],
  ['a megabyte', `/${'x'.repeat(1_000_000)}`]
]

test('SR-C1 an HTTP+SSE server that names its endpoint with whatever bytes is not stored, and nobody else is asked', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_CONNECT_TIMEOUT_MS: '2000' })
  await addRecorder(t, mcp, 'good', { modern: true })
  for (const [what, data] of endpoints) {
    const other = await startHttp((_request, response) => void response.writeHead(404).end())
    addCleanup(t, other.close)
    const upstream = await startHttp(({ method }, response) => {
      if (method !== 'GET') return void response.writeHead(404).end()
      openEvents(response)
      response.write('event: endpoint\ndata: ')
      response.write(data)
      response.write('\n\n')
    })
    addCleanup(t, upstream.close)
    const answer = await add(mcp, { name: 'h', transport: 'sse', url: `${upstream.origin}/sse` })
    assert.ok([502, 504].includes(answer.statusCode), `${what}: ${answer.statusCode} ${answer.body}`)
    assert.match(answer.json<{ error: string }>().error, /^[\x20-\x7e\u2026]{1,500}$/, what)
    for (const { method, headers } of upstream.requests) {
      assert.ok(method === 'GET' || headers.host === new URL(upstream.origin).host, what)
    }
  }
  await assertUnharmed(mcp, 'endpoints')
})

/** Event ids, and whether each is valid in a header, so that a stream can be resumed after it. */
const eventIds: readonly (readonly [what: string, id: Buffer | string, isUsable: boolean])[] = [
  ['plain', 'e-1', true],
  ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe]), true],
  ['half of a pair in UTF-8', Buffer.from([0xed, 0xa0, 0x80]), true],
  ['an escape that is none', '"\\q"', true],
  ['NUL', Buffer.from([0x61, 0, 0x62]), false],
  ['an escape character', '\u001b[31m', false],
  ['too long', 'x'.repeat(2_000), false]
]

test('SR-C1 ids of events come back as the bytes that they are, or are passed over, and fail no other call', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'good', { modern: true })
  let id: Buffer | string = ''
  let call: unknown
  const resumed: (string | undefined)[] = []
  const upstream = await startHttp(({ method, headers, message }, response) => {
    if (method === 'GET') {
      if (headers['last-event-id'] === undefined) return void response.writeHead(405).end()
      resumed.push(headers['last-event-id'] as string)
      openEvents(response)
      const content = [{ type: 'text', text: 'resumed' }]
      sendEvent(response, { jsonrpc: '2.0', id: call, result: { content } })
      return void response.end()
    }
    if (message?.id === undefined || message.method === undefined) return void response.writeHead(202).end()
    if (message.method === 'tools/call') {
      call = message.id
      openEvents(response)
      response.write('retry: 10\nid: ')
      response.write(id)
      return void response.end('\ndata:\n\n')
    }
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'h', version: '1' }
      },
      'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object' } }] },
      ping: {}
    }
    const result = results[message.method]
    const answer = result ? { result } : { error: { code: -32601, message: 'no' } }
    sendJson(response, 200, { jsonrpc: '2.0', id: message.id, ...answer })
  })
  addCleanup(t, upstream.close)
  await register(mcp.app, { name: 'h', transport: 'streamable_http', url: upstream.origin })
  for (const [what, given, isUsable] of eventIds) {
    id = given
    resumed.length = 0
    const answer = await mcp.legacy('tools/call', { name: 'h__t', arguments: {} })
    if (isUsable) {
      assert.deepEqual(resumed, [Buffer.from(given).toString('latin1')], what)
      assert.equal(answer.body.result?.content[0].text, 'resumed', `${what}: ${answer.text}`)
    } else {
      assert.deepEqual(resumed, [], what)
      assert.equal(answer.body.error?.code, -32603, `${what}: ${answer.text}`)
    }
    await assertUnharmed(mcp, what)
  }
})

/** Malformed documents, each derived from the text of a good one. */
const documents: readonly (readonly [string, (good: string) => string | Buffer])[] = [
  ['a bad escape', (good) => good.replace(/}$/, ',"x":"\\q"}')],
  ['a raw control character', (good) => good.replace(/}$/, ',"x":"a\u0001"}')],
  ['bytes that are not UTF-8', (good) => Buffer.from(good.replace(/}$/, ',"x":"\u00ff"}'), 'latin1')],
  ['half of a pair in UTF-8', (good) => Buffer.from(good.replace(/}$/, ',"x":"\u00ed\u00a0\u0080"}'), 'latin1')],
  ['a member twice', (good) => good.replace(/^{(.*)}$/, '{$1,$1}')],
  ['too many levels', (good) => good.replace(/}$/, `,"x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`)],
  ['a literal that is none', (good) => good.replace(/}$/, ',"x":NaN}')],
  ['no end', (good) => good.replace(/}$/, '')],
  ['too many bytes', (good) => good.replace(/}$/, `,"x":"${'x'.repeat(70_000)}"}`)]
]

for (const place of ['resource metadata', 'server metadata', 'client registration', 'token']) {
  test(`SR-C1 a malformed document of OAuth fails its own sign-in alone: ${place}`, async (t) => {
    const mcp = await startMcp(t)
    await addRecorder(t, mcp, 'good', { modern: true })
    const as = await startAuthorizationServer(null)
    addCleanup(t, as.close)
    const upstream = await startProtected(null, as)
    addCleanup(t, upstream.close)
    for (const [what, malform] of documents) {
      as.switches.malform = (at, text) => (at === place ? malform(text) : text)
      let answer = await send(mcp.app, 'POST', '/servers', registration(upstream))
      if (place === 'token') {
        assert.equal(answer.status, 202, `${what}: ${answer.text}`)
        const { session_id, authorization_url } = answer.body.authorization_required
        const given = Object.fromEntries((await as.agree(authorization_url as string)).searchParams)
        answer = await completeWith(mcp.app, session_id as string, given)
      }
      assert.ok(answer.status >= 400 && answer.status < 600, `${what}: ${answer.status} ${answer.text}`)
      assert.notEqual(answer.status, 500, `${what}: ${answer.text}`)
      assert.match(answer.body.error, /^[\x20-\x7e\u2026]{1,500}$/, `${what}: one line of visible characters`)
    }
    await assertUnharmed(mcp, place)
    as.switches.malform = undefined
    const { status, text } = await send(mcp.app, 'POST', '/servers', registration(upstream))
    assert.equal(status, 202, `good documents begin a sign-in: ${text}`)
  })
}
