import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { register } from '../app.ts'
import { startScripted, type Scripted } from '../fixtures/http/scripted.ts'
import type { RecorderOptions } from '../fixtures/http/recorder.ts'
import { later } from '../store.ts'
import { META, startMcp, until, type Answer, type Mcp } from './mcp-helpers.ts'

/** Registers a legacy upstream whose tool `script` does what the test says. */
async function addScripted(
  t: TestContext,
  { app }: Mcp,
  name = 'one',
  options: RecorderOptions = {}
): Promise<Scripted> {
  const scripted = await startScripted(null, options)
  later(t, scripted.close)
  await register(app, { name, transport: 'streamable_http', url: scripted.url })
  return scripted
}

const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }
const able = { [`${META}clientCapabilities`]: capabilities }

/** A modern call of `script`. `more`: members of params. */
const call = (mcp: Mcp, more: object = {}, meta: object = {}) =>
  mcp.modern('tools/call', { name: 'one__script', _meta: { ...able, ...meta }, ...more })

const text = ({ body }: Answer): string => body.result.content[0].text

test('a state that nobody signed is refused where the upstream could not have given it', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  for (const requestState of ['forged', '', null, 7]) {
    const answer = await call(mcp, { requestState, inputResponses: {} })
    const { code, data } = answer.body.error!
    assert.deepEqual([answer.status, code, data], [200, -32602, { reason: 'invalid_request_state' }])
  }
  assert.equal(scripted.calls.length, 0)
  const read = await mcp.modern('resources/read', { uri: 'fixture://note', requestState: 'forged' })
  assert.equal(read.body.error?.code, -32602)
})

test('pages that a legacy upstream requires are asked for; where it names none its error is an error', async (t) => {
  const mcp = await startMcp(t)
  const scripted = await addScripted(t, mcp)
  const page = { mode: 'url', elicitationId: 'e1', url: 'https://example.com/', message: 'Visit' }
  const required = async (elicitations: unknown) => {
    const before = scripted.calls.length
    const answering = call(mcp)
    await until('the upstream is called', () => scripted.calls.length > before)
    scripted.calls.at(-1)!.fail({ code: -32042, message: 'Visit first', data: { elicitations } })
    return answering
  }
  const asked = (await required([page])).body.result
  assert.deepEqual([asked.resultType, asked.inputRequests['input-1'].params.url], ['input_required', page.url])
  for (const none of [[], undefined, ['x']]) {
    const { status, body } = await required(none)
    assert.deepEqual([status, body.error?.code, body.error?.message], [200, -32603, 'Visit first'])
  }
  assert.equal(text(await finished(mcp, scripted)), 'done')
})

/** A call that is simply answered. */
async function finished(mcp: Mcp, scripted: Scripted): Promise<Answer> {
  const before = scripted.calls.length
  const answering = call(mcp)
  await until('the upstream is called', () => scripted.calls.length > before)
  scripted.calls.at(-1)!.finish('done')
  return answering
}
