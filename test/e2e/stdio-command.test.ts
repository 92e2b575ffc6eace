import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { answersOf, connectLegacy, connectModern, type RecordingClient } from '../asked-clients.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { until } from '../until.ts'
import { startFixture } from './fixture.ts'
import { startGateway } from './harness.ts'
import { legacyTransport, modernTransport, startBridge } from './stdio-bridge.ts'
import { startUpstream, sendResult, textResult } from './upstream.ts'

const textOf = (result: { content: { text: string }[] }) => result.content[0]!.text

/** Starts a gateway with the conformance fixture as `up`. */
async function startWithFixture(t: TestContext) {
  const gateway = await startGateway(t)
  await gateway.register({ name: 'up', transport: 'streamable_http', url: await startFixture(t) })
  return gateway
}

/** Starts a gateway with a recorder of both eras as `alpha`, which announces changes. */
async function startWithRecorder(t: TestContext) {
  const gateway = await startGateway(t)
  const recorder = await startRecorder(t, { modern: true, tells: true })
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url: recorder.url })
  return { gateway, recorder }
}

const clients = {
  legacy: async (t: TestContext, url: string): Promise<RecordingClient> =>
    connectLegacy(t, await legacyTransport(t, url), answersOf('ann')),
  modern: async (t: TestContext, url: string): Promise<RecordingClient> =>
    connectModern(t, await modernTransport(t, url), answersOf('ann'))
}

for (const [era, connect] of Object.entries(clients)) {
  test(`a ${era} client that starts the command lists, calls, hears progress and is asked`, async (t) => {
    const gateway = await startWithFixture(t)
    const { client, call, serverRequests } = await connect(t, gateway.url)
    const { tools } = await client.listTools()
    assert.ok(tools.some(({ name }) => name === 'up__test_simple_text'))
    assert.equal(textOf(await call('up__test_simple_text')), 'This is a simple text response for testing.')
    const progress: number[] = []
    await call('up__test_tool_with_progress', {}, { onprogress: (told) => progress.push(told.progress) })
    assert.deepEqual(progress.slice(0, 2), [0, 50])
    assert.equal(textOf(await call('up__test_input_required_result_elicitation')), 'Hello, ann!')
    await call('up__test_input_required_result_sampling')
    await call('up__test_input_required_result_list_roots')
    assert.deepEqual(
      serverRequests.map(({ method }) => method),
      ['elicitation/create', 'sampling/createMessage', 'roots/list']
    )
  })

  test(`a ${era} client that starts the command cancels its own call and no other`, async (t) => {
    const { gateway, recorder } = await startWithRecorder(t)
    const { call } = await connect(t, gateway.url)
    const stop = new AbortController()
    const stopped = call('alpha__slow', { ms: 600_000 }, { signal: stop.signal })
    const other = call('alpha__slow', { ms: 600_000 })
    await until('both calls to arrive', () => recorder.calls('tools/call').length === 2)
    stop.abort()
    await assert.rejects(stopped)
    await until('the cancellation', () => recorder.cancelled.length === 1)
    recorder.finish()
    assert.match(textOf(await other), /alpha/)
  })
}

test('a legacy client hears of changed lists and of resources that it subscribed to', async (t) => {
  const { gateway, recorder } = await startWithRecorder(t)
  const bridge = await startBridge(t, gateway.url)
  await bridge.initialize()
  const { result } = await bridge.request(1, 'resources/list')
  const { uri } = result.resources[0]
  assert.deepEqual((await bridge.request(2, 'resources/subscribe', { uri })).result, {})
  recorder.announce('notifications/resources/updated', { uri })
  recorder.setExtraTools([{ name: 'more', inputSchema: { type: 'object' } }])
  const has = (method: string) => bridge.messages.some((message) => message.method === method)
  await until('the resource to be announced', () => has('notifications/resources/updated'))
  await until('the list to be announced', () => has('notifications/tools/list_changed'))
})

