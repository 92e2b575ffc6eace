import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { CallObservation, Observer } from '../../src/observe/observation.ts'
import { register, startApp } from '../app.ts'
import { startScripted } from '../fixtures/http/scripted.ts'
import { addCleanup } from '../store.ts'
import { addFaulty, addRecorder, META, startMcp, type Mcp } from './mcp-helpers.ts'
import { until } from '../until.ts'

interface WatchedGateway {
  readonly mcp: Mcp
  /** Observations of completed calls. */
  readonly calls: CallObservation[]
  /** Other observations, as text. */
  readonly told: string[]
  /** Waits for `count` calls and returns the newest. */
  readonly nth: (count: number) => Promise<CallObservation>
}

async function watch(t: TestContext, env: Record<string, string> = {}): Promise<WatchedGateway> {
  const calls: CallObservation[] = []
  const told: string[] = []
  const observers: Partial<Observer>[] = [
    { onCall: (done) => void calls.push(done) },
    { onList: (kind) => void told.push(`list ${kind}`) },
    {
      onConnected: (server, transport) => void told.push(`connected ${server} ${transport}`),
      onConnectionFailure: (server, reason) => void told.push(`failed ${server} ${reason}`)
    }
  ]
  const mcp = await startMcp(t, env, { observers })
  const nth = async (count: number) => {
    await until(`${count} calls are told`, () => calls.length >= count)
    assert.equal(calls.length, count)
    return calls.at(-1)!
  }
  return { mcp, calls, told, nth }
}

const invoke = ({ app }: { app: FastifyInstance }, payload: object) =>
  app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload })

const sides = ['rest', 'legacy', 'modern'] as const
type Side = (typeof sides)[number]

/** Makes the same call over MCP or REST. */
const callFrom = (side: Side, mcp: Mcp, name: string, args: object = {}): Promise<unknown> =>
  side === 'rest' ? invoke(mcp, { name, ...args }) : mcp[side]('tools/call', { name, arguments: args })

for (const side of sides) {
  test(`${side}: a call is told once, with who, where, what, how it went and how long it took`, async (t) => {
    const { mcp, nth } = await watch(t)
    await addRecorder(t, mcp, 'alpha')
    const before = Date.now()
    await callFrom(side, mcp, 'alpha__echo', { text: 'hi' })
    const done = await nth(1)
    const { kind, caller, endpoint, server, item, outcome, error } = done
    assert.deepEqual(
      { kind, caller: caller.name, endpoint, server, item, outcome, error },
      {
        kind: 'tool',
        caller: 'development',
        endpoint: side === 'rest' ? '/api/v0' : '/mcp',
        server: 'alpha',
        item: 'echo',
        outcome: 'ok',
        error: undefined
      }
    )
    assert.ok(done.startedAt >= before && done.startedAt <= Date.now())
    assert.ok(done.upstreamMs > 0 && done.upstreamMs <= done.totalMs, `${done.upstreamMs} of ${done.totalMs}`)
    assert.equal(done.params, '"name":"echo","arguments":{"text":"hi"}')
    assert.match(done.result!.toString(), /"content"/)
  })

  test(`${side}: the tool's own error, the upstream's error and a failure below the protocol differ`, async (t) => {
    const { mcp, nth } = await watch(t)
    await addRecorder(t, mcp, 'alpha')
    const faulty = await addFaulty(t, mcp, 'beta')
    await callFrom(side, mcp, 'alpha__fail')
    assert.deepEqual([(await nth(1)).outcome, (await nth(1)).error], ['tool_error', undefined])
    faulty.mode = 'bad_gateway'
    await callFrom(side, mcp, 'beta__echo')
    const failed = await nth(2)
    assert.deepEqual([failed.outcome, failed.server, failed.item], ['failed', 'beta', 'echo'])
    assert.match(failed.error!, /HTTP 502/)
    assert.equal(failed.result, null)
  })

  test(`${side}: what is not there, or disabled, is refused before any server is asked`, async (t) => {
    const { mcp, nth } = await watch(t)
    const alpha = await addRecorder(t, mcp, 'alpha')
    await callFrom(side, mcp, 'alpha__nope')
    const unknown = await nth(1)
    assert.deepEqual([unknown.outcome, unknown.server, unknown.item], ['refused', undefined, 'alpha__nope'])
    await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/disable?entity=alpha__echo' })
    await callFrom(side, mcp, 'alpha__echo')
    const disabled = await nth(2)
    // REST reports that it is disabled; over MCP it does not exist
    assert.deepEqual([disabled.outcome, disabled.server], ['refused', side === 'rest' ? 'alpha' : undefined])
    assert.equal(disabled.upstreamMs, 0)
    assert.equal(alpha.calls('tools/call').length, 0)
  })

  test(`${side}: a call that takes too long is a timeout`, async (t) => {
    const { mcp, nth } = await watch(t, { TOWPATH_CALL_TIMEOUT_MS: '1000' })
    await addRecorder(t, mcp, 'alpha')
    await callFrom(side, mcp, 'alpha__slow', { ms: 60_000 })
    const { outcome, totalMs, upstreamMs } = await nth(1)
    assert.equal(outcome, 'timeout')
    assert.ok(totalMs >= 1_000 && upstreamMs > 100, `${upstreamMs} of ${totalMs}`)
  })
}

