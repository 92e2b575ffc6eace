import assert from 'node:assert/strict'
import { test } from 'node:test'
import { htmlOf, startAppServer } from '../fixtures/http/apps.ts'
import { addCleanup } from '../store.ts'
import { findBarriers, skip, startSite } from './browser.ts'

test('the interface of an app is shown as text with what it declares, and never rendered', { skip }, async (t) => {
  const server = await startAppServer({ name: '<img src=x onerror="window.__x=1">' })
  addCleanup(t, server.close)
  const { gateway, visit } = await startSite(t)
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url: server.url })
  const address = 'ui://alpha/chart/app.html'
  await visit(`#/resources?uri=${encodeURIComponent(address)}`, async (page) => {
    const facts = page.locator('dl', { hasText: 'Connects to' })
    await facts.first().getByText('https://api.test').waitFor()
    assert.match((await facts.first().textContent())!, /Permissions\s*camera/)
    await page.getByRole('button', { name: /^Read/ }).click()
    const html = htmlOf('<img src=x onerror="window.__x=1">', 'ui://chart/app.html')
    await page.locator('pre', { hasText: html }).waitFor()
    assert.equal(await facts.count(), 2, 'the contents declare it as well')
    assert.equal(await page.locator('iframe, object, embed, img[src="x"]').count(), 0)
    assert.equal(await page.evaluate('window.__x'), undefined)
    assert.deepEqual(await findBarriers(page), [])
  })
  await visit('#/servers/alpha?tab=settings', async (page) => {
    const box = page.getByLabel('Clients may show the interfaces of its tools (MCP Apps)')
    await box.waitFor()
    assert.equal(await box.isChecked(), true)
    await box.uncheck()
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByRole('tab', { name: /^Tools/, selected: true }).waitFor()
    const { body } = await gateway.get('/api/v0/servers/alpha')
    assert.equal(body.apps, false)
  })
})
