import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { register } from '../app.ts'
import { TASKS_EXTENSION, type Reply } from '../fixtures/tasks/engine.ts'
import { startTaskServer, type TaskServerOptions } from '../fixtures/tasks/server.ts'
import { addCleanup } from '../store.ts'
import {
  META,
  modernBody,
  modernHeaders,
  readAnswer,
  startMcp,
  withTasks,
  type Answer,
  type Mcp
} from './mcp-helpers.ts'

async function setUp(t: TestContext, options: TaskServerOptions = {}, env: Record<string, string> = {}) {
  const mcp = await startMcp(t, env)
  const server = await startTaskServer(null, options)
  addCleanup(t, server.close)
  await register(mcp.app, { name: 'slow', transport: 'streamable_http', url: server.url })
  return { mcp, server }
}

const change = async ({ app }: Mcp, method: 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) => {
  const answer = await app.inject(payload ? { method, url, payload } : { method, url })
  assert.ok(answer.statusCode < 300, answer.body)
}

/** Sends a modern request to an endpoint. */
async function at({ url }: Mcp, path: string, method: string, params: { name?: string; taskId?: string }) {
  const headers = modernHeaders(method, params.name ?? params.taskId)
  const body = modernBody(method, { ...params, _meta: withTasks })
  return readAnswer(await fetch(new URL(path, url), { method: 'POST', headers, body }))
}

const start = (mcp: Mcp, path = '/mcp', name = 'slow__job') => at(mcp, path, 'tools/call', { name })
const get = (mcp: Mcp, taskId: string, path = '/mcp') => at(mcp, path, 'tasks/get', { taskId })
const summary = ({ status, body }: Answer) => [status, body.error?.code, body.error?.message, body.error?.data]
const notFound = [200, -32602, 'Task not found', undefined]

test('every handle that is not valid here gets the same answer, and the server hears nothing', async (t) => {
  const { mcp, server } = await setUp(t)
  await change(mcp, 'POST', '/api/v0/tool-groups', { name: 'one', included_servers: ['slow'] })
  await change(mcp, 'POST', '/api/v0/tool-groups', { name: 'two', included_servers: ['slow'] })
  const handle: string = (await start(mcp)).body.result.taskId
  const ofGroup: string = (await start(mcp, '/v0/groups/one/mcp')).body.result.taskId
  const [own] = server.engine.tasks.keys()
  assert.equal((await get(mcp, ofGroup, '/v0/groups/one/mcp')).body.result.status, 'working')
  const before = server.taskRequests()
  const elsewhere = [
    await get(mcp, ofGroup),
    await get(mcp, ofGroup, '/v0/groups/two/mcp'),
    await get(mcp, handle, '/v0/groups/one/mcp')
  ]
  const wrong = [
    own!,
    't1.',
    't1.AAAA',
    `${handle}A`,
    handle.slice(0, -1),
    handle.replace('t1', 't2'),
    'x'.repeat(5_000)
  ]
  for (const taskId of wrong) elsewhere.push(await get(mcp, taskId))
  for (const method of ['tasks/update', 'tasks/cancel'])
    elsewhere.push(await at(mcp, '/mcp', method, { taskId: ofGroup }))
  for (const answer of elsewhere) assert.deepEqual(summary(answer), notFound)
  assert.equal(server.taskRequests(), before)
})

test('a handle of another gateway is not found', async (t) => {
  const { mcp, server } = await setUp(t)
  const other = await startMcp(t)
  await register(other.app, { name: 'slow', transport: 'streamable_http', url: server.url })
  const handle: string = (await start(mcp)).body.result.taskId
  assert.deepEqual(summary(await get(other, handle)), notFound)
})

