import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startTaskServer, type TaskServer, type TaskServerOptions } from '../fixtures/tasks/server.ts'
import { register } from '../app.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import {
  addRecorder,
  META,
  modernBody,
  modernHeaders,
  startMcp,
  withTasks,
  type Answer,
  type Mcp
} from './mcp-helpers.ts'

async function addTaskServer(t: TestContext, { app }: Mcp, name = 'slow', options: TaskServerOptions = {}) {
  const server = await startTaskServer(null, options)
  addCleanup(t, server.close)
  await register(app, { name, transport: 'streamable_http', url: server.url })
  return server
}

/** Calls a tool as a client that accepts tasks. */
const start = (mcp: Mcp, name: string, args: object = {}) =>
  mcp.modern('tools/call', { name, arguments: args, _meta: withTasks })

const ask = (mcp: Mcp, method: string, taskId: string, more: object = {}) =>
  mcp.modern(method, { taskId, ...more, _meta: withTasks })

/** Starts the tool `job` and returns the handle and the server's own id of its task. */
async function startJob(mcp: Mcp, { engine }: TaskServer): Promise<{ handle: string; taskId: string }> {
  const known = new Set(engine.tasks.keys())
  const answer = await start(mcp, 'slow__job')
  assert.equal(answer.body.result?.resultType, 'task', answer.text)
  return { handle: answer.body.result.taskId, taskId: [...engine.tasks.keys()].find((id) => !known.has(id))! }
}

/** Asks for a task until it has this status. */
async function statusOf(mcp: Mcp, handle: string, status: string): Promise<Answer> {
  let answer: Answer
  await until(`the task to be ${status}`, async () => {
    answer = await ask(mcp, 'tasks/get', handle)
    return answer.body.result?.status === status
  })
  return answer!
}

const setUp = async (t: TestContext, options: TaskServerOptions = {}) => {
  const mcp = await startMcp(t)
  return { mcp, server: await addTaskServer(t, mcp, 'slow', options) }
}

test('EX-07 a task is started, polled and completed, and its result is that of the server', async (t) => {
  const { mcp, server } = await setUp(t)
  const created = await start(mcp, 'slow__job')
  const [own] = [...server.engine.tasks.values()]
  const { taskId: handle, _meta, ...seed } = created.body.result
  const { taskId: ownId, ...state } = own!
  assert.deepEqual(seed, { resultType: 'task', ...state })
  assert.match(handle, /^t1\./)
  assert.equal(_meta[`${META}serverInfo`].name, 'towpath')
  assert.ok(!created.text.includes(ownId))

  const working = await ask(mcp, 'tasks/get', handle)
  assert.deepEqual([working.status, working.body.result.status, working.body.result.taskId], [200, 'working', handle])
  const sent = server.received('tasks/get').at(-1)!
  assert.equal(sent.params!.taskId, ownId)
  assert.equal(server.headersOf('tasks/get')['mcp-name'], ownId)

  server.engine.finish(ownId, 'the result')
  const done = await ask(mcp, 'tasks/get', handle)
  const { _meta: meta, ...result } = done.body.result
  assert.deepEqual(result, { resultType: 'complete', ...own, taskId: handle })
  assert.equal(done.body.result.result.content[0].text, 'the result')
  assert.equal(meta[`${META}serverInfo`].name, 'towpath')
})

test('EX-07 a caller that does not declare tasks gets a plain result or the error that names the extension', async (t) => {
  const { mcp, server } = await setUp(t)
  const plain = await mcp.modern('tools/call', { name: 'slow__slow_compute', arguments: { seconds: 0 } })
  assert.deepEqual([plain.body.result.resultType, plain.body.result.content[0].text], ['complete', 'computed'])
  const requiredCapabilities = { extensions: { [`${META}tasks`]: {} } }
  const refused = await mcp.modern('tools/call', { name: 'slow__job' })
  assert.deepEqual([refused.status, refused.body.error?.code], [400, -32021])
  assert.deepEqual(refused.body.error!.data, { requiredCapabilities })
  const { handle } = await startJob(mcp, server)
  const before = server.taskRequests()
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    for (const taskId of [handle, 'nonsense']) {
      const answer = await mcp.modern(method, { taskId })
      assert.deepEqual([answer.status, answer.body.error?.code], [400, -32021], method)
      assert.deepEqual(answer.body.error!.data, { requiredCapabilities })
    }
  }
  assert.equal(server.taskRequests(), before)
})

test('a legacy caller has no tasks: it declares none, and the methods do not exist', async (t) => {
  const { mcp } = await setUp(t)
  const session = await mcp.initialize(undefined, { extensions: { [`${META}tasks`]: {} }, tasks: {} })
  const refused = await mcp.legacy('tools/call', { name: 'slow__job' }, session)
  assert.equal(refused.body.error?.code, -32603)
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/list', 'tasks/result']) {
    assert.equal((await mcp.legacy(method, { taskId: 'x' }, session)).body.error?.code, -32601, method)
  }
  const rest = await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name: 'slow__job' } })
  assert.equal(rest.statusCode, 502, rest.body)
})

