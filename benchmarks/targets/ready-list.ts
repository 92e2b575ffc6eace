// Answers everything with one list that was made at the start; of a request only its id is read.
import { createServer } from 'node:http'
import { listen } from './listen.ts'
import { tools } from './tools.ts'

const list = Buffer.from(`,"result":${JSON.stringify({ tools: tools(Number(process.env.TOOLS), 'bench__') })}}`)

listen(
  createServer((request, response) => {
    let text = ''
    request.setEncoding('latin1')
    request.on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      const head = `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(text)?.[1] ?? 'null'}`
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': head.length + list.length })
      response.write(head)
      response.end(list)
    })
  })
)
