import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { register, stdioServer } from '../app.ts'
import { addRecorder, openStream, startMcp } from './mcp-helpers.ts'
import { until } from '../until.ts'
import type { Mcp, OpenStream } from './mcp-helpers.ts'

const methods = ({ messages }: OpenStream) => (messages as { method?: string }[]).map(({ method }) => String(method))
const echo = (description: string) => [{ name: 'extra', description, inputSchema: { type: 'object' } }]
const toolsChanged = 'notifications/tools/list_changed'
const tools = async ({ app }: Mcp) =>
  (await app.inject({ url: '/api/v0/tools' })).json<{ name: string; description?: string }[]>()

const wires = [
  { wire: 'legacy', options: { tells: true } },
  { wire: 'modern', options: { tells: true, modern: true } }
] as const

async function listen(t: TestContext, mcp: Mcp): Promise<OpenStream> {
  const session = await mcp.initialize()
  return openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
}

for (const { wire, options } of wires) {
  test(`LC-14 what an upstream says of its lists is read again and told to clients, over the ${wire} wire`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', options)
    const stream = await listen(t, mcp)
    await until('the gateway watches', () => recorder.streams() === 1)

    recorder.setExtraTools(echo('new'))
    await until('the client is told', () => methods(stream).includes(toolsChanged))
    assert.ok((await tools(mcp)).some(({ name }) => name === 'one__extra'))
    stream.messages.length = 0

    recorder.announce('notifications/prompts/list_changed')
    await until('what differs in nothing is told', () => stream.messages.length > 0)
    assert.deepEqual(methods(stream), ['notifications/prompts/list_changed'])
  })

  test(`a broken watch is taken up again and the lists are read, over the ${wire} wire`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', options)
    await until('the gateway watches', () => recorder.streams() === 1)
    const lists = recorder.calls('tools/list').length
    recorder.dropSessions()
    recorder.endStreams()
    await until('it is gone', () => recorder.streams() === 0)
    await until('it watches again', () => recorder.streams() === 1)
    await until('the lists are read', () => recorder.calls('tools/list').length > lists)
  })

  test(`a server that is disabled or removed is not watched, over the ${wire} wire`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', options)
    const watched = (count: number) => until(`${count} watch`, () => recorder.streams() === count)
    await watched(1)
    await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/one/disable' })
    await watched(0)
    await until('its session is ended', () => recorder.sessions.size === 0)
    await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/one/enable' })
    await watched(1)
    await mcp.app.inject({ method: 'DELETE', url: '/api/v0/servers/one' })
    await watched(0)
    await until('its session is ended', () => recorder.sessions.size === 0)
  })

  test(`nothing of a watch is left at shutdown, over the ${wire} wire`, async (t) => {
    const mcp = await startMcp(t)
    const recorder = await addRecorder(t, mcp, 'one', options)
    await until('the gateway watches', () => recorder.streams() === 1)
    await mcp.app.close()
    await until('the stream is closed', () => recorder.streams() === 0)
    await until('the connections are closed', () => recorder.openConnections() === 0)
    assert.equal(recorder.sessions.size, 0)
  })
}

test('an upstream that declares no changes, or refuses the stream, is left alone', async (t) => {
  const mcp = await startMcp(t)
  const quiet = await addRecorder(t, mcp, 'quiet')
  const refusing = await addRecorder(t, mcp, 'refusing', { tells: true, legacy: 'sessionless' })
  await until('the stream is asked for', () => refusing.requests.some(({ method }) => method === 'GET'))
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  assert.equal(refusing.requests.filter(({ method }) => method === 'GET').length, 1)
  assert.ok(quiet.requests.every(({ method }) => method !== 'GET'))
})

test('a server that announces its lists in every session is not taken for one whose lists change', async (t) => {
  const mcp = await startMcp(t)
  const { name, ...server } = stdioServer('noisy')
  await register(mcp.app, { name, ...server, env: { ANNOUNCES: '1' } })
  const stream = await listen(t, mcp)
  for (let i = 0; i < 3; i++) assert.equal((await mcp.legacy('tools/call', { name: 'noisy__echo' })).status, 200)
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  assert.deepEqual(methods(stream), [])
})
