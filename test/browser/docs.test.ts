import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCleanup } from '../store.ts'
import { skip, startSite } from './browser.ts'

test('CR-A2: the page of the API is tried out in enterprise mode, with a token', { skip }, async (t) => {
  const token = 'administrator-0123456789'
  const { gateway, browser } = await startSite(t, {
    env: {
      SERVER_MODE: 'enterprise',
      TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      TOWPATH_ADMIN_TOKEN: token
    }
  })
  const page = await browser.newPage()
  addCleanup(t, () => page.close())
  page.setDefaultTimeout(60_000)
  await page.goto(`${gateway.url}/docs`)
  const operation = page.locator('#operations-users-getCurrentUser')
  await operation.locator('.opblock-summary-control').click()
  const execute = async () => {
    const answer = page.waitForResponse((response) => response.url().endsWith('/api/v0/users/whoami'))
    await operation.getByRole('button', { name: 'Execute' }).click()
    return (await answer).status()
  }
  assert.equal(await execute(), 401, 'without a token it is answered')

  await page.locator('.auth-wrapper .authorize').first().click()
  const dialog = page.locator('.auth-container', { hasText: 'token' }).first()
  await dialog.locator('input').fill(token)
  await dialog.getByRole('button', { name: 'Apply credentials' }).click()
  await page.locator('.modal-ux .btn-done').first().click()
  assert.equal(await execute(), 200, 'the token that was given is not sent')
  await operation.locator('.live-responses-table', { hasText: '"role": "admin"' }).waitFor()
})
