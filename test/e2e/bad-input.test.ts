import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startGateway, type Gateway } from './harness.ts'
import { needs } from '../needs.ts'

/** Returns everything that the gateway sends until it closes the connection; `open` after a second without an end. */
async function exchange({ port }: Gateway, bytes: string): Promise<{ received: string; closed: boolean }> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  const closed = new Promise<boolean>((resolve) => {
    socket.once('close', () => resolve(true))
    socket.once('error', () => resolve(true))
  })
  socket.write(bytes, 'latin1')
  const result = await Promise.race([closed, delay(30_000, false, { ref: false })])
  socket.destroy()
  return { received, closed: result }
}

const post = (headers: string, body: string) =>
  `POST /api/v0/tools/invoke HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`
const smuggled = 'GET /metadata HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'

const ambiguous: Record<string, string> = {
  'both lengths': post('Content-Length: 4\r\nTransfer-Encoding: chunked', `0\r\n\r\n${smuggled}`),
  'two lengths': post('Content-Length: 2\r\nContent-Length: 50', `{}${smuggled}`),
  'an unknown transfer coding': post('Transfer-Encoding: xchunked', `0\r\n\r\n${smuggled}`),
  'an empty transfer coding beside a length': post('Transfer-Encoding:\r\nContent-Length: 2', `{}${smuggled}`),
  'a transfer coding before chunked': post('Transfer-Encoding: gzip, chunked', `0\r\n\r\n${smuggled}`),
  'line feeds alone': `GET /health HTTP/1.1\nHost: 127.0.0.1\n\n${smuggled}`,
  'a folded header': `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Folded: one\r\n two\r\n\r\n${smuggled}`,
  'a space before the colon': post('Content-Length : 2', `{}${smuggled}`)
}

test('IN-12 a request whose end or headers are ambiguous is refused, and what follows it is not read', async (t) => {
  const gateway = await startGateway(t)
  for (const [what, bytes] of Object.entries(ambiguous)) {
    const { received, closed } = await exchange(gateway, bytes)
    assert.match(received, /^HTTP\/1\.1 (400|415|501) /, what)
    assert.equal(received.match(/HTTP\/1\.1 /g)?.length, 1, `${what}: one answer`)
    assert.ok(closed, `${what}: the connection is closed`)
    assert.match(received, /content-type: application\/json/i, what)
    assert.match(received, /\{"error":"[^"]+"/, what)
    assert.equal((await gateway.get('/health')).status, 200)
  }
})

const rssMb = (pid: number) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

test(
  'LI-03 five calls at once with a million and a half elements each are refused, and take little',
  { skip: needs('/proc', existsSync('/proc/self/status')) },
  async (t) => {
    const gateway = await startGateway(t)
    const params = `{"name":"a__b","arguments":{"list":[${'1,'.repeat(1_499_999)}1]}}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const before = rssMb(gateway.pid)
    const answers = Array.from({ length: 5 }, async () => {
      const { status } = await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body })
      assert.equal(status, 400)
    })
    await Promise.all(answers)
    assert.ok(rssMb(gateway.pid) - before < 500)
    assert.equal((await gateway.get('/health')).status, 200)
  }
)

const wrong: Record<string, string> = {
  'an empty object': '{}',
  'an empty array': '[]',
  'a string': '"x"',
  'another version': '{"jsonrpc":"1.0","id":1,"method":"ping"}',
  'id null with a method': '{"jsonrpc":"2.0","id":null,"method":"ping"}',
  'a method that is a number': '{"jsonrpc":"2.0","id":1,"method":5}',
  'half a document': '{"jsonrpc":"2.0","id":1,',
  '2 MB of nothing': 'A'.repeat(2_000_000)
}

test('IN-15 what is no JSON-RPC request is answered by a JSON-RPC error, and the next request works', async (t) => {
  const gateway = await startGateway(t)
  const send = async (body: string) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const response = await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body })
    return { status: response.status, text: await response.text() }
  }
  for (const [what, body] of Object.entries(wrong)) {
    const { status, text } = await send(body)
    assert.ok(status >= 400 && status < 500, `${what}: ${status}`)
    const answer = JSON.parse(text)
    if (status === 413) assert.equal(typeof answer.error, 'string', what)
    else {
      assert.equal(answer.jsonrpc, '2.0', what)
      assert.ok([-32700, -32600, -32601].includes(answer.error.code), `${what}: ${text}`)
    }
    assert.deepEqual(await send('{"jsonrpc":"2.0","id":7,"method":"ping"}'), {
      status: 200,
      text: '{"jsonrpc":"2.0","id":7,"result":{}}'
    })
  }
})
