import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCatalog } from '../../src/catalog/catalog.ts'
import { createHealthTracker } from '../../src/control/dashboard/server-health.ts'
import { createSharedActivity, type WorkerActivity } from '../../src/gateway/shared-activity.ts'
import { createClientActivity } from '../../src/observe/client-activity.ts'
import { storedServer } from './stored.ts'

const catalog = buildCatalog({
  version: '1',
  initialized: true,
  servers: [storedServer('a', []), storedServer('b', [])],
  groups: [],
  principals: [],
  policies: [],
  teams: [],
  tombstones: [],
  signingKeys: []
})
const idOf = (name: string) => catalog.server(name)!.stored.id

/** A worker with one session and one call at `a`. */
function startWorker(hasStarts = false) {
  const health = createHealthTracker({ stderr: () => [], onChange() {} })
  const clientActivity = createClientActivity()
  const times = { startMs: 1_000, callMs: 1 }
  const activity = createSharedActivity({
    ...{ catalog: () => catalog, health, clientActivity },
    sessions: (id) => ({ open: id === idOf('a') ? 1 : 0, idle: 0, spare: undefined }),
    startTimes: (id) => (hasStarts && id === idOf('a') ? times : undefined),
    activeCalls: () => 1
  })
  return { health, clientActivity, activity, times }
}

/** Passes what a worker tells as JSON, as workers do. */
const told = ({ activity }: ReturnType<typeof startWorker>) =>
  JSON.parse(JSON.stringify(activity.own())) as WorkerActivity

test('without other workers the activity is that of the process', () => {
  const { health, clientActivity, activity } = startWorker()
  assert.equal(activity.health.get('a'), undefined)
  health.recordSuccess('a')
  clientActivity.recordRequest('/mcp')
  assert.equal(activity.health.get('a'), health.get('a'))
  assert.equal(activity.clientActivity.lastUsedAt(), clientActivity.lastUsedAt())
  assert.deepEqual(activity.sessions(idOf('a')), { open: 1, idle: 0, spare: undefined })
  assert.equal(activity.activeCalls(), 1)
})

test('sessions and calls of all workers are added up, and what only one knows is known', () => {
  const [one, two] = [startWorker(), startWorker(true)]
  two.health.recordSuccess('a')
  two.clientActivity.recordRequest('/mcp')
  two.clientActivity.recordClient('/mcp', { name: 'there' })
  one.clientActivity.recordClient('/mcp', { name: 'here' })
  one.activity.setOthers([told(two)])
  assert.equal(one.activity.activeCalls(), 2)
  assert.equal(one.activity.sessions(idOf('a')).open, 2)
  assert.deepEqual(one.activity.startTimes(idOf('a')), two.times)
  assert.equal(one.activity.startTimes(idOf('b')), undefined)
  assert.equal(one.activity.health.get('a')?.isHealthy, true)
  assert.equal(one.activity.health.lastSuccessAt('a'), two.health.lastSuccessAt('a'))
  assert.equal(one.activity.health.get('b'), undefined)
  assert.ok(one.activity.clientActivity.lastUsedAt((endpoint) => endpoint === '/mcp'))
  assert.equal(
    one.activity.clientActivity.lastUsedAt((endpoint) => endpoint === '/sse'),
    undefined
  )
  const names = one.activity.clientActivity.listClients().map(({ name }) => name)
  assert.deepEqual(names.toSorted(), ['here', 'there'])
  one.activity.setOthers([])
  assert.equal(one.activity.health.get('a'), undefined)
})

test('of contacts in several workers the latest counts, and a client of several is listed once', () => {
  const [one, two] = [startWorker(), startWorker()]
  one.health.recordSuccess('a')
  two.health.observer.onConnectionFailure('a', 'unreachable', 'refused')
  const failed = told(two)
  const later = failed.servers.map((server) =>
    server.contact ? { ...server, contact: { ...server.contact, since: server.contact.since + 60_000 } } : server
  )
  one.clientActivity.recordClient('/mcp', { name: 'same', version: '1' })!.seenAt = 1
  one.activity.setOthers([
    { ...failed, servers: later, clients: [{ endpoint: '/mcp', name: 'same', version: '2', seenAt: 2 }] }
  ])
  assert.equal(one.activity.health.get('a')?.error, 'refused')
  assert.deepEqual(
    one.activity.clientActivity.listClients().map(({ version }) => version),
    ['2']
  )
})
