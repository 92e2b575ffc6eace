import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  type JSONRPCMessage,
  type LoggingMessageNotification
} from '@modelcontextprotocol/sdk/types.js'
import { answersOf, connectLegacy, type RecordingClient } from '../asked-clients.ts'
import { cleanEnv, root, startGateway } from './harness.ts'
import { until } from '../until.ts'
import { everything } from './peers.ts'
import { cellsOf } from '../matrix.ts'

const script = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')

/** A client and its names for the server's tools and prompts. */
interface Side {
  readonly client: Client
  readonly asked: RecordingClient['serverRequests']
  readonly called: (name: string) => string
  readonly logged: Log[]
  /** URIs of resources reported as changed. */
  readonly updated: string[]
}

type Log = LoggingMessageNotification['params']

/** Connects to the same server directly and through the gateway, with a client that declares every capability. */
async function bothSides(t: TestContext, kind: 'stdio' | 'streamable_http', session_mode: string): Promise<Side[]> {
  const { registration } = await everything(t, kind)
  const gateway = await startGateway(t)
  await gateway.register({ ...registration, session_mode })
  const env = cleanEnv() as Record<string, string>
  const to =
    kind === 'stdio'
      ? new StdioClientTransport({ command: process.execPath, args: [script, 'stdio'], env, stderr: 'ignore' })
      : String(registration['url'])
  return [
    sideOf(await connectLegacy(t, to, answersOf('ann')), (name) => name),
    sideOf(await connectLegacy(t, `${gateway.url}/mcp`, answersOf('ann')), (name) => `everything__${name}`)
  ]
}

function sideOf(connected: RecordingClient, called: Side['called']): Side {
  const client = connected.client as Client
  const logged: Log[] = []
  const updated: string[] = []
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri))
  return { client, asked: connected.serverRequests, called, logged, updated }
}

/** Asserts that `look` returns the same on both sides. */
async function assertSame(what: string, sides: Side[], look: (side: Side) => Promise<unknown>): Promise<void> {
  const [direct, through] = await Promise.all(sides.map(look))
  assert.deepEqual(through, direct, what)
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    (result) => ({ isError: (result as { isError?: boolean }).isError }),
    ({ code }: { code: number }) => ({ code })
  )

/**
 * Returns items without their prefix. Tasks are not forwarded, so their members and tools that require them are
 * dropped.
 */
const withoutPrefix = (items: { name: string; execution?: { taskSupport?: string | undefined } | undefined }[]) =>
  items
    .filter(({ execution }) => execution?.taskSupport !== 'required')
    .map((item) => ({ ...item, execution: undefined, name: item.name.replace(/^everything__/, '') }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))

async function compareLists(sides: Side[]) {
  await assertSame('tools', sides, async ({ client }) => withoutPrefix((await client.listTools()).tools))
  await assertSame('prompts', sides, async ({ client }) => withoutPrefix((await client.listPrompts()).prompts))
  await assertSame('resources', sides, ({ client }) => client.listResources())
  await assertSame('templates', sides, ({ client }) => client.listResourceTemplates())
}

async function compareAnswers(sides: Side[]) {
  const call = (name: string, args: object) => (side: Side) =>
    side.client.callTool({ name: side.called(name), arguments: { ...args } })
  for (const [name, args] of [
    ['echo', { message: 'ü\n"' }],
    ['get-sum', { a: 1, b: 2.5 }],
    ['get-tiny-image', {}],
    ['get-annotated-message', { messageType: 'error', includeImage: true }],
    ['get-structured-content', { location: 'Chicago' }],
    ['get-resource-links', { count: 3 }]
  ] as const) {
    await assertSame(name, sides, call(name, args))
  }
  const prompt = { name: 'args-prompt', arguments: { city: 'Rome', state: 'Lazio' } }
  await assertSame('prompt', sides, ({ client, called }) => client.getPrompt({ ...prompt, name: called(prompt.name) }))
  await assertSame('resource', sides, async ({ client }) => {
    const { resources } = await client.listResources()
    return client.readResource({ uri: resources[0]!.uri })
  })
}

async function compareProgress(sides: Side[]) {
  await assertSame('progress', sides, async ({ client, called }) => {
    const heard: unknown[] = []
    const params = { name: called('trigger-long-running-operation'), arguments: { duration: 0.4, steps: 4 } }
    // the SDK's own callback misses progress that arrives together with the result
    const transport = client.transport!
    const receive = transport.onmessage!
    transport.onmessage = (message: JSONRPCMessage, extra?: object) => {
      if ('method' in message && message.method === 'notifications/progress') {
        const { progressToken: _, ...progress } = message.params as Record<string, unknown>
        heard.push(progress)
      }
      receive(message, extra)
    }
    const result = await client.callTool(params, undefined, { onprogress: () => {} })
    assert.equal(heard.length, 4)
    return { heard, result }
  })
}

const questions = [
  ['trigger-sampling-request', { prompt: 'Hi' }],
  ['trigger-elicitation-request', {}],
  ['trigger-url-elicitation', { url: 'https://example.com/', message: 'Visit', elicitationId: 'one' }],
  ['get-roots-list', {}]
] as const

async function compareQuestions(sides: Side[]) {
  for (const [name, args] of questions) {
    await assertSame(name, sides, (side) => side.client.callTool({ name: side.called(name), arguments: { ...args } }))
  }
  await assertSame('what was asked', sides, async ({ asked }) => asked.filter(({ method }) => method !== 'roots/list'))
}

