import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { paceWrites } from '../../src/http/paced-writes.ts'
import { until } from '../until.ts'

const PIECE = Buffer.from(Array.from({ length: 99_991 }, (_, at) => at % 251))
const PIECES = 150
const TEXT = 'ü'.repeat(400_000)

const digest = (parts: Iterable<Buffer | string>) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
const expected = digest([...Array.from({ length: PIECES }, () => PIECE), TEXT])

/** Starts a server that answers with 15 MB and a long text, and records the bytes that each turn of the loop wrote. */
async function startServer(t: TestContext) {
  const perTurn: number[] = []
  const sockets: Socket[] = []
  const server = createServer((_, response) => {
    const socket = response.socket as Socket & { readonly _handle: { readonly bytesWritten: number } | null }
    let before = socket._handle!.bytesWritten
    const count = () => {
      if (!socket._handle) return
      perTurn.push(socket._handle.bytesWritten - before)
      before = socket._handle.bytesWritten
      if (!response.writableFinished) setImmediate(count)
    }
    setImmediate(count)
    for (let at = 0; at < PIECES; at++) response.write(PIECE)
    response.end(TEXT)
  })
  server.on('connection', (socket) => {
    sockets.push(socket)
    paceWrites(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, perTurn, sockets }
}

test('a large answer is written whole, and no turn of the event loop writes much of it', async (t) => {
  const { port, perTurn } = await startServer(t)
  const answers = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const [response] = (await once(get({ port }), 'response')) as [AsyncIterable<Buffer>]
      const hash = createHash('sha256')
      for await (const chunk of response) hash.update(chunk)
      return hash.digest('hex')
    })
  )
  assert.deepEqual(answers, [expected, expected, expected])
  // the first portion of an answer, and one that waited
  const most = Math.max(...perTurn)
  assert.ok(most <= 2 * 2_097_152 + 1_000, `${most} bytes in a turn`)
})

test('a connection that closes while portions of an answer wait is closed, and others get theirs', async (t) => {
  const { port, sockets } = await startServer(t)
  const client = connect(port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(client, 'data')
  client.resetAndDestroy()
  await until('the connection to be closed', () => sockets[0]?.destroyed === true)
  const [response] = (await once(get({ port }), 'response')) as [AsyncIterable<Buffer>]
  const hash = createHash('sha256')
  for await (const chunk of response) hash.update(chunk)
  assert.equal(hash.digest('hex'), expected)
})
