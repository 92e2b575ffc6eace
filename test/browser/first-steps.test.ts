import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { shareSetup } from '../shared-setup.ts'
import { findBarriers, navigate, skip, startSite, waitForValue } from './browser.ts'

const setUp = shareSetup((t) => startSite(t))

const steps = (page: Page) => page.getByRole('region', { name: 'First steps' })
const done = (page: Page) => steps(page).locator('li.done').count()
const primary = (page: Page) => page.locator('main .btn.primary').allTextContents()

const initialize = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'some-agent', version: '1.2' } }
}

test('a dismissed checklist stays away, and the empty pages still say what to do', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/servers', async (page) => {
    await waitForValue(['Add server'], () => primary(page))
    assert.deepEqual(await findBarriers(page), [])
    await steps(page).getByRole('button', { name: 'Dismiss' }).click()
    await steps(page).waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { name: 'Add the first server' }).waitFor()
    await waitForValue(['Add server'], () => primary(page))
    await navigate(page, '#/overview')
    await page.getByText('No server is registered yet.').waitFor()
    assert.equal(await steps(page).count(), 0)
    assert.equal(await page.getByText('every enabled server answers').count(), 0)
  })
})

test('the checklist ticks its steps as they happen, leads to the next one, and disappears', { skip }, async () => {
  const { gateway, visit } = await setUp()
  await visit('#/overview', async (page) => {
    await waitForValue(['Add server'], () => primary(page))
    assert.equal(await done(page), 0)
    assert.equal(await page.locator('.facts').count(), 0, 'no figures of nothing')
    await steps(page).getByRole('button', { name: 'Add the demo server' }).click()
    await waitForValue(1, () => done(page))
    await waitForValue(['Choose a tool'], () => primary(page))
    await navigate(page, '#/servers')
    await waitForValue(['Choose a tool'], () => primary(page))
    await navigate(page, '#/overview')
    await gateway.post('/api/v0/tools/invoke', { name: 'demo__add', a: 1, b: 2 })
    await waitForValue(2, () => done(page))
    await waitForValue(['Connect a client'], () => primary(page))
    assert.deepEqual(await findBarriers(page), [])
    const answer = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(initialize)
    })
    assert.equal(answer.status, 200)
    await steps(page).waitFor({ state: 'detached' })
  })
})
