import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  ADMIN,
  addReplica,
  addServer,
  allowEverybody,
  startSignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { signInWithToken } from '../integration/console-helpers.ts'
import { needs } from '../needs.ts'
import { engines } from '../store.ts'
import { until } from '../until.ts'
import { findBarriers, navigate, skip, waitForExpression } from './browser.ts'
import { openConsole, signInAs } from './console-site.ts'

const env = { TOWPATH_CONSOLE: 'on' }
/** The answers that end a session, and what a page says before it has one. */
const unauthorized = /401/

/** Sends a request from a page of the console, as its own code does. */
const requestFrom = (page: Page, method: string, path: string): Promise<number> =>
  page.evaluate(`(async () => {
    const { csrf_token } = await (await fetch('/api/console/session')).json()
    const headers = { 'x-towpath-csrf': csrf_token }
    return (await fetch(${JSON.stringify(path)}, { method: ${JSON.stringify(method)}, headers })).status
  })()`)

const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' })

test(
  'CO-07 a suspension at one replica ends the page of a person at another, and its event stream',
  { skip: skip || needs('PostgreSQL', engines.includes('postgres')) },
  async (t) => {
    const first = await startSignInGateway(t, { engine: 'postgres', env })
    const second = await addReplica(t, first)
    await addServer(t, first)
    await allowEverybody(first)
    const { visit } = await openConsole(first, [first.provider.issuer, second.url])
    const cookie = await signInWithToken(first, ADMIN)
    await visit(
      '#/overview',
      async (alice) => {
        const ended: string[] = []
        alice.on('requestfinished', (request) => ended.push(request.url()))
        await signInAs(alice, 'alice')
        // cookies do not depend on the port: her browser is signed in at both replicas
        const stream = alice.waitForResponse(`${second.url}/api/console/events`)
        await alice.goto(`${second.url}/console/#/tools`)
        await alice.getByRole('heading', { level: 1, name: 'Tools' }).waitFor()
        assert.equal((await stream).status(), 200)
        assert.equal(await dialogOf(alice).count(), 0)
        await visit(
          '#/overview',
          async (administrator) => {
            const before = performance.now()
            assert.equal(await requestFrom(administrator, 'POST', '/api/v0/users/alice/suspend'), 200)
            await dialogOf(alice).waitFor()
            t.diagnostic(`her page asked to sign in ${Math.round(performance.now() - before)} ms after the request`)
          },
          { cookie }
        )
        await until('her stream is closed', () => ended.includes(`${second.url}/api/console/events`))
        for (const path of ['/api/console/events', '/api/console/tools', '/api/v0/tools']) {
          assert.equal(await alice.evaluate(`fetch(${JSON.stringify(path)}).then(({ status }) => status)`), 401, path)
        }
      },
      { expected: unauthorized }
    )
  }
)

test('a page goes on with what was typed after its person has signed in again', { skip }, async (t) => {
  const gateway = await startSignInGateway(t, { env })
  const recorder = await addServer(t, gateway)
  await allowEverybody(gateway)
  const { visit } = await openConsole(gateway, [gateway.provider.issuer])
  await visit(
    '#/overview',
    async (page) => {
      await signInAs(page, 'alice')
      await navigate(page, '#/tools/k8s__echo')
      await page.getByLabel('text').fill('half a sen')
      assert.equal((await gateway.api('DELETE', '/users/alice/sessions')).status, 204)
      await dialogOf(page).waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await findBarriers(page), [])
      }
      const opening = page.context().waitForEvent('page')
      await page.getByRole('link', { name: 'Sign in again' }).click()
      const tab = await opening
      const login = tab.locator('input[name=login]')
      const done = tab.getByRole('heading', { level: 1, name: 'You are signed in' })
      await login.or(done).waitFor()
      if (await login.isVisible()) {
        await login.fill('alice')
        await tab.locator('input[name=password]').fill('any')
        await tab.locator('button[type=submit], input[type=submit]').first().click()
      }
      await done.waitFor()
      await tab.close()
      await page.bringToFront()

      await dialogOf(page).waitFor({ state: 'detached' })
      assert.equal(await page.getByLabel('text').inputValue(), 'half a sen')
      // typed where the focus is: the caret is where it was
      await page.keyboard.type('tence')
      assert.equal(await page.getByLabel('text').inputValue(), 'half a sentence')
      await page.getByRole('button', { name: 'Call tool' }).click()
      await until('the tool was called', () => recorder.calls('tools/call').length === 1)
      const [call] = recorder.calls('tools/call')
      assert.deepEqual((call!.params as { arguments: unknown }).arguments, { text: 'half a sentence' })
      await waitForExpression(page, `document.querySelector('main').textContent.includes('half a sentence')`)
    },
    { expected: unauthorized }
  )
})
