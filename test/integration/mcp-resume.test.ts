import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { addCleanup } from '../store.ts'
import { addRecorder, legacyBody, readAnswer, startMcp, type Mcp, type RpcAnswer } from './mcp-helpers.ts'
import { until } from '../until.ts'

interface Event extends RpcAnswer {
  readonly eventId: string
  readonly method?: string
}

interface Stream {
  readonly text: () => string
  readonly events: () => Event[]
  readonly ended: () => boolean
  drop(): void
}

const accept = 'application/json, text/event-stream'

function parse(text: string): Event[] {
  const frames = text.split('\n\n').flatMap((frame) => {
    const [, eventId, data] = /^id: (\S+)\nevent: message\ndata: (.*)$/.exec(frame) ?? []
    return data === undefined ? [] : [{ ...(JSON.parse(data) as RpcAnswer), eventId: eventId! }]
  })
  return frames
}

async function open(t: TestContext, url: string, init: RequestInit): Promise<Stream> {
  const stop = new AbortController()
  addCleanup(t, () => stop.abort())
  const response = await fetch(url, { ...init, signal: stop.signal })
  assert.equal(response.headers.get('content-type'), 'text/event-stream', String(response.status))
  let text = ''
  let ended = false
  const read = async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
  }
  void read()
    .catch(() => {})
    .finally(() => (ended = true))
  return { text: () => text, events: () => parse(text), ended: () => ended, drop: () => stop.abort() }
}

const slow = (ms: number, id: unknown) =>
  legacyBody('tools/call', { name: 'one__slow', arguments: { ms }, _meta: { progressToken: id } }, id)
const call = (t: TestContext, mcp: Mcp, session: object, body: string) =>
  open(t, mcp.url, {
    method: 'POST',
    headers: { ...session, 'content-type': 'application/json', accept },
    body
  })
const listen = (t: TestContext, mcp: Mcp, session: object, lastEventId?: string) =>
  open(t, mcp.url, {
    headers: { ...session, accept: 'text/event-stream', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) }
  })
const numbers = (events: Event[]) => events.map(({ eventId }) => Number(eventId.split('_')[1]))

test('a dropped call goes on, and its client gets the rest of that stream and no other', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const session = await mcp.initialize()
  const [first, other] = [
    await call(t, mcp, session, slow(400, 'mine')),
    await call(t, mcp, session, slow(400, 'theirs'))
  ]
  await until('there is progress on both', () => first.events().length > 0 && other.events().length > 0)
  const seen = first.events()[0]!
  first.drop()
  await until('it is closed', first.ended)
  const rest = await listen(t, mcp, session, seen.eventId)
  await until('the resumed stream ends with the answer', rest.ended)
  const events = rest.events()
  assert.equal(events.at(-1)!.id, 'mine')
  assert.ok(events.every(({ id }) => id === 'mine' || id === undefined))
  assert.equal(numbers(events)[0], 2)
  assert.ok(numbers(events).every((number, i) => number === i + 2))
  assert.equal(recorder.calls('notifications/cancelled').length, 0)
  await until('the other is answered on its own', () => other.ended())
  assert.equal(other.events().at(-1)!.id, 'theirs')

  const again = await listen(t, mcp, session, seen.eventId)
  await until('an ended stream can be asked for again', again.ended)
  assert.deepEqual(again.events(), events)
  const nothing = await listen(t, mcp, session, events.at(-1)!.eventId)
  await until('behind the last event there is nothing', nothing.ended)
  assert.deepEqual(nothing.events(), [])
})

