import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { register } from '../app.ts'
import { startScripted } from '../fixtures/http/scripted.ts'
import { startTaskServer, type TaskServerOptions } from '../fixtures/tasks/server.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import {
  addRecorder,
  META,
  modernBody,
  modernHeaders,
  openStream,
  startMcp,
  withTasks,
  type Mcp,
  type OpenStream
} from './mcp-helpers.ts'

async function addTaskServer(t: TestContext, { app }: Mcp, name: string, options: TaskServerOptions = {}) {
  const server = await startTaskServer(null, options)
  addCleanup(t, server.close)
  await register(app, { name, transport: 'streamable_http', url: server.url })
  return server
}

const startJob = async (mcp: Mcp, server: string): Promise<string> =>
  (await mcp.modern('tools/call', { name: `${server}__job`, _meta: withTasks })).body.result.taskId

const listen = (t: TestContext, { url }: Mcp, notifications: object, _meta: object = withTasks) =>
  openStream(t, url, {
    method: 'POST',
    headers: modernHeaders('subscriptions/listen'),
    body: modernBody('subscriptions/listen', { notifications, _meta })
  })

/** Returns the filters that the first message of a stream acknowledges. */
async function acknowledged({ messages }: OpenStream): Promise<unknown> {
  await until('the acknowledgement', () => messages.length > 0)
  const { method, params } = messages[0] as unknown as { method: string; params: Record<string, unknown> }
  assert.equal(method, 'notifications/subscriptions/acknowledged')
  return params.notifications
}

interface TaskMessage {
  readonly method: string
  readonly params: { readonly taskId: string; readonly status: string } & Record<string, any>
}
const told = ({ messages }: OpenStream) =>
  (messages as unknown as TaskMessage[]).filter(({ method }) => method === 'notifications/tasks')

test('changes of tasks of several servers arrive on one stream under the handles of the caller', async (t) => {
  const mcp = await startMcp(t)
  const [one, two] = [await addTaskServer(t, mcp, 'one'), await addTaskServer(t, mcp, 'two')]
  const handles = [await startJob(mcp, 'one'), await startJob(mcp, 'two'), await startJob(mcp, 'one')]
  const [first, third] = [...one.engine.tasks.keys()]
  const [second] = [...two.engine.tasks.keys()]
  const stream = await listen(t, mcp, { taskIds: [...handles, 'nonsense', handles[0]], toolsListChanged: true })
  assert.deepEqual(await acknowledged(stream), { toolsListChanged: true, taskIds: handles })
  assert.deepEqual(one.received('subscriptions/listen').at(-1)!.params!.notifications, { taskIds: [first, third] })

  one.engine.ask(first!, { name: 'Who?' })
  await until('the question', () => told(stream).length === 1)
  two.engine.finish(second!, 'two is done')
  await until('the result', () => told(stream).length === 2)
  one.engine.fail(third!, 'broken')
  await until('the failure', () => told(stream).length === 3)

  const [question, result, failure] = told(stream).map(({ params }) => params)
  assert.deepEqual([question!.taskId, question!.inputRequests.name.params.message], [handles[0], '[one] Who?'])
  assert.deepEqual([result!.taskId, result!.result.content[0].text], [handles[1], 'two is done'])
  assert.deepEqual([failure!.taskId, failure!.status, failure!.error.message], [handles[2], 'failed', 'broken'])
  for (const { _meta } of [question!, result!, failure!]) assert.deepEqual(_meta, { [`${META}subscriptionId`]: 7 })
})

test('a client that does not declare tasks cannot listen to them, and one that names none needs not', async (t) => {
  const mcp = await startMcp(t)
  await addTaskServer(t, mcp, 'one')
  const handle = await startJob(mcp, 'one')
  const refused = await mcp.modern('subscriptions/listen', { notifications: { taskIds: [handle] } })
  assert.deepEqual([refused.status, refused.body.error?.code], [400, -32021])
  assert.deepEqual(refused.body.error!.data, { requiredCapabilities: { extensions: { [`${META}tasks`]: {} } } })
  const stream = await listen(t, mcp, { toolsListChanged: true }, {})
  assert.deepEqual(await acknowledged(stream), { toolsListChanged: true })
})

test('tasks that no server reports are not acknowledged', async (t) => {
  const mcp = await startMcp(t)
  const server = await addTaskServer(t, mcp, 'one')
  const handle = await startJob(mcp, 'one')
  server.engine.tasks.clear()
  assert.deepEqual(await acknowledged(await listen(t, mcp, { taskIds: [handle] })), {})
  assert.deepEqual(await acknowledged(await listen(t, mcp, { taskIds: ['nonsense', 5, null] })), {})
  await until('the stream at the server to end', () => server.openStreams() === 0)
})

test('the stream at the server ends with that of the client, and with the server', async (t) => {
  const mcp = await startMcp(t)
  const server = await addTaskServer(t, mcp, 'one')
  const handle = await startJob(mcp, 'one')
  const stream = await listen(t, mcp, { taskIds: [handle] })
  assert.deepEqual(await acknowledged(stream), { taskIds: [handle] })
  assert.equal(server.openStreams(), 1)
  stream.close()
  await until('the stream at the server to end', () => server.openStreams() === 0)

  const other = await listen(t, mcp, { taskIds: [handle] })
  assert.deepEqual(await acknowledged(other), { taskIds: [handle] })
  assert.equal(server.openStreams(), 1)
  await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/one/disable' })
  await until('the stream at the server to end', () => server.openStreams() === 0)
  assert.equal(other.hasEnded(), false)
})

