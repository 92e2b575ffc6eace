import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { demoRegistration } from '../../src/demo/registration.ts'

async function connect(t: TestContext): Promise<Client> {
  const { command, args } = demoRegistration()
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  await client.connect(new StdioClientTransport({ command, args }))
  return client
}

test('the demo server lists three described, read-only tools with a title and an output schema', async (t) => {
  const client = await connect(t)
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ['add', 'time_now', 'word_count']
  )
  for (const tool of tools) {
    assert.ok(tool.title && tool.description && tool.outputSchema, tool.name)
    assert.equal(tool.annotations?.readOnlyHint, true, tool.name)
  }
})

test('the demo server adds, counts words and tells the time, as text and structured', async (t) => {
  const client = await connect(t)
  const sum = await client.callTool({ name: 'add', arguments: { a: 2, b: 40 } })
  assert.deepEqual(sum, { content: [{ type: 'text', text: '{"sum":42}' }], structuredContent: { sum: 42 } })

  const count = await client.callTool({ name: 'word_count', arguments: { text: 'one  two\nthree' } })
  assert.deepEqual(count.structuredContent, { words: 3, characters: 14, lines: 2 })

  const before = Math.floor(Date.now() / 1000)
  const { structuredContent } = await client.callTool({ name: 'time_now', arguments: { zone: 'Asia/Kathmandu' } })
  const { time, zone } = structuredContent as { time: string; zone: string }
  assert.equal(zone, 'Asia/Kathmandu')
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:45$/)
  assert.ok(Date.parse(time) / 1000 >= before && Date.parse(time) <= Date.now())

  const utc = await client.callTool({ name: 'time_now', arguments: {} })
  assert.match((utc.structuredContent as { time: string }).time, /\+00:00$/)
})

test('a wrong argument is an error of the tool, an unknown tool one of the protocol', async (t) => {
  const client = await connect(t)
  assert.deepEqual(await client.callTool({ name: 'time_now', arguments: { zone: 'Nowhere' } }), {
    content: [{ type: 'text', text: '"Nowhere" is not a time zone; use an IANA name, for example Europe/Berlin' }],
    isError: true
  })
  assert.deepEqual(await client.callTool({ name: 'add', arguments: { a: '2', b: 1 } }), {
    content: [{ type: 'text', text: '"a" must be a number' }],
    isError: true
  })
  await assert.rejects(client.callTool({ name: 'nothing' }), { code: -32602, message: /Unknown tool: nothing/ })
})

test('the demo server has a prompt with an argument and a resource', async (t) => {
  const client = await connect(t)
  const { prompts } = await client.listPrompts()
  assert.deepEqual(
    prompts.map((prompt) => [prompt.name, prompt.arguments?.[0]?.required]),
    [['summarize', true]]
  )
  const {
    messages: [message]
  } = await client.getPrompt({ name: 'summarize', arguments: { text: 'Boats.' } })
  assert.match(JSON.stringify(message?.content), /Boats\."}$/)
  await assert.rejects(client.getPrompt({ name: 'summarize' }), { code: -32602, message: /"text" is missing/ })

  const { resources } = await client.listResources()
  assert.deepEqual(
    resources.map((resource) => resource.uri),
    ['demo://towpath/about']
  )
  const { contents } = await client.readResource({ uri: 'demo://towpath/about' })
  assert.match((contents[0] as { text: string }).text, /gateway for MCP servers/)
  await assert.rejects(client.readResource({ uri: 'demo://towpath/nothing' }), { code: -32602 })
})
