import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { ownerOf } from '../../src/domain/worker-ids.ts'
import { createSiblings, type Siblings } from '../../src/http/siblings.ts'
import { addCleanup, tempDir } from '../store.ts'
import { until } from '../until.ts'

const limits = { headerBytes: 16_384, unsentBytes: 1e9, unreadAnswerMs: 3_600_000 }
const ID = ['aaaa', 'abaa', 'baaa', 'bbaa'].find((id) => ownerOf(id, 2) === 1)!

type Serve = (request: IncomingMessage, response: ServerResponse) => void

interface Pair {
  readonly port: number
  /** Number of requests that the worker that clients reach has to serve itself. */
  readonly left: () => number
}

/** Starts a worker that forwards every request, and its sibling, which serves them; without `serve` there is none. */
async function startPair(t: TestContext, serve?: Serve): Promise<Pair> {
  const folder = await tempDir(t)
  const front = createSiblings({ index: 0, count: 2, folder }, limits)
  const owner = createSiblings({ index: 1, count: 2, folder }, limits)
  addCleanup(t, () => {
    front.close()
    owner.close()
  })
  if (serve) await owner.listen(serve)
  let left = 0
  const serveHere = async (incoming: IncomingMessage, response: ServerResponse) => {
    left++
    response.end(`front ${await text(incoming)}`)
  }
  const server = createServer((incoming, response) => {
    const onUnreachable = () => void serveHere(incoming, response).catch(() => response.destroy())
    front.forward({ id: ID, request: incoming, response, url: incoming.url!, onUnreachable })
  }).listen(0, '127.0.0.1')
  addCleanup(t, () => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, left: () => left }
}

/** Sends bytes on a connection of its own, and returns what comes back until the other side closes it. */
async function exchange(port: number, sent: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(sent, 'latin1')
  return text(socket)
}

const echo: Serve = (incoming, response) => {
  text(incoming).then(
    (body) => response.end(JSON.stringify({ url: incoming.url, raw: incoming.rawHeaders, body })),
    () => response.destroy()
  )
}

const echoed = (answer: string) =>
  JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)) as {
    url: string
    raw: string[]
    body: string
  }

const CRLF = '\r\n'
/** Returns the text of a POST request; `fields` without `Host`. */
const posted = (fields: readonly string[], body: string, target = '/') =>
  [`POST ${target} HTTP/1.1`, 'Host: example', ...fields, '', body].join(CRLF)

test('a forwarded request arrives with its target, its fields in their spelling and order, and its body', async (t) => {
  const { port } = await startPair(t, echo)
  const fields = ['X-One: 1', 'x-one: \xe9', 'X-Towpath-Peer: 203.0.113.9', 'Connection: close']
  const send = async (more: readonly string[], body: string) =>
    echoed(await exchange(port, posted([...fields, ...more], body, '/mcp/?a=%20b')))
  const whole = await send(['Content-Length: 5'], 'hello')
  assert.equal(whole.url, '/mcp/?a=%20b')
  assert.equal(whole.body, 'hello')
  assert.deepEqual(whole.raw, [
    ...['Host', 'example', 'X-One', '1', 'x-one', '\xe9', 'Content-Length', '5'],
    ...['x-towpath-peer', '127.0.0.1', 'Connection', 'keep-alive']
  ])
  const chunks = ['2', 'he', '3', 'llo', '0', '', ''].join(CRLF)
  assert.equal((await send(['Transfer-Encoding: chunked'], chunks)).body, 'hello')
  const none = await send([], '')
  assert.deepEqual([none.body, none.raw.includes('Transfer-Encoding')], ['', false])
})

test('a connection serves forwarded requests one after the other', async (t) => {
  const { port } = await startPair(t, echo)
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
  for (const body of ['first', 'second', 'third']) {
    socket.write(posted([`Content-Length: ${body.length}`], body))
    await until('the answer', () => received.includes(`"body":"${body}"`))
  }
  socket.destroy()
})

