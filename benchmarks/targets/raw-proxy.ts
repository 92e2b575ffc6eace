// The lower bound for one Node.js thread: bytes in by node:http, bytes out by undici, nothing parsed or checked. With
// `SESSIONS=each` every request has an MCP session of its own at the upstream.
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

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1.0.0' } }
})
const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })

/** Sends a request and resolves with the session id of its answer, if there is one. */
const ask = (path: string, method: 'POST' | 'DELETE', headers: Record<string, string>, body: string | null) =>
  new Promise<string>((resolve, reject) => {
    let session = ''
    pool.dispatch(
      { path, method, headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, _status, answered) {
          session = (answered['mcp-session-id'] as string | undefined) ?? ''
        },
        onResponseData() {},
        onResponseEnd: () => resolve(session),
        onResponseError: (_controller, error) => reject(error)
      }
    )
  })

async function relayInSession(path: string, headers: Record<string, string>, body: Buffer, response: ServerResponse) {
  const { 'content-length': _length, 'mcp-session-id': _session, ...own } = headers
  const inSession = { ...own, 'mcp-session-id': await ask(path, 'POST', own, initialize) }
  await ask(path, 'POST', inSession, initialized)
  response.once('finish', () => void ask(path, 'DELETE', inSession, null).catch(() => {}))
  relay(path, inSession, body, response)
}

const hasSessions = process.env.SESSIONS === 'each'

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      const headers = forwarded(request.headers)
      if (hasSessions) relayInSession(request.url!, headers, body, response).catch(() => fail(response))
      else relay(request.url!, headers, body, response)
    })
  })
)
