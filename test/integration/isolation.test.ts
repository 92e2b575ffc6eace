import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addRecorder, legacyBody, openStream, readAnswer, startMcp, type Mcp } from './mcp-helpers.ts'
import { until } from '../until.ts'

const stream = { accept: 'text/event-stream' }

/** Opens the session of an HTTP+SSE client. */
async function openSse(mcp: Mcp): Promise<string> {
  const stop = new AbortController()
  const response = await fetch(new URL('/sse', mcp.url), { headers: stream, signal: stop.signal })
  const { value } = await response.body!.getReader().read()
  stop.abort()
  return /sessionId=(\S+)/.exec(Buffer.from(value!).toString())![1]!
}

test("IS-05 /message takes nobody's session id but that of its own stream, which hears nothing of a wrong one", async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const group = await mcp.app.inject({
    method: 'POST',
    url: '/api/v0/tool-groups',
    payload: { name: 'g1', included_tools: ['one__echo'] }
  })
  assert.equal(group.statusCode, 201, group.body)
  const { origin } = new URL(mcp.url)
  const heard: string[] = []
  const stop = new AbortController()
  t.after(() => stop.abort())
  const { body } = await fetch(`${origin}/sse`, { headers: stream, signal: stop.signal })
  const read = async () => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) heard.push(chunk)
  }
  void read().catch(() => {})
  await until('the endpoint is told', () => heard.length > 0)
  const id = /sessionId=(\S+)/.exec(heard.join(''))![1]!
  const session = await mcp.initialize()
  const before = heard.join('')

  const call = legacyBody('tools/call', { name: 'one__echo' })
  const wrong = [
    // a session of another endpoint
    `/v0/groups/g1/message?sessionId=${id}`,
    // a session of another transport
    `/message?sessionId=${session['mcp-session-id']}`,
    // an unknown session
    `/message?sessionId=${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`,
    `/message?sessionId=${'A'.repeat(22)}`
  ]
  for (const path of wrong) {
    const headers = { 'content-type': 'application/json' }
    const answer = await readAnswer(await fetch(origin + path, { method: 'POST', headers, body: call }))
    assert.deepEqual([answer.status, answer.body.error?.code], [404, -32001], path)
  }
  assert.equal(recorder.calls('tools/call').length, 0)
  await fetch(`${origin}/message?sessionId=${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: legacyBody('ping', {}, 'last')
  })
  await until('it answers its own client', () => heard.join('').includes('"last"'))
  const said = heard.join('').slice(before.length)
  assert.equal(said, 'event: message\ndata: {"jsonrpc":"2.0","id":"last","result":{}}\n\n')
})

/** Returns the numeric difference between two ids. */
const difference = (a: string, b: string) =>
  Buffer.from(b).readBigUInt64BE(b.length - 8) - Buffer.from(a).readBigUInt64BE(a.length - 8)

for (const transport of ['/mcp', '/sse'] as const) {
  test(`IS-06 a thousand sessions on ${transport} have ids that cannot be guessed from each other`, async (t) => {
    const mcp = await startMcp(t)
    const openOne = async () => (transport === '/sse' ? openSse(mcp) : (await mcp.initialize())['mcp-session-id']!)
    const ids: string[] = []
    while (ids.length < 1_000) ids.push(...(await Promise.all(Array.from({ length: 50 }, openOne))))
    assert.equal(new Set(ids).size, 1_000)
    assert.ok(ids.every((id) => /^[\w.-]{22,}$/.test(id)))
    const steps = ids.slice(1).map((id, i) => difference(ids[i]!, id))
    assert.equal(new Set(steps).size, steps.length)
    // of equal length, so that each position can be compared: none of the last 22 is the same in all ids
    const tails = ids.map((id) => id.slice(-22))
    for (let place = 0; place < 21; place++) assert.ok(new Set(tails.map((tail) => tail[place])).size > 16, `${place}`)
  })
}

test('IS-09 nothing of an MCP caller reaches the upstream, in either era', async (t) => {
  const mcp = await startMcp(t)
  const legacy = await addRecorder(t, mcp, 'one')
  const modern = await addRecorder(t, mcp, 'two', { modern: true })
  const sent = {
    authorization: 'Bearer SENT',
    cookie: 'a=SENT',
    'x-forwarded-authorization': 'SENT',
    'proxy-authorization': 'SENT'
  }
  const session = await mcp.initialize()
  for (const name of ['one__echo', 'two__echo']) {
    assert.ok((await mcp.legacy('tools/call', { name }, { ...session, ...sent })).body.result)
    assert.ok((await mcp.modern('tools/call', { name }, sent)).body.result)
  }
  assert.deepEqual([legacy.calls('tools/call').length, modern.calls('tools/call').length], [2, 2])
  assert.doesNotMatch(JSON.stringify([legacy.requests, modern.requests]), /SENT/)
})

test('IS-11 what depends on who asks is private and kept by nobody', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one', { modern: true })
  const isKeptByNobody = (headers: Headers, what: string) =>
    assert.match(headers.get('cache-control') ?? '', /\bno-store\b/, what)
  const lists = ['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']
  for (const method of lists) {
    const { headers, body } = await mcp.modern(method)
    assert.equal(body.result.cacheScope, 'private', method)
    isKeptByNobody(headers, method)
  }
  const read = await mcp.modern('resources/read', { uri: 'fixture://note' })
  assert.equal(read.body.result.cacheScope, 'private')
  isKeptByNobody(read.headers, 'resources/read')

  const session = await mcp.initialize()
  isKeptByNobody((await mcp.legacy('tools/list', {}, session)).headers, 'legacy tools/list')
  isKeptByNobody((await mcp.legacy('ping', {}, { 'mcp-session-id': 'x' })).headers, 'an unknown session')
  const slow = { name: 'one__slow', arguments: { ms: 50 }, _meta: { progressToken: 1 } }
  const streamed = await mcp.legacy('tools/call', slow, session)
  assert.equal(streamed.headers.get('content-type'), 'text/event-stream')
  isKeptByNobody(streamed.headers, 'the stream of a call')
  const open = await openStream(t, mcp.url, { headers: { ...session, ...stream } })
  isKeptByNobody(open.headers, 'the stream of a session')

  const { origin } = new URL(mcp.url)
  for (const path of ['servers', 'tools', 'prompts', 'resources', 'tool-groups', 'server_configs', 'nothing']) {
    isKeptByNobody((await fetch(`${origin}/api/v0/${path}`)).headers, path)
  }
})
