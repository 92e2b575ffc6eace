import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allCells, valueFor } from '../matrix.ts'
import { skip } from './browser.ts'
import { findShifts } from './layout-shift.ts'
import { consolePages, dashboardPages, widths } from './page-list.ts'
import { shiftingSites } from './shifting-sites.ts'

/** Viewers of a page: an administrator of the console, and everybody on the dashboard if that has the page. */
const viewersOf = (page: string) => (dashboardPages.includes(page) ? (['admin', undefined] as const) : ['admin'])

/** Each page for one viewer in one width by turns; the nightly tests take every viewer and width. */
test('no page of the console or the dashboard jumps while slow answers arrive', { skip }, async (t) => {
  const { browser, loads } = await shiftingSites(t)
  const some = loads.filter(({ page, role, width }) => {
    const [viewer, itsWidth] = valueFor(page, allCells(viewersOf(page), widths))
    return role === viewer && width === itsWidth
  })
  assert.equal(some.length, consolePages.length)
  assert.deepEqual(await findShifts(browser, some), [])
})
