import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { createRefresher, type RefresherOptions } from '../../src/control/refresher.ts'
import type { UpstreamOffer } from '../../src/registry/model/model.ts'
import { catalogOf, legacyNegotiation, storedServer } from './stored.ts'
import { until } from '../until.ts'

const unchanged = { unchanged: true }
const offer: UpstreamOffer = { negotiation: legacyNegotiation, items: [] }
const names = ['a', 'b', 'c', 'd', 'e', 'f']
const all = catalogOf(names.map((name) => storedServer(name, [])))

function open(t: TestContext, options: Partial<RefresherOptions> = {}, catalog: () => Catalog = () => all) {
  const read: string[] = []
  const stored: string[] = []
  const warned: object[] = []
  const refresher = createRefresher({
    intervalMs: 0,
    catalog,
    claim: async () => true,
    read: async ({ name }) => (read.push(name), offer),
    store: async ({ name }) => (stored.push(name), unchanged),
    log: { warn: (details) => void warned.push(details) },
    ...options
  })
  t.after(() => refresher.close())
  return { refresher, read, stored, warned }
}

const gate = () => {
  let open_!: () => void
  const opened = new Promise<void>((resolve) => (open_ = resolve))
  return { open: open_, opened }
}

test('requests for a server in quick succession are one read, which is stored', async (t) => {
  const { refresher, read, stored } = open(t)
  for (let i = 0; i < 10; i++) refresher.requestRefresh('id-a')
  refresher.requestRefresh('id-b')
  await until('both are stored', () => stored.length === 2)
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.deepEqual(
    [read.toSorted(), stored.toSorted()],
    [
      ['a', 'b'],
      ['a', 'b']
    ]
  )
})

test('a request that comes while the server is read leads to another read afterwards', async (t) => {
  const { open: finish, opened } = gate()
  let reads = 0
  const { refresher, stored } = open(t, {
    async read() {
      if (++reads === 1) await opened
      return offer
    }
  })
  refresher.requestRefresh('id-a')
  await until('the first read begins', () => reads === 1)
  refresher.requestRefresh('id-a')
  await new Promise((resolve) => setTimeout(resolve, 250))
  assert.equal(reads, 1, 'not two at a time')
  finish()
  await until('the second read is stored', () => stored.length === 2)
  assert.equal(reads, 2)
})

