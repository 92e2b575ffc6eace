import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Client as Client2 } from '@modelcontextprotocol/client'
import type { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'
import { register } from '../app.ts'
import { fixtureArgs } from '../fixtures/conformance/bundle.ts'
import { answersOf, connectLegacy, connectModern, type RecordingClient } from '../asked-clients.ts'
import { META, startMcp, type Mcp } from '../integration/mcp-helpers.ts'
import { tempDir } from '../store.ts'
import { startEraProxy, startFixture, type Era } from './fixture.ts'
import { until } from '../until.ts'
import { cellsOf } from '../matrix.ts'

const watched = 'test://watched-resource'

/** A client of one kind, with recorders for notifications. */
interface Subject extends RecordingClient {
  readonly era: Era
  readonly logged: unknown[]
  readonly updated: string[]
  readonly changes: () => number
  /** Subscribes to a resource; false if the server refuses. */
  follow(uri: string): Promise<boolean>
}

function legacySubject(connected: RecordingClient): Subject {
  const client = connected.client as Client1
  const logged: unknown[] = []
  const updated: string[] = []
  let changes = 0
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri))
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++)
  const follow = async (uri: string) => Boolean(await client.subscribeResource({ uri }))
  return { ...connected, era: 'legacy', logged, updated, changes: () => changes, follow }
}

function modernSubject(connected: RecordingClient): Subject {
  const client = connected.client as Client2
  const logged: unknown[] = []
  const updated: string[] = []
  let changes = 0
  client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params))
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri))
  client.setNotificationHandler('notifications/tools/list_changed', () => void changes++)
  const follow = async (uri: string) => {
    const { honoredFilter } = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })
    return honoredFilter.resourceSubscriptions?.includes(uri) === true && honoredFilter.toolsListChanged === true
  }
  return { ...connected, era: 'modern', logged, updated, changes: () => changes, follow }
}

const clients: Record<string, (t: TestContext, mcp: Mcp) => Promise<Subject>> = {
  'SDK v1': async (t, { url }) => legacySubject(await connectLegacy(t, url, answersOf('ann'))),
  'SDK v2 auto': async (t, { url }) => modernSubject(await connectModern(t, url, answersOf('ann'), 'auto')),
  'SDK v2 modern': async (t, { url }) => modernSubject(await connectModern(t, url, answersOf('ann'))),
  'HTTP+SSE': async (t, { url }) => {
    const transport = new SSEClientTransport(new URL('/sse', url)) as Transport
    return legacySubject(await connectLegacy(t, transport, answersOf('ann')))
  }
}

const upstreams: Record<string, (t: TestContext) => Promise<object>> = {
  stdio: async () => ({ transport: 'stdio', command: process.execPath, args: fixtureArgs('stdio') }),
  'legacy HTTP': async (t) => ({
    transport: 'streamable_http',
    url: await startEraProxy(t, 'legacy', await startFixture(t))
  }),
  'HTTP of both eras': async (t) => ({ transport: 'streamable_http', url: await startFixture(t) }),
  SSE: async (t) => ({ transport: 'sse', url: await startFixture(t, 'sse') })
}

const tool = (name: string) => `up__test_${name}`
const textOf = ({ content }: { content: { text: string }[] }) => content[0]!.text

interface ObservableTransport {
  onmessage?: ((message: { method?: string; params?: Record<string, unknown> }, extra?: object) => void) | undefined
}

/**
 * Returns progress values as they arrive on the transport: the SDK's own callback misses one that arrives together with
 * the result.
 */
async function progressOf({ client, call }: Subject) {
  const told: unknown[] = []
  const transport = client.transport as ObservableTransport
  const receive = transport.onmessage!
  transport.onmessage = (message, extra) => {
    if (message.method === 'notifications/progress') told.push(message.params?.progress)
    receive(message, extra)
  }
  await call(tool('tool_with_progress'), {}, { onprogress: () => {} })
  return told
}

/** Returns log messages; the modern era names the level in each request. */
async function logsOf({ era, client, logged }: Subject) {
  const level = era === 'modern' ? { _meta: { [`${META}logLevel`]: 'info' } } : {}
  const arguments_ = { name: tool('tool_with_logging'), arguments: {}, ...level }
  await (client as Client1).callTool(arguments_)
  await until('three messages', () => logged.length >= 3)
  return logged.map((params) => {
    const { level: of, logger, data } = params as { level: string; logger: string; data: string }
    return `${logger} ${of}: ${data}`
  })
}

