import assert from 'node:assert/strict'
import test from 'node:test'
import { buildCatalog } from '../../src/catalog/catalog.ts'
import { createHealthTracker } from '../../src/control/dashboard/server-health.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { storedServer } from './stored.ts'

const catalogOf = (...names: string[]) =>
  buildCatalog({
    version: '1',
    initialized: true,
    servers: names.map((name) => storedServer(name, [])),
    groups: [],
    principals: [],
    policies: [],
    teams: [],
    tombstones: [],
    signingKeys: []
  })

const failureOf = (error: unknown) => (error instanceof UpstreamFailure ? error : undefined)

function start() {
  let changes = 0
  const contacts = createHealthTracker({ stderr: () => ['last line'], onChange: () => void changes++ })
  return { contacts, changes: () => changes }
}

test('what fails keeps the time since when, and the cause that was last seen, until a contact works', () => {
  const { contacts, changes } = start()
  assert.equal(contacts.get('a'), undefined)
  contacts.observer.onConnectionFailure('a', 'unreachable', 'refused')
  const first = contacts.get('a')!
  assert.deepEqual([first.isHealthy, first.error, first.stderr], [false, 'refused', 'last line'])
  contacts.observer.onConnectionFailure('a', 'unreachable', 'refused')
  assert.equal(changes(), 1)
  contacts.observer.onConnectionFailure('a', 'crashed', 'exited')
  assert.deepEqual([contacts.get('a')?.since, contacts.get('a')?.error], [first.since, 'exited'])
  contacts.recordSuccess('a')
  assert.deepEqual([contacts.get('a')?.isHealthy, contacts.get('a')?.error], [true, undefined])
  contacts.recordSuccess('a')
  assert.equal(changes(), 3)
})

test('what ended on our side says nothing about a server', () => {
  const { contacts, changes } = start()
  for (const reason of ['cancelled', 'limited', 'overloaded', 'too_large'] as const)
    contacts.observer.onConnectionFailure('a', reason, 'no')
  assert.deepEqual([contacts.get('a'), changes()], [undefined, 0])
})

test('a server is being contacted while something reads from it, but for one that is known to answer', async () => {
  const { contacts } = start()
  const timings = { initialize: 4, lists: 2 }
  const during = (work: () => Promise<void>) =>
    contacts.track('a', async () => ({ timings, done: await work() }), failureOf)
  await during(async () => assert.equal(contacts.isConnecting('a'), true))
  assert.equal(contacts.isConnecting('a'), false)
  await during(async () => assert.equal(contacts.isConnecting('a'), false))
  assert.equal(contacts.readingTimes('a'), timings)
  await assert.rejects(during(() => Promise.reject(new UpstreamFailure('timeout', 'silent'))))
  assert.equal(contacts.get('a')?.reason, 'timeout')
  await assert.rejects(during(() => Promise.reject(new Error('ours'))))
  assert.deepEqual([contacts.get('a')?.reason, contacts.isConnecting('a')], ['timeout', false])
})

test('servers that are gone are forgotten', () => {
  const { contacts } = start()
  for (const name of ['a', 'b']) contacts.recordSuccess(name)
  contacts.prune(catalogOf('b'))
  assert.deepEqual(
    [contacts.get('a'), contacts.lastSuccessAt('a'), contacts.get('b')?.isHealthy],
    [undefined, undefined, true]
  )
})