test('streams of 2025-11-25 begin with an event to come back to, older ones do not', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const primed = /^id: \S+_0\nretry: 1000\ndata:\n\n/
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26']) {
    const session = await mcp.initialize(version)
    const stream = await call(t, mcp, session, slow(50, 1))
    await until('it is answered', stream.ended)
    assert.equal(primed.test(stream.text()), version === '2025-11-25', version)
    assert.equal(numbers(stream.events())[0], 1, version)
  }
  const sessionless = await call(t, mcp, {}, slow(50, 1))
  await until('it is answered', sessionless.ended)
  assert.doesNotMatch(sessionless.text(), /^id:/m)
  const session = await mcp.initialize()
  const gone = await call(t, mcp, session, slow(300, 1))
  await until('it begins', () => primed.test(gone.text()))
  gone.drop()
  const rest = await listen(t, mcp, session, /^id: (\S+)/.exec(gone.text())![1])
  await until('all of it is there', rest.ended)
  assert.equal(numbers(rest.events())[0], 1)
  const plain = await mcp.legacy('tools/call', { name: 'one__echo' }, session)
  assert.equal(plain.headers.get('content-type'), 'application/json')
})

test('an event id that another replica gave opens a new stream, on which the session hears on', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const session = await mcp.initialize()
  const first = await listen(t, mcp, session)
  await until('its first event id', () => first.text().includes('_0\n'))
  const own = /^id: (\S+)$/m.exec(first.text())![1]!
  const second = await listen(t, mcp, session, `${own.startsWith('a') ? 'b' : 'a'}${own.slice(1)}`)
  await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=one__echo' })
  await until('news', () => second.text().includes('notifications/tools/list_changed'))
})

test('an event id that is unknown, or of another session, is refused', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const [session, other] = [await mcp.initialize(), await mcp.initialize()]
  const stream = await call(t, mcp, session, slow(50, 1))
  await until('it is answered', stream.ended)
  const { eventId } = stream.events().at(-1)!
  const [name, number] = eventId.split('_')
  const refused = async (headers: Record<string, string>, id: string) => {
    const all = { ...headers, accept: 'text/event-stream', 'last-event-id': id }
    const { status, body } = await readAnswer(await fetch(mcp.url, { headers: all }))
    assert.deepEqual([status, body.error?.code, body.id], [400, -32000, null], id)
  }
  for (const id of ['x', '_', '_1', `${name}_`, `${name}_x`, `${name}_-1`, `${name}_${Number(number) + 1}`, 'a_1']) {
    await refused(session, id)
  }
  await refused(other, eventId)
})

test('what changes while the client is away is told of when it comes back, on one connection', async (t) => {
  const mcp = await startMcp(t)
  const session = await mcp.initialize()
  const first = await listen(t, mcp, session)
  await until('it begins', () => first.text() !== '')
  const start = /^id: (\S+)/.exec(first.text())![1]!
  first.drop()
  await until('it is closed', first.ended)
  await addRecorder(t, mcp, 'one')
  const second = await listen(t, mcp, session, start)
  await until('three lists are told of', () => second.events().length === 3)
  assert.equal(second.ended(), false)
  const third = await listen(t, mcp, session, second.events()[1]!.eventId)
  await until('the newer connection takes over', second.ended)
  await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=one__echo' })
  await until('it goes on there', () => third.events().length === 2)
  assert.deepEqual(numbers(third.events()), [3, 4])
  assert.equal(third.events()[1]!.method, 'notifications/tools/list_changed')
  await fetch(mcp.url, { method: 'DELETE', headers: session })
  await until('it ends with the session', third.ended)
})

test('a client of the SDK whose stream breaks gets its answer by resuming', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  let broken = 0
  const breaking: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const isCall = typeof init?.body === 'string' && init.body.includes('tools/call')
    if (!isCall || response.headers.get('content-type') !== 'text/event-stream') return response
    const reader = response.body!.getReader()
    const { value } = await reader.read()
    await reader.cancel()
    broken++
    const once = new ReadableStream({
      start(controller) {
        controller.enqueue(value)
        controller.close()
      }
    })
    return new Response(once, { status: response.status, headers: response.headers })
  }
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(mcp.url), { fetch: breaking })
  // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
  await client.connect(transport as Transport)
  addCleanup(t, () => client.close())
  const args = { name: 'one__slow', arguments: { ms: 300 } }
  const result = await client.callTool(args, undefined, { onprogress() {} })
  assert.equal(broken, 1)
  assert.equal(result.isError, undefined)
})
