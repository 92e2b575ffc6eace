import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { register } from '../app.ts'
import { addRecorder, META, startMcp } from './mcp-helpers.ts'
import type { Recorder } from '../fixtures/http/recorder.ts'

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const call = { name: 'one__echo' }
const levels = (recorder: Recorder) => recorder.calls('logging/setLevel').map(({ params }) => params?.level)
const logLevel = (level: string) => ({ _meta: { [`${META}logLevel`]: level } })

test('the level of a session is told to each of its upstream sessions, before the call', async (t) => {
  const mcp = await startMcp(t)
  const fresh = await addRecorder(t, mcp, 'one', { tells: true })
  const kept = await addRecorder(t, mcp, 'kept', { tells: true }, { session_mode: 'stateful' })
  await addRecorder(t, mcp, 'without')
  const session = await mcp.initialize()
  const set = (level: string) => mcp.legacy('logging/setLevel', { level }, session)
  await mcp.legacy('tools/call', call, session)
  assert.deepEqual((await set('warning')).body.result, {})
  for (const name of ['one__echo', 'one__echo', 'kept__echo', 'kept__echo', 'without__echo']) {
    assert.ok((await mcp.legacy('tools/call', { name }, session)).body.result, name)
  }
  assert.deepEqual([levels(fresh), levels(kept)], [['warning', 'warning'], ['warning']])
  await set('debug')
  await mcp.legacy('tools/call', { name: 'kept__echo' }, session)
  assert.deepEqual(levels(kept), ['warning', 'debug'])
})

test('a level stands in the request to a modern upstream, and is set in the session of a legacy one', async (t) => {
  const mcp = await startMcp(t)
  const modern = await addRecorder(t, mcp, 'new', { tells: true, modern: true, legacy: 'none' })
  const legacy = await addRecorder(t, mcp, 'one', { tells: true })
  const sent = () => (modern.calls('tools/call').at(-1)!.params!._meta as Record<string, unknown>)[`${META}logLevel`]
  await mcp.modern('tools/call', { name: 'new__echo', ...logLevel('error') })
  assert.equal(sent(), 'error')
  await mcp.modern('tools/call', { name: 'new__echo', ...logLevel('loud') })
  assert.equal(sent(), undefined)
  await mcp.modern('tools/call', { ...call, ...logLevel('error') })
  await mcp.modern('tools/call', call)
  assert.deepEqual(levels(legacy), ['error'])
  const session = await mcp.initialize()
  await mcp.legacy('logging/setLevel', { level: 'info' }, session)
  await mcp.legacy('tools/call', { name: 'new__echo' }, session)
  assert.equal(sent(), 'info')
})

test('a level needs a session and has to be one', async (t) => {
  const mcp = await startMcp(t)
  const answer = await mcp.legacy('logging/setLevel', { level: 'info' })
  assert.deepEqual([answer.status, answer.body.error?.code], [400, -32000])
  const wrong = await mcp.legacy('logging/setLevel', { level: 'loud' }, await mcp.initialize())
  assert.deepEqual([wrong.status, wrong.body.error?.code], [200, -32602])
})

test('log messages below the level of the caller are dropped, and all of them where it named none', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', { tells: true })
  const heard = async (answer: ReturnType<typeof mcp.modern>) =>
    (await answer).events.flatMap((event) => {
      const { method, params } = event as { method?: string; params?: { level?: string } }
      return method === 'notifications/message' ? [params?.level] : []
    })
  const log = { name: 'one__log' }
  assert.ok(recorder.url)
  assert.deepEqual(await heard(mcp.modern('tools/call', log)), [])
  assert.deepEqual(await heard(mcp.modern('tools/call', { ...log, ...logLevel('warning') })), ['warning', 'error'])
  const session = await mcp.initialize()
  assert.deepEqual(await heard(mcp.legacy('tools/call', log, session)), ['debug', 'warning', 'error'])
  await mcp.legacy('logging/setLevel', { level: 'error' }, session)
  assert.deepEqual(await heard(mcp.legacy('tools/call', log, session)), ['error'])
})

test('logging is declared where a server in scope has it, and a process is told the level', async (t) => {
  const mcp = await startMcp(t)
  const declared = async () =>
    (await mcp.legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {} })).body.result.capabilities
      .logging
  assert.equal(await declared(), undefined)
  const args = [everything, 'stdio']
  await register(mcp.app, { name: 'everything', transport: 'stdio', command: process.execPath, args })
  assert.deepEqual(await declared(), {})
  const session = await mcp.initialize()
  assert.deepEqual((await mcp.legacy('logging/setLevel', { level: 'debug' }, session)).body.result, {})
  const echo = { name: 'everything__echo', arguments: { message: 'hello' } }
  assert.equal((await mcp.legacy('tools/call', echo, session)).body.result.content[0].text, 'Echo: hello')
})
