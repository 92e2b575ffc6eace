import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { findBarriers, overflowOf, resize } from './browser.ts'
import { hostile } from './world.ts'

export type Theme = 'light' | 'dark'
/** Width and colour scheme in which a page is looked at. */
export type Look = readonly [width: number, theme: Theme]

/** Both widths and both themes once each; the nightly tests take every pair. */
export const looks: readonly Look[] = [
  [1_440, 'light'],
  [390, 'dark']
]
export const allLooks: readonly Look[] = [...looks, [1_440, 'dark'], [390, 'light']]

/** Returns rows of tables whose visible cells do not stand below the visible heads, as text. */
export const crookedRows = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('main table')].flatMap((table) => {
    const edges = (row) => [...row.cells].filter((cell) => cell.offsetParent !== null).map((cell) => {
      const { left, right } = cell.getBoundingClientRect()
      return Math.round(left) + '-' + Math.round(right)
    }).join(' ')
    // the heads of a short list may be for screen readers alone
    if (!table.tHead || table.tHead.className === 'vh' || table.offsetParent === null) return []
    const heads = edges(table.tHead.rows[0])
    return [...table.tBodies].flatMap((body) => [...body.rows])
      .filter((row) => ![...row.cells].some((cell) => cell.colSpan > 1) && edges(row) !== heads)
      .map((row) => location.hash + ': ' + heads + ' over ' + edges(row))
  })`)

/** Returns the labels of tables that are wider than their frame. */
export const scrollingTables = (page: Page): Promise<string[]> =>
  page.evaluate(
    `[...document.querySelectorAll('.tw')].filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel)`
  )

/** Checks the page as it stands: no barrier, nothing wider than the window, and each cell below its head. */
export async function checkLooks(page: Page, name: string, wanted: readonly Look[] = looks): Promise<void> {
  for (const [width, colorScheme] of wanted) {
    const look = `${name}, ${width}, ${colorScheme}`
    await resize(page, width)
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await findBarriers(page), [], look)
    assert.equal(await overflowOf(page), 0, look)
    assert.deepEqual(await scrollingTables(page), [], `${look}: tables that scroll sideways`)
    assert.deepEqual(await crookedRows(page), [], look)
  }
  await resize(page, 1_440)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Checks that hostile texts are shown, and neither ran nor became elements. */
export async function checkInert(page: Page, name: string): Promise<void> {
  assert.equal(await page.evaluate('globalThis.__x'), undefined, name)
  assert.equal(await page.locator('img[src="x"], main a[href^="javascript:"]').count(), 0, name)
  assert.doesNotMatch(await page.locator('body').innerText(), /[\u200b\u202e]/, `${name} ${hostile.hidden}`)
}
