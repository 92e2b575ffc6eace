import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createFairShareCache } from '../../src/lib/fair-share-cache.ts'
import { createQuota } from '../../src/lib/quota.ts'
import { createClientSessions, type Session } from '../../src/mcp/sessions/client-sessions.ts'

const HOUR = 3_600_000
const MINUTE = 60_000
const root = new URL('../../src/', import.meta.url).pathname

/** Files that compute with the wall clock, and the purpose of each. Durations are measured with `performance.now()`. */
const wallClock: Readonly<Record<string, string>> = {
  'authorization-server/adapter.ts': 'the age of a rotation that another replica may have made',
  'authorization-server/client-assertions.ts': 'refuses assertions that expire too late',
  'catalog/principal-index.ts': 'expiries of access tokens, which are moments',
  'cli/checks/client.ts': 'compares it with the clock of the gateway',
  'cli/completion/complete.ts': 'compares it with the time of a file',
  'cli/io/account-file.ts': 'compares it with the time of a file',
  'cli/io/authorization-server.ts': 'the moment at which an access token expires',
  'cli/io/sign-in-tokens.ts': 'compares it with that moment',
  'cli/io/sign-in.ts': 'the time left until an expiry, within bounds',
  'control/access-tokens.ts': 'refuses an expiry in the past',
  'control/dashboard/diagnostics.ts': 'compares it with the clock of the database',
  'gateway/server-watching.ts': 'the age of lists that another replica may have read; wrong either way counts',
  'gateway/token-expiry.ts': 'the time left until an expiry, looked at again every half minute',
  'mcp/sessions/session-ids.ts': 'the age of ids that another replica may have issued',
  'mcp/tasks/handles.ts': 'the age of handles in days, which another replica may have issued',
  'plugins/identity.ts': 'the age of groups, which are stored with the time at the provider',
  'registry/store/lock.ts': 'compares it with the time of a file, and watches before it decides',
  'routes/dashboard/diagnostics.ts': 'the time of the start',
  'routes/identity/back-channel-logout.ts': 'the end of the life of sessions, stored for all replicas',
  'routes/identity/current-server.ts': 'the end of the life of access tokens, stored for all replicas',
  'routes/identity/device.ts': 'the end of the life of codes, stored for all replicas',
  'routes/identity/sign-in.ts': 'the age of a sign-in that another replica may have started'
}

test('only these files compute with the wall clock', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const sums = /Date\.now\(\)\)? ?[-+<>]|[-+<>]=? (?:Math\.\w+\()?Date\.now\(\)/
  const computing = files.filter((name) => sums.test(readFileSync(join(root, name), 'utf8')))
  assert.deepEqual(computing.toSorted(), Object.keys(wallClock))
})

/** Sessions of one replica; several share the key. */
function openReplica(t: TestContext) {
  const sessions = createClientSessions({
    key: Buffer.alloc(32, 1),
    maxSessions: 10,
    quota: createQuota(Infinity),
    sessionIdleMs: HOUR,
    announceEnd() {},
    onEnd() {}
  })
  t.after(() => sessions.close())
  return sessions
}

test('a session lives on where it is known, however far the clock jumps', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 10) })
  const sessions = openReplica(t)
  const { id } = sessions.create('ann', '/mcp', '2025-11-25', {}) as Session
  for (const jump of [-48 * HOUR, 96 * HOUR, -24 * HOUR]) {
    t.mock.timers.setTime(Date.now() + jump)
    assert.equal(sessions.find(id, 'ann', '/mcp')?.id, id)
  }
})

test('elsewhere an id is good for a day, with a small difference of clocks, and not for longer after a jump back', (t) => {
  const issued = Date.UTC(2026, 0, 10)
  t.mock.timers.enable({ apis: ['Date'], now: issued })
  const { id } = openReplica(t).create('ann', '/mcp', '2025-11-25', {}) as Session
  for (const [age, isGood] of [
    [0, true],
    [-MINUTE, true],
    [-10 * MINUTE, false],
    [-48 * HOUR, false],
    [23 * HOUR, true],
    [25 * HOUR, false]
  ] as const) {
    t.mock.timers.setTime(issued + age)
    assert.equal(openReplica(t).find(id, 'ann', '/mcp') !== undefined, isGood, `${age / MINUTE} minutes`)
  }
})

test('kept handles, such as ids of questions and links, do not age by a jump of the clock', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 10) })
  const kept = createFairShareCache<number>({ maxBytes: 10_000, maxBytesPerOwner: 10_000, maxAgeMs: HOUR })
  kept.set('server', 'ann', 'handle', 1)
  for (const jump of [-48 * HOUR, 96 * HOUR]) {
    t.mock.timers.setTime(Date.now() + jump)
    assert.equal(kept.newest('handle', { owner: 'server' })?.value, 1)
  }
})