async function compareCompletion(sides: Side[]) {
  const ask = (name: string, value: string, context?: Record<string, string>) => (side: Side) =>
    side.client.complete({
      ref: { type: 'ref/prompt', name: side.called('completable-prompt') },
      argument: { name, value },
      ...(context && { context: { arguments: context } })
    })
  await assertSame('completion', sides, ask('department', 'e'))
  await assertSame('completion in a context', sides, ask('name', '', { department: 'Engineering' }))
  await assertSame('completion of a template', sides, ({ client }) =>
    client.complete({
      ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
      argument: { name: 'resourceId', value: '1' }
    })
  )
}

/** Removes random differences between two sessions or messages: the session's id, and the choice of message. */
const withoutRandomParts = ({ level, logger, data }: Log) => ({
  logger: logger?.replace(/^everything\/?/, '') || undefined,
  data: String(data)
    .replace(/ (from session|- SessionId) .*/, '')
    .replace(new RegExp(`^${level}.level.message$`, 'i'), '… as its level says')
})

/** Compares log messages during and after `work`; there are as many as the server sends. */
async function compareLogs(what: string, sides: Side[], work: (side: Side) => Promise<unknown>) {
  await assertSame(what, sides, async (side) => {
    side.logged.length = 0
    await work(side)
    const first = (await until(what, () => side.logged[0]))!
    const prefix = side === sides[0] ? /^(?!everything(\/|$))/ : /^everything(\/|$)/
    assert.match(first.logger ?? '', prefix)
    return withoutRandomParts(first)
  })
}

/** Toggles the server's log messages: the first at once, then every 5 s, only to the session that started them. */
const toggle =
  (tool: string) =>
  ({ client, called }: Side) =>
    client.callTool({ name: called(tool), arguments: {} })

async function compareToggledLogs(sides: Side[], mode: string) {
  const toggleLogs = toggle('toggle-simulated-logging')
  await compareLogs('simulated logs', sides, toggleLogs)
  // a per-call session ends before it could be stopped
  await Promise.all((mode === 'stateful' ? sides : [sides[0]!]).map(toggleLogs))
}

const resourceUris = async ({ client }: Side) => (await client.listResources()).resources.map(({ uri }) => uri)

/** Compares notifications to the session of the client, and to no other. */
async function compareSession(sides: Side[]) {
  const [first, second] = (await resourceUris(sides[0]!)) as [string, string]
  const toggleUpdates = toggle('toggle-subscriber-updates')
  await compareLogs('log of a subscription', sides, ({ client }) => client.subscribeResource({ uri: first }))
  await assertSame('updates', sides, async (side) => {
    await side.client.subscribeResource({ uri: second })
    await toggleUpdates(side)
    await until('both updates', () => side.updated.length >= 2)
    await toggleUpdates(side)
    return side.updated.splice(0)
  })
  await assertSame('updates of what is still subscribed to', sides, async (side) => {
    await side.client.unsubscribeResource({ uri: first })
    await toggleUpdates(side)
    await until('an update', () => side.updated.length > 0)
    await toggleUpdates(side)
    return side.updated
  })
  await assertSame('the level of logs', sides, async (side) => {
    await side.client.setLoggingLevel('warning')
    side.logged.length = 0
    await side.client.subscribeResource({ uri: first })
    await side.client.setLoggingLevel('info')
    await side.client.subscribeResource({ uri: await resourceUris(side).then((uris) => uris[2]!) })
    await until('a log of the second', () => side.logged.length > 0)
    return side.logged.map(withoutRandomParts)
  })
}

async function compareErrors(sides: Side[]) {
  const failures: Record<string, (side: Side) => Promise<unknown>> = {
    'wrong arguments': ({ client, called }) => client.callTool({ name: called('get-sum'), arguments: { a: 'x' } }),
    'missing prompt argument': ({ client, called }) => client.getPrompt({ name: called('args-prompt') }),
    'unknown resource': ({ client }) => client.readResource({ uri: 'demo://resource/static/document/nothing.md' }),
    'unknown prompt': ({ client, called }) => client.getPrompt({ name: called('nothing') }),
    'completion of an unknown prompt': ({ client, called }) =>
      client.complete({ ref: { type: 'ref/prompt', name: called('nothing') }, argument: { name: 'a', value: '' } })
  }
  for (const [what, fail] of Object.entries(failures)) await assertSame(what, sides, (side) => codeOf(fail(side)))
  // an unknown name is not sent upstream; this server answers with an `isError` result
  const unknown = sides.map(({ client, called }) => codeOf(client.callTool({ name: called('nothing') })))
  assert.deepEqual(await Promise.all(unknown), [{ isError: true }, { code: -32602 }], 'unknown tool')
}

for (const [kind, mode] of cellsOf(['stdio', 'streamable_http'] as const, ['stateless', 'stateful'])) {
  test(`server-everything over ${kind} (${mode}) gives through the gateway what it gives direct`, async (t) => {
    const sides = await bothSides(t, kind, mode)
    await compareLists(sides)
    await compareAnswers(sides)
    await compareProgress(sides)
    await compareQuestions(sides)
    await compareCompletion(sides)
    await compareToggledLogs(sides, mode)
    if (mode === 'stateful') await compareSession(sides)
    // after a stream error the SDK's client resumes it, and this server then replays the whole session
    await compareErrors(sides)
  })
}
