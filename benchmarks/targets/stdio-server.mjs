// A minimal stdio server. Plain JavaScript: one process runs per caller, without a TypeScript loader. With a folder as
// its argument it answers with the file in that folder selected by `text` and `size` of a call.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
const folder = process.argv[2]
const files = new Map(
  (folder ? readdirSync(folder) : []).map((name) => [name, readFileSync(join(folder, name), 'utf8')])
)
const texts = new Map(Object.entries(results).map(([method, result]) => [method, JSON.stringify(result)]))

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const { text, size } = params?.arguments ?? {}
  const result = (method === 'tools/call' && files.get(`${text}-${size}`)) || texts.get(method)
  const rest = result === undefined ? '"error":{"code":-32601,"message":"Method not found"}' : `"result":${result}`
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${rest}}\n`)
})