test('EX-09 a task asks with the name of its server, is answered and completes', async (t) => {
  const { mcp } = await setUp(t)
  await addRecorder(t, mcp, 'other', { modern: true })
  const { taskId: handle } = (await start(mcp, 'slow__multi_input')).body.result
  const asking = await statusOf(mcp, handle, 'input_required')
  const { first, second } = asking.body.result.inputRequests
  assert.deepEqual([first.params.message, second.params.message], ['[slow] Your name?', '[slow] Sure?'])
  const answers = { first: { action: 'accept', content: { name: 'Ann' } } }
  const half = await ask(mcp, 'tasks/update', handle, { inputResponses: answers })
  assert.deepEqual(
    [Object.keys(half.body.result).toSorted(), half.body.result.resultType],
    [['_meta', 'resultType'], 'complete']
  )
  const still = await ask(mcp, 'tasks/get', handle)
  assert.deepEqual(Object.keys(still.body.result.inputRequests), ['second'])
  await ask(mcp, 'tasks/update', handle, { inputResponses: { second: { action: 'decline' } } })
  await statusOf(mcp, handle, 'completed')
})

test('with one server in scope the question is not labelled', async (t) => {
  const { mcp } = await setUp(t)
  const { taskId: handle } = (await start(mcp, 'slow__confirm_delete')).body.result
  const asking = await statusOf(mcp, handle, 'input_required')
  assert.equal(asking.body.result.inputRequests.confirm.params.message, 'Delete it?')
})

test('EX-09 a cancellation is answered at once without the task', async (t) => {
  const { mcp, server } = await setUp(t)
  const { handle } = await startJob(mcp, server)
  const answer = await ask(mcp, 'tasks/cancel', handle)
  assert.deepEqual(Object.keys(answer.body.result).toSorted(), ['_meta', 'resultType'])
  assert.equal((await ask(mcp, 'tasks/get', handle)).body.result.status, 'cancelled')
  assert.equal((await ask(mcp, 'tasks/cancel', handle)).body.result.resultType, 'complete')
})

test('questions before a task use the rounds of the call, and the last round starts the task', async (t) => {
  const { mcp } = await setUp(t)
  const asked = await start(mcp, 'slow__test_tool_with_task')
  assert.equal(asked.body.result.resultType, 'input_required')
  const inputResponses = { user_name: { action: 'accept', content: { name: 'Ann' } } }
  const params = { name: 'slow__test_tool_with_task', arguments: {}, inputResponses, _meta: withTasks }
  const created = await mcp.modern('tools/call', params)
  assert.equal(created.body.result.resultType, 'task')
  const done = await statusOf(mcp, created.body.result.taskId, 'completed')
  assert.equal(done.body.result.result.content[0].text, 'Hello, Ann')
})

test('the header of a request about a task must name the task', async (t) => {
  const { mcp, server } = await setUp(t)
  const { handle } = await startJob(mcp, server)
  const before = server.taskRequests()
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    for (const name of [undefined, 'another', `${handle}A`]) {
      const answer = await mcp.modern(method, { taskId: handle, _meta: withTasks }, { 'mcp-name': name })
      assert.deepEqual([answer.status, answer.body.error?.code], [400, -32020], method)
    }
  }
  assert.equal(server.taskRequests(), before)
})

test('methods that the extension does not have do not exist', async (t) => {
  const { mcp } = await setUp(t)
  for (const method of ['tasks/list', 'tasks/result', 'tasks/delete']) {
    const answer = await mcp.modern(method, { taskId: 'x', _meta: withTasks })
    assert.deepEqual([answer.status, answer.body.error?.code], [404, -32601])
  }
})

test('equal requests for one task at a time share one request to the server, and a disconnect ends no other', async (t) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const { mcp, server } = await setUp(t, { hold: (method) => (method === 'tasks/get' ? held : undefined) })
  const { handle, taskId } = await startJob(mcp, server)
  const other = await startJob(mcp, server)
  const many = Array.from({ length: 20 }, () => ask(mcp, 'tasks/get', handle))
  const leaving = new AbortController()
  const left = fetch(mcp.url, {
    method: 'POST',
    headers: modernHeaders('tasks/get', handle),
    body: modernBody('tasks/get', { taskId: handle, _meta: withTasks }),
    signal: leaving.signal
  })
  const alone = ask(mcp, 'tasks/get', other.handle)
  await until('both requests to arrive', () => server.received('tasks/get').length === 2)
  leaving.abort()
  await assert.rejects(left)
  server.engine.finish(taskId)
  release()
  const answers = await Promise.all(many)
  assert.deepEqual(new Set(answers.map(({ body }) => body.result.status)), new Set(['completed']))
  assert.equal((await alone).body.result.status, 'working')
  assert.equal(server.received('tasks/get').length, 2)
  assert.equal((await ask(mcp, 'tasks/get', handle)).body.result.status, 'completed')
  assert.equal(server.received('tasks/get').length, 3)
})

