import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createEndpoint } from '../../src/cli/stdio/endpoint.ts'
import { createParameterHeaders } from '../../src/cli/stdio/parameter-headers.ts'
import { readMessage, type Message } from '../../src/protocol/jsonrpc.ts'
import { addCleanup } from '../store.ts'
import { modernBody } from '../integration/mcp-messages.ts'

const toolWith = (name: string, header: string) => ({
  name,
  inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': header } } }
})

/** Starts a gateway that answers every list request with the next page, endlessly. */
async function start(t: TestContext, page: (at: number) => readonly object[]) {
  let pages = 0
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => {
    const result = { tools: page(pages++), nextCursor: String(pages) }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  addCleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connection = { registry: url, source: 'default', token: undefined, tokenSource: undefined } as const
  const endpoint = createEndpoint(`${url}/mcp`, connection, () => {})
  const limits = { pages: 100, readBytes: 200_000, keptBytes: 10_000 }
  return { headers: createParameterHeaders(endpoint, limits), pages: () => pages }
}

const callOf = (name: string): Message =>
  readMessage(modernBody('tools/call', { name, arguments: { region: 'eu' } }), { depth: 100, elements: 10_000 })

test('headers are kept for tools up to a number of bytes in total, and always for the called tool', async (t) => {
  const long = 'h'.repeat(1_000)
  const { headers, pages } = await start(t, (at) =>
    at === 50 ? [toolWith('called', 'Region')] : [toolWith(`t${at}`, `${long}-${at}`)]
  )
  await headers.read(callOf('called'), new AbortController().signal)
  assert.equal(pages(), 100)
  assert.deepEqual(headers.of(callOf('called')), { 'mcp-param-region': 'eu' })
  const kept = Array.from({ length: 100 }, (_, at) => headers.of(callOf(`t${at}`))).filter(
    (found) => Object.keys(found).length > 0
  )
  assert.ok(kept.length > 0 && kept.length < 10, `${kept.length} tools of 1 kB`)
})

test('a called tool with more header names than may be kept has none', async (t) => {
  const { headers } = await start(t, () => [toolWith('called', 'h'.repeat(20_000))])
  await headers.read(callOf('called'), new AbortController().signal)
  assert.deepEqual(headers.of(callOf('called')), {})
})

test('reading ends after a number of bytes, however many pages there are', async (t) => {
  const { headers, pages } = await start(t, () => [{ name: 'big', description: 'x'.repeat(50_000) }])
  await headers.read(callOf('called'), new AbortController().signal)
  assert.equal(pages(), 4)
})
