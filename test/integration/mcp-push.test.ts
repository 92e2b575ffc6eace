import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { register } from '../app.ts'
import { answersOf, connectLegacy, connectModern, type RecordingClient } from '../asked-clients.ts'
import { start, waitUntilReady } from '../conformance/processes.ts'
import { fixtureArgs } from '../fixtures/conformance/bundle.ts'
import { addCleanup } from '../store.ts'
import { startMcp, type Mcp } from './mcp-helpers.ts'
import { until } from '../until.ts'
import { cellsOf } from '../matrix.ts'

const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url)
)

type Kind = 'http' | 'stdio'
type SessionMode = 'stateless' | 'stateful'

/** Registers the conformance fixture. */
async function addFixture(t: TestContext, { app }: Mcp, name: string, kind: Kind, session_mode: SessionMode) {
  const stdio = { transport: 'stdio', command: process.execPath, args: fixtureArgs('stdio') }
  if (kind === 'stdio') return register(app, { name, session_mode, ...stdio })
  const running = start(process.execPath, fixtureArgs('http'))
  addCleanup(t, () => running.stop())
  const url = await waitUntilReady(running, () => /^http:\S+/m.exec(running.output())?.[0])
  return register(app, { name, session_mode, transport: 'streamable_http', url })
}

const text = (result: { content: { text: string }[] }) => result.content[0]!.text

const connect = { legacy: connectLegacy, modern: connectModern }
const eras = ['legacy', 'modern'] as const
const tools = {
  elicitation: 'test_input_required_result_elicitation',
  sampling: 'test_input_required_result_sampling',
  roots: 'test_input_required_result_list_roots'
}

/** Makes the server send each kind of request once; the answers must come from that client. */
async function askEverything(client: RecordingClient, who: string, server: string) {
  const call = async (tool: string) => text(await client.call(`${server}__${tool}`))
  assert.equal(await call(tools.elicitation), `Hello, ${who}!`)
  assert.equal(await call(tools.sampling), `sampled by ${who}`)
  assert.equal(await call(tools.roots), `Roots: ${who}`)
  const methods = client.serverRequests.map(({ method }) => method)
  assert.deepEqual(methods, ['elicitation/create', 'sampling/createMessage', 'roots/list'])
}

for (const [kind, mode] of cellsOf(['http', 'stdio'] as const, ['stateless', 'stateful'] as const)) {
  test(`IS-08 over ${kind}, ${mode}: what a call asks reaches the client that made it and no other`, async (t) => {
    const mcp = await startMcp(t)
    await addFixture(t, mcp, 'fix', kind, mode)
    const clients = await Promise.all(
      eras.flatMap((era) =>
        ['ann', 'bob'].map(async (who) => [who, await connect[era](t, mcp.url, answersOf(who))] as const)
      )
    )
    await Promise.all(clients.map(([who, client]) => askEverything(client, who, 'fix')))
  })
}

test('a client is asked by push tools of an older upstream too, two calls at once', async (t) => {
  const mcp = await startMcp(t)
  await addFixture(t, mcp, 'fix', 'http', 'stateful')
  const ann = await connectLegacy(t, mcp.url, answersOf('ann'))
  const answers = await Promise.all([
    ann.call('fix__test_sampling', { prompt: 'Hi' }),
    ann.call('fix__test_elicitation', { message: 'Who?' })
  ])
  assert.deepEqual(answers.map(text), [
    'LLM response: sampled by ann',
    'User response: action=accept, content={"response":"ann"}'
  ])
})

test('what a client did not declare is not declared for it, in either era', async (t) => {
  const mcp = await startMcp(t)
  await addFixture(t, mcp, 'fix', 'http', 'stateless')
  const { form, roots, sampling } = answersOf('ann')
  for (const era of eras) {
    const plain = await connect[era](t, mcp.url, {})
    assert.equal(text(await plain.call('fix__test_input_required_result_capabilities')), 'Nothing is left to ask', era)
    assert.deepEqual(plain.serverRequests, [])
    const some = await connect[era](t, mcp.url, { form, roots })
    await some.call('fix__test_input_required_result_capabilities')
    const methods = some.serverRequests.map(({ method }) => method)
    assert.deepEqual(methods.toSorted(), ['elicitation/create', 'roots/list'], era)
    const model = await connect[era](t, mcp.url, { sampling })
    await model.call('fix__test_input_required_result_capabilities')
    assert.deepEqual(
      model.serverRequests.map(({ method }) => method),
      ['sampling/createMessage'],
      era
    )
  }
})

