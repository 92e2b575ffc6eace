import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { allCells, someFor } from '../matrix.ts'
import { findBarriers, overflowOf, resize } from './browser.ts'
import { themes, widths } from './page-list.ts'
import { hostile } from './world.ts'

type Theme = (typeof themes)[number]

/** Every pair of width and colour scheme in which a page is looked at. */
const looks = allCells(widths, themes)

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

/** Checks that the page as it stands has no barrier: in one width and theme by turns, and in all in the nightly run. */
export async function checkBarriers(page: Page, name: string): Promise<void> {
  for (const [width, colorScheme] of someFor(name, looks)) {
    await look(page, width, colorScheme)
    assert.deepEqual(await findBarriers(page), [], `${name}, ${width}, ${colorScheme}`)
  }
  await look(page, 1_440, 'light')
}

async function look(page: Page, width: number, colorScheme: Theme): Promise<void> {
  await resize(page, width)
  await page.emulateMedia({ colorScheme })
}

/** Checks the page as it stands: no barrier, nothing wider than the window, and each cell below its head. */
export async function checkLooks(page: Page, name: string): Promise<void> {
  await checkBarriers(page, name)
  for (const width of widths) {
    await resize(page, width)
    assert.equal(await overflowOf(page), 0, `${name}, ${width}`)
    assert.deepEqual(await scrollingTables(page), [], `${name}, ${width}: tables that scroll sideways`)
    assert.deepEqual(await crookedRows(page), [], `${name}, ${width}`)
  }
  await resize(page, 1_440)
}

/** Checks that hostile texts are shown, and neither ran nor became elements. */
export async function checkInert(page: Page, name: string): Promise<void> {
  assert.equal(await page.evaluate('globalThis.__x'), undefined, name)
  assert.equal(await page.locator('img[src="x"], main a[href^="javascript:"]').count(), 0, name)
  assert.doesNotMatch(await page.locator('body').innerText(), /[\u200b\u202e]/, `${name} ${hostile.hidden}`)
}
