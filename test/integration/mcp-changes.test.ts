import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { addRecorder, openStream, startMcp, type Mcp, type OpenStream } from './mcp-helpers.ts'
import { until } from '../until.ts'

const methods = (stream: OpenStream) => (stream.messages as { method?: string }[]).map(({ method }) => String(method))
const changed = (...lists: string[]) => lists.map((list) => `notifications/${list}/list_changed`)
const post = ({ app }: Mcp, url: string) => app.inject({ method: 'POST', url: `/api/v0${url}` })
const waitForSilence = () => new Promise((resolve) => setTimeout(resolve, 400))

async function listen(t: TestContext, mcp: Mcp): Promise<OpenStream> {
  const session = await mcp.initialize()
  return openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
}

/** Waits for the expected notifications, then asserts that no others arrive. */
async function assertNotified(stream: OpenStream, ...lists: string[]): Promise<void> {
  await until(`${lists.join()} is told of`, () => methods(stream).length >= lists.length)
  await waitForSilence()
  assert.deepEqual(methods(stream).toSorted(), changed(...lists).toSorted())
  stream.messages.length = 0
}

test('an open stream tells of the lists that a registration, a switch or a removal changed, and of no others', async (t) => {
  const mcp = await startMcp(t)
  const stream = await listen(t, mcp)
  await addRecorder(t, mcp, 'one')
  await assertNotified(stream, 'tools', 'prompts', 'resources')
  await post(mcp, '/tools/disable?entity=one__echo')
  await assertNotified(stream, 'tools')
  await post(mcp, '/prompts/disable?entity=one__greet')
  await assertNotified(stream, 'prompts')
  await post(mcp, '/resources/disable?entity=fixture://note')
  await assertNotified(stream, 'resources')
  await post(mcp, '/servers/one/disable')
  await assertNotified(stream, 'tools')
  await post(mcp, '/servers/one/enable')
  await assertNotified(stream, 'tools')
  await mcp.app.inject({ method: 'DELETE', url: '/api/v0/servers/one' })
  await assertNotified(stream, 'tools')
})

test('what changes nothing in the lists is not told of', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const stream = await listen(t, mcp)
  await post(mcp, '/tools/enable?entity=one__echo')
  await post(mcp, '/servers/one/refresh')
  await post(mcp, '/servers/one/enable')
  await waitForSilence()
  assert.deepEqual(methods(stream), [])
})

test('a re-read that finds another tool is told of on the newest stream of each session alone', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const session = await mcp.initialize()
  const open = () => openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
  const [older, newer, other] = [await open(), await open(), await listen(t, mcp)]
  recorder.setExtraTools([{ name: 'extra', inputSchema: { type: 'object' } }])
  await post(mcp, '/servers/one/refresh')
  await assertNotified(newer, 'tools')
  await assertNotified(other, 'tools')
  assert.deepEqual(methods(older), [])
  newer.close()
  await waitForSilence()
  await post(mcp, '/tools/disable?entity=one__extra')
  await assertNotified(older, 'tools')
})

test('a page of a list that has changed meanwhile cannot be followed', async (t) => {
  const mcp = await startMcp(t)
  const extraTools = Array.from({ length: 1_200 }, (_, i) => ({ name: `t${i}`, inputSchema: { type: 'object' } }))
  await addRecorder(t, mcp, 'one', { extraTools })
  const first = (await mcp.legacy('tools/list')).body.result
  assert.equal(first.tools.length, 1_000)
  const second = (await mcp.legacy('tools/list', { cursor: first.nextCursor })).body.result
  assert.deepEqual([second.tools.length, second.nextCursor], [204, undefined])
  const elsewhere = await mcp.legacy('prompts/list', { cursor: first.nextCursor })
  assert.equal(elsewhere.body.error?.code, -32602)
  await post(mcp, '/tools/disable?entity=one__t5')
  const outdated = await mcp.legacy('tools/list', { cursor: first.nextCursor })
  assert.deepEqual(outdated.body.error, { code: -32602, message: 'Invalid cursor' })
})
