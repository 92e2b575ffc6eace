import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from '../browser/browser.ts'
import { openConsole } from '../browser/console-site.ts'
import { walkConsole } from '../browser/console-walk.ts'
import { addWaiting, startHostileConsole } from '../browser/hostile-console.ts'
import { findShifts } from '../browser/layout-shift.ts'
import { allLooks } from '../browser/page-checks.ts'
import { widths } from '../browser/page-list.ts'
import { shiftingSites } from '../browser/shifting-sites.ts'
import { shareSetup } from '../shared-setup.ts'

/** What `test/browser` checks for some pairs of width and theme, for all of them. */
const setUp = shareSetup(async (t) => {
  const console = await startHostileConsole(t)
  await addWaiting(t, console)
  return { console, site: await openConsole(console.gateway) }
})

for (const role of ['admin', 'auditor', 'user'] as const) {
  test(`CO-08 CO-09 every page of the console in both themes and widths, for the role ${role}`, { skip }, async () => {
    const { console, site } = await setUp()
    await walkConsole(console, site, role, allLooks)
  })
}

const setUpSites = shareSetup(shiftingSites)

// a test each: all pages together take longer than a test may
for (const width of widths)
  for (const viewer of ['admin', 'auditor', 'user', undefined] as const)
    test(
      `no page jumps while slow answers arrive, ${width} pixels wide, for ${viewer ?? 'the dashboard'}`,
      { skip },
      async () => {
        const { browser, loads } = await setUpSites()
        const some = loads.filter((load) => load.width === width && load.role === viewer)
        assert.ok(some.length > 20, String(some.length))
        assert.deepEqual(await findShifts(browser, some), [])
      }
    )