test('a caller that leaves, or cancels, ends its call as cancelled', async (t) => {
  const { mcp, nth } = await watch(t)
  const alpha = await addRecorder(t, mcp, 'alpha')
  const leaving = new AbortController()
  const left = fetch(mcp.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"alpha__slow","arguments":{"ms":60000}}}',
    signal: leaving.signal
  })
  await until('the upstream is called', () => alpha.calls('tools/call').length === 1)
  leaving.abort()
  await assert.rejects(left)
  assert.equal((await nth(1)).outcome, 'cancelled')

  const session = await mcp.initialize()
  const cancelled = mcp.legacy('tools/call', { name: 'alpha__slow', arguments: { ms: 60_000 } }, session)
  await until('the upstream is called again', () => alpha.calls('tools/call').length === 2)
  await mcp.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}', session)
  await cancelled
  assert.equal((await nth(2)).outcome, 'cancelled')
})

test('prompts, resources and completions are told as what they are, lists by kind', async (t) => {
  const { mcp, told, nth } = await watch(t)
  await addRecorder(t, mcp, 'alpha')
  await mcp.legacy('prompts/get', { name: 'alpha__nope' })
  assert.deepEqual([(await nth(1)).kind, (await nth(1)).outcome], ['prompt', 'refused'])
  await mcp.legacy('resources/read', { uri: 'nope://x' })
  const read = await nth(2)
  assert.deepEqual([read.kind, read.outcome, read.server, read.item], ['resource', 'failed', 'alpha', 'nope://x'])
  await mcp.legacy('completion/complete', { ref: { type: 'ref/prompt', name: 'nope' }, argument: {} })
  assert.equal((await nth(3)).kind, 'completion')
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
    await mcp.legacy(method)
  const lists = told.filter((line) => line.startsWith('list'))
  assert.deepEqual(lists, ['list tool', 'list prompt', 'list resource', 'list template'])
})

test('connections are told as they are opened, and failures with their reason', async (t) => {
  const { mcp, told } = await watch(t)
  const alpha = await addRecorder(t, mcp, 'alpha')
  await mcp.legacy('tools/call', { name: 'alpha__echo' })
  assert.deepEqual(told, ['connected alpha streamable_http'])
  await alpha.close()
  await mcp.legacy('tools/call', { name: 'alpha__echo' })
  assert.ok(told.slice(1).includes('failed alpha unreachable'), told.join(', '))
})

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } }
const able = { [`${META}clientCapabilities`]: { elicitation: { form: {} } } }

async function parked(t: TestContext) {
  const watched = await watch(t)
  const { mcp } = watched
  const scripted = await startScripted(null)
  addCleanup(t, scripted.close)
  await register(mcp.app, { name: 'one', transport: 'streamable_http', url: scripted.url })
  const call = (more: object = {}) => mcp.modern('tools/call', { name: 'one__script', _meta: able, ...more })
  const begun = performance.now()
  const answering = call()
  await until('the upstream is called', () => scripted.calls.length === 1)
  scripted.calls[0]!.send({ id: 'q', method: 'elicitation/create', params: form })
  const { result } = (await answering).body
  assert.equal(result.resultType, 'input_required')
  assert.equal(watched.calls.length, 0, 'a question is no end')
  return { ...watched, scripted, call, state: result.requestState as string, begun }
}

test('a call that asks its caller is one call, and the time that the caller takes is not part of it', async (t) => {
  const { call, nth, scripted, state, begun } = await parked(t)
  const asked = performance.now()
  await until('some time has gone by', () => performance.now() - asked > 300)
  const answering = call({ requestState: state, inputResponses: { 'input-1': { action: 'accept', content: {} } } })
  await until('the upstream has the answer', () => scripted.answered('q') !== undefined)
  scripted.calls[0]!.finish('done')
  await answering
  const { outcome, totalMs, upstreamMs } = await nth(1)
  assert.equal(outcome, 'ok')
  assert.ok(upstreamMs <= totalMs && totalMs <= performance.now() - begun - 300, `${upstreamMs} of ${totalMs}`)
})

test('a call whose caller does not come back is cancelled', async (t) => {
  const { mcp, nth } = await parked(t)
  mcp.app.gateway.mcp.close()
  const { outcome, server, item } = await nth(1)
  assert.deepEqual([outcome, server, item], ['cancelled', 'one', 'script'])
})

test('the log line of a request that a fault ended names it as its call does', async (t) => {
  const lines: string[] = []
  const broken = () => {
    throw new Error('a fault of ours')
  }
  const app = await startApp(t, { log: { write: (line) => lines.push(line) }, observers: [{ onList: broken }] })
  const ask = (method: string) => ({ jsonrpc: '2.0', id: 1, method })
  const post = (payload: object) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { accept: 'application/json, text/event-stream' },
      payload
    })
  const answer = await post(ask('tools/list'))
  assert.equal(answer.statusCode, 500)
  assert.equal(answer.json().error.message, 'Internal error')
  await post([ask('tools/list')])
  const failed = lines
    .map((line) => JSON.parse(line) as { msg: string; request_id?: string; err?: { message: string } })
    .filter(({ msg }) => msg === 'an MCP request failed')
  assert.deepEqual(
    failed.map(({ err }) => err?.message),
    ['a fault of ours', 'a fault of ours']
  )
  for (const { request_id } of failed) assert.match(request_id!, /^[\w-]{8}-[0-9a-z]+$/)
  assert.notEqual(failed[0]!.request_id, failed[1]!.request_id)
})
