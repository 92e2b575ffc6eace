import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCallStats } from '../../src/registry/logs/call-stats.ts'
import type { Tally } from '../../src/registry/logs/call-tallies.ts'

const NOW = Date.parse('2026-11-20T10:15:30Z')
/** Longer than figures are cached, also if a busy machine reads them slowly. */
const CACHED_MS = 600_000

test('pages that were told of a call before the figures had it are told again, once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let calls = 0
  let told = 0
  const read = async (from: number, seconds: number): Promise<Tally[]> => {
    const isNow = from <= NOW / 1_000 && NOW / 1_000 < from + seconds
    return isNow && calls > 0 ? [{ server: 'alpha', tool: 'echo', calls, failed: 0, bin: null }] : []
  }
  const storing = { times: () => calls, onOutdated: () => void (told += 1) }
  const { stats } = createCallStats(read, storing, () => NOW)
  const count = async () => (await stats('1h')).total.calls
  assert.equal(await count(), 0)
  calls = 1
  assert.equal(await count(), 0, 'figures are cached')
  t.mock.timers.tick(CACHED_MS)
  assert.ok(told > 0)
  assert.equal(await count(), 1)
  const before = told
  t.mock.timers.tick(CACHED_MS)
  assert.equal(await count(), 1)
  assert.equal(told, before, 'nothing is new')
})
