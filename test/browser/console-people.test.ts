import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { connectClient } from '../fixtures/identity-provider/gateway.ts'
import { startConsole, type Console, type ViewerRole } from '../integration/console-helpers.ts'
import { addCleanup } from '../store.ts'
import { findBarriers, launchBrowser, requireBuild, skip, waitForData, waitForValue } from './browser.ts'
import { checkLooks } from './page-checks.ts'

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
  return { console, browser: await launchBrowser() }
}

/** Opens a page of the console, and waits for its heading and data. */
async function goTo(page: Page, { gateway }: Console, hash: string, heading: string): Promise<void> {
  await page.goto(`${gateway.url}/console/${hash}`)
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  await waitForData(page)
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
  await checkLooks(page, 'me')
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
  await checkLooks(page, 'me-break-glass')
  assert.deepEqual(complaints, [])
})

test('an administrator invites, suspends and examines people, and makes a team', { skip }, async (t) => {
  const { console, browser } = await start(t, { TOWPATH_LOCAL_SIGN_IN: 'on' })
  const { page, complaints } = await openPage(t, browser, console, 'admin')
  await goTo(page, console, '#/people', 'People')
  await page.getByRole('button', { name: 'New person' }).click()
  await page.getByLabel('Name').fill('carol')
  await confirm(page, 'Invite')
  await page.getByRole('heading', { name: 'Invitation' }).waitFor()
  assert.match((await page.locator('dialog code').textContent())!, /\/auth\/invite\?code=/)
  await confirm(page, 'Close')
  await page.getByRole('row', { name: /carol/ }).waitFor()
  await checkLooks(page, 'people')
  await page.getByRole('button', { name: /^Auditors/ }).click()
  await page.getByRole('row', { name: /carol/ }).waitFor({ state: 'detached' })
  assert.match(page.url(), /state=auditor/)

  await goTo(page, console, '#/people/a-user', 'a-user')
  await page
    .getByRole('row', { name: /people-use-k8s/ })
    .first()
    .waitFor()
  await checkLooks(page, 'person')
  await page.getByRole('button', { name: 'Suspend' }).click()
  await confirm(page, 'Suspend')
  await page.getByRole('button', { name: 'Activate' }).waitFor()
  assert.equal((await console.send('user', 'GET', '/api/v0/me')).status, 401)
  await page.getByRole('button', { name: 'Activate' }).click()
  await confirm(page, 'Activate')
  await page.getByRole('button', { name: 'Suspend' }).waitFor()
  await page.getByRole('button', { name: 'Issue static token' }).click()
  await confirm(page, 'Issue static token')
  const token = (await page.locator('dialog code').textContent())!
  await confirm(page, 'Close')
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await fetch(`${console.gateway.url}/api/v0/me`, { headers })).status, 200)

  await goTo(page, console, '#/teams', 'Teams')
  await page.getByRole('button', { name: 'New team' }).click()
  await page.getByLabel('Name').fill('platform')
  await confirm(page, 'Create team')
  await page.getByRole('heading', { level: 1, name: 'platform' }).waitFor()
  await page.getByLabel('Name of a person').fill('carol')
  await page.getByRole('button', { name: 'Add member' }).click()
  await page.getByRole('row', { name: /carol/ }).waitFor()
  await page.getByLabel('Role of carol in the team').selectOption('Manager')
  await waitForValue([{ user: 'carol', role: 'manager' }], async () => {
    const { body } = await console.gateway.api('GET', '/teams/platform')
    return body.members as readonly object[]
  })
  await page.getByLabel('Name of a group').fill('sre <b>bold</b>')
  await page.getByRole('button', { name: 'Add group' }).click()
  await page.getByRole('cell', { name: 'sre <b>bold</b>' }).or(page.getByText('sre <b>bold</b>')).first().waitFor()
  await checkLooks(page, 'team')
  await page.getByRole('button', { name: 'Remove carol' }).click()
  await page.getByText('Nobody is a member by hand.').waitFor()
  await goTo(page, console, '#/teams', 'Teams')
  await checkLooks(page, 'teams')
  await goTo(page, console, '#/teams/platform', 'platform')
  await page.getByRole('button', { name: 'Delete team' }).click()
  await confirm(page, 'Delete team')
  await page.getByText('There are no teams yet').waitFor()
  assert.deepEqual(complaints, [])
})