test('SR-H3 a server that tells of changes at each reading is read ever later, and others as soon as before', async (t) => {
  const { refresher, read } = open(t)
  const stop = AbortSignal.timeout(2_500)
  while (!stop.aborted) {
    refresher.requestRefresh('id-a')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  // at 100, 200, 400, 800 ms …; without backoff one each 100 ms
  assert.ok(read.length >= 1 && read.length <= 6, `${read.length} reads in 2.5 s`)
  refresher.requestRefresh('id-b')
  await until('another server is read', () => read.includes('b'))
})

test('a server that waits a little before it tells of the next change is read ever later too', async (t) => {
  const { refresher, read } = open(t, {
    store: async ({ id }) => {
      setTimeout(() => refresher.requestRefresh(id), 250)
      return unchanged
    }
  })
  refresher.requestRefresh('id-a')
  await new Promise((resolve) => setTimeout(resolve, 2_800))
  // at 100, 450, 900, 1,550 ms …; without backoff one each 350 ms
  assert.ok(read.length >= 1 && read.length <= 5, `${read.length} reads in 2.8 s`)
})

test('SR-H3 a server that tells of changes is read ever later, however often it is disabled and enabled', async (t) => {
  const [enabled, disabled] = [true, false].map((each) => catalogOf([storedServer('a', [], { enabled: each })]))
  let catalog = enabled!
  const { refresher, read } = open(t, {}, () => catalog)
  const stop = AbortSignal.timeout(2_500)
  while (!stop.aborted) {
    for (catalog of [disabled!, enabled!]) refresher.reviewServers()
    refresher.requestRefresh('id-a')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  // at 100, 200, 400, 800 ms …; without what is kept one each 100 ms
  assert.ok(read.length >= 1 && read.length <= 6, `${read.length} reads in 2.5 s`)
})

test('SR-H3 a server with other lists in each session is read for a twentieth of the time', async (t) => {
  const { refresher, stored } = open(t, {
    async read() {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return offer
    },
    store: async ({ name }) => (stored.push(name), { unchanged: false })
  })
  const stop = AbortSignal.timeout(2_600)
  while (!stop.aborted) {
    refresher.suggestRefresh('id-a')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  // at 100 ms and from 2,200 ms on; without the pause one each 200 ms
  assert.ok(stored.length >= 1 && stored.length <= 2, `${stored.length} reads in 2.6 s`)
})

test('a server that is unknown or disabled is not read', async (t) => {
  const catalog = catalogOf([storedServer('a', [], { enabled: false }), storedServer('b', [])])
  const { refresher, read } = open(t, {}, () => catalog)
  for (const id of ['id-a', 'id-x', 'id-b']) refresher.requestRefresh(id)
  await until('b is read', () => read.length > 0)
  assert.deepEqual(read, ['b'])
})

test('every enabled server is read in each round, few at a time, and a slow one holds up no other', async (t) => {
  const { open: finish, opened } = gate()
  let running = 0
  let most = 0
  const rounds = new Map<string, number>()
  const { refresher, stored } = open(t, {
    intervalMs: 30,
    async read({ name }) {
      rounds.set(name, (rounds.get(name) ?? 0) + 1)
      most = Math.max(most, ++running)
      if (name === 'a') await opened
      await new Promise(setImmediate)
      running--
      return offer
    }
  })
  refresher.start()
  await until('the others are stored', () => stored.length === names.length - 1)
  assert.deepEqual(stored.toSorted(), names.slice(1))
  finish()
  await until('the next rounds come', () => names.every((name) => (rounds.get(name) ?? 0) >= 2))
  assert.ok(most <= 4, String(most))
})

test('a server that cannot be read is warned of and read again the next time', async (t) => {
  let reads = 0
  const { refresher, warned, stored } = open(t, {
    read: () => (++reads === 1 ? Promise.reject(new Error('down')) : Promise.resolve(offer))
  })
  refresher.requestRefresh('id-a')
  await until('the failure is told', () => warned.length === 1)
  assert.equal((warned[0] as { server: string }).server, 'a')
  refresher.requestRefresh('id-a')
  await until('the second read is stored', () => stored.length === 1)
})

test('once closed nothing is read, stored or warned of any more', async (t) => {
  const { open: finish, opened } = gate()
  let reads = 0
  const { refresher, stored, warned } = open(t, {
    intervalMs: 20,
    async read({ name }) {
      reads++
      await opened
      if (name === 'b') throw new Error('down')
      return offer
    }
  })
  refresher.start()
  await until('reads begin', () => reads >= 2)
  const before = reads
  refresher.close()
  refresher.requestRefresh('id-a')
  finish()
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.deepEqual([reads, stored, warned], [before, [], []])
})

/** Replaces the timers with ones that the test advances, together with pending promises. */
function withClock(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return async (ms: number) => {
    t.mock.timers.tick(ms)
    for (let i = 0; i < 3; i++) await new Promise(setImmediate)
  }
}

test('what is only suggested is looked at ever later while nothing differs, and at once again when something does', async (t) => {
  const pass = withClock(t)
  let difference = unchanged
  const { refresher, read } = open(t, { store: async () => difference })
  const looksAfter = async (ms: number) => {
    const before = read.length
    refresher.suggestRefresh('id-a')
    refresher.suggestRefresh('id-a')
    await pass(ms - 1)
    assert.equal(read.length, before, `not before ${ms} ms`)
    await pass(1)
    assert.equal(read.length, before + 1, `after ${ms} ms`)
  }
  for (const ms of [100, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]) await looksAfter(ms)
  difference = { unchanged: false }
  await looksAfter(60_000)
  await looksAfter(100)
})

test('a request takes the place of a suggestion that waits, and is told of; a suggestion is not', async (t) => {
  const pass = withClock(t)
  const answered: string[] = []
  const { refresher, read } = open(t, { onRead: ({ name }) => void answered.push(name) })
  refresher.suggestRefresh('id-a')
  await pass(100)
  assert.deepEqual([read.length, answered], [1, []])
  refresher.suggestRefresh('id-a')
  refresher.requestRefresh('id-a')
  refresher.suggestRefresh('id-a')
  await pass(100)
  assert.deepEqual([read.length, answered], [2, ['a']])
  await pass(60_000)
  assert.equal(read.length, 2)
})

test('lists are read again when they are outdated by their own words, but not more often than every ten seconds', async (t) => {
  const pass = withClock(t)
  const hinted = (name: string, listTtlMs: number) =>
    storedServer(name, [], { negotiation: { ...legacyNegotiation, listTtlMs } })
  const servers = { a: hinted('a', 30_000), b: hinted('b', 1), c: storedServer('c', []) }
  let catalog = catalogOf(Object.values(servers))
  const read: string[] = []
  const { refresher } = open(
    t,
    {
      // a returns a longer expiry, b none
      async read(stored) {
        read.push(stored.name)
        return {
          negotiation: stored.name === 'a' ? { ...legacyNegotiation, listTtlMs: 40_000 } : legacyNegotiation,
          items: []
        }
      }
    },
    () => catalog
  )
  refresher.start()
  await pass(9_999)
  assert.deepEqual(read, [])
  await pass(1)
  assert.deepEqual(read.splice(0), ['b'])
  await pass(20_000)
  assert.deepEqual(read.splice(0), ['a'])
  await pass(39_999)
  assert.deepEqual(read, [])
  await pass(1)
  assert.deepEqual(read.splice(0), ['a'])
  catalog = catalogOf([servers.c])
  refresher.reviewServers()
  await pass(100_000)
  assert.deepEqual(read, [])
})

test('what another replica has begun to read since is left to it, and told of all the same', async (t) => {
  const pass = withClock(t)
  const asked: number[] = []
  const answered: string[] = []
  const { refresher, read } = open(t, {
    claim: async (_stored, withinMs) => (asked.push(withinMs), false),
    onRead: ({ name }) => void answered.push(name)
  })
  refresher.requestRefresh('id-a')
  await pass(100)
  assert.deepEqual([read, answered], [[], ['a']])
  assert.ok(asked.length === 1 && asked[0]! >= 0 && asked[0]! < 5_000, String(asked))
})

/** Returns claims as the database keeps them: for all replicas, by its own clock. */
function createClaims() {
  const begun = new Map<string, number>()
  return async ({ id }: { readonly id: string }, withinMs: number) => {
    const now = performance.now()
    if ((begun.get(id) ?? -Infinity) > now - withinMs) return false
    begun.set(id, now)
    return true
  }
}

test('CR-A5: after the start every server is read once, by one of the replicas that start together, few at a time', async (t) => {
  const claim = createClaims()
  const read: string[] = []
  let running = 0
  let most = 0
  const replica = () =>
    open(t, {
      intervalMs: 3_600_000,
      claim,
      async read({ name }) {
        read.push(name)
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 20))
        running--
        return offer
      }
    })
  const replicas = [replica(), replica(), replica()]
  for (const { refresher } of replicas) refresher.start()
  await until('all are read', () => replicas.flatMap(({ stored }) => stored).length >= names.length)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  assert.deepEqual(read.toSorted(), names, 'each once')
  assert.ok(most <= 3 * 4, `${most} at a time`)
})

test('CR-A5: a replica that starts later reads again, since what was read before may be from before a change', async (t) => {
  const claim = createClaims()
  const [first, second] = [open(t, { intervalMs: 3_600_000, claim }), open(t, { intervalMs: 3_600_000, claim })]
  first.refresher.start()
  await until('the first has read', () => first.stored.length === names.length)
  second.refresher.start()
  await until('the second has read', () => second.stored.length === names.length)
})

test('CR-A5: a server that is a process is read when it is used for the first time after the start, and not again', async (t) => {
  const servers = ['process', 'later'].map((name) => storedServer(name, [], { transport: 'stdio' }))
  let catalog = catalogOf([servers[0]!, storedServer('http', [])])
  const { refresher, read, stored } = open(t, { intervalMs: 3_600_000 }, () => catalog)
  refresher.start()
  await until('the other is stored', () => stored.length === 1)
  assert.deepEqual(read, ['http'], 'no process is started for it')
  catalog = catalogOf([...catalog.servers.map((server) => server.stored), servers[1]!])
  refresher.reviewServers()
  for (let i = 0; i < 5; i++) for (const id of ['id-process', 'id-http', 'id-later']) refresher.refreshIfStale(id)
  await until('it is stored', () => stored.length === 2)
  refresher.refreshIfStale('id-process')
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.deepEqual(read, ['http', 'process'], 'what was registered since has been read then')
})

test('CR-A5: without an interval nothing is read after the start', async (t) => {
  const { refresher, read } = open(t)
  refresher.start()
  refresher.refreshIfStale('id-a')
  await new Promise((resolve) => setTimeout(resolve, 600))
  assert.deepEqual(read, [])
})
