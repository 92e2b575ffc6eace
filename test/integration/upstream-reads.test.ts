import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { HoldingPool } from '../../src/upstream/http/holding-pool.ts'
import { createReadScheduler } from '../../src/upstream/transport/read-scheduler.ts'
import { connector } from '../egress.ts'

const EVENT = `data: ${'x'.repeat(52)}\n\n`
const EVENTS = 30_000

/** Starts a server that answers with many events, each a chunk of HTTP. */
async function startServer(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => {
    Readable.from(
      (function* () {
        for (let sent = 0; sent < EVENTS; sent++) yield EVENT
      })()
    ).pipe(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Counts the bytes of the buffers that are created by copying others. */
function countCopies(t: TestContext): () => number {
  const { allocUnsafe } = Buffer
  let bytes = 0
  Buffer.allocUnsafe = (size) => {
    bytes += size
    return allocUnsafe(size)
  }
  t.after(() => (Buffer.allocUnsafe = allocUnsafe))
  return () => bytes
}

test('SR-H3 what a socket holds is not copied again for each few chunks of a server that sends faster than it is read', async (t) => {
  const client = new HoldingPool(await startServer(t), { connect: connector, connections: 1 })
  t.after(() => client.close())
  const copied = countCopies(t)
  let read = 0
  let resume = () => {}
  let pauses = 0
  const source = createReadScheduler()
    .server()
    .open(
      ({ length }) => {
        read += length
        // twenty of them fill the time of a turn
        for (const end = performance.now() + 0.05; performance.now() < end;);
      },
      () => resume()
    )
  await new Promise<void>((resolve, reject) => {
    client.dispatch(
      { path: '/', method: 'GET' },
      {
        onConnect: () => {},
        onHeaders: (_status, _headers, readOn) => {
          resume = readOn
          return true
        },
        onData: (chunk) => {
          const goesOn = source.add(chunk)
          if (!goesOn) pauses++
          return goesOn
        },
        onComplete: () => resolve(),
        onError: reject
      }
    )
  })
  const sent = EVENT.length * EVENTS
  assert.ok(pauses > 0)
  assert.ok(copied() < 3 * sent, `${copied()} bytes copied of ${sent}, ${read} of them read`)
})