test('an answer before the end of the body arrives, and closes the connection if it says so', async (t) => {
  const { port } = await startPair(t, (_incoming, response) => {
    response.writeHead(413, { connection: 'close', 'content-length': '3' }).end('no!')
  })
  const answer = await exchange(port, posted(['Content-Length: 1000000'], 'begin'))
  assert.match(answer, /^HTTP\/1\.1 413 /)
  assert.match(answer, /\r\n\r\nno!$/)
})

/** Requests an answer that stays open. */
async function openEvents(port: number) {
  const out = request({ port, host: '127.0.0.1', agent: false }).end()
  const [incoming] = (await once(out, 'response')) as [IncomingMessage]
  let received = ''
  let end = ''
  incoming.on('data', (chunk: Buffer) => (received += chunk.toString()))
  incoming.on('error', () => (end = 'broken'))
  incoming.on('end', () => (end = 'whole'))
  return { out, received: () => received, end: () => end }
}

test('events arrive as they are sent, and the end of either side is the end of the other', async (t) => {
  const responses: ServerResponse[] = []
  let closed = 0
  const { port } = await startPair(t, (_incoming, response) => {
    responses.push(response)
    response.once('close', () => closed++)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const left = await openEvents(port)
  responses[0]!.write('data: 1\n\n')
  await until('the event', () => left.received() === 'data: 1\n\n')
  left.out.destroy()
  await until('the end at the owner', () => closed === 1)

  const broken = await openEvents(port)
  responses[1]!.write('data: 2\n\n')
  await until('the event', () => broken.received() !== '')
  responses[1]!.destroy()
  await until('the end at the client', () => broken.end() === 'broken')

  const whole = await openEvents(port)
  responses[2]!.end('data: 3\n\n')
  await until('the end at the client', () => whole.end() === 'whole')
  assert.equal(whole.received(), 'data: 3\n\n')
})

test('a client that leaves in the middle of its body ends the request at the owner', async (t) => {
  let arrived = 0
  let ended = 0
  const { port } = await startPair(t, (incoming, response) => {
    incoming.on('data', (chunk: Buffer) => (arrived += chunk.length))
    incoming.on('error', () => {})
    response.once('close', () => ended++)
  })
  const socket = connect(port, '127.0.0.1')
  socket.write(posted(['Content-Length: 1000'], 'begin'))
  await until('the beginning', () => arrived === 5)
  socket.destroy()
  await until('the end at the owner', () => ended === 1)
})

test('a request whose owner is gone is left to the worker that got it, with its body unread', async (t) => {
  const { port, left } = await startPair(t)
  const answer = await exchange(port, posted(['Connection: close', 'Content-Length: 5'], 'hello'))
  assert.match(answer, /front hello/)
  assert.equal(left(), 1)
})

test('a large answer passes whole, also to a client that begins to read late', async (t) => {
  const part = Buffer.alloc(1_000_000, 'x')
  let waited = 0
  const { port } = await startPair(t, (_incoming, response) => {
    const write = (count: number): void => {
      if (count === 0) return void response.end()
      if (response.write(part)) return write(count - 1)
      waited++
      response.once('drain', () => write(count - 1))
    }
    write(40)
  })
  const out = request({ port, host: '127.0.0.1', agent: false }).end()
  const [incoming] = (await once(out, 'response')) as [IncomingMessage]
  let received = 0
  incoming.on('data', (chunk: Buffer) => (received += chunk.length))
  await once(incoming, 'end')
  assert.equal(received, 40 * part.length)
  assert.ok(waited > 0)
})

test('workers answer questions, and one that does not is left out', async (t) => {
  const folder = await tempDir(t)
  const [first, second, third] = [0, 1, 2].map((index) => createSiblings({ index, count: 3, folder }, limits)) as [
    Siblings,
    Siblings,
    Siblings
  ]
  addCleanup(t, () => {
    for (const worker of [first, second, third]) worker.close()
  })
  second.answer('name', () => 'second')
  await second.listen(() => assert.fail('a question is no request'))
  assert.deepEqual([...(await first.ask('name'))], [[1, 'second']])
  assert.deepEqual([...(await first.ask('other'))], [])
  second.answer('other', () => Promise.reject(new Error('not now')))
  assert.deepEqual([...(await first.ask('other'))], [])
})
