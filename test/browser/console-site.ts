import assert from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import type { SignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { launchBrowser, requireBuild, waitForData, type Visit } from './browser.ts'

export interface ConsoleVisit extends Visit {
  /** Session cookie, `name=value`; without one the page leads to the sign-in. */
  readonly cookie?: string
}

/** The console of a gateway in a browser. */
export interface ConsoleSite {
  readonly browser: Browser
  /**
   * Opens a page of the console at a hash. Afterwards nothing may have been said in its console, such as a refused
   * request or a violation of the content policy, and no request may have gone elsewhere.
   */
  visit(hash: string, work: (page: Page) => Promise<void>, options?: ConsoleVisit): Promise<void>
}

/** Adds a session cookie of the gateway to a browser's context. */
export const cookieFor = (url: string, cookie: string) => {
  const [name, value] = cookie.split('=') as [string, string]
  return { name, value, url }
}

/** Starts Chromium for the console of a gateway; `others`: further addresses that pages may lead to. */
export async function openConsole(
  { url }: Pick<SignInGateway, 'url'>,
  others: readonly string[] = []
): Promise<ConsoleSite> {
  requireBuild()
  const browser = await launchBrowser()
  return {
    browser,
    async visit(hash, work, { expected, cookie, ...options } = {}) {
      const context = await browser.newContext({
        reducedMotion: 'reduce',
        viewport: { width: 1440, height: 900 },
        ...options
      })
      context.setDefaultTimeout(30_000)
      if (cookie !== undefined) await context.addCookies([cookieFor(url, cookie)])
      const page = await context.newPage()
      const said: string[] = []
      /** Pages of other programs, such as an identity provider, say what they like. */
      const isElsewhere = () => others.some((each) => page.url().startsWith(each))
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type()) && !isElsewhere())
          said.push(`${message.text()} ${message.location().url}`)
      })
      page.on('pageerror', (error) => said.push(String(error.stack)))
      page.on('request', (request) => {
        const asked = request.url()
        if (!isElsewhere() && ![url, ...others].some((each) => asked.startsWith(each))) said.push(`asked for ${asked}`)
      })
      try {
        await page.goto(`${url}/console/${hash}`)
        if (cookie !== undefined) {
          await page.locator('main h1').waitFor()
          await waitForData(page)
        }
        await work(page)
      } finally {
        await context.close()
      }
      assert.deepEqual(
        said.filter((text) => !expected?.test(text)),
        []
      )
    }
  }
}

/** Signs in at the identity provider, which a page without a session leads to. */
export async function signInAs(page: Page, person: string): Promise<void> {
  await page.locator('input[name=login]').fill(person)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit], input[type=submit]').first().click()
  await page.locator('main h1').waitFor()
}
