import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { register } from '../app.ts'
import { startTaskServer } from '../fixtures/tasks/server.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import type { CallEntry } from '../../src/schemas/call.ts'
import { modernBody, modernHeaders, openStream, startMcp, withTasks, type Mcp } from './mcp-helpers.ts'

async function setUp(t: TestContext, env: Record<string, string> = {}) {
  const mcp = await startMcp(t, env)
  const server = await startTaskServer(null)
  addCleanup(t, server.close)
  await register(mcp.app, { name: 'slow', transport: 'streamable_http', url: server.url })
  const startJob = async () => {
    const { taskId: handle } = (await mcp.modern('tools/call', { name: 'slow__job', _meta: withTasks })).body.result
    return { handle: handle as string, taskId: [...server.engine.tasks.keys()].at(-1)! }
  }
  return { mcp, server, startJob }
}

const poll = (mcp: Mcp, taskId: string) => mcp.modern('tasks/get', { taskId, _meta: withTasks })

/** Returns the rows of the call log, oldest first, once there are this many. */
async function rowsOf({ app }: Mcp, count: number): Promise<CallEntry[]> {
  const read = async () => (await app.inject('/api/v0/calls')).json<{ calls: CallEntry[] }>().calls.toReversed()
  await until(`${count} calls to be logged`, async () => (await read()).length >= count)
  return read()
}

test('the call log has one row for the beginning of a task and one for its end, with the time between them', async (t) => {
  const { mcp, server, startJob } = await setUp(t)
  const { handle, taskId } = await startJob()
  const since = performance.now()
  await poll(mcp, handle)
  await new Promise((resolve) => setTimeout(resolve, 200))
  server.engine.finish(taskId)
  const atLeast = performance.now() - since
  await Promise.all([poll(mcp, handle), poll(mcp, handle)])
  await poll(mcp, handle)
  await mcp.modern('tools/call', { name: 'slow__greet' })
  const rows = await rowsOf(mcp, 3)
  assert.deepEqual(
    rows.map(({ server, item, outcome }) => [server, item, outcome]),
    [
      ['slow', 'job', 'task'],
      ['slow', 'job', 'ok'],
      ['slow', 'greet', 'ok']
    ]
  )
  const [began, ended] = rows
  assert.ok(ended!.total_ms >= Math.floor(atLeast) - 1, `${ended!.total_ms} of ${atLeast} ms`)
  assert.ok(began!.total_ms < ended!.total_ms)
  assert.deepEqual([ended!.kind, ended!.via, ended!.endpoint], ['tool', 'modern', '/mcp'])
})

test('the end of a task is logged with its outcome', async (t) => {
  const { mcp, server, startJob } = await setUp(t)
  const [failing, wrong, unwanted] = [await startJob(), await startJob(), await startJob()]
  server.engine.finish(failing.taskId, 'no such city', true)
  server.engine.fail(wrong.taskId, 'out of memory')
  await mcp.modern('tasks/cancel', { taskId: unwanted.handle, _meta: withTasks })
  for (const { handle } of [failing, wrong, unwanted]) await poll(mcp, handle)
  const rows = await rowsOf(mcp, 6)
  assert.deepEqual(
    rows.slice(3).map(({ outcome, error }) => [outcome, error]),
    [
      ['tool_error', 'no such city'],
      ['failed', 'out of memory'],
      ['cancelled', undefined]
    ]
  )
  const { calls } = (await mcp.app.inject('/api/v0/calls?outcome=task')).json<{ calls: CallEntry[] }>()
  assert.equal(calls.length, 3)
})

test('a task whose end arrives as a notification is logged once', async (t) => {
  const { mcp, server, startJob } = await setUp(t)
  const { handle, taskId } = await startJob()
  const stream = await openStream(t, mcp.url, {
    method: 'POST',
    headers: modernHeaders('subscriptions/listen'),
    body: modernBody('subscriptions/listen', { notifications: { taskIds: [handle] }, _meta: withTasks })
  })
  await until('the acknowledgement', () => stream.messages.length > 0)
  server.engine.finish(taskId)
  await until('the notification', () => stream.messages.length > 1)
  await poll(mcp, handle)
  await mcp.modern('tools/call', { name: 'slow__greet' })
  const rows = await rowsOf(mcp, 3)
  assert.deepEqual(
    rows.map(({ outcome }) => outcome),
    ['task', 'ok', 'ok']
  )
})

test('the metrics count the beginning and the end of a task', async (t) => {
  const { mcp, server, startJob } = await setUp(t, { OTEL_ENABLED: 'on' })
  const { handle, taskId } = await startJob()
  server.engine.finish(taskId)
  await poll(mcp, handle)
  await poll(mcp, handle)
  const { body } = await mcp.app.inject('/metrics')
  const counted = body.split('\n').filter((line) => line.startsWith('towpath_tool_calls_total{'))
  const of = (outcome: string) =>
    counted
      .find((line) => line.includes(`outcome="${outcome}"`))
      ?.split(' ')
      .at(-1)
  assert.deepEqual([of('task'), of('ok')], ['1', '1'], counted.join('\n'))
})
