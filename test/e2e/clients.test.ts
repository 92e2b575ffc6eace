import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calls, openGateway, textOf } from './offered-calls.ts'
import { connectV1, connectV2 } from './peers.ts'

test('tools of every kind of upstream answer over REST, with their structured results', async (t) => {
  const { gateway, file, remember, entities } = await openGateway(t)
  for (const { name, args, expected } of calls) {
    const answer = await gateway.post('/api/v0/tools/invoke', { name, ...args })
    assert.deepEqual([answer.status, textOf(answer.body)], [200, expected], answer.text)
  }
  const read = await gateway.post('/api/v0/tools/invoke', { name: file.name, ...file.args })
  assert.deepEqual(read.body.structuredContent, { content: 'written by the test' })
  // A parameter of this tool is called `name`, inside its entities; it must not be taken for the tool's name.
  const made = await gateway.post('/api/v0/tools/invoke', { name: remember.name, ...remember.args })
  assert.deepEqual(made.body.structuredContent, { entities })
  const graph = await gateway.post('/api/v0/tools/invoke', { name: 'memory__read_graph' })
  assert.deepEqual(graph.body.structuredContent, { entities, relations: [] })
})

test('tools of every kind of upstream answer to the clients of both SDKs', async (t) => {
  const { gateway, file, remember, entities } = await openGateway(t)
  const modern = await connectV2(t, gateway.url)
  assert.deepEqual([modern.getProtocolEra(), modern.getNegotiatedProtocolVersion()], ['modern', '2026-07-28'])
  for (const [version, client] of Object.entries({ v1: await connectV1(t, gateway.url), v2: modern })) {
    for (const { name, args, expected } of calls) {
      assert.equal(textOf(await client.callTool({ name, arguments: args })), expected, version)
    }
    const read = await client.callTool({ name: file.name, arguments: file.args })
    assert.deepEqual(read.structuredContent, { content: 'written by the test' }, version)
  }
  const client = await connectV1(t, gateway.url)
  const made = await client.callTool({ name: remember.name, arguments: remember.args })
  assert.deepEqual(made.structuredContent, { entities })
  await assert.rejects(client.callTool({ name: 'memory__nothing' }), { code: -32602, message: /Unknown tool/ })
})
