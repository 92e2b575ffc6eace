// Answers with prebuilt pages of one list in turn; only the id of a request is parsed.
import { createServer } from 'node:http'
import { listen } from './listen.ts'
import { tools } from './tools.ts'

const all = tools(Number(process.env.TOOLS), 'bench__')
const pageSize = all.length / Number(process.env.PAGES)
const pages: Buffer[] = []
for (let from = 0; from < all.length; from += pageSize) {
  pages.push(Buffer.from(`,"result":${JSON.stringify({ tools: all.slice(from, from + pageSize) })}}`))
}
let turn = 0

listen(
  createServer((request, response) => {
    let text = ''
    request.setEncoding('latin1')
    request.on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      const list = pages[turn++ % pages.length]!
      const head = `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(text)?.[1] ?? 'null'}`
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': head.length + list.length })
      response.write(head)
      response.end(list)
    })
  })
)