test(
  'without passwords a new person gets a static token, and the page names the setting for invitations',
  { skip },
  async (t) => {
    const { console, browser } = await start(t)
    const { page, complaints } = await openPage(t, browser, console, 'admin')
    await goTo(page, console, '#/people', 'People')
    await page.getByRole('button', { name: 'New person' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('TOWPATH_LOCAL_SIGN_IN=on').waitFor()
    assert.equal(await dialog.getByRole('button', { name: /Invit/ }).count(), 0)
    await page.getByLabel('Name').fill('carol')
    await checkLooks(page, 'new-person-token')
    await confirm(page, 'Create')
    await page.getByRole('heading', { name: 'Access token' }).waitFor()
    const authorization = `Bearer ${(await dialog.locator('code').textContent())!}`
    const asked = await fetch(`${console.gateway.url}/api/v0/me`, { headers: { authorization } })
    assert.equal(asked.status, 200)
    await confirm(page, 'Close')
    await goTo(page, console, '#/people/carol', 'carol')
    await page.getByRole('button', { name: 'Issue static token' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Invite' }).count(), 0)
    assert.deepEqual(complaints, [])
  }
)

test('policies on the pages of a person and a team are links to the policy', { skip }, async (t) => {
  const { console, browser } = await start(t)
  await console.gateway.api('POST', '/teams', { name: 'platform', members: [{ user: 'a-user' }] })
  const policy = { name: 'platform-reads', effect: 'allow', mode: 'observe' }
  const scope = { subjects: { teams: ['plat*'] }, targets: { servers: ['k8s'] } }
  assert.equal((await console.gateway.api('POST', '/policies', { ...policy, ...scope })).status, 201)
  for (const role of ['admin', 'auditor'] as const) {
    const { page, complaints } = await openPage(t, browser, console, role)
    await goTo(page, console, '#/people/a-user', 'a-user')
    await page.getByRole('link', { name: 'people-use-k8s' }).first().click()
    await page.getByRole('heading', { level: 1, name: /people-use-k8s/ }).waitFor()
    await goTo(page, console, '#/teams/platform', 'platform')
    // anywhere in the row
    await page
      .getByRole('row', { name: /platform-reads/ })
      .getByText('Observed')
      .click()
    await page.getByRole('heading', { level: 1, name: /platform-reads/ }).waitFor()
    assert.deepEqual(complaints, [])
  }
})

test('auditors read people and teams without buttons, and users see only themselves', { skip }, async (t) => {
  const { console, browser } = await start(t)
  const made = await console.gateway.api('POST', '/teams', { name: 'platform', members: [{ user: 'a-user' }] })
  assert.equal(made.status, 201)
  const auditor = await openPage(t, browser, console, 'auditor')
  for (const [hash, heading] of [
    ['#/people', 'People'],
    ['#/people/a-user', 'a-user'],
    ['#/teams', 'Teams'],
    ['#/teams/platform', 'platform']
  ] as const) {
    await goTo(auditor.page, console, hash, heading)
    const buttons = await auditor.page.locator('main').getByRole('button').allTextContents()
    const changing = /^(New|Revoke|Remove|Add|Suspend|End|Invite|Issue|Delete|Activate|Disconnect)\b/
    assert.deepEqual(
      buttons.filter((text) => changing.test(text)),
      [],
      hash
    )
    assert.equal(await auditor.page.getByLabel('Role', { exact: true }).count(), 0)
    assert.deepEqual(await findBarriers(auditor.page), [], hash)
  }
  const user = await openPage(t, browser, console, 'user')
  await goTo(user.page, console, '#/people', 'Not for your role')
  await user.page.getByText('administrators and auditors').waitFor()
  const entries = await user.page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents()
  assert.deepEqual(
    entries.filter((text) => /^(People|Teams|Me)$/.test(text)),
    ['Me']
  )
  assert.deepEqual([...auditor.complaints, ...user.complaints], [])
})
