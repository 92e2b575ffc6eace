import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import test from 'node:test'
import { startApp } from '../app.ts'
import { until } from '../until.ts'

const request = 'GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n'

test('what waits behind an open stream on the same connection ends with the connection', async (t) => {
  const app = await startApp(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  // the answers to the second and the third would begin behind the end of the first
  socket.write(request.repeat(3))
  await once(socket, 'data')
  await until('each has its stream', () => app.gateway.stats().streams === 3)
  socket.destroy()
  await until('all are over', () => app.gateway.stats().streams === 0)
  assert.equal(app.gateway.stats().sessions, 0)
})
