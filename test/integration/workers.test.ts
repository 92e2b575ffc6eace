import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { request as sendRaw, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { StreamableHTTPClientTransport as HttpTransport2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { LoggingMessageNotificationSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { connectLegacy, connectModern, type Answers } from '../asked-clients.ts'
import { root } from '../e2e/harness.ts'
import { startRecorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { legacyBody, openSession, readAnswer } from './mcp-helpers.ts'
import { both, modernBody, modernHeaders } from './mcp-messages.ts'
import { registerAtBoth, skip, startWorkers, type TwoWorkers } from './two-workers.ts'

const identity = { name: 'workers', version: '1' }

async function addAlpha(t: TestContext, workers: TwoWorkers, options: RecorderOptions = {}, more: object = {}) {
  const recorder = await startRecorder(null, { name: 'alpha', ...options })
  addCleanup(t, recorder.close)
  await registerAtBoth(workers, { name: 'alpha', transport: 'streamable_http', url: recorder.url, ...more } as never)
  return recorder
}

async function addAsking(workers: TwoWorkers): Promise<void> {
  const args = [join(root, 'test/fixtures/asking/main.mjs'), 'stdio']
  await registerAtBoth(workers, {
    name: 'up',
    session_mode: 'stateful',
    transport: 'stdio',
    command: process.execPath,
    args
  } as never)
}

const legacyTransport = ({ urls, fetch }: TwoWorkers) =>
  new StreamableHTTPClientTransport(new URL(`${urls[0]}/mcp`), { fetch })

async function connect(t: TestContext, transport: Transport): Promise<Client> {
  const client = new Client(identity)
  await client.connect(transport)
  addCleanup(t, () => client.close())
  return client
}

const echo = (client: Client, value: string) => client.callTool({ name: 'alpha__echo', arguments: { text: value } })

async function echoes(client: Client, count = 6): Promise<void> {
  for (let call = 0; call < count; call++) {
    const { content } = await echo(client, `call ${call}`)
    assert.match(JSON.stringify(content), new RegExp(`call ${call}`))
  }
}

/** Opens a session at the first worker and returns its headers. */
const openAtFirst = ({ urls }: TwoWorkers) => {
  const headers = { 'content-type': 'application/json', accept: both }
  return openSession(async (params) =>
    readAnswer(await fetch(`${urls[0]}/mcp`, { method: 'POST', headers, body: legacyBody('initialize', params) }))
  )
}

const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: identity }

/** Sends a legacy request to one worker. */
async function post(url: string, method: string, params: object, headers: Record<string, string>) {
  const all = { 'content-type': 'application/json', accept: both, ...headers }
  return readAnswer(await fetch(`${url}/mcp`, { method: 'POST', headers: all, body: legacyBody(method, params) }))
}

test('a session is served by one worker, whichever its requests reach', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAlpha(t, workers)
  const clients = await Promise.all(Array.from({ length: 4 }, () => connect(t, legacyTransport(workers) as Transport)))
  for (const client of clients) await echoes(client)
  const [first, second] = workers.sessions()
  assert.equal(first! + second!, clients.length)
})

const openStreams = ({ apps }: TwoWorkers) => apps[0].gateway.stats().streams + apps[1].gateway.stats().streams

test('the stream of a session tells changes and log messages, whichever worker it reaches', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAlpha(t, workers, { tells: true })
  for (let client = 0; client < 2; client++) {
    const connected = await connect(t, legacyTransport(workers) as Transport)
    let changes = 0
    let messages = 0
    connected.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++)
    connected.setNotificationHandler(LoggingMessageNotificationSchema, () => void messages++)
    await until('the stream to be open', () => openStreams(workers) === client + 1)
    await connected.setLoggingLevel('debug')
    await connected.callTool({ name: 'alpha__log', arguments: {} })
    await until('the messages of the call', () => messages === 3)
    await workers.apps[client]!.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=alpha__fail' })
    await until('the news', () => changes > 0)
    await workers.apps[client]!.inject({ method: 'POST', url: '/api/v0/tools/enable?entity=alpha__fail' })
    await until('the news again', () => changes > 1)
  }
})

/** Opens the stream of a session at one worker and collects its text. */
async function openStreamAt(t: TestContext, url: string, headers: Record<string, string>) {
  const stop = new AbortController()
  addCleanup(t, () => stop.abort())
  const answer = await fetch(`${url}/mcp`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: stop.signal
  })
  assert.equal(answer.status, 200)
  let received = ''
  const read = async () => {
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) received += chunk
  }
  read().catch(() => {})
  return { received: () => received, close: () => stop.abort() }
}

