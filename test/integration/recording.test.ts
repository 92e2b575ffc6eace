import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { CallEntry } from '../../src/schemas/call.ts'
import { freshConfig, openApp, register, stdioServer } from '../app.ts'
import { addCleanup, engines, tempDir } from '../store.ts'
import { until } from '../until.ts'
import { addRecorder, startMcp } from './mcp-helpers.ts'

const off = { TOWPATH_CALL_LOG_CONTENTS: 'off' }

async function start(t: TestContext) {
  const mcp = await startMcp(t, off)
  await addRecorder(t, mcp, 'alpha')
  await addRecorder(t, mcp, 'beta')
  return mcp.app
}

const change = async (app: FastifyInstance, method: 'PUT' | 'DELETE', server: string, payload?: object) => {
  const url = `/api/v0/servers/${server}/recording`
  const answer = await app.inject({ method, url, ...(payload ? { payload } : {}) })
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  return { status: answer.statusCode, body: answer.json() as any }
}
const invoke = (app: FastifyInstance, payload: object) =>
  app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload })

/** Calls a tool and returns its complete row in the call log. */
async function rowOf(app: FastifyInstance, payload: { name: string; text?: string }): Promise<CallEntry> {
  const before = await newest(app)
  await invoke(app, payload)
  const id = await until('the call is stored', async () => {
    const found = await newest(app)
    return found !== before && found
  })
  return (await app.inject(`/api/v0/calls/${id}`)).json()
}
const newest = async (app: FastifyInstance) =>
  (await app.inject('/api/v0/calls?limit=1')).json<{ calls: CallEntry[] }>().calls[0]?.id

test('contents of the calls of one server are recorded for a time, and only of that server', async (t) => {
  const app = await start(t)
  assert.equal((await rowOf(app, { name: 'alpha__echo', text: 'before' })).arguments, undefined)
  const { status, body } = await change(app, 'PUT', 'alpha', {})
  assert.equal(status, 200)
  const minutes = (Date.parse(body.recorded_until) - Date.now()) / 60_000
  assert.ok(minutes > 50 && minutes <= 60, `${minutes}`)
  const row = await rowOf(app, { name: 'alpha__echo', text: 'during' })
  assert.deepEqual([row.arguments, row.result?.includes('during')], ['{"text":"during"}', true])
  assert.equal((await rowOf(app, { name: 'beta__echo', text: 'other' })).arguments, undefined)

  const stopped = await change(app, 'DELETE', 'alpha')
  assert.deepEqual([stopped.status, stopped.body.recorded_until], [200, undefined])
  assert.equal((await rowOf(app, { name: 'alpha__echo', text: 'after' })).arguments, undefined)
  const { entries } = (await app.inject('/api/v0/audit')).json<{ entries: { action: string; target: string }[] }>()
  const rows = entries.filter(({ action }) => action.startsWith('server.record'))
  assert.deepEqual(
    rows.map(({ action, target }) => [action, target]),
    [
      ['server.record_end', 'alpha'],
      ['server.record', 'alpha']
    ]
  )
})

test('a recording ends by itself', async (t) => {
  const app = await start(t)
  const actor = { kind: 'system', name: 'towpath' } as const
  await app.registry.write({ actor, action: 'server.record', target: 'alpha' }, (tx) =>
    tx.servers.setRecording('alpha', 0.0001)
  )
  const isOver = async () => (await app.inject('/api/v0/servers/alpha')).json().recorded_until === undefined
  await until('the recording ends', isOver)
  assert.equal((await rowOf(app, { name: 'alpha__echo', text: 'late' })).arguments, undefined)
})

test('a recording needs a server that exists and a number of minutes up to a day', async (t) => {
  const app = await start(t)
  assert.equal((await change(app, 'PUT', 'nope', {})).status, 404)
  for (const minutes of [0, 1_441, 1.5]) assert.equal((await change(app, 'PUT', 'alpha', { minutes })).status, 400)
  assert.equal((await change(app, 'PUT', 'alpha', { seconds: 1 })).status, 400)
})

test('what a tool says about its own failure is kept without recording, shortened', async (t) => {
  const app = await start(t)
  const row = await rowOf(app, { name: 'alpha__fail' })
  assert.equal(row.outcome, 'tool_error')
  assert.ok(row.error && row.error.length <= 301, row.error)
  assert.equal(row.result, undefined)
})

