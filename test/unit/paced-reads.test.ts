import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { drainBody } from '../../src/http/drain-body.ts'
import { paceReads } from '../../src/http/paced-reads.ts'
import { until } from '../until.ts'

const BODY = Buffer.from(Array.from({ length: 4_000_000 }, (_, at) => at % 251))
const SENDERS = 12
/** Bytes that one read of a socket returns at most. */
const READ = 65_536
const TURN = 262_144

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

type Work = (request: IncomingMessage) => Promise<string>

/** Starts a server whose answer is made by `work`, and records the bytes of bodies that each turn of the loop delivered. */
async function startServer(t: TestContext, work: Work) {
  const perTurn: number[] = []
  const bodies: IncomingMessage[] = []
  let bytes = 0
  let active = 0
  const count = () => {
    perTurn.push(bytes)
    bytes = 0
    if (active > 0) setImmediate(count)
  }
  const server = createServer((request, response) => {
    bodies.push(request)
    if (active++ === 0) setImmediate(count)
    request.once('close', () => active--)
    const answer = work(request)
    request.on('data', (chunk: Buffer) => void (bytes += chunk.length))
    void answer.then((text) => response.end(text))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const send = () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: BODY })
  return { port, perTurn, bodies, send }
}

const works: Readonly<Record<'read whole' | 'dropped', Work>> = {
  'read whole': (request) =>
    new Promise((resolve) => {
      const chunks: Buffer[] = []
      paceReads(request)
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => resolve(digest(Buffer.concat(chunks))))
      request.on('error', () => resolve('failed'))
    }),
  dropped: (request) => new Promise((resolve) => drainBody(request, () => resolve('dropped')))
}

for (const [kind, work] of Object.entries(works)) {
  test(`large bodies of many clients are ${kind}, a little in each turn of the event loop`, async (t) => {
    const { perTurn, send } = await startServer(t, work)
    const answers = await Promise.all(Array.from({ length: SENDERS }, async () => (await send()).text()))
    assert.deepEqual(new Set(answers), new Set([kind === 'dropped' ? kind : digest(BODY)]))
    // of each connection, what never waits, the chunk that ends the turn, and the one behind it
    const most = Math.max(...perTurn)
    assert.ok(most <= TURN + 3 * SENDERS * READ, `${most} bytes in a turn`)
    const usual = perTurn.filter((bytes) => bytes > 0).sort((a, b) => a - b)
    const late = usual[Math.floor(usual.length * 0.9)]!
    assert.ok(late <= TURN + 3 * READ, `${late} bytes in one of ten turns`)
  })
}

/** Returns a function that reads as much of another body as a turn reads. */
function createOther(): () => void {
  const other = new PassThrough() as unknown as IncomingMessage
  paceReads(other)
  return () => void other.emit('data', Buffer.alloc(TURN + 1))
}

test('a body of 64 KiB does not wait in a turn that has read enough of others', async (t) => {
  let pauses = 0
  const { port } = await startServer(t, (request) => {
    request.on('pause', () => pauses++)
    const answer = works['read whole'](request)
    createOther()()
    return answer
  })
  for (const length of [1, 10_000, READ]) {
    const body = BODY.subarray(0, length)
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body })
    assert.equal(await answer.text(), digest(body))
  }
  assert.equal(pauses, 0)
})

test('a body that ends early while it waits for its next turn fails, and others are read', async (t) => {
  const answers: string[] = []
  const { port, bodies, send } = await startServer(t, async (request) => {
    if (request.url === '/early') {
      request.on('data', createOther())
      request.once('pause', () => client.resetAndDestroy())
    }
    const answer = works['read whole'](request)
    answers.push(await answer)
    return answers.at(-1)!
  })
  const client = connect(port, '127.0.0.1').on('error', () => {})
  client.write(`POST /early HTTP/1.1\r\nhost: x\r\ncontent-length: ${BODY.length}\r\n\r\n`)
  client.write(BODY.subarray(0, 3_000_000))
  await until('the request to be closed', () => bodies[0]?.closed === true)
  assert.deepEqual(answers, ['failed'])
  assert.equal(await (await send()).text(), digest(BODY))
})
