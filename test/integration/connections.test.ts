import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../../src/app.ts'
import type { Environment } from '../../src/config/config.ts'
import { freshConfig, register } from '../app.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup, tempDir } from '../store.ts'
import { until } from '../until.ts'

const token = 'administrator-0123456789'
const enterprise = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  TOWPATH_ADMIN_TOKEN: token
}
const modes: readonly (readonly [string, Environment])[] = [
  ['development', {}],
  ['enterprise', enterprise]
]
const authorization = `Authorization: Bearer ${token}\r\n`
const ask = (path: string, method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`
const LARGE_BYTES = 8 * 1_024 * 1_024

/** Starts a listening gateway and returns a connect function; connections are closed after the test. */
async function listen(t: TestContext, env: Environment) {
  const root = await tempDir(t)
  await mkdir(join(root, 'assets'))
  await writeFile(join(root, 'assets', 'large.bin'), Buffer.alloc(LARGE_BYTES, 1))
  const lines: string[] = []
  const app = await buildApp(await freshConfig(t, env), {
    dashboardRoot: root,
    log: { write: (line) => lines.push(line) }
  })
  addCleanup(t, () => app.close())
  await app.listen({ port: 0, host: '0.0.0.0' })
  const { port } = app.server.address() as AddressInfo
  const open = async (localAddress = '127.0.0.1'): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
    addCleanup(t, () => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { app, lines, open }
}

/** Returns headers of an MCP request, with the token of a client in enterprise mode. */
async function mcpHeaders(app: FastifyInstance, mode: string): Promise<Record<string, string>> {
  const accept = { accept: 'application/json, text/event-stream' }
  if (mode === 'development') return accept
  const made = await app.inject({
    ...{ method: 'POST', url: '/api/v0/clients', headers: { authorization: `Bearer ${token}` } },
    payload: { name: `client-${randomBytes(4).toString('hex')}`, allowed_servers: [] }
  })
  const { access_token } = made.json() as { access_token: string }
  return { ...accept, authorization: `Bearer ${access_token}` }
}

/** Returns the status of a response on a new connection. */
async function status(open: (address?: string) => Promise<Socket>, address?: string): Promise<number> {
  const socket = await open(address)
  socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1] ?? 0)
}

/** Waits until the gateway has accepted the sockets. */
const waitForConnections = (app: FastifyInstance, count: number) =>
  until(`${count} connections`, async () => {
    const now = await new Promise<number>((resolve) => app.server.getConnections((_error, n) => resolve(n)))
    return now === count
  })

const isClosed = (socket: Socket) => {
  socket.resume()
  return until('the connection to be closed', () => socket.destroyed || socket.readableEnded)
}

test('SR-H1 what waits behind an open stream on the same connection is not begun, and ends with it', async (t) => {
  const { app, open } = await listen(t, {})
  const socket = await open()
  let taken = 0
  let over = 0
  app.server.on('request', (_request, response) => {
    taken++
    response.once('close', () => over++)
  })
  socket.write('GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n'.repeat(3))
  await once(socket, 'data')
  await until('all are there', () => taken === 3)
  assert.equal(app.gateway.stats().streams, 1)
  socket.destroy()
  await until('all are over', () => over === 3)
  assert.deepEqual([app.gateway.stats().streams, app.gateway.stats().sessions], [0, 0])
})

for (const [mode, env] of modes) {
  test(`SR-H1 pipelined requests are answered in their order in ${mode} mode`, async (t) => {
    const { open } = await listen(t, env)
    const socket = await open()
    const paths = ['/health', '/api/v0/servers', '/nowhere', '/metadata', '/openapi.json', '/init', '/docs', '/ready']
    for (const path of paths) socket.write(ask(path))
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    const statuses = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code))
    assert.deepEqual(statuses, [200, 200, 404, 200, 200, 405, 200, 200, 200])
  })

  test(`SR-H1 a connection with too many pipelined requests ends behind those that wait in ${mode} mode`, async (t) => {
    const { app, open } = await listen(t, { ...env, TOWPATH_PIPELINED_REQUESTS: '4' })
    let begun = 0
    app.server.on('request', () => begun++)
    for (const path of ['/health', '/openapi.json', '/api/v0/servers', '/nowhere']) {
      const socket = await open()
      socket.write(ask(path).repeat(200))
      const answers = (await text(socket)).split(/HTTP\/1\.1 (?=\d{3} )/).slice(1)
      assert.equal(answers.length, 5, path)
      assert.match(answers[4]!, /connection: close/i)
    }
    assert.ok(begun >= 20)
    assert.equal(await status(open), 200)
  })

  test(`SR-H1 a connection that sends requests without end behind one that is not answered is closed in ${mode} mode`, async (t) => {
    const { app, open } = await listen(t, env)
    let kept = 0
    app.server.on('request', (_request, response) => {
      kept++
      response.once('close', () => kept--)
    })
    const initialized = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    })
    const first = await app.inject({
      ...{ method: 'POST', url: '/mcp', payload: initialized },
      headers: { 'content-type': 'application/json', ...(await mcpHeaders(app, mode)) }
    })
    const session = String(first.headers['mcp-session-id'])
    const socket = await open()
    const headers = { ...(await mcpHeaders(app, mode)), 'mcp-session-id': session }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET /mcp HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n`)
    await once(socket, 'data')
    const send = () => {
      while (!socket.destroyed && socket.write(ask('/health').repeat(50)));
    }
    socket.on('drain', send)
    send()
    await isClosed(socket)
    await until('nothing to be kept', () => kept === 0)
    assert.equal(await status(open), 200)
  })

  test(`SR-H1 past the number of connections idle and slow ones give way in ${mode} mode`, async (t) => {
    const { app, open, lines } = await listen(t, { ...env, TOWPATH_CONNECTIONS: '3' })
    const begin = 'POST /init HTTP/1.1\r\nHost: localhost\r\n'
    for (const sent of [
      '',
      'GET /hea',
      begin,
      `${begin}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`
    ]) {
      const sockets = [await open(), await open(), await open()]
      for (const socket of sockets) if (sent !== '') socket.write(sent)
      await waitForConnections(app, 3)
      assert.equal(await status(open), 200, sent)
      await isClosed(sockets[0]!)
      for (const socket of sockets) socket.destroy()
      await waitForConnections(app, 0)
    }
    assert.ok(lines.some((line) => line.includes('there are too many connections')))
  })

  test(`SR-H1 one address cannot take the connections of others in ${mode} mode`, async (t) => {
    const { app, open } = await listen(t, { ...env, TOWPATH_CONNECTIONS_PER_ADDRESS: '3' })
    const others = [await open('127.0.0.2'), await open('127.0.0.2')]
    const own = [await open(), await open(), await open(), await open(), await open()]
    await isClosed(own[0]!)
    await isClosed(own[1]!)
    await waitForConnections(app, 5)
    assert.ok(others.every((socket) => !socket.destroyed))
    assert.equal(await status(open, '127.0.0.2'), 200)
    assert.equal(await status(open), 200)
  })

  test(`SR-H1 connections of trusted proxies have no bound of their own in ${mode} mode`, async (t) => {
    const { app, open } = await listen(t, {
      ...env,
      TOWPATH_CONNECTIONS_PER_ADDRESS: '2',
      TOWPATH_TRUSTED_PROXIES: '127.0.0.1'
    })
    for (let i = 0; i < 6; i++) await open()
    await waitForConnections(app, 6)
  })
}

