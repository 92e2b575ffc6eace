// Holds event streams open and does nothing else: the cost of a stream in Node.js itself.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
})
server.listen(Number(process.env.PORT), '127.0.0.1', 4_096)
