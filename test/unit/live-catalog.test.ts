import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyCatalog } from '../../src/catalog/catalog.ts'
import { createSignInLeases } from '../../src/gateway/sign-in-leases.ts'
import { createLiveCatalog } from '../../src/gateway/live-catalog.ts'

test('reactions to a new catalog run by phase, sessions that end first, and see the new catalog', () => {
  const live = createLiveCatalog(createSignInLeases())
  const ran: string[] = []
  for (const phase of ['notify', 'release', 'endCalls', 'endSessions', 'notify'] as const) {
    live.onChange(phase, ({ next }) => {
      assert.equal(live.current, next, 'the new catalog is served')
      ran.push(phase)
    })
  }
  assert.equal(live.isLoaded, false, 'nothing is loaded before')
  const next = { ...emptyCatalog }
  const reactions = live.replace(next)
  assert.equal(live.current, next, 'the catalog is replaced before the reactions run')
  assert.equal(live.isLoaded, true, 'a catalog is loaded')
  for (const react of reactions) react()
  assert.deepEqual(ran, ['endSessions', 'endCalls', 'release', 'notify', 'notify'])
})