test('a token that a tool quotes in its own failure, or a server in an error, is not in the call log', async (t) => {
  const app = await start(t)
  const script = `
    import { serve } from ${JSON.stringify(new URL('../fixtures/stdio/rpc.mjs', import.meta.url).href)}
    const text = 'cannot push to https://bot:' + 'SENT-1@host with ' + 'ghp' + '_SENT2' + 'a'.repeat(36)
    const failing = () => ({ content: [{ type: 'text', text }], isError: true })
    const refusing = () => { throw new Error(text) }
    serve({ name: 'leaky', tools: [{ name: 'fail', run: failing }, { name: 'refuse', run: refusing }] })`
  const file = join(await tempDir(t), 'leaky.mjs')
  await writeFile(file, script)
  await register(app, { name: 'leaky', transport: 'stdio', command: process.execPath, args: [file] })
  for (const tool of ['fail', 'refuse']) {
    const row = await rowOf(app, { name: `leaky__${tool}` })
    assert.match(row.error!, /cannot push to https:\/\/\*\*\*@host with \*\*\*/, tool)
    assert.doesNotMatch(JSON.stringify(row), /SENT/)
  }
})

test('a recording ends when the address of the server changes, and goes on if something else does', async (t) => {
  const app = await start(t)
  const put = async (changes: object) => {
    const { url } = (await app.inject('/api/v0/servers/alpha')).json<{ url: string }>()
    const payload = { name: 'alpha', transport: 'streamable_http', url, ...changes }
    const answer = await app.inject({ method: 'PUT', url: '/api/v0/servers/alpha', payload })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json<{ recorded_until?: string; url: string }>()
  }
  await change(app, 'PUT', 'alpha', {})
  const same = await put({ description: 'Changed' })
  assert.equal(typeof same.recorded_until, 'string')
  assert.notEqual((await rowOf(app, { name: 'alpha__echo', text: 'same' })).arguments, undefined)
  const other = await put({ url: `${same.url}?tenant=other` })
  assert.equal(other.recorded_until, undefined)
  assert.equal((await rowOf(app, { name: 'alpha__echo', text: 'other' })).arguments, undefined)
})

const needsReplicas = { skip: !engines.includes('postgres') }
test('a recording is in effect on every replica and after a restart', needsReplicas, async (t) => {
  const config = await freshConfig(t, off, 'postgres')
  const [first, second] = [await openApp(config), await openApp(config)]
  addCleanup(t, () => second.close())
  const server = { name: 'alpha', transport: 'stdio', command: 'node', args: ['test/fixtures/stdio/good.mjs'] }
  const registered = await first.inject({ method: 'POST', url: '/api/v0/servers', payload: server })
  assert.equal(registered.statusCode, 201, registered.body)
  const { body } = await change(first, 'PUT', 'alpha', { minutes: 5 })
  const seen = (app: FastifyInstance) => async () =>
    (await app.inject('/api/v0/servers/alpha')).json().recorded_until === body.recorded_until
  await until('the other replica records', seen(second))
  await first.close()
  const third = await openApp(config)
  addCleanup(t, () => third.close())
  assert.ok(await seen(third)())
})

for (const hours of [-3, 3]) {
  test(`the clock of a replica does not move the end of a recording: ${hours} hours`, needsReplicas, async (t) => {
    const app = await openApp(await freshConfig(t, off, 'postgres'))
    addCleanup(t, () => app.close())
    await register(app, stdioServer('alpha'))
    const shift = hours * 3_600_000
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + shift })
    const { body } = await change(app, 'PUT', 'alpha', { minutes: 60 })
    const left = Date.parse(body.recorded_until) - (Date.now() - shift)
    assert.ok(left > 50 * 60_000 && left < 70 * 60_000, `${left} ms`)
    assert.ok((await rowOf(app, { name: 'alpha__echo', text: 'during' })).arguments)
    const actor = { kind: 'system', name: 'towpath' } as const
    await app.registry.write({ actor, action: 'server.record', target: 'alpha' }, (tx) =>
      tx.servers.setRecording('alpha', 0.0001)
    )
    const isOver = async () => (await app.inject('/api/v0/servers/alpha')).json().recorded_until === undefined
    await until('the recording ends', isOver)
  })
}