test('a forwarded stream that broke is resumed by way of either worker', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAlpha(t, workers)
  const session = await openAtFirst(workers)
  let isOn = true
  for (const url of [workers.urls[1], workers.urls[0]]) {
    const stream = await openStreamAt(t, workers.urls[1], session)
    const id = await until('the first event', () => /^id: (.+)$/m.exec(stream.received())?.[1])
    assert.deepEqual([openStreams(workers), workers.apps[1].gateway.stats().streams], [1, 0])
    stream.close()
    isOn = !isOn
    const change = `/api/v0/tools/${isOn ? 'enable' : 'disable'}?entity=alpha__fail`
    await workers.apps[1].inject({ method: 'POST', url: change })
    const resumed = await openStreamAt(t, url, { ...session, 'last-event-id': id! })
    await until('the news', () => resumed.received().includes('tools/list_changed'))
    resumed.close()
  }
})

test('a forwarded DELETE ends the session at both workers', { skip }, async (t) => {
  const workers = await startWorkers(t)
  const session = await openAtFirst(workers)
  const ended = await fetch(`${workers.urls[1]}/mcp`, { method: 'DELETE', headers: session })
  assert.equal(ended.status, 200)
  for (const url of workers.urls) {
    await until('the id to be refused', async () => (await post(url, 'ping', {}, session)).status === 404)
  }
  assert.deepEqual(workers.sessions(), [0, 0])
})

const accepting: Answers = { form: ({ message }) => ({ action: 'accept', content: { said: `yes to ${message}` } }) }

test('a legacy client answers a question by way of the other worker', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAsking(workers)
  const client = await connectLegacy(t, legacyTransport(workers) as Transport, accepting)
  for (let call = 0; call < 4; call++) {
    const { content } = await client.call('up__ask', { name: `call ${call}` })
    assert.equal(content[0]!.text, `call ${call}: accept yes to call ${call}`)
  }
  assert.equal(client.serverRequests.length, 4)
})

test('a modern client continues a parked call by way of the other worker', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAsking(workers)
  const { urls, fetch } = workers
  const client = await connectModern(t, new HttpTransport2(new URL(`${urls[0]}/mcp`), { fetch }), accepting)
  // an odd number of requests between the calls, so that each worker is asked first
  for (let call = 0; call < 5; call++) {
    const { content } = await client.call('up__ask', { name: `call ${call}` })
    assert.equal(content[0]!.text, `call ${call}: accept yes to call ${call}`)
    if (call % 2 === 0) await client.client.listTools()
  }
})

test('a cancellation reaches the worker that has the call', { skip }, async (t) => {
  const workers = await startWorkers(t)
  const alpha = await addAlpha(t, workers)
  for (let turn = 0; turn < 2; turn++) {
    const client = await connect(t, legacyTransport(workers) as Transport)
    const stop = new AbortController()
    const before = alpha.cancelled.length
    const called = alpha.calls('tools/call').length
    const call = client.callTool({ name: 'alpha__slow', arguments: { ms: 3_600_000 } }, undefined, {
      signal: stop.signal
    })
    await until('the call to arrive', () => alpha.calls('tools/call').length > called)
    stop.abort()
    await assert.rejects(call)
    await until('the call to be cancelled', () => alpha.cancelled.length > before)
  }
})

test('clients of HTTP+SSE post to either worker', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAlpha(t, workers)
  for (const url of workers.urls) {
    const transport = new SSEClientTransport(new URL(`${url}/sse`), { fetch: workers.fetch as never })
    await echoes(await connect(t, transport as Transport))
  }
  const message = (sessionId: string, url: string) =>
    fetch(`${url}/message?sessionId=${sessionId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: legacyBody('ping')
    })
  for (const url of workers.urls)
    for (const id of ['nobody-has-this-id', 'x']) assert.equal((await message(id, url)).status, 404)
})

test('large bodies and large results pass between workers', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAlpha(t, workers)
  const session = await openAtFirst(workers)
  const large = 'ä'.repeat(1_500_000)
  const params = { name: 'alpha__echo', arguments: { text: large } }
  const answer = await post(workers.urls[1], 'tools/call', params, session)
  assert.equal(answer.status, 200)
  assert.ok(answer.text.includes(large))
  const refused = await fetch(`${workers.urls[1]}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: both, ...session },
    body: legacyBody('tools/call', { name: 'alpha__echo', arguments: { text: 'x'.repeat(5_000_000) } })
  })
  assert.equal(refused.status, 413)
  assert.deepEqual(await refused.json(), { error: 'the request body is too large' })
})

