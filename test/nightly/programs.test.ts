import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calls, openGateway, textOf } from '../e2e/offered-calls.ts'
import { connectByMcpRemote, inspect } from '../e2e/peers.ts'

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
