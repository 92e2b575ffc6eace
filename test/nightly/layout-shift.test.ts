import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from '../browser/browser.ts'
import { findShifts } from '../browser/layout-shift.ts'
import { widths } from '../browser/page-list.ts'
import { shiftingSites } from '../browser/shifting-sites.ts'
import { shareSetup } from '../shared-setup.ts'

/** `test/browser` loads each page once, this for every viewer in every width. */
const setUp = shareSetup(shiftingSites)

// a test each: all pages together take longer than a test may
for (const width of widths)
  for (const viewer of ['admin', 'auditor', 'user', undefined] as const)
    test(
      `no page jumps while slow answers arrive, ${width} pixels wide, for ${viewer ?? 'the dashboard'}`,
      { skip },
      async () => {
        const { browser, loads } = await setUp()
        const some = loads.filter((load) => load.width === width && load.role === viewer)
        assert.ok(some.length > 20, String(some.length))
        assert.deepEqual(await findShifts(browser, some), [])
      }
    )
