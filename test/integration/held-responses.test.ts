import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { createBoundedFetch } from '../../src/upstream/oauth/bounded-fetch.ts'
import { HoldingPool } from '../../src/upstream/http/holding-pool.ts'
import { buildConnector } from '../../src/upstream/http/undici-parts.ts'
import { egressOf } from '../egress.ts'
import { until } from '../until.ts'

const BODY = 'data: x\n\n'.repeat(20)
const chunked = `transfer-encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n`
const close = 'connection: close\r\n'
/** Responses by the way in which they tell where they end: the text after the status line, and whether it is whole. */
const framings: Record<string, { readonly version?: '1.0'; readonly rest: string; readonly isWhole: boolean }> = {
  'until the end of the connection': { rest: `${close}\r\n${BODY}`, isWhole: true },
  'of HTTP/1.0': { version: '1.0', rest: `\r\n${BODY}`, isWhole: true },
  'of a known length': { rest: `${close}content-length: ${BODY.length}\r\n\r\n${BODY}`, isWhole: true },
  'of a known length, kept alive': { rest: `content-length: ${BODY.length}\r\n\r\n${BODY}`, isWhole: true },
  'shorter than announced': { rest: `${close}content-length: ${BODY.length + 5}\r\n\r\n${BODY}`, isWhole: false },
  'in chunks': { rest: `${close}${chunked}0\r\n\r\n`, isWhole: true },
  'in chunks, without the last': { rest: close + chunked, isWhole: false },
  'in chunks, kept alive, without the last': { rest: chunked, isWhole: false }
}
const ends: Record<string, (socket: Socket) => void> = {
  'ends the connection': (socket) => void socket.end(),
  'resets the connection': (socket) => void socket.resetAndDestroy()
}

/** Starts a server that answers each request with the text, and gives the connection to `after`. */
async function startServer(t: TestContext, answer: string, after: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write(answer, () => after(socket)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function createPool(t: TestContext, url: string): HoldingPool {
  const pool = new HoldingPool(url, { connect: buildConnector({}), connections: 1 })
  t.after(() => pool.destroy())
  return pool
}

/** Sends a request that holds its response from the first byte of the body on. */
function hold(pool: Dispatcher) {
  const seen = { bytes: 0, outcome: '', resume: () => {} }
  pool.dispatch(
    { path: '/', method: 'GET' },
    {
      onConnect: () => {},
      onHeaders: (_status, _headers, resume) => {
        seen.resume = resume
        return true
      },
      onData: ({ length }) => {
        seen.bytes += length
        return false
      },
      onComplete: () => void (seen.outcome = 'complete'),
      onError: (error) => void (seen.outcome = `error: ${error.message}`)
    }
  )
  return seen
}

for (const [framing, { version = '1.1', rest, isWhole }] of Object.entries(framings))
  for (const [ending, end] of Object.entries(ends))
    for (const order of ['before', 'after'])
      test(`a server that ${ending} of a held response ${framing} ends the response, resumed ${order} that`, async (t) => {
        let connection: Socket | undefined
        const url = await startServer(t, `HTTP/${version} 200 OK\r\n${rest}`, (socket) => (connection = socket))
        const response = hold(createPool(t, url))
        await until('the body arrives', () => response.bytes > 0 && connection !== undefined)
        if (order === 'before') response.resume()
        end(connection!)
        // the loop sees the end of the connection
        if (order === 'after') await delay(20)
        response.resume()
        await until('the response ends', () => response.outcome !== '')
        if (isWhole && ending === 'ends the connection') assert.equal(response.outcome, 'complete')
        if (!isWhole) assert.match(response.outcome, /^error/)
        assert.equal(response.bytes, BODY.length)
      })

for (const [ending, end] of Object.entries(ends))
  test(`a server that ${ending} while the connection holds more of a response delivers all of it, or the request fails`, async (t) => {
    let connection: Socket | undefined
    const url = await startServer(t, `HTTP/1.1 200 OK\r\n${close}\r\n${BODY}`, (socket) => (connection = socket))
    const response = hold(createPool(t, url))
    await until('the body begins', () => response.bytes > 0 && connection !== undefined)
    connection!.write('y'.repeat(50_000))
    await delay(20)
    assert.equal(response.bytes, BODY.length)
    end(connection!)
    await delay(20)
    await until('the response ends', () => {
      response.resume()
      return response.outcome !== ''
    })
    if (ending === 'ends the connection')
      assert.deepEqual([response.outcome, response.bytes], ['complete', BODY.length + 50_000])
    else assert.match(response.outcome, /^error/)
  })

test('a response that goes on from within another one does no harm', async (t) => {
  const length = 1_000_000
  const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length)}`
  const url = await startServer(t, answer, () => {})
  const first = hold(createPool(t, url))
  await until('the first body begins', () => first.bytes > 0)
  let bytes = 0
  await new Promise<void>((resolve, reject) =>
    createPool(t, url).dispatch(
      { path: '/', method: 'GET' },
      {
        onConnect: () => first.resume(),
        onHeaders: (_status, _headers, resume) => {
          first.resume()
          resume()
          return true
        },
        onData: (chunk) => {
          bytes += chunk.length
          first.resume()
          return true
        },
        onComplete: () => {
          first.resume()
          resolve()
        },
        onError: reject
      }
    )
  )
  assert.equal(bytes, length)
  await until('the first response ends', () => {
    first.resume()
    return first.outcome !== ''
  })
  assert.deepEqual([first.outcome, first.bytes], ['complete', length])
})

test('a connection whose response was held to its end serves the next request', async (t) => {
  const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
  const pool = createPool(t, await startServer(t, answer, () => {}))
  for (let sent = 0; sent < 3; sent++) {
    const response = hold(pool)
    await until('the response ends', () => response.outcome !== '')
    assert.deepEqual([response.outcome, response.bytes], ['complete', BODY.length])
  }
})

test('a held response delivers no more than its connection holds, and all of it once it goes on', async (t) => {
  const length = 8_000_000
  const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length)}`
  const response = hold(createPool(t, await startServer(t, answer, () => {})))
  await until('the body begins', () => response.bytes > 0)
  await delay(50)
  const held = response.bytes
  await delay(50)
  assert.equal(response.bytes, held)
  assert.ok(held <= 131_072, String(held))
  await until('the response ends', () => {
    response.resume()
    return response.outcome !== ''
  })
  assert.deepEqual([response.outcome, response.bytes], ['complete', length])
})

test('a document of OAuth that ends its connection while it is not read on does no harm', async (t) => {
  const document = JSON.stringify({ text: 'x'.repeat(200_000) })
  const url = await startServer(t, `HTTP/1.1 200 OK\r\n${close}\r\n${document}`, (socket) => socket.end())
  const egress = egressOf()
  t.after(() => egress.close())
  const fetch = createBoundedFetch({ egress, userAgent: 'test' })
  const answers = Array.from({ length: 10 }, async () => (await fetch(url, 300_000)(url)).text())
  assert.deepEqual(new Set(await Promise.all(answers)), new Set([document]))
})
