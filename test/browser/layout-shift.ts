import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { waitForData } from './browser.ts'

/** Largest sum of layout shifts while a page loads (https://wicg.github.io/layout-instability/). */
export const MOST_SHIFT = 0.02
/** Delay of each answer, in milliseconds. */
const DELAY_MS = 1_500
/** Without a request for this long, a page has loaded. */
const QUIET_MS = 400
/** Pages that ask again and again, such as Connect, are never quiet. */
const LONGEST_MS = 5_000
/** Pages that load at a time: they wait rather than work. */
const TABS = 8

interface Shift {
  readonly value: number
  /** Elements that moved, with their places before and after. */
  readonly moved: readonly string[]
}

/** Collects shifts in `shifts`. Input does not excuse one, as it does in the usual score. */
const observer = `
  globalThis.shifts = []
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      const moved = sources.map(({ node, previousRect, currentRect }) => {
        const element = node instanceof Element ? node : node?.parentElement
        const places = [previousRect, currentRect].map(({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' '))
        return (element ? element.tagName + '.' + element.className : 'a removed element') + ' ' + places.join(' to ')
      })
      shifts.push({ value, moved })
    }
  }).observe({ type: 'layout-shift', buffered: true })`

/** Loads an address with delayed answers; returns the shifts until everything is shown. */
async function loadSlowly(page: Page, address: string): Promise<Shift[]> {
  let open = 0
  let last = Date.now()
  await page.route(/\/api\//, async (route) => {
    // the event stream never ends
    if (route.request().url().endsWith('/events')) return route.continue()
    open++
    await delay(DELAY_MS)
    await route.continue()
    open--
    last = Date.now()
  })
  await page.goto(address)
  await page.locator('main h1').waitFor()
  await waitForData(page)
  const end = Date.now() + LONGEST_MS
  while (Date.now() < end && (open > 0 || Date.now() - last < QUIET_MS)) await delay(50)
  const shifts = await page.evaluate<Shift[]>('shifts')
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  return shifts
}

/** Address of a page, and how to open it. */
export interface SlowLoad extends BrowserContextOptions {
  readonly address: string
  readonly cookie?: { readonly name: string; readonly value: string; readonly url: string }
}

/** Loads pages, each in a new context. Returns those that shift too much, with what moved. */
export async function findShifts(browser: Browser, loads: readonly SlowLoad[]): Promise<string[]> {
  const waiting = [...loads]
  const found: string[] = []
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { address, cookie, ...options } = next
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
      context.setDefaultTimeout(60_000)
      await context.addInitScript(observer)
      if (cookie) await context.addCookies([cookie])
      const shifts = await loadSlowly(await context.newPage(), address)
      await context.close()
      const sum = shifts.reduce((total, { value }) => total + value, 0)
      const lines = shifts.map(({ value, moved }) => `${value.toFixed(3)} ${moved.join(', ')}`)
      if (sum > MOST_SHIFT) found.push([`${address} ${options.viewport?.width} ${sum.toFixed(3)}`, ...lines].join('\n'))
    }
  }
  await Promise.all(Array.from({ length: TABS }, work))
  return found
}
