import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createClosingPool } from '../../src/upstream/http/closing-pool.ts'
import { createHttpPool } from '../../src/upstream/http/pool.ts'
import { connector, egressOf } from '../egress.ts'
import { until } from '../until.ts'

const CONNECTIONS = 60

test('a pool that is closed ends all idle connections, and one in use after its answer', async (t) => {
  const waiting: ServerResponse[] = []
  let open = 0
  const server = createServer((_, response) => void waiting.push(response))
  server.on('connection', (socket) => {
    open++
    socket.on('close', () => open--)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())

  const pool = createClosingPool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    connections: CONNECTIONS,
    connect: connector
  })
  const read = async () => (await pool.request({ method: 'GET', path: '/' })).body.text()
  const answers = Array.from({ length: CONNECTIONS }, read)
  await until('all connections to be in use', () => waiting.length === CONNECTIONS)
  for (const response of waiting.splice(1)) response.end('early')
  await Promise.all(answers.slice(1))
  assert.equal(open, CONNECTIONS, 'they are kept open')

  const closed = pool.close()
  await until('the idle connections to be closed', () => open === 1)
  await assert.rejects(read(), { name: 'ClientClosedError' })
  waiting[0]!.end('late')
  assert.equal(await answers[0], 'late')
  await closed
  await until('the last connection to be closed', () => open === 0)
})

test('messages to a server do not wait for those that it has not answered, whatever the sockets for requests', async (t) => {
  const waiting: ServerResponse[] = []
  const server = createServer((_, response) => void waiting.push(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const egress = egressOf({})
  t.after(() => egress.close())
  const { connector } = egress
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/message`
  const pool = createHttpPool({ url, connections: 1, maxRequests: 1, connector })
  const sent = Array.from({ length: 200 }, () => pool.message('POST', [], '{}', { timeoutMs: 60_000 }))
  await until('all messages to arrive', () => waiting.length === sent.length)
  for (const response of waiting) response.writeHead(202).end()
  for (const { status } of await Promise.all(sent)) assert.equal(status, 202)
  pool.close()
})