test('SR-H1 where every connection has work under way a new one is closed', async (t) => {
  const { app, open } = await listen(t, { TOWPATH_CONNECTIONS: '3' })
  const streams = [await open(), await open(), await open()]
  for (const socket of streams)
    socket.write('GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n')
  await until('each has its stream', () => app.gateway.stats().streams === 3)
  await isClosed(await open())
  assert.equal(app.gateway.stats().streams, 3)
  streams[0]!.destroy()
  await waitForConnections(app, 2)
  assert.equal(await status(open), 200)
})

test('SR-H1 a caller who reads nothing of an answer loses its connection, one who reads slowly does not', async (t) => {
  const { open, app } = await listen(t, { TOWPATH_UNREAD_ANSWER_TIMEOUT_MS: '2000' })
  const unread = await open()
  const slow = await open()
  const idle = await open()
  let closed = 0
  app.server.on('request', ({ socket }) => socket.once('close', () => closed++))
  for (const socket of [unread, slow]) socket.write(ask('/assets/large.bin'))
  let received = 0
  const read = setInterval(() => {
    received += (slow.read() as Buffer | null)?.length ?? 0
  }, 20)
  addCleanup(t, () => clearInterval(read))
  await until('the connection that is not read to be closed', () => closed === 1)
  await until('the slow one to have it all', () => received >= LARGE_BYTES)
  assert.deepEqual([slow.destroyed, idle.destroyed, closed], [false, false, 1])
})

test('SR-H1 past the bytes that may be unsent in all the longest unread connections are closed', async (t) => {
  const { open, app, lines } = await listen(t, { TOWPATH_UNSENT_BYTES: String(3 * LARGE_BYTES) })
  const sockets: Socket[] = []
  app.server.on('request', ({ socket }) => sockets.push(socket))
  for (let i = 0; i < 8; i++) (await open()).write(ask('/assets/large.bin'))
  await until('every request', () => sockets.length === 8)
  const unsent = () => sockets.reduce((sum, { destroyed, writableLength }) => sum + (destroyed ? 0 : writableLength), 0)
  await until('the bound to be exceeded', () => lines.some((line) => line.includes('too many bytes are waiting')))
  await until('what waits to fit', () => unsent() <= 3 * LARGE_BYTES)
  const left = sockets.filter(({ destroyed }) => !destroyed).length
  assert.ok(left > 0 && left < 8, `${left} connections are left`)
  assert.equal(await status(open), 200)
})

test('SR-H1 a large body behind a slow call is not late: its time begins with its turn', async (t) => {
  const recorder = await startRecorder(null)
  addCleanup(t, recorder.close)
  const { app, open } = await listen(t, { TOWPATH_REQUEST_BODY_TIMEOUT_MS: '1000' })
  await register(app, { name: 'alpha', transport: 'streamable_http', url: recorder.url })
  const post = (payload: object, more = '') => {
    const body = JSON.stringify(payload)
    const head = `POST /api/v0/tools/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}`
    return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }
  const pipelined = await open()
  const large = { name: 'alpha__echo', text: 'x'.repeat(900_000) }
  // Node checks for late requests every two seconds
  pipelined.write(post({ name: 'alpha__slow', ms: 6_000 }) + post(large, 'Connection: close\r\n'))
  const statuses = [...(await text(pipelined)).matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code))
  assert.deepEqual(statuses, [200, 200], 'both are answered')

  const unfinished = await open()
  unfinished.write(`${post({ name: 'alpha__slow', ms: 3_000 })}${post(large).slice(0, 200_000)}`)
  const late = [...(await text(unfinished)).matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code))
  assert.deepEqual(late, [200, 408], 'a body that never comes whole does not wait for ever')
})
