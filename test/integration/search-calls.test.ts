import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startScripted } from '../fixtures/http/scripted.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { rest } from './definition-helpers.ts'
import {
  legacyBody,
  META,
  modernBody,
  modernHeaders,
  openSession,
  openStream,
  readAnswer,
  startMcp,
  type Answer,
  type RpcAnswer
} from './mcp-helpers.ts'
import { received, startViews } from './view-helpers.ts'

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const capabilities = { elicitation: { form: {} } }
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } }
const accepted = { action: 'accept', content: {} }

/** Members of the params that call the tool `one__script` directly, or through search. */
const targets = {
  direct: { name: 'one__script', arguments: { a: 1 } },
  search: { name: 'call_tool', arguments: { name: 'one__script', arguments: { a: 1 } } }
}

async function startSearch(t: TestContext) {
  const mcp = await startMcp(t)
  const scripted = await startScripted(null)
  addCleanup(t, scripted.close)
  const server = { name: 'one', transport: 'streamable_http', url: scripted.url }
  assert.equal((await rest(mcp.app, 'POST', '/servers', server)).status, 201)
  const group = { name: 'g', included_servers: ['one'], tool_list: 'search' }
  assert.equal((await rest(mcp.app, 'POST', '/tool-groups', group)).status, 201)
  const url = `${new URL(mcp.url).origin}/v0/groups/g/mcp`
  const next = async () => {
    const count = scripted.calls.length
    await until('the upstream is called', () => scripted.calls.length > count)
    return scripted.calls.at(-1)!
  }
  const post = async (body: string, headers: Record<string, string> = {}): Promise<Answer> =>
    readAnswer(await fetch(url, { method: 'POST', headers: { ...json, ...headers }, body }))
  return { scripted, url, next, post }
}

type Search = Awaited<ReturnType<typeof startSearch>>

const tokenOf = (message: { params?: Record<string, unknown> }) =>
  (message.params!['_meta'] as { progressToken: unknown }).progressToken

/** Returns what is the same for every call: messages without ids that the gateway makes. */
const comparable = (messages: readonly RpcAnswer[]) =>
  messages.map((message) => ('method' in message && 'id' in message ? { ...message, id: 'made' } : message))

/** Makes a call of a legacy session that is asked something and told about progress. */
async function legacyCall(t: TestContext, { scripted, url, next, post }: Search, target: object) {
  const session = await openSession((params) => post(legacyBody('initialize', params)), '2025-11-25', capabilities)
  const params = { ...target, _meta: { progressToken: 'p' } }
  const calling = next()
  const streaming = openStream(t, url, {
    method: 'POST',
    headers: { ...json, ...session },
    body: legacyBody('tools/call', params)
  })
  const call = await calling
  call.send({ method: 'notifications/progress', params: { progressToken: tokenOf(call.message), progress: 1 } })
  call.send({ id: 'q', method: 'elicitation/create', params: form })
  const stream = await streaming
  const asked = () =>
    stream.messages.find((message) => (message as { method?: string }).method === 'elicitation/create')
  await until('the client is asked', () => asked() !== undefined)
  const answer = JSON.stringify({ jsonrpc: '2.0', id: asked()!.id, result: accepted })
  assert.equal((await post(answer, session)).status, 202)
  const count = scripted.requests.length
  await until('the answer goes up', () => scripted.answered('q') !== undefined || scripted.requests.length > count)
  call.finish('done')
  await until('the call is answered', () => stream.messages.at(-1)?.result?.content !== undefined)
  return {
    sent: { ...call.message, id: 0, params: { ...call.message.params, _meta: {} } },
    got: comparable(stream.messages)
  }
}

/** Makes a modern call that is asked something and told about progress. */
async function modernCall({ scripted, next, post }: Search, target: { name: string }) {
  const meta = { progressToken: 'p', [`${META}clientCapabilities`]: capabilities }
  const ask = (more: object) =>
    post(modernBody('tools/call', { ...target, ...more, _meta: meta }), modernHeaders('tools/call', target.name))
  const calling = next()
  const asking = ask({})
  const call = await calling
  call.send({ id: 'm', method: 'elicitation/create', params: form })
  const { result } = (await asking).body
  assert.equal(result.resultType, 'input_required')
  const state = result.requestState as string
  const forged = await ask({ ...{ requestState: `${state}x` }, inputResponses: {} })
  assert.deepEqual(forged.body.error?.data, { reason: 'invalid_request_state' })
  const retry = ask({ requestState: state, inputResponses: { 'input-1': accepted } })
  await until('the answer goes up', () => scripted.answered('m') !== undefined)
  call.send({ method: 'notifications/progress', params: { progressToken: tokenOf(call.message), progress: 1 } })
  call.finish('done')
  const answer = await retry
  return {
    sent: { ...call.message, id: 0, params: { ...call.message.params, _meta: {} } },
    got: [{ ...result, requestState: '' }, ...answer.events]
  }
}

test('SM-05 questions and progress reach the caller of call_tool as in a direct call, in both eras', async (t) => {
  const legacy = await startSearch(t)
  const direct = await legacyCall(t, legacy, targets.direct)
  assert.equal(direct.got.length, 3)
  const other = await startSearch(t)
  assert.deepEqual(await legacyCall(t, other, targets.search), direct)
  const modern = await modernCall(await startSearch(t), targets.direct)
  assert.deepEqual(await modernCall(await startSearch(t), targets.search), modern)
  assert.ok(modern.got.length >= 3)
})

test('SM-05 a call through call_tool is cancelled as a direct one, in both eras', async (t) => {
  const search = await startSearch(t)
  const { scripted, url, next, post } = search
  const cancels = () => scripted.sent('notifications/cancelled').length
  const session = await openSession((params) => post(legacyBody('initialize', params)), '2025-11-25')
  const calling = next()
  void post(legacyBody('tools/call', targets.search, 12), session).catch(() => undefined)
  await calling
  await post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 12 } }), session)
  await until('the upstream is told', () => cancels() === 1)
  const stop = new AbortController()
  const again = next()
  const headers = { ...json, ...modernHeaders('tools/call', 'call_tool') }
  fetch(url, { method: 'POST', headers, body: modernBody('tools/call', targets.search), signal: stop.signal }).catch(
    () => undefined
  )
  await again
  stop.abort()
  await until('the upstream is told', () => cancels() === 2)
})

test('SM-05 a header parameter goes up with a call through call_tool, whose client knows nothing of it', async (t) => {
  const tool = {
    name: 'where',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, n: { type: 'integer' } }
    }
  }
  for (const modern of [false, true]) {
    const gateway = await startViews(t, { modern, tools: [tool] })
    assert.equal((await gateway.group({ tool_list: 'search' })).status, 201)
    for (const way of ['session', 'sse', 'modern'] as const) {
      const ask = await gateway.way(way, 'g')
      const args = { region: 'eu', n: 2 }
      const answer = await ask('tools/call', { name: 'call_tool', arguments: { name: 'demo__where', arguments: args } })
      assert.deepEqual(received(answer), args)
      const request = gateway.demo.requests.findLast(({ message }) => message?.method === 'tools/call')!
      assert.equal(
        request.headers['mcp-param-region'],
        modern && way === 'modern' ? 'eu' : undefined,
        `${way} ${modern}`
      )
    }
  }
})
