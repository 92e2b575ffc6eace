import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReadingOrder } from '../../src/gateway/reading-order.ts'
import type { Offer, StoredServer } from '../../src/registry/model.ts'

test('lists that were read earlier are not stored over later ones of the same server', async () => {
  const stored: string[] = []
  const readings = createReadingOrder({
    refresh: (_change, id, offer) => {
      stored.push(`${id} ${offer.items[0]!.name}`)
      return Promise.resolve({ added: [], removed: [], changed: [], unchanged: false })
    }
  })
  const offer = (name: string) => ({ items: [{ kind: 'tool', name, definition: '{}' }] }) as unknown as Offer
  const store = (id: string, given: Offer) =>
    readings.store({ actor: null, action: 'server.refresh', target: id } as never, { id } as StoredServer, given)
  let finish: (given: Offer) => void
  const slow = readings.read(() => new Promise<Offer>((resolve) => (finish = resolve)))
  const quick = await readings.read(() => Promise.resolve(offer('new')))
  assert.equal((await store('a', quick)).unchanged, false)
  finish!(offer('old'))
  assert.equal((await store('a', await slow)).unchanged, true, 'nothing is written')
  await store('b', await slow)
  await store('a', quick)
  assert.deepEqual(stored, ['a new', 'b old', 'a new'])
})
