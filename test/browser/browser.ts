import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium, type Browser, type BrowserContextOptions, type Page, type Route } from 'playwright-core'
import { root, startGateway, type Gateway, type GatewayOptions } from '../e2e/harness.ts'
import { needs } from '../needs.ts'
import { until } from '../until.ts'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
/** The `skip` option of every test that needs a browser. */
export const skip = needs(`Chromium at ${executablePath} (CHROMIUM_PATH)`, existsSync(executablePath))

/** The browser requests nothing but the gateway's pages: no updates, experiments or name resolution of other hosts. */
const args = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** Upper bound of a random delay for API requests of pages, in milliseconds; exposes tests that check too early. */
const latestMs = Number(process.env.BROWSER_DELAY_MS ?? 0)

const delayRequests = async (route: Route) => {
  await delay(Math.random() * latestMs)
  await route.continue()
}

const newest = (folder: string): number =>
  Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true }).map(
      (entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs
    )
  )

/** Fails unless the build is up to date: the tests run the output of `npm run build`. */
export function requireBuild(): void {
  const page = join(root, 'dist/dashboard/index.html')
  const isFresh = existsSync(page) && statSync(page).mtimeMs >= newest(join(root, 'dashboard/src'))
  if (!isFresh) throw new Error('dist/dashboard is missing or older than dashboard/src: run "npm run build"')
}

export interface Visit extends BrowserContextOptions {
  /** Console messages that the test expects, for example an error response of the gateway. */
  readonly expected?: RegExp
}

/** A gateway with its dashboard, and a browser. A file of tests needs one of each. */
export interface Site {
  readonly gateway: Gateway
  readonly browser: Browser
  /** Opens a page at a hash. Afterwards its console must be empty, and no request may have gone to another host. */
  visit(hash: string, work: (page: Page) => Promise<void>, options?: Visit): Promise<void>
}

let launched: Promise<Browser> | undefined
after(async () => (await launched)?.close())

/** Starts Chromium, which all tests of a process share: each closes the contexts that it opens. */
export const launchBrowser = (): Promise<Browser> =>
  (launched ??= chromium.launch({ executablePath, args, chromiumSandbox: false, timeout: 120_000 }))

export async function startSite(t: TestContext, options: GatewayOptions = {}): Promise<Site> {
  requireBuild()
  const [gateway, browser] = await Promise.all([startGateway(t, options), launchBrowser()])
  const visit: Site['visit'] = async (hash, work, { expected, ...context } = {}) => {
    const opened = await browser.newContext({
      reducedMotion: 'reduce',
      viewport: { width: 1440, height: 900 },
      ...context
    })
    opened.setDefaultTimeout(30_000)
    if (latestMs > 0) await opened.route('**/api/**', delayRequests)
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
      // a request in flight may find the page closed
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

/** Returns the violations that axe reports for the current page, one rule and element each. */
export async function findBarriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'] })`
  )) as AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

/** Sets the width of the window and waits until the page has it. */
export async function resize(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 })
  await waitForExpression(page, `innerWidth === ${width}`)
}

/** Returns how many pixels the page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth')

/** Navigates an open page to another hash without a reload. */
export async function navigate(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
  // some pages are loaded on first use
  await page.locator('main h1').waitFor()
  await waitForData(page)
}

/**
 * Waits until an expression is true on the page. Playwright's own method uses `eval`, which the Content-Security-Policy
 * forbids.
 */
export const waitForExpression = (page: Page, expression: string): Promise<boolean> =>
  until(expression, () => page.evaluate<boolean>(expression))

/**
 * Waits until `read` returns the expected value: a page updates after its data arrives, so a single read may come too
 * early.
 */
export const waitForValue = <T>(wanted: T, read: () => Promise<T>): Promise<boolean> =>
  until(JSON.stringify(wanted), async () => {
    assert.deepEqual(await read(), wanted)
    return true
  })

/** Holds the next request to a URL; `request` resolves with its route, which the test then continues. */
export async function hold(page: Page, url: RegExp): Promise<{ readonly request: Promise<Route> }> {
  let take!: (route: Route) => void
  const request = new Promise<Route>((resolve) => {
    take = resolve
  })
  await page.route(url, take, { times: 1 })
  return { request }
}

/** Presses a sequence of keys without delay: the page waits only briefly for the second key. */
export const pressTogether = (page: Page, ...keys: readonly string[]): Promise<unknown> =>
  Promise.all(keys.map((key) => page.keyboard.press(key)))

/** Waits until no skeleton stands in for data. */
export const waitForData = (page: Page): Promise<void> =>
  page.locator('.skeleton').first().waitFor({ state: 'detached' })