test('EX-08 a task is not found while its server is disabled, and for good after the server was removed', async (t) => {
  const { mcp, server } = await setUp(t)
  const handle: string = (await start(mcp)).body.result.taskId
  await change(mcp, 'POST', '/api/v0/servers/slow/disable')
  assert.deepEqual(summary(await get(mcp, handle)), notFound)
  await change(mcp, 'POST', '/api/v0/servers/slow/enable')
  assert.equal((await get(mcp, handle)).body.result.status, 'working')
  await change(mcp, 'DELETE', '/api/v0/servers/slow')
  assert.deepEqual(summary(await get(mcp, handle)), notFound)
  // another server under the same name is another server
  await register(mcp.app, { name: 'slow', transport: 'streamable_http', url: server.url })
  assert.deepEqual(summary(await get(mcp, handle)), notFound)
})

test('a task is not found while the tool that started it is disabled or outside of the group', async (t) => {
  const { mcp } = await setUp(t)
  const handle: string = (await start(mcp)).body.result.taskId
  await change(mcp, 'POST', '/api/v0/tools/disable?entity=slow__job')
  assert.deepEqual(summary(await get(mcp, handle)), notFound)
  await change(mcp, 'POST', '/api/v0/tools/enable?entity=slow__job')
  assert.equal((await get(mcp, handle)).body.result.status, 'working')

  await change(mcp, 'POST', '/api/v0/tool-groups', { name: 'picked', included_tools: ['slow__job', 'slow__greet'] })
  const path = '/v0/groups/picked/mcp'
  const ofGroup: string = (await start(mcp, path)).body.result.taskId
  assert.equal((await get(mcp, ofGroup, path)).body.result.status, 'working')
  await change(mcp, 'PUT', '/api/v0/tool-groups/picked', { name: 'picked', included_tools: ['slow__greet'] })
  assert.deepEqual(summary(await get(mcp, ofGroup, path)), notFound)
})

/** Answers to a tool call that name no usable task. */
const badTasks: Readonly<Record<string, object>> = {
  'no id': {},
  'a number as id': { taskId: 7 },
  'an empty id': { taskId: '' },
  'an object as id': { taskId: { a: 1 } },
  'null as id': { taskId: null },
  'a megabyte as id': { taskId: 'x'.repeat(1_000_000) },
  'a thousand characters that take more bytes': { taskId: 'ü'.repeat(1_000) }
}

for (const [what, members] of Object.entries(badTasks)) {
  test(`a server that answers with a task with ${what} gets the caller a bad response`, async (t) => {
    const answer = (method: string): Reply | undefined =>
      method === 'tools/call' ? { result: { resultType: 'task', status: 'working', ...members } } : undefined
    const { mcp } = await setUp(t, { answer })
    const { body } = await start(mcp)
    assert.deepEqual([body.error?.code, body.error?.data?.reason], [-32603, 'bad_response'])
  })
}

test('a task that nobody asked for, or in the wrong place, is a bad response', async (t) => {
  const task = { result: { resultType: 'task', taskId: 'a', status: 'working' } }
  const answer = (method: string): Reply | undefined =>
    method === 'tools/call' || method.startsWith('tasks/') ? task : undefined
  const { mcp } = await setUp(t, { answer })
  const undeclared = await mcp.modern('tools/call', { name: 'slow__job' })
  assert.equal(undeclared.body.error?.data?.reason, 'bad_response')
  const legacy = await mcp.legacy('tools/call', { name: 'slow__job' })
  assert.equal(legacy.body.error?.data?.reason, 'bad_response')
  const handle: string = (await start(mcp)).body.result.taskId
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const { body } = await at(mcp, '/mcp', method, { taskId: handle })
    assert.equal(body.error?.data?.reason, 'bad_response', method)
  }
})

