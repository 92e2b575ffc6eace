import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from './browser.ts'
import { findShifts } from './layout-shift.ts'
import { shiftingSites } from './shifting-sites.ts'

/** The console wide and the dashboard narrow; the nightly tests take both widths of both. */
test('no page of the console or the dashboard jumps while slow answers arrive', { skip }, async (t) => {
  const { browser, loads } = await shiftingSites(t)
  const some = loads.filter(({ role, width }) => (role === 'admin' && width === 1_440) || (!role && width === 390))
  assert.deepEqual(await findShifts(browser, some), [])
})