test(
  'without its worker a session is restored by the other one, and found again when it is back',
  { skip },
  async (t) => {
    const workers = await startWorkers(t)
    await addAlpha(t, workers)
    const session = await openAtFirst(workers)
    const call = (url: string) => post(url, 'tools/call', { name: 'alpha__echo', arguments: {} }, session)
    assert.equal((await call(workers.urls[1])).status, 200)
    await workers.apps[0].close()
    assert.equal((await call(workers.urls[1])).status, 200)
    const restarted = await workers.restart(0)
    assert.equal((await call(workers.urls[1])).status, 200)
    assert.equal(restarted.gateway.stats().sessions, 1)
  }
)

test('a parked call whose worker is gone is refused as by another replica', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAsking(workers)
  const params = {
    name: 'up__ask',
    arguments: { name: 'x' },
    _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
  }
  const call = async (url: string, more: object = {}) =>
    readAnswer(
      await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: modernHeaders('tools/call', 'up__ask'),
        body: modernBody('tools/call', { ...params, ...more })
      })
    )
  const asked = await call(workers.urls[0])
  assert.equal(asked.body.result.resultType, 'input_required')
  const { requestState } = asked.body.result as unknown as { requestState: string }
  const given = { requestState, inputResponses: { 'input-1': { action: 'accept', content: { said: 'yes' } } } }
  await workers.apps[0].close()
  const { status, body } = await call(workers.urls[1], given)
  assert.equal(status, 200)
  assert.equal(body.error!.code, -32602)
  assert.deepEqual(body.error!.data, { reason: 'invalid_request_state' })
})

test('ids that are forged or of another gateway are refused, whichever worker they lead to', { skip }, async (t) => {
  const workers = await startWorkers(t)
  const session = await openAtFirst(workers)
  const id = session['mcp-session-id']!
  const forged = [`${id.slice(0, -5)}AAAAA`, `${id.slice(0, -5)}BBBBB`, 'a', '', '.', '....', 'é'.repeat(20), `${id}x`]
  for (const url of workers.urls) {
    for (const wrong of forged) {
      const answer = await post(url, 'ping', {}, { ...session, 'mcp-session-id': encodeURI(wrong) })
      assert.equal(answer.status, 404, wrong)
    }
  }
  assert.equal((await post(workers.urls[1], 'ping', {}, session)).status, 200)
})

/** Sends a request from another loopback address than all other requests, on a connection of its own. */
function sendFrom(localAddress: string, url: string, headers: Record<string, string>, body: string) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const answer = async (response: IncomingMessage) =>
      resolve({ status: response.statusCode!, text: await text(response) })
    sendRaw(url, { method: 'POST', localAddress, agent: false, headers }, (response) => {
      answer(response).catch(reject)
    })
      .once('error', reject)
      .end(body)
  })
}

/** Starts workers in enterprise mode with one client, who may use no server. */
async function startEnterpriseWorkers(t: TestContext) {
  const token = 'an-administrator-token-of-this-test'
  const env = {
    SERVER_MODE: 'enterprise',
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOWPATH_ADMIN_TOKEN: token
  }
  const workers = await startWorkers(t, { env })
  const ask = async (method: 'GET' | 'POST', url: string, payload?: object) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await workers.apps[0].inject({ method, url: `/api/v0${url}`, headers, ...(payload && { payload }) })
    assert.ok(answer.statusCode < 300, answer.body)
    return answer.json<Record<string, unknown>>()
  }
  const alpha = await startRecorder(null, { name: 'alpha' })
  addCleanup(t, alpha.close)
  await ask('POST', '/servers', { name: 'alpha', transport: 'streamable_http', url: alpha.url })
  const { access_token } = await ask('POST', '/clients', { name: 'c', allowed_servers: [] })
  const client = { authorization: `Bearer ${String(access_token)}` }
  const isKnown = async (url: string) => (await post(url, 'ping', {}, client)).status === 200
  for (const url of workers.urls) await until('the client to be known', () => isKnown(url))
  const opened = await post(workers.urls[0], 'initialize', initialize, client)
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
  return { ...workers, ask, client, session }
}

