import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createAuthorization, registerClient, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { startHttp } from '../fixtures/http/server.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { findBarriers, launchBrowser, overflowOf, resize, skip } from './browser.ts'

/** Waits for a page by its heading; otherwise the error shows where the browser is. */
async function arriveAt(page: Page, heading: string): Promise<void> {
  const found = page.getByRole('heading', { level: 1, name: heading })
  await found.waitFor().catch(async (error: unknown) => {
    const text = await page.locator('body').textContent()
    throw new Error(`no page "${heading}" at ${page.url()}: ${text?.trim()}`, { cause: error })
  })
}

/** Checks a page of the gateway as it stands: names, contrast in both colour schemes, and the width of a phone. */
async function checkPage(page: Page, heading: string): Promise<void> {
  await arriveAt(page, heading)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await findBarriers(page), [], `${heading} (${colorScheme})`)
  }
  await resize(page, 360)
  assert.equal(await overflowOf(page), 0, heading)
  await resize(page, 1_280)
}

test(
  'IA-21 a person signs in, lets clients in, refuses one and signs out, without a script or a blocked redirect',
  { skip },
  async (t) => {
    const gateway = await startSignInGateway(t)
    const browser = await launchBrowser()
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    addCleanup(t, () => context.close())
    const page = await context.newPage()
    const said: string[] = []
    page.on('console', (message) => said.push(message.text()))
    const requested: string[] = []
    const arrived: string[] = []
    const client = await startHttp(({ path }, response) => {
      if (path.startsWith('/callback')) arrived.push(path)
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Back in the program</h1>')
    })
    addCleanup(t, client.close)
    const loopback = `http://127.0.0.1:${client.port}/callback`
    const privateUse = 'cursor://anysphere.cursor-mcp/oauth/callback'
    const clientId = await registerClient(gateway, {
      client_name: 'Coder <b>‮bold</b>',
      redirect_uris: [loopback, privateUse]
    })
    const title = 'Let Coder <b>bold</b> in?'

    await page.goto(createAuthorization(gateway, clientId, { redirect_uri: loopback }).url)
    await page.locator('input[name=login]').fill('alice')
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit], input[type=submit]').first().click()
    await checkPage(page, title)
    assert.match((await page.locator('dl').textContent())!, /127\.0\.0\.1/)
    await page.getByText('any program here can claim this name').waitFor()
    await page.getByRole('button', { name: 'Allow' }).click()
    await arriveAt(page, 'Back in the program')
    assert.match(arrived.at(-1)!, /^\/callback\?code=[\w-]+&state=a(?:\+|%20)state&iss=/)

    // in a tab of its own: what the browser does for an app that is not there must not disturb the next page
    const tab = await context.newPage()
    tab.on('request', (request) => requested.push(request.url()))
    tab.on('console', (message) => said.push(message.text()))
    await tab.goto(createAuthorization(gateway, clientId, { redirect_uri: privateUse }).url)
    await checkPage(tab, title)
    await tab.getByText('The answer goes to the app that opens').waitFor()
    await tab.getByRole('button', { name: 'Allow' }).click()
    // there is no such app here: the browser says that it wanted to start it
    await until('the browser goes to the app', () => requested.some((url) => url.startsWith(`${privateUse}?code=`)))
    await tab.close()

    await page.goto(createAuthorization(gateway, clientId, { redirect_uri: loopback }).url)
    await page.getByRole('button', { name: 'Refuse' }).click()
    await arriveAt(page, 'Back in the program')
    assert.match(arrived.at(-1)!, /error=access_denied/)

    await page.goto(`${gateway.url}/auth/session`)
    await checkPage(page, 'You are signed in')
    await page.getByRole('button', { name: 'Sign out' }).click()
    // the provider asks whether its own session ends too
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await checkPage(page, 'You are signed out')
    await page.goto(`${gateway.url}/auth/local`)
    await checkPage(page, 'Sign in with an access token')
    await page.goto(createAuthorization(gateway, clientId, { redirect_uri: 'https://evil.example/' }).url)
    await checkPage(page, 'The sign-in cannot go on')
    assert.deepEqual(
      said.filter((text) => /Content Security Policy|Refused/.test(text)),
      []
    )
  }
)
