import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReadingOrder } from '../../src/control/reading-order.ts'
import type { UpstreamOffer, StoredServer } from '../../src/registry/model/model.ts'

test('lists that were read earlier are not stored over later ones of the same server', async () => {
  const stored: string[] = []
  const readings = createReadingOrder(
    {
      refresh: (_change, id, offer) => {
        stored.push(`${id} ${offer.items[0]!.name}`)
        return Promise.resolve({ added: [], removed: [], changed: [], unchanged: false })
      }
    },
    60_000
  )
  const offer = (name: string) => ({ items: [{ kind: 'tool', name, definition: '{}' }] }) as unknown as UpstreamOffer
  const store = (id: string, given: UpstreamOffer) =>
    readings.store({ actor: null, action: 'server.refresh', target: id } as never, { id } as StoredServer, given)
  let finish: (given: UpstreamOffer) => void
  const slow = readings.read(() => new Promise<UpstreamOffer>((resolve) => (finish = resolve)))
  const quick = await readings.read(() => Promise.resolve(offer('new')))
  assert.equal((await store('a', quick)).unchanged, false)
  finish!(offer('old'))
  assert.equal((await store('a', await slow)).unchanged, true, 'nothing is written')
  await store('b', await slow)
  await store('a', quick)
  assert.deepEqual(stored, ['a new', 'b old', 'a new'])
})

const named = (name: string) => ({ items: [{ kind: 'tool', name, definition: '{}' }] }) as unknown as UpstreamOffer
const change = { actor: null, action: 'server.refresh', target: 'a' } as never
const server = { id: 'a' } as StoredServer

for (const fails of [false, true]) {
  const rest = fails ? 'is stored itself when the later one cannot be written' : 'waits until the later one is written'
  test(`an earlier read that ends while a later one is written ${rest}`, async () => {
    const events: string[] = []
    let endWrite = () => {}
    const readings = createReadingOrder(
      {
        async refresh(_change, _id, offer) {
          const { name } = offer.items[0]!
          if (name === 'later') {
            await new Promise<void>((resolve) => (endWrite = resolve))
            if (fails) throw new Error('no database')
          }
          events.push(`${name} written`)
          return { added: [], removed: [], changed: [], unchanged: false }
        }
      },
      60_000
    )
    const [earlier, later] = [named('earlier'), named('later')]
    await readings.read(() => Promise.resolve(earlier))
    await readings.read(() => Promise.resolve(later))
    const writing = readings.store(change, server, later).catch((error: Error) => events.push(error.message))
    const waiting = readings.store(change, server, earlier).then(({ unchanged }) => events.push(`same: ${unchanged}`))
    await new Promise(setImmediate)
    assert.equal(events.length, 0, 'neither has ended')
    endWrite()
    await Promise.all([writing, waiting])
    const expected = fails ? ['earlier written', 'no database', 'same: false'] : ['later written', 'same: true']
    assert.deepEqual(events.sort(), expected.sort())
  })
}

test('a read that ends while an earlier one of its server is written is written after it', async () => {
  const events: string[] = []
  let endWrite = () => {}
  const readings = createReadingOrder(
    {
      async refresh(_change, _id, offer) {
        const { name } = offer.items[0]!
        events.push(`${name} begins`)
        if (name === 'earlier') await new Promise<void>((resolve) => (endWrite = resolve))
        events.push(`${name} written`)
        return { added: [], removed: [], changed: [], unchanged: false }
      }
    },
    60_000
  )
  const [earlier, later] = [named('earlier'), named('later')]
  await readings.read(() => Promise.resolve(earlier))
  await readings.read(() => Promise.resolve(later))
  const writes = [readings.store(change, server, earlier), readings.store(change, server, later)]
  await new Promise(setImmediate)
  assert.deepEqual(events, ['earlier begins'], 'the later write waits')
  endWrite()
  await Promise.all(writes)
  assert.deepEqual(events, ['earlier begins', 'earlier written', 'later begins', 'later written'])
})

test('a write that waits for another one of the server gives up after the limit, and later ones still run', async () => {
  let endWrite = () => {}
  const written: string[] = []
  const readings = createReadingOrder(
    {
      async refresh(_change, _id, offer) {
        const { name } = offer.items[0]!
        if (name === 'stuck') await new Promise<void>((resolve) => (endWrite = resolve))
        written.push(name)
        return { added: [], removed: [], changed: [], unchanged: false }
      }
    },
    20
  )
  const stuck = readings.store(change, server, named('stuck'))
  await assert.rejects(readings.store(change, server, named('waiting')), { statusCode: 503 })
  await readings.store(change, { id: 'b' } as StoredServer, named('of another server'))
  endWrite()
  await stuck
  await readings.store(change, server, named('later'))
  assert.deepEqual(written, ['of another server', 'stuck', 'later'])
})
