// The lower bound for one Node.js thread: bytes in by node:http, bytes out by undici, nothing parsed or checked.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { Pool } from 'undici'
import { listen } from './listen.ts'

const pool = new Pool(process.env.UPSTREAM!, { connections: 64, pipelining: 1 })
const hopByHopHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'expect', 'upgrade', 'date'])

function forwarded(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name in headers) if (!hopByHopHeaders.has(name)) kept[name] = headers[name] as string
  return kept
}

function fail(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(502)
  response.end()
}

function relay(path: string, headers: Record<string, string>, body: Buffer, response: ServerResponse): void {
  pool.dispatch(
    { path, method: 'POST', headers, body },
    {
      onRequestStart() {},
      onResponseStart(controller, status, answered) {
        response.on('drain', () => controller.resume())
        response.writeHead(status, forwarded(answered as IncomingHttpHeaders))
      },
      onResponseData(controller, chunk) {
        if (!response.write(chunk)) controller.pause()
      },
      onResponseEnd() {
        response.end()
      },
      onResponseError() {
        fail(response)
      }
    }
  )
}

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      relay(request.url!, forwarded(request.headers), body, response)
    })
  })
)
