import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import { test } from 'node:test'
import { createBatchScheduler } from '../../src/lib/batch-scheduler.ts'

test('what is put off is done in order, and what it puts off in turn comes after other work', async () => {
  const later = createBatchScheduler()
  const done: string[] = []
  later(() => {
    done.push('first')
    later(() => done.push('put off by the first'))
  })
  later(() => done.push('second'))
  assert.deepEqual(done, [])
  await new Promise(setImmediate)
  assert.deepEqual(done, ['first', 'second'])
  await new Promise(setImmediate)
  assert.deepEqual(done, ['first', 'second', 'put off by the first'])
})

test('what is put off is done behind all sockets that could be read', async (t) => {
  const later = createBatchScheduler()
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const events: string[] = []
  const clients: Socket[] = []
  for (const name of ['one', 'two', 'three']) {
    const client = connect(port, '127.0.0.1')
    t.after(() => client.destroy())
    const [served] = (await once(server, 'connection')) as [Socket]
    served.on('data', () => {
      events.push('read')
      later(() => events.push(`done ${name}`))
    })
    clients.push(client)
  }
  await new Promise<void>((resolve) => {
    let left = clients.length
    for (const client of clients) client.write('x', () => --left === 0 && resolve())
  })
  // however the kernel splits the data: nothing read in one event-loop turn is processed before the last read
  while (events.length < 6) await new Promise(setImmediate)
  const text = events.map((event) => event[0]).join('')
  assert.match(text, /^(r+d+)+$/)
  assert.deepEqual(events.filter((event) => event !== 'read').sort(), ['done one', 'done three', 'done two'])
  for (const turn of text.match(/r+d+/g)!)
    assert.equal(turn.replaceAll('d', '').length, turn.replaceAll('r', '').length)
})
