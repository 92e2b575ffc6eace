// A server over stdio that costs as little as it can. Plain JavaScript: one runs for each caller, each without a compiler.
import { createInterface } from 'node:readline'

const results = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1.0.0' }
  },
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'x'.repeat(200) }], isError: false },
  ping: {}
}
const texts = new Map(Object.entries(results).map(([method, result]) => [method, JSON.stringify(result)]))

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const result = texts.get(method)
  const rest = result === undefined ? '"error":{"code":-32601,"message":"Method not found"}' : `"result":${result}`
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${rest}}\n`)
})
