import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createClosingPool } from '../../src/upstream/http/closing-pool.ts'
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
    connections: CONNECTIONS
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