test('a poll after an update or a cancellation never gets the answer to a poll from before', async (t) => {
  for (const method of ['tasks/update', 'tasks/cancel']) {
    const held = new Map<string, Promise<void>>()
    const { mcp, server } = await setUp(t, { hold: (asked) => held.get(asked) })
    const { handle } = await startJob(mcp, server)
    const hold = (asked: string) => {
      let release = () => {}
      held.set(asked, new Promise<void>((resolve) => (release = resolve)))
      return () => (held.delete(asked), release())
    }
    const arrived = (asked: string, count: number) =>
      until(`request ${count} of ${asked}`, () => server.received(asked).length === count, 20_000)
    const releasePolls = hold('tasks/get')
    const releaseChange = hold(method)
    const polls = [ask(mcp, 'tasks/get', handle)]
    await arrived('tasks/get', 1)
    const change = ask(mcp, method, handle, method === 'tasks/update' ? { inputResponses: {} } : {})
    await arrived(method, 1)
    polls.push(ask(mcp, 'tasks/get', handle))
    await arrived('tasks/get', 2)
    releaseChange()
    assert.deepEqual((await change).body.error, undefined)
    polls.push(ask(mcp, 'tasks/get', handle))
    await arrived('tasks/get', 3)
    releasePolls()
    for (const answer of await Promise.all(polls)) assert.equal(answer.body.result.taskId, handle)
  }
})

test('requests for one task share one request only if the server would get the same members of _meta', async (t) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const { mcp, server } = await setUp(t, { hold: (method) => (method === 'tasks/get' ? held : undefined) })
  const { handle } = await startJob(mcp, server)
  const metas = [
    { 'com.example/view': 'short' },
    { 'com.example/view': 'short', progressToken: 1, traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` },
    { 'com.example/view': 'short', progressToken: 2, tracestate: 'a=b', baggage: 'c=d' },
    { 'com.example/view': 'long' }
  ]
  const poll = (meta: object) => mcp.modern('tasks/get', { taskId: handle, _meta: { ...withTasks, ...meta } })
  const answers: Promise<Answer>[] = []
  answers.push(poll(metas[0]!))
  await until('the first request to arrive', () => server.received('tasks/get').length === 1)
  for (const meta of metas.slice(1)) answers.push(poll(meta))
  await until('the other request to arrive', () => server.received('tasks/get').length >= 2)
  release()
  for (const answer of await Promise.all(answers)) assert.equal(answer.body.result.taskId, handle)
  const views = server
    .received('tasks/get')
    .map(({ params }) => (params!._meta as Record<string, unknown>)['com.example/view'])
  assert.deepEqual(views, ['short', 'long'])
})

test('the tasks extension is declared only where a modern server in scope has it', async (t) => {
  const mcp = await startMcp(t)
  const declared = async () => (await mcp.modern('server/discover')).body.result.capabilities.extensions
  await addTaskServer(t, mcp, 'none', { declares: false })
  assert.equal(await declared(), undefined)
  await addTaskServer(t, mcp, 'slow')
  assert.deepEqual(await declared(), { [`${META}tasks`]: {} })
  const { capabilities } = (
    await mcp.legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} })
  ).body.result
  assert.deepEqual([capabilities.extensions, capabilities.tasks], [undefined, undefined])
  await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/slow/disable' })
  assert.equal(await declared(), undefined)
})

test('a server that cannot be reached is named with the reason', async (t) => {
  const { mcp, server } = await setUp(t)
  const { handle } = await startJob(mcp, server)
  await server.close()
  const answer = await ask(mcp, 'tasks/get', handle)
  assert.deepEqual([answer.status, answer.body.error?.code], [200, -32603])
  const { server: name, reason } = answer.body.error!.data!
  assert.deepEqual([name, reason], ['slow', 'unreachable'])
})

test('links to interfaces in the result of a task name their server, and links to resources lead to it', async (t) => {
  const mcp = await startMcp(t)
  const server = await addTaskServer(t, mcp)
  await addRecorder(t, mcp, 'other', { modern: true })
  const { handle, taskId } = await startJob(mcp, server)
  const content = [
    { type: 'resource_link', uri: 'ui://chart/app.html', name: 'chart' },
    { type: 'resource', resource: { uri: 'ui://other/app.html', text: 'ü' } },
    { type: 'resource_link', uri: 'made://up', name: 'up' }
  ]
  const _meta = { ui: { resourceUri: 'ui://other/app.html' } }
  server.engine.finish(taskId)
  server.engine.tasks.get(taskId)!.result = { content, _meta }
  const { result } = (await ask(mcp, 'tasks/get', handle)).body.result
  assert.deepEqual(result, {
    content: [
      { ...content[0], uri: 'ui://slow/chart/app.html' },
      { type: 'resource', resource: { uri: 'ui://slow/other/app.html', text: 'ü' } },
      content[2]
    ],
    _meta: { ui: { resourceUri: 'ui://slow/other/app.html' } }
  })
  const before = server.received('resources/read').length
  await mcp.modern('resources/read', { uri: 'made://up' })
  assert.equal(server.received('resources/read').length, before + 1)
})
