import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { tempDir } from '../store.ts'
import { startGateway } from './harness.ts'
import { connectByMcpRemote, connectV1, connectV2, everything, filesystem, inspect, memory } from './peers.ts'

/** A call to each kind of upstream, with the expected result. */
const calls = [
  { name: 'over_stdio__echo', args: { message: 'hi' }, expected: 'Echo: hi' },
  { name: 'over_http__get-sum', args: { a: 2, b: 40 }, expected: 'The sum of 2 and 40 is 42.' },
  { name: 'over_sse__echo', args: { message: 'ho' }, expected: 'Echo: ho' }
]

/** Starts a gateway with server-everything over each transport, the file system server and the memory server. */
async function openGateway(t: TestContext) {
  const folder = await tempDir(t)
  await writeFile(join(folder, 'note.txt'), 'written by the test')
  const gateway = await startGateway(t)
  const upstreams = {
    over_stdio: await everything(t, 'stdio'),
    over_http: await everything(t, 'streamable_http'),
    over_sse: await everything(t, 'sse'),
    filesystem: filesystem(folder),
    memory: memory(join(folder, 'memory.json'))
  }
  for (const [name, { registration }] of Object.entries(upstreams)) await gateway.register({ ...registration, name })
  const file = { name: 'filesystem__read_text_file', args: { path: join(folder, 'note.txt') } }
  const entities = [{ name: 'towpath', entityType: 'gateway', observations: ['forwards'] }]
  const remember = { name: 'memory__create_entities', args: { entities } }
  return { gateway, file, remember, entities }
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text

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

test("tools of every kind of upstream answer to the inspector's command line and through mcp-remote", async (t) => {
  const { gateway, file } = await openGateway(t)
  const remote = await connectByMcpRemote(t, gateway.url)
  for (const { name, args, expected } of calls) {
    assert.equal(textOf(await remote.callTool({ name, arguments: args })), expected)
    const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`])
    const inspected = await inspect(t, gateway.url, '--method', 'tools/call', '--tool-name', name, ...pairs)
    assert.equal(textOf(inspected), expected)
  }
  const read = await remote.callTool({ name: file.name, arguments: file.args })
  assert.deepEqual(read.structuredContent, { content: 'written by the test' })

  const { tools } = (await inspect(t, gateway.url, '--method', 'tools/list')) as { tools: { name: string }[] }
  const { tools: seen } = await remote.listTools()
  assert.deepEqual(
    tools.map((tool) => tool.name),
    seen.map((tool) => tool.name)
  )
})
