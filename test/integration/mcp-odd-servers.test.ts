import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp, register } from '../app.ts'
import { listedTransports, startListed } from '../fixtures/listed/listed.ts'
import { startHttp } from '../fixtures/http/server.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { addCleanup } from '../store.ts'
import { startMcp } from './mcp-helpers.ts'

const schema = '"inputSchema":{"type":"object"}'
const tools = [
  `{"name":"task",${schema},"execution":{"taskSupport":"required"}}`,
  `{"name":"both",${schema},"execution":{"taskSupport":"optional"}}`,
  `{"name":"plain",${schema},"description":"\\"taskSupport\\":\\"required\\""}`
]

for (const transport of listedTransports) {
  test(`CR-F12: a tool that can be called as a task alone is left out, with the reason, over ${transport}`, async (t) => {
    const mcp = await startMcp(t)
    const { registration } = await startListed(t, transport, { tools, prompts: [], resources: [], templates: [] })
    await register(mcp.app, { name: 'one', ...registration })
    const names = (listed: { name: string }[]) => listed.map(({ name }) => name)
    assert.deepEqual(names((await mcp.legacy('tools/list')).body.result.tools), ['one__both', 'one__plain'], 'legacy')
    assert.deepEqual(names((await mcp.modern('tools/list')).body.result.tools), ['one__both', 'one__plain'], 'modern')
    const called = await mcp.legacy('tools/call', { name: 'one__task' })
    assert.equal(called.body.error?.code, -32602, 'it is not known over MCP')
    const reason = 'it can only be called as an experimental task of 2025-11-25, which the gateway does not support'
    const server = (await mcp.app.inject('/api/v0/servers/one')).json<{ left_out: unknown }>()
    assert.deepEqual(server.left_out, [{ kind: 'tool', name: 'task', code: 'tasks', reason }])
    const invoked = await mcp.app.inject({
      method: 'POST',
      url: '/api/v0/tools/invoke',
      payload: { name: 'one__task' }
    })
    assert.deepEqual(
      [invoked.statusCode, invoked.json()],
      [409, { error: `tool "one__task" cannot be used: ${reason}` }]
    )
  })
}

test('CR-F12: a server of HTTP+SSE that is registered as Streamable HTTP is told from one that is none', async (t) => {
  const app = await startApp(t)
  const sse = await startSse(null)
  addCleanup(t, sse.close)
  const neither = await startHttp((_request, response) => void response.writeHead(404).end())
  addCleanup(t, neither.close)
  const post = async (url: string) => {
    const payload = { name: 'one', transport: 'streamable_http', url }
    const answer = await app.inject({ method: 'POST', url: '/api/v0/servers', payload })
    return [answer.statusCode, answer.json<{ error: string }>().error] as const
  }
  const [status, error] = await post(sse.url)
  assert.equal(status, 502, error)
  assert.match(error, /; it answers over HTTP\+SSE: register it with the transport "sse"$/, 'a server of HTTP+SSE')
  const [other, text] = await post(`${neither.origin}/mcp`)
  assert.equal(other, 502, text)
  assert.doesNotMatch(text, /SSE/, 'no MCP server')
})