const contentOf = (file: string) => readFile(file, 'utf8').catch(() => '')

async function cancel({ call }: Subject, file: string) {
  const stop = new AbortController()
  const failed = call(tool('cancellation'), { file }, { signal: stop.signal }).then(
    () => 'answered',
    () => 'stopped'
  )
  await until('the call to run', async () => (await contentOf(file)) === 'started')
  stop.abort()
  assert.equal(await failed, 'stopped')
  await until('it to be cancelled upstream', async () => (await contentOf(file)) === 'cancelled')
  return contentOf(file)
}

async function complete({ client }: Subject) {
  const ref = { type: 'ref/prompt' as const, name: tool('prompt_with_arguments') }
  return (await (client as Client1).complete({ ref, argument: { name: 'arg1', value: 'x' } })).completion
}

/** Exercises every feature of the upstream for a client, row by row. */
async function runFeatures(subject: Subject, file: string) {
  const { client, call, serverRequests } = subject
  const { tools } = await client.listTools()
  const said = async (name: string) => textOf(await call(tool(name)))
  return {
    list: tools.some(({ name }) => name === tool('simple_text')),
    call: await said('simple_text'),
    progress: await progressOf(subject),
    cancel: await cancel(subject, file),
    elicitation: await said('input_required_result_elicitation'),
    sampling: await said('input_required_result_sampling'),
    roots: await said('input_required_result_list_roots'),
    asked: serverRequests.map(({ method }) => method),
    log: await logsOf(subject),
    subscribe: await subject.follow(watched),
    complete: await complete(subject)
  }
}

const expected = {
  list: true,
  call: 'This is a simple text response for testing.',
  progress: [0, 50, 100],
  cancel: 'cancelled',
  elicitation: 'Hello, ann!',
  sampling: 'sampled by ann',
  roots: 'Roots: ann',
  asked: ['elicitation/create', 'sampling/createMessage', 'roots/list'],
  log: ['started', 'processing', 'completed'].map((step) =>
    step === 'processing' ? 'up info: Tool processing data' : `up info: Tool execution ${step}`
  ),
  subscribe: true,
  complete: { values: [], total: 0, hasMore: false }
}

/** Tests notifications over HTTP and SSE: one server notifies all its sessions, the gateway's own included. */
async function testSharedNotifications(subjects: Subject[]) {
  const [first] = subjects as [Subject, ...Subject[]]
  await first.call(tool('trigger_tool_change'))
  await until('all to hear of the list', () => subjects.every(({ changes }) => changes() > 0))
  await first.call(tool('trigger_resource_update'))
  await until('all to hear of the resource', () => subjects.every(({ updated }) => updated.length > 0))
  for (const { updated } of subjects) assert.deepEqual(updated, [watched], 'once')
}

/**
 * Tests notifications over stdio: a process notifies its own client. Those of its first second are ignored, since many
 * servers announce their lists whenever they start.
 */
async function testOwnNotifications(subjects: Subject[]) {
  for (const subject of subjects.filter(({ era }) => era === 'legacy')) {
    await subject.call(tool('trigger_resource_update'))
    await until('it to hear of the resource', () => subject.updated.length > 0)
  }
  for (const { updated, era } of subjects) assert.deepEqual(updated, era === 'legacy' ? [watched] : [], 'once')
  const trigger = async () => {
    await subjects[0]!.call(tool('trigger_tool_change'))
    return subjects.every(({ changes }) => changes() > 0)
  }
  await until('all to hear of the list', trigger)
}

for (const [[kind, start], session_mode] of cellsOf(Object.entries(upstreams), ['stateless', 'stateful'] as const)) {
  test(`each kind of client gets everything of a server over ${kind} (${session_mode})`, async (t) => {
    const mcp = await startMcp(t)
    await register(mcp.app, { name: 'up', session_mode, ...(await start(t)) })
    const folder = await tempDir(t)
    const names = Object.keys(clients)
    const subjects = await Promise.all(names.map((name) => clients[name]!(t, mcp)))
    const cells = await Promise.all(subjects.map((subject, i) => runFeatures(subject, join(folder, String(i)))))
    for (const [i, cell] of cells.entries()) assert.deepEqual(cell, expected, names[i])
    if (kind !== 'stdio') await testSharedNotifications(subjects)
    // with a process for each call there is nothing left to send notifications
    else if (session_mode === 'stateful') await testOwnNotifications(subjects)
  })
}