test('the address of a client is the real one at its worker, and cannot be claimed', { skip }, async (t) => {
  const { urls, ask, client, session, sessions } = await startEnterpriseWorkers(t)
  const claimed = { 'x-towpath-peer': '203.0.113.9', 'x-forwarded-for': '203.0.113.9' }
  const headers = { 'content-type': 'application/json', accept: both, ...claimed, ...client, ...session }
  const body = legacyBody('tools/call', { name: 'alpha__echo', arguments: {} })
  for (const url of urls) assert.equal((await sendFrom('127.0.0.2', `${url}/mcp`, headers, body)).status, 200)
  assert.deepEqual(sessions(), [1, 0])
  const rows = await until('both refusals to be in the audit log', async () => {
    const { entries } = (await ask('GET', '/audit?target=alpha__echo&outcome=refused')) as {
      entries: { address?: string }[]
    }
    return entries.length >= 2 ? entries : undefined
  })
  assert.deepEqual([...new Set(rows!.map(({ address }) => address))], ['127.0.0.2'])
})

/** Reads how many requests each worker refused for their access token. */
async function readFailures(url: string): Promise<number[]> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return [0, 1].map((worker) => {
    const found = new RegExp(`towpath_failed_authentications_total\\{worker="${worker}"\\} (\\d+)`).exec(metrics)
    return Number(found?.[1])
  })
}

test('wrong tokens are counted once, by the worker that serves the session', { skip }, async (t) => {
  const { urls, session } = await startEnterpriseWorkers(t)
  const headers = { 'content-type': 'application/json', authorization: 'Bearer wrong-token-of-this-test', ...session }
  // a worker that did not know the client yet has refused its token
  const [first, second] = await readFailures(urls[1])
  for (let turn = 0; turn < 4; turn++) {
    assert.equal((await sendFrom('127.0.0.3', `${urls[1]}/mcp`, headers, legacyBody('ping'))).status, 401)
  }
  assert.deepEqual(await readFailures(urls[1]), [first! + 4, second])
})

test('metrics are those of both workers, each family once, each sample with its worker', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAlpha(t, workers)
  await echoes(await connect(t, legacyTransport(workers) as Transport), 3)
  for (const url of workers.urls) {
    const answer = await fetch(`${url}/metrics`)
    assert.equal(answer.status, 200)
    const lines = (await answer.text()).split('\n').filter((line) => line !== '')
    const types = lines.filter((line) => line.startsWith('# TYPE')).map((line) => line.split(' ')[2])
    assert.equal(new Set(types).size, types.length)
    const samples = lines.filter((line) => !line.startsWith('#'))
    for (const sample of samples) assert.match(sample, /^[a-z0-9_]+\{worker="[01]"[,}]/)
    for (const worker of [0, 1]) {
      assert.ok(samples.some((sample) => sample.startsWith(`towpath_sessions{worker="${worker}"}`)))
    }
  }
  await workers.apps[1].close()
  const alone = await (await fetch(`${workers.urls[0]}/metrics`)).text()
  assert.ok(!alone.includes('worker="1"'))
})

test('workers answer the questions of each other to nobody else', { skip }, async (t) => {
  const workers = await startWorkers(t)
  for (const url of workers.urls) {
    for (const path of ['/-/metrics', '/-/activity', '//-/metrics', '/mcp/../-/metrics']) {
      const answer = await sendFrom('127.0.0.1', url + path, {}, '')
      assert.equal(answer.status, 404, path)
    }
  }
})

test('records and pages show the activity of both workers', { skip }, async (t) => {
  const workers = await startWorkers(t)
  await addAlpha(t, workers)
  const client = await connect(t, legacyTransport({ ...workers, fetch }) as Transport)
  await echoes(client, 1)
  const call = client.callTool({ name: 'alpha__slow', arguments: { ms: 3_600_000 } }).catch(() => {})
  const seen = async (url: string) => {
    const overview = (await (await fetch(`${url}/api/dashboard/overview`)).json()) as { clients: { name: string }[] }
    const stats = (await (await fetch(`${url}/api/v0/stats`)).json()) as { in_flight: number }
    const server = (await (await fetch(`${url}/api/v0/servers/alpha?include=health`)).json()) as {
      health: { status: string }
    }
    return [overview.clients.map(({ name }) => name), stats.in_flight, server.health.status]
  }
  for (const url of workers.urls) {
    const expected = JSON.stringify([[identity.name], 1, 'connected'])
    await until('the activity to be known', async () => JSON.stringify(await seen(url)) === expected)
  }
  await client.close()
  await call
})

test('the sockets of the workers go with them', { skip }, async (t) => {
  const workers = await startWorkers(t)
  assert.deepEqual((await readdir(workers.folder)).toSorted(), ['0', '1'])
  for (const app of workers.apps) await app.close()
  assert.deepEqual(await readdir(workers.folder), [])
})
