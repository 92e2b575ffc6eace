import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium, type Browser, type BrowserContextOptions, type Page, type Route } from 'playwright-core'
import { root, startGateway, type Gateway, type GatewayOptions } from '../e2e/harness.ts'
import { needs } from '../needs.ts'
import { later } from '../store.ts'
import { until } from '../until.ts'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
/** For the options of every test that needs a browser. */
export const skip = needs(`Chromium at ${executablePath} (CHROMIUM_PATH)`, existsSync(executablePath))

/** Nothing but the pages of the gateway is asked for: no updates, no experiments, no names of other hosts. */
const args = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** What pages ask of the API goes out up to so much later: a test that looks too early fails. */
const latestMs = Number(process.env.BROWSER_DELAY_MS ?? 0)

const goLate = async (route: Route) => {
  await delay(Math.random() * latestMs)
  await route.continue()
}

const newest = (folder: string): number =>
  Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true }).map(
      (entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs
    )
  )

/** The tests see what `npm run build` made; an old build would tell nothing. */
export function requireBuild(): void {
  const page = join(root, 'dist/dashboard/index.html')
  const isFresh = existsSync(page) && statSync(page).mtimeMs >= newest(join(root, 'dashboard/src'))
  if (!isFresh) throw new Error('dist/dashboard is missing or older than dashboard/src: run "npm run build"')
}

export interface Visit extends BrowserContextOptions {
  /** Messages on the console that belong to what is tested, for example a refusal of the gateway. */
  readonly expected?: RegExp
}

/** A gateway with its dashboard, and a browser. One of each is enough for a file of tests. */
export interface Site {
  readonly gateway: Gateway
  readonly browser: Browser
  /** Opens a page at a hash; afterwards nothing may stand on its console, and nothing may have been asked of other hosts. */
  visit(hash: string, work: (page: Page) => Promise<void>, options?: Visit): Promise<void>
}

export async function startSite(t: TestContext, options: GatewayOptions = {}): Promise<Site> {
  requireBuild()
  const [gateway, browser] = await Promise.all([
    startGateway(t, options),
    chromium.launch({ executablePath, args, chromiumSandbox: false, timeout: 120_000 })
  ])
  later(t, () => browser.close())
  const visit: Site['visit'] = async (hash, work, { expected, ...context } = {}) => {
    const opened = await browser.newContext({
      reducedMotion: 'reduce',
      viewport: { width: 1440, height: 900 },
      ...context
    })
    opened.setDefaultTimeout(30_000)
    if (latestMs > 0) await opened.route('**/api/**', goLate)
    const page = await opened.newPage()
    const said: string[] = []
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) said.push(message.text())
    })
    page.on('pageerror', (error) => said.push(String(error.stack)))
    page.on('request', (request) => {
      if (!request.url().startsWith(gateway.url)) said.push(`asked for ${request.url()}`)
    })
    try {
      await page.goto(`${gateway.url}/${hash}`)
      await page.locator('h1').waitFor()
      await work(page)
    } finally {
      // what is on its way may find the page closed
      for (const routed of [page, opened]) await routed.unrouteAll({ behavior: 'ignoreErrors' })
      await opened.close()
    }
    assert.deepEqual(
      said.filter((text) => !expected?.test(text)),
      []
    )
  }
  return { gateway, browser, visit }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}

/** What axe finds wrong with the page as it is shown now: a rule and an element each. */
export async function findBarriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'] })`
  )) as AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

/** Gives the window another width, and waits until the page has it. */
export async function resize(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 })
  await holds(page, `innerWidth === ${width}`)
}

/** By how many pixels the page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth')

/** Leads a page that is open to another hash, without loading it anew. */
export async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
  // pages that are loaded when they are first shown
  await page.locator('main h1').waitFor()
  await settled(page)
}

/** Until an expression is true on the page. Playwright's own way asks with `eval`, which the policy of the pages forbids. */
export const holds = (page: Page, expression: string): Promise<boolean> =>
  until(expression, () => page.evaluate<boolean>(expression))

/** Until what is read is what is wanted. What a page shows follows its data: read once, it is seen too early. */
export const becomes = <T>(wanted: T, read: () => Promise<T>): Promise<boolean> =>
  until(JSON.stringify(wanted), async () => {
    assert.deepEqual(await read(), wanted)
    return true
  })

/** Holds the next request to a URL up: `asked` is that request, which goes on when the test says so. */
export async function hold(page: Page, url: RegExp): Promise<{ readonly asked: Promise<Route> }> {
  let take!: (route: Route) => void
  const asked = new Promise<Route>((resolve) => {
    take = resolve
  })
  await page.route(url, take, { times: 1 })
  return { asked }
}

/** Keys that belong together, as fast as somebody presses them: the page waits for the second one a short time only. */
export const pressTogether = (page: Page, ...keys: readonly string[]): Promise<unknown> =>
  Promise.all(keys.map((key) => page.keyboard.press(key)))

/** Until no skeleton stands in for data. */
export const settled = (page: Page): Promise<void> => page.locator('.skeleton').first().waitFor({ state: 'detached' })
