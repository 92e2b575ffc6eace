import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createSseClient } from '../../src/upstream/http/sse-client.ts'
import { type HttpConnection } from '../../src/upstream/http/connection.ts'
import { createHttpClient } from '../../src/upstream/http/streamable-http-client.ts'
import { type Answer, Call, silentSink } from '../../src/upstream/transport/call.ts'
import { connector } from '../egress.ts'
import { createRecorder } from '../fixtures/http/recorder.ts'
import { openEvents, startHttp } from '../fixtures/http/server.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { startStdioClient } from '../stdio-client.ts'
import { until } from '../until.ts'

/** Enough to be read in dozens of steps, and fewer than a notification may have. */
const ELEMENTS = 90_000
const log = (data: unknown) => ({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })
/** Messages that a server writes at once: large ones between small ones. */
const messagesOf = (id: unknown) => [
  log(1),
  log(Array(ELEMENTS).fill(111)),
  log(2),
  log(Array(ELEMENTS).fill(222)),
  log(3),
  { jsonrpc: '2.0', id, result: { content: [], structuredContent: { list: Array(ELEMENTS).fill(333) } } }
]
const eventsOf = (id: unknown) =>
  messagesOf(id)
    .map((message) => `data: ${JSON.stringify(message)}\n\n`)
    .join('')

const stdioServer = `
const log = (data) => ({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })
const many = (value) => Array(${ELEMENTS}).fill(value)
const messagesOf = (id) => [log(1), log(many(111)), log(2), log(many(222)), log(3),
  { jsonrpc: '2.0', id, result: { content: [], structuredContent: { list: many(333) } } }]
const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } }
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  const messages = method === 'tools/call' ? messagesOf(id) : [{ jsonrpc: '2.0', id, result: greeting }]
  if (id !== undefined) process.stdout.write(messages.map((each) => JSON.stringify(each) + '\\n').join(''))
})`

interface Connection {
  send(call: Call): Promise<Answer>
}
const opening = () => ({ era: 'legacy' as const, capabilities: '{}', deadline: performance.now() + 60_000 })
const httpOptions = { headers: {}, version: '1', connector, maxResponseBytes: 16_777_216 }

async function openHttp(t: TestContext): Promise<HttpConnection> {
  const { handle } = createRecorder({ name: 'large' })
  const upstream = await startHttp((request, response) => {
    const { method, message } = request
    if (method === 'POST' && message?.method !== 'tools/call') return handle(request, response)
    openEvents(response)
    if (method === 'GET') response.write(eventsOf('unasked'))
    else response.end(eventsOf(message!.id))
  })
  t.after(upstream.close)
  const client = createHttpClient({ url: `${upstream.origin}/mcp`, ...httpOptions })
  t.after(() => client.close())
  return client.open(opening())
}

async function openSse(t: TestContext): Promise<Connection> {
  const upstream = await startSse(t, { onCall: ({ id }, stream) => void stream.write(eventsOf(id)) })
  const client = createSseClient({ url: upstream.url, ...httpOptions })
  t.after(() => client.close())
  return client.open(opening())
}

const openStdio = (t: TestContext): Promise<Connection> =>
  startStdioClient(t, ['-e', stdioServer], { maxLineBytes: httpOptions.maxResponseBytes }).open(opening())

const inOrder = [1, `${ELEMENTS} of 111`, 2, `${ELEMENTS} of 222`, 3]

/** Returns a sink and what it was notified of, oldest first. */
function listen() {
  const heard: unknown[] = []
  const notify = (_method: string, params: string) => {
    const { data } = JSON.parse(params) as { data: number | number[] }
    heard.push(typeof data === 'number' ? data : `${data.length} of ${data[0]}`)
  }
  return { sink: { ...silentSink, notify }, heard }
}

for (const [transport, open] of Object.entries({ 'streamable HTTP': openHttp, SSE: openSse, stdio: openStdio })) {
  test(`SR-H3 messages stay in order, small ones in the same chunk as large ones that are read in steps: ${transport}`, async (t) => {
    const connection: Connection = await open(t)
    const { sink, heard } = listen()
    const call = new Call(
      { method: 'tools/call', members: '"name":"echo","arguments":{}', meta: '', name: 'echo' },
      sink
    )
    const { body } = await connection.send(call)
    assert.deepEqual(heard, inOrder)
    assert.deepEqual(JSON.parse(body.toString()).structuredContent.list.length, ELEMENTS)
  })
}

test('SR-H3 messages stay in order, small ones in the same chunk as large ones that are read in steps: notification stream', async (t) => {
  const connection = await openHttp(t)
  const { sink, heard } = listen()
  assert.equal(await connection.openNotificationStream(sink, () => {}), true)
  await until('all messages arrive', () => heard.length >= inOrder.length)
  assert.deepEqual(heard, inOrder)
})