test('a stream that the server ends is opened again', async (t) => {
  const mcp = await startMcp(t)
  const server = await addTaskServer(t, mcp, 'one')
  const handle = await startJob(mcp, 'one')
  const [own] = [...server.engine.tasks.keys()]
  const stream = await listen(t, mcp, { taskIds: [handle] })
  assert.deepEqual(await acknowledged(stream), { taskIds: [handle] })
  server.endStreams()
  await until('the stream to end', () => server.openStreams() === 0)
  await until('the stream to be opened again', () => server.openStreams() === 1)
  server.engine.finish(own!)
  await until('the end of the task', () => told(stream).length === 1)
})

test('a server can tell a client only about the tasks that it listens to, and nothing malformed arrives', async (t) => {
  const mcp = await startMcp(t)
  const server = await addTaskServer(t, mcp, 'one')
  const [handle] = [await startJob(mcp, 'one'), await startJob(mcp, 'one')]
  const [own, other] = [...server.engine.tasks.keys()]
  const stream = await listen(t, mcp, { taskIds: [handle] })
  await acknowledged(stream)
  const state = { status: 'working', createdAt: 'x', lastUpdatedAt: 'x', ttlMs: null }
  for (const taskId of [other, handle, 5, null, { a: own }, '']) server.announce({ ...state, taskId })
  server.announce({ ...state })
  server.announce({ ...state, taskId: own, inputRequests: Array.from({ length: 5 }, () => ({})) })
  const many = Array.from({ length: 200 }, (_, i) => [`k${i}`, { method: 'elicitation/create', params: {} }])
  server.announce({ ...state, taskId: own, inputRequests: Object.fromEntries(many) })
  server.announce({ ...state, taskId: own, statusMessage: 'last' })
  await until('the last one', () => told(stream).some(({ params }) => params.statusMessage === 'last'))
  assert.ok(told(stream).every(({ params }) => params.taskId === handle))
  assert.equal(stream.hasEnded(), false)
})

test('notifications of tasks on the stream of a call do not reach the client', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await startScripted(null, { modern: true, legacy: 'none' })
  addCleanup(t, scripted.close)
  await register(mcp.app, { name: 'scripted', transport: 'streamable_http', url: scripted.url })
  const answer = mcp.modern('tools/call', { name: 'scripted__script', _meta: withTasks })
  await until('the call', () => scripted.calls.length === 1)
  scripted.calls[0]!.send({ method: 'notifications/tasks', params: { taskId: 'x', status: 'working' } })
  scripted.calls[0]!.send({ method: 'notifications/x-custom', params: {} })
  scripted.calls[0]!.finish('done')
  assert.deepEqual(
    (await answer).events.map((event) => (event as { method?: string }).method),
    ['notifications/x-custom', undefined]
  )
})

test('the end of a task arrives however many notifications the server sends in a second', async (t) => {
  const mcp = await startMcp(t)
  const server = await addTaskServer(t, mcp, 'one')
  const handles: string[] = []
  for (let i = 0; i < 3; i++) handles.push(await startJob(mcp, 'one'))
  const [first, second, third] = [...server.engine.tasks.values()]
  const stream = await listen(t, mcp, { taskIds: handles })
  await acknowledged(stream)
  for (let i = 0; i < 300; i++) server.announce({ ...first, taskId: 'of somebody else' })
  for (let i = 0; i < 300; i++) server.announce({ ...first, statusMessage: String(i) })
  server.engine.ask(second!.taskId, { name: 'Who?' })
  server.engine.finish(third!.taskId)
  const has = (check: (params: TaskMessage['params']) => boolean) => () =>
    told(stream).some(({ params }) => check(params))
  await until(
    'the end',
    has(({ taskId, status }) => taskId === handles[2] && status === 'completed')
  )
  await until(
    'the question',
    has(({ taskId, status }) => taskId === handles[1] && status === 'input_required')
  )
  await until(
    'the newest state',
    has(({ taskId, statusMessage }) => taskId === handles[0] && statusMessage === '299')
  )
  assert.ok(told(stream).length < 300, String(told(stream).length))
})

test('links in the result of a task that was notified lead to its server', async (t) => {
  const mcp = await startMcp(t)
  const server = await addTaskServer(t, mcp, 'one')
  await addRecorder(t, mcp, 'other', { modern: true })
  const handle = await startJob(mcp, 'one')
  const [taskId] = [...server.engine.tasks.keys()]
  const stream = await listen(t, mcp, { taskIds: [handle] })
  await acknowledged(stream)
  const content = [{ type: 'resource_link', uri: 'made://up', name: 'up' }]
  server.announce({ ...server.engine.tasks.get(taskId!), status: 'completed', result: { content } })
  await until('the result', () => told(stream).length === 1)
  const before = server.received('resources/read').length
  await mcp.modern('resources/read', { uri: 'made://up' })
  assert.equal(server.received('resources/read').length, before + 1)
})
