import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { register, stdioServer } from '../app.ts'
import { answersOf, connectLegacy, connectModern } from '../asked-clients.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { tempDir } from '../store.ts'
import { until } from '../until.ts'
import { addRecorder, startMcp, type Mcp } from './mcp-helpers.ts'

/** Sends a log message, a message of its own kind and a question with each call, and answers with all answers so far. */
const talkative = `
import { createInterface } from 'node:readline'
const say = (value) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...value }) + '\\n')
const answers = []
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, error } = JSON.parse(line)
  if (method === undefined) return answers.push(error?.code ?? 'answered')
  if (method === 'initialize') return say({ id, result: {
    protocolVersion: params.protocolVersion, capabilities: { tools: {}, logging: {} }, serverInfo: { name: 't', version: '1' } } })
  if (method === 'tools/list') return say({ id, result: { tools: [{ name: 'talk', inputSchema: { type: 'object' } }] } })
  if (method !== 'tools/call') return id !== undefined && say({ id, error: { code: -32601, message: 'no' } })
  say({ method: 'notifications/message', params: { level: 'error', data: 'secret of ' + params.arguments.who } })
  say({ method: 'notifications/custom', params: { who: params.arguments.who } })
  const token = params._meta?.progressToken
  if (token !== undefined) say({ method: 'notifications/progress', params: { progressToken: token, progress: 1, message: params.arguments.who } })
  say({ id: 'q' + id, method: 'roots/list' })
  setTimeout(() => say({ id, result: { content: [{ type: 'text', text: JSON.stringify({ pid: process.pid, answers }) }] } }), 100)
})`

async function registerTalkative(t: TestContext, mcp: Mcp, session_mode: string) {
  const file = join(await tempDir(t), 'talkative.mjs')
  await writeFile(file, talkative)
  await register(mcp.app, { name: 't', transport: 'stdio', command: process.execPath, args: [file], session_mode })
}

const invoke = async ({ app }: Mcp, name: string, args: object = {}) => {
  const answer = await app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name, ...args } })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json<{ content: { text: string }[] }>().content[0]!.text
}

test('all callers of a shared stdio server use one process of each era, which is started again after a crash', async (t) => {
  const mcp = await startMcp(t)
  await register(mcp.app, { ...stdioServer('alpha'), session_mode: 'shared' })
  const clients = await Promise.all([
    connectLegacy(t, mcp.url, answersOf('one')),
    connectLegacy(t, mcp.url, {}),
    connectLegacy(t, mcp.url, answersOf('three'))
  ])
  const pidOf = async ({ call }: (typeof clients)[number]) => (await call('alpha__pid')).content[0]!.text
  const pids = await Promise.all(clients.flatMap((client) => [pidOf(client), pidOf(client)]))
  assert.equal(new Set(pids).size, 1)
  const [pid] = pids
  process.kill(Number(pid), 'SIGKILL')
  await until('another process answers', async () => (await pidOf(clients[0]!).catch(() => pid)) !== pid)
  const next = await pidOf(clients[1]!)
  assert.equal(await pidOf(clients[2]!), next)
  const modern = await connectModern(t, mcp.url, answersOf('four'))
  const modernPid = (await modern.call('alpha__pid')).content[0]!.text
  assert.equal(await invoke(mcp, 'alpha__pid'), modernPid)
})

test('what a shared server sends without naming a call reaches nobody, and progress its own caller', async (t) => {
  const mcp = await startMcp(t)
  await registerTalkative(t, mcp, 'shared')
  const sessions = [
    await mcp.initialize('2025-11-25', { roots: {} }),
    await mcp.initialize('2025-11-25', { roots: {} })
  ]
  for (const session of sessions) await mcp.legacy('logging/setLevel', { level: 'debug' }, session)
  const call = (who: string, session: Record<string, string>) =>
    mcp.legacy('tools/call', { name: 't__talk', arguments: { who }, _meta: { progressToken: who } }, session)
  const answers = await Promise.all(sessions.map((session, i) => call(`caller-${i}`, session)))
  for (const [i, { events }] of answers.entries()) {
    const pushed = events.filter((event) => event.id === undefined) as { method?: string; params?: object }[]
    assert.deepEqual(
      pushed.map(({ method, params }) => [method, params]),
      [['notifications/progress', { progressToken: `caller-${i}`, progress: 1, message: `caller-${i}` }]]
    )
  }
  const { answers: given } = JSON.parse(await invoke(mcp, 't__talk', { who: 'rest' })) as { answers: unknown[] }
  assert.ok(given.length >= 2 && given.every((code) => code === -32601), JSON.stringify(given))
})

test('callers of a shared server over HTTP share one session, and a lost one is opened again', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', {}, { session_mode: 'shared' })
  const sessions = [await mcp.initialize(), await mcp.initialize()]
  const callAll = async () => {
    for (const session of sessions)
      assert.equal((await mcp.legacy('tools/call', { name: 'one__echo' }, session)).status, 200)
    assert.equal((await mcp.modern('tools/call', { name: 'one__echo' })).status, 200)
    await invoke(mcp, 'one__echo')
  }
  // the gateway may open sessions for itself too, to read lists
  const sessionsOfCalls = () => {
    const called = recorder.requests.filter(({ message }) => message?.method === 'tools/call')
    return new Set(called.map(({ headers }) => headers['mcp-session-id']))
  }
  await callAll()
  assert.equal(sessionsOfCalls().size, 1)
  recorder.dropSessions()
  await callAll()
  assert.equal(sessionsOfCalls().size, 2)
})

test('callers of a shared server over SSE share one stream', async (t) => {
  const mcp = await startMcp(t)
  const sse = await startSse(t)
  await register(mcp.app, { name: 'old', transport: 'sse', url: sse.url, session_mode: 'shared' })
  for (let i = 0; i < 3; i++) {
    const session = await mcp.initialize()
    assert.equal((await mcp.legacy('tools/call', { name: 'old__echo', arguments: { i } }, session)).status, 200)
  }
  await invoke(mcp, 'old__echo')
  // the gateway may open streams for itself too, to read lists
  const called = sse.requests.filter(({ message }) => message?.method === 'tools/call')
  assert.deepEqual([called.length, new Set(called.map(({ path }) => path)).size], [4, 1])
})

test('a record, the call log and a changed registration show the shared mode', async (t) => {
  const mcp = await startMcp(t)
  await registerTalkative(t, mcp, 'shared')
  await invoke(mcp, 't__talk', { who: 'a' })
  const server = await mcp.app.inject('/api/v0/servers/t')
  assert.equal(server.json<{ session_mode: string }>().session_mode, 'shared')
  await until('the call is logged', async () => {
    const { calls } = (await mcp.app.inject('/api/v0/calls')).json<{ calls: { session_mode?: string }[] }>()
    return calls.length === 1 && calls[0]!.session_mode === 'shared'
  })
})
