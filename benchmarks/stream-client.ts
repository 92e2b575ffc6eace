// Opens the requested number of event streams at a gateway and holds them open; with `SESSIONS` each has its own
// session.
import { connect } from 'node:net'
import { openSession, times, type Headers } from './requests.ts'

const url = new URL(process.env.URL!)
const count = Number(process.env.COUNT)
/** Streams opened at a time. */
const ABREAST = 32

async function open(): Promise<void> {
  const headers: Headers = process.env.SESSIONS ? await openSession(url.href) : {}
  const all = { host: url.host, accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => {})
  socket.on('close', () => process.send!({ closed: true }))
  const first = await new Promise<string>((resolve) => {
    socket.once('data', (chunk) => resolve(chunk.toString('latin1')))
    socket.write(`GET ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n`)
  })
  if (!first.startsWith('HTTP/1.1 200')) throw new Error(first.slice(0, 300))
  socket.resume()
}

process.on('disconnect', () => process.exit())
let left = count
const work = async () => {
  while (left-- > 0) await open()
}
await Promise.all(times(ABREAST, work))
process.send!({ open: count })