test('among several servers an elicitation says whose it is; under bare names it is as it came', async (t) => {
  const mcp = await startMcp(t)
  await addFixture(t, mcp, 'fix', 'http', 'stateless')
  await register(mcp.app, { name: 'other', transport: 'stdio', command: process.execPath, args: [everything, 'stdio'] })
  const group = { name: 'bare', included_servers: ['fix'], tool_names: 'bare' }
  const made = await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })
  assert.equal(made.statusCode, 201, made.body)
  const bareUrl = mcp.url.replace('/mcp', '/v0/groups/bare/mcp')
  for (const era of eras) {
    const client = await connect[era](t, mcp.url, answersOf('ann'))
    await client.call(`fix__${tools.elicitation}`)
    await client.call(`fix__${tools.sampling}`)
    assert.equal(client.serverRequests[0]!.params.message, '[fix] What is your name?', era)
    assert.equal(client.serverRequests[1]!.params.messages[0].content.text, 'What is the capital of France?', era)
    const bare = await connect[era](t, bareUrl, answersOf('ann'))
    await bare.call(tools.elicitation)
    assert.equal(bare.serverRequests[0]!.params.message, 'What is your name?', era)
  }
})

test('the time that an answer takes does not count towards the limits of the call', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_CALL_TIMEOUT_MS: '4000', TOWPATH_CALL_TOTAL_TIMEOUT_MS: '5000' })
  await addFixture(t, mcp, 'fix', 'http', 'stateless')
  const { form } = answersOf('ann')
  const slowly = async (params: object) => {
    await new Promise((resolve) => setTimeout(resolve, 5_500))
    return form(params)
  }
  const asking = eras.map(async (era) => {
    const client = await connect[era](t, mcp.url, { form: slowly })
    assert.equal(text(await client.call(`fix__${tools.elicitation}`)), 'Hello, ann!', era)
  })
  const pushing = async () => {
    const legacy = await connectLegacy(t, mcp.url, { form: slowly })
    const pushed = await legacy.call('fix__test_elicitation', { message: 'Who?' })
    assert.equal(text(pushed), 'User response: action=accept, content={"response":"ann"}')
  }
  await Promise.all([...asking, pushing()])
})

test('a call that is cancelled while its client is asked withdraws the question', async (t) => {
  const mcp = await startMcp(t)
  await addFixture(t, mcp, 'fix', 'http', 'stateless')
  let withdrawn = 0
  const forever = () => new Promise<object>(() => {})
  const client = await connectLegacy(t, mcp.url, { form: forever })
  client.client.fallbackNotificationHandler = async () => {}
  const own = client.client as unknown as { _oncancel(notification: unknown): Promise<void> }
  const before = own._oncancel.bind(client.client)
  own._oncancel = (notification) => {
    withdrawn++
    return before(notification)
  }
  const stop = new AbortController()
  const failed = assert.rejects(client.call('fix__test_elicitation', { message: 'Who?' }, { signal: stop.signal }))
  await until('the client is asked', () => client.serverRequests.length === 1)
  stop.abort()
  await failed
  await until('the question is withdrawn', () => withdrawn === 1)
})

for (const session_mode of ['stateless', 'stateful'] as const) {
  test(`server-everything, ${session_mode}: model, forms, pages and roots of the caller, in either era`, async (t) => {
    const mcp = await startMcp(t)
    const command = { command: process.execPath, args: [everything, 'stdio'] }
    await register(mcp.app, { name: 'all', transport: 'stdio', session_mode, ...command })
    for (const era of eras) {
      const client = await connect[era](t, mcp.url, answersOf('ann'))
      const call = async (tool: string, args: object = {}) => text(await client.call(`all__${tool}`, args))
      assert.match(await call('trigger-sampling-request', { prompt: 'Hi' }), /sampled by ann/, era)
      assert.match(await call('trigger-elicitation-request'), /provided the requested information/, era)
      const page = { url: 'https://example.com/', message: 'Visit' }
      assert.match(await call('trigger-url-elicitation', page), /completed the URL elicitation/, era)
      assert.match(await call('get-roots-list'), /file:\/\/\/ann/, era)
    }
  })
}

test('a page that a legacy upstream requires is shown to a modern caller, who then repeats the call', async (t) => {
  const mcp = await startMcp(t)
  const command = { command: process.execPath, args: [everything, 'stdio'] }
  await register(mcp.app, { name: 'all', transport: 'stdio', session_mode: 'stateful', ...command })
  const client = await connectModern(t, mcp.url, answersOf('ann'))
  const page = { url: 'https://example.com/', message: 'Visit', errorPath: true }
  assert.match(text(await client.call('all__trigger-url-elicitation', page)), /completed the URL elicitation/)
  assert.deepEqual(
    client.serverRequests.map(({ params }) => [params.mode, params.url]),
    [
      ['url', 'https://modelcontextprotocol.io'],
      ['url', 'https://example.com/']
    ]
  )
})
