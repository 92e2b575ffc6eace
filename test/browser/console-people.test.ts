import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { connectClient } from '../fixtures/identity-provider/gateway.ts'
import { startConsole, type Console, type ViewerRole } from '../integration/console-helpers.ts'
import { addCleanup } from '../store.ts'
import { findBarriers, launchBrowser, overflowOf, requireBuild, resize, skip, waitForData } from './browser.ts'

/** What a browser complained about, besides answers that a test provokes. */
type Complaints = string[]

async function openPage(t: TestContext, browser: Browser, console: Console, role: ViewerRole) {
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1_440, height: 900 } })
  context.setDefaultTimeout(30_000)
  addCleanup(t, () => context.close())
  const [name, value] = console.cookieOf(role).split(/=(.*)/s) as [string, string]
  if (role !== 'nobody') await context.addCookies([{ name, value, url: console.gateway.url }])
  const page = await context.newPage()
  const complaints: Complaints = []
  page.on('pageerror', (error) => complaints.push(String(error.stack)))
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|Refused/.test(message.text())) complaints.push(message.text())
  })
  return { page, complaints }
}

const start = async (t: TestContext, env: Readonly<Record<string, string>> = {}) => {
  requireBuild()
  const console = await startConsole(t, { env })
  return { console, browser: await launchBrowser(t) }
}

/** Opens a page of the console, and waits for its heading and data. */
async function goTo(page: Page, { gateway }: Console, hash: string, heading: string): Promise<void> {
  await page.goto(`${gateway.url}/console/${hash}`)
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  await waitForData(page)
}

/** Checks the page as it stands in both colour schemes, wide and on a phone. */
async function checkPage(page: Page, shot: string): Promise<void> {
  for (const width of [1_440, 390]) {
    await resize(page, width)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await findBarriers(page), [], `${shot}, ${width}, ${colorScheme}`)
      const folder = process.env.SCREENSHOTS
      if (folder) await page.screenshot({ path: `${folder}-${shot}-${width}-${colorScheme}.png`, fullPage: true })
    }
    assert.equal(await overflowOf(page), 0, `${shot}, ${width}`)
    const wide = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.tw')].filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel)`
    )
    assert.deepEqual(wide, [], `${shot}, ${width}: tables that scroll sideways`)
  }
  await resize(page, 1_440)
  await page.emulateMedia({ colorScheme: 'light' })
}

const confirm = (page: Page, action: string) => page.getByRole('dialog').getByRole('button', { name: action }).click()

test('a person creates and revokes tokens, disconnects a client and signs out everywhere', { skip }, async (t) => {
  const { console, browser } = await start(t)
  await connectClient(console.gateway)
  const { page, complaints } = await openPage(t, browser, console, 'nobody')
  await page.goto(`${console.gateway.url}/console/#/me`)
  await page.locator('input[name=login]').fill('alice')
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit], input[type=submit]').first().click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await goTo(page, console, '#/me', 'Me')
  await page.getByText('Identity provider').waitFor()

  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByLabel('Name', { exact: false }).fill('laptop')
  await confirm(page, 'Create token')
  await page.getByRole('heading', { name: 'Your new token' }).waitFor()
  const token = (await page.locator('dialog code').textContent())!
  const asked = await fetch(`${console.gateway.url}/api/v0/me`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(asked.status, 200)
  await confirm(page, 'Close')
  await page.getByRole('row', { name: /laptop/ }).waitFor()
  await checkPage(page, 'me')
  assert.equal((await page.content()).includes(token), false)

  await page.getByRole('button', { name: 'Revoke laptop' }).click()
  await confirm(page, 'Revoke token')
  await page.getByText('There are no access tokens.').waitFor()
  const refused = await fetch(`${console.gateway.url}/api/v0/me`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(refused.status, 401)

  await page.getByRole('button', { name: 'Disconnect A test client' }).click()
  await confirm(page, 'Disconnect')
  await page.getByText('No client is connected.').waitFor()

  await page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await confirm(page, 'Sign out everywhere')
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('a session of a static token says that it creates no tokens', { skip }, async (t) => {
  const { console, browser } = await start(t)
  const { page, complaints } = await openPage(t, browser, console, 'user')
  await goTo(page, console, '#/me', 'Me')
  await page.getByText('Such a session cannot create tokens').waitFor()
  assert.equal(await page.getByRole('button', { name: 'New token' }).count(), 0)
  await checkPage(page, 'me-break-glass')
  assert.deepEqual(complaints, [])
})