test('a modern client hears of changed lists, and repeats arguments in headers without knowing', async (t) => {
  const gateway = await startWithFixture(t)
  const { client, call } = await connectModern(t, await modernTransport(t, gateway.url), {})
  assert.equal(client.getServerVersion()?.name, 'towpath')
  const changed = new Promise<void>((resolve) =>
    (client as import('@modelcontextprotocol/client').Client).setNotificationHandler(
      'notifications/tools/list_changed',
      () => resolve()
    )
  )
  await (client as import('@modelcontextprotocol/client').Client).listen({ toolsListChanged: true })
  const { status } = await gateway.post('/api/v0/tools/disable?entity=up__test_simple_text')
  assert.equal(status, 200)
  await changed
  const region = { region: 'Zürich' }
  assert.equal(textOf(await call('up__test_x_mcp_header', region)), 'Zürich')
})

test('lines that are not messages are refused, and the command goes on', async (t) => {
  const { gateway } = await startWithRecorder(t)
  const bridge = await startBridge(t, gateway.url)
  bridge.send('garbage')
  bridge.send('')
  bridge.send('{"jsonrpc":"2.0","id":7}')
  bridge.send('[1]')
  bridge.send('{"jsonrpc":"1.0","id":8,"method":"ping"}')
  await bridge.initialize()
  assert.deepEqual((await bridge.request('1', 'nothing/known')).error.code, -32601)
  assert.deepEqual((await bridge.request(12, 'ping')).result, {})
  const refused = bridge.messages.slice(0, 4).map(({ id, error }) => [id, error.code])
  assert.deepEqual(refused, [
    [null, -32700],
    [7, -32600],
    [null, -32600],
    [8, -32600]
  ])
})

test('a batch of 2025-03-26 is answered with one array', async (t) => {
  const { gateway } = await startWithRecorder(t)
  const bridge = await startBridge(t, gateway.url)
  await bridge.initialize('2025-03-26')
  bridge.send(['a', 'b'].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
  const batch = await until('the batch', () => bridge.messages.find((message) => Array.isArray(message)))
  assert.deepEqual(batch!.map(({ id }: { id: string }) => id).sort(), ['a', 'b'])
})

test('results of 5 MB and two hundred calls at a time come through, also to a slow reader', async (t) => {
  const gateway = await startGateway(t)
  const large = 'é'.repeat(2_500_000)
  const upstream = await startUpstream(t, 'big', {
    onCall: (message, response) =>
      sendResult(response, message, textResult(message.params?.arguments?.['large'] ? large : 'small'))
  })
  await gateway.register({ name: 'big', transport: 'streamable_http', url: upstream.url })
  const bridge = await startBridge(t, gateway.url)
  await bridge.initialize()
  const call = (id: number, args = {}) =>
    bridge.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'big__echo', arguments: args } })
  for (let id = 0; id < 200; id++) call(id)
  for (let id = 0; id < 200; id++) assert.equal(textOf((await bridge.response(id)).result), 'small')
  bridge.pauseOutput()
  for (let id = 1_000; id < 1_006; id++) call(id, { large: true })
  await until('the calls to arrive', () => upstream.calls() === 206)
  bridge.resumeOutput()
  for (let id = 1_000; id < 1_006; id++) assert.equal(textOf((await bridge.response(id)).result), large)
})

test('the end of stdin lets pending calls finish and ends the session; SIGTERM ends at once', async (t) => {
  const { gateway, recorder } = await startWithRecorder(t)
  const bridge = await startBridge(t, gateway.url)
  await bridge.initialize()
  const params = { name: 'alpha__slow', arguments: { ms: 600_000 } }
  bridge.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  await until('the call', () => recorder.calls('tools/call').length === 1)
  bridge.endInput()
  recorder.finish()
  assert.ok((await bridge.response(1)).result)
  assert.equal(await bridge.exited, 0)

  const other = await startBridge(t, gateway.url)
  await other.initialize()
  other.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  await until('the other call', () => recorder.calls('tools/call').length === 2)
  other.kill('SIGTERM')
  assert.equal(await other.exited, 0)
  await until('its call to be cancelled', () => recorder.cancelled.length === 1)
})