test('malformed states of a task do no harm: the caller gets them or a bad response, under its own handle', async (t) => {
  const states: Record<string, unknown>[] = [
    {},
    { status: 7 },
    { status: 'completed' },
    { status: 'completed', result: 'text' },
    { status: 'completed', result: { isError: 'yes', content: 5 } },
    { status: 'failed', error: 'text' },
    { status: 'failed', error: { message: 5 } },
    { status: 'input_required', inputRequests: [] },
    { status: 'input_required', inputRequests: { a: 1, b: { method: 'elicitation/create', params: 5 } } },
    { status: 'working', taskId: 'another', resultType: 'complete' },
    { status: '__proto__', taskId: { a: 1 } }
  ]
  let state: Record<string, unknown> = {}
  const answer = (method: string) => (method === 'tasks/get' ? { result: state } : undefined)
  const { mcp } = await setUp(t, { answer })
  const handle: string = (await start(mcp)).body.result.taskId
  for (state of states) {
    const { status, body, text } = await get(mcp, handle)
    assert.equal(status, 200, text)
    if (body.error) assert.equal(body.error.data?.reason, 'bad_response', text)
    else if ('taskId' in state) assert.equal(body.result.taskId, handle, text)
  }
  state = { status: 'working' }
  assert.equal((await get(mcp, handle)).body.result.status, 'working')
})

test('a large result of a task arrives unchanged', async (t) => {
  const { mcp, server } = await setUp(t)
  const handle: string = (await start(mcp)).body.result.taskId
  const [own] = server.engine.tasks.keys()
  const long = 'ü"\\'.repeat(300_000)
  server.engine.finish(own!, long)
  const { body } = await get(mcp, handle)
  assert.equal(body.result.result.content[0].text, long)
  assert.equal(body.result.taskId, handle)
})

test('a request about a task cannot be disguised for a lenient server', async (t) => {
  const { mcp, server } = await setUp(t)
  const handle: string = (await start(mcp)).body.result.taskId
  const before = server.taskRequests()
  for (const member of ['TaskId', 'taskid', 'taskId\\u0000']) {
    const body = modernBody('tasks/get', { taskId: handle, _meta: withTasks }).replace(
      '"params":{',
      `"params":{"${member}":"other",`
    )
    const answer = await mcp.send(body, modernHeaders('tasks/get', handle))
    assert.equal(answer.body.error?.code, -32600, member)
  }
  const twice = modernBody('tasks/get', { taskId: handle, _meta: withTasks }).replace(
    '"params":{',
    '"params":{"taskId":"other",'
  )
  assert.equal((await mcp.send(twice, modernHeaders('tasks/get', handle))).body.error?.code, -32600)
  assert.equal(server.taskRequests(), before)
})

test('a tool that announces itself as a task only is served if its server has the extension, else left out', async (t) => {
  const tool = { name: 'old', inputSchema: { type: 'object' }, execution: { taskSupport: 'required', other: 1 } }
  const answer = (method: string): Reply | undefined =>
    method === 'tools/list' ? { result: { tools: [tool], resultType: 'complete' } } : undefined
  const { mcp } = await setUp(t, { answer })
  const server = await startTaskServer(null, { answer, declares: false })
  addCleanup(t, server.close)
  await register(mcp.app, { name: 'without', transport: 'streamable_http', url: server.url })
  const { tools } = (await mcp.modern('tools/list')).body.result
  assert.deepEqual(tools, [{ ...tool, name: 'slow__old', execution: { other: 1 } }])
  const { left_out } = (await mcp.app.inject('/api/v0/servers/without')).json<{ left_out: object[] }>()
  const reason = 'it can only be called as an experimental task of 2025-11-25, which the gateway does not support'
  assert.deepEqual(left_out, [{ kind: 'tool', name: 'old', code: 'tasks', reason }])
})

test('tasks are declared to modern servers only, and the experimental ones to none', async (t) => {
  const { mcp, server } = await setUp(t)
  const declared = { elicitation: {}, extensions: { [TASKS_EXTENSION]: {}, 'com.example/x': {} }, tasks: { list: {} } }
  await mcp.modern('tools/call', { name: 'slow__greet', _meta: { [`${META}clientCapabilities`]: declared } })
  const meta = server.received('tools/call').at(-1)!.params!._meta as Record<string, unknown>
  const { tasks: _experimental, ...rest } = declared
  assert.deepEqual(meta[`${META}clientCapabilities`], rest)
})
