import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { startConsole } from '../integration/console-helpers.ts'
import { navigate, skip, waitForData, waitForValue } from './browser.ts'
import { openConsole } from './console-site.ts'
import { checkLooks } from './page-checks.ts'

/** Presses a button that saves a file; returns the file. */
async function save(page: Page, button: string): Promise<string> {
  const starting = page.waitForEvent('download')
  await page.getByRole('button', { name: button }).click()
  return readFileSync(await (await starting).path(), 'utf8')
}

test('the audit log is filtered by its address, tells changes in words, and is live', { skip }, async (t) => {
  const { gateway, cookieOf } = await startConsole(t)
  await gateway.api('POST', '/tool-groups', { name: 'ops', included_tools: ['k8s__echo'] })
  await gateway.api('PUT', '/tool-groups/ops', { included_tools: ['k8s__echo', 'k8s__slow'] })
  await gateway.api('POST', '/users', { name: 'carol', role: 'user' })
  const refused = await fetch(`${gateway.url}/api/v0/users`, { headers: { authorization: 'Bearer wrong' } })
  assert.equal(refused.status, 401)
  const { visit } = await openConsole(gateway)
  const cookie = cookieOf('auditor')
  await visit(
    '#/audit',
    async (page) => {
      const rows = page.locator('main tbody tr')
      await page.locator('td').getByText('included tools: + k8s__slow').waitFor()

      await page.getByRole('button', { name: 'Only entries about ops' }).first().click()
      await page.getByText('2 entries').waitFor()
      assert.match(page.url(), /#\/audit\?target=ops$/)
      assert.equal(await rows.count(), 2)
      const lines = (await save(page, 'Export JSON lines')).trimEnd().split('\n')
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as { action: string }).action),
        ['tool_group.replace', 'tool_group.create']
      )
      const csv = await save(page, 'Export CSV')
      assert.match(csv, /tool_group\.replace,ops,ok,1,included tools: \+ k8s__slow,/)

      // live: without a reload
      assert.equal((await gateway.api('DELETE', '/tool-groups/ops')).status, 204)
      await rows.getByText('tool_group.remove').waitFor()

      // sorted: failures and refusals before what was done, in the address, and back to the newest
      await navigate(page, '#/audit')
      const outcomes = () => page.locator('main tbody td .st').allTextContents()
      await page.getByRole('button', { name: 'Outcome', exact: true }).click()
      assert.match(page.url(), /sort=outcome/)
      await waitForValue('Refused', async () => (await outcomes())[0]!)
      const order = ['Failed', 'Refused', 'Begun', 'Done']
      const ranks = (await outcomes()).map((word) => order.indexOf(word))
      assert.deepEqual(
        ranks,
        ranks.toSorted((a, b) => a - b)
      )
      await page.getByRole('button', { name: 'Outcome', exact: true }).click()
      await waitForValue('Done', async () => (await outcomes())[0]!)
      for (const head of ['Time', 'What', 'Who', 'Details']) {
        await page.getByRole('button', { name: head, exact: true }).click()
        await page.locator('th[aria-sort=ascending]').filter({ hasText: head }).waitFor()
      }

      await navigate(page, '#/audit?outcome=refused&range=24h')
      await page.getByText('request.refused').first().waitFor()
      assert.equal(await rows.getByText('Done').count(), 0)
      await page.getByRole('searchbox', { name: 'Person' }).fill('nobody-of-this-name')
      await page.getByRole('heading', { name: 'No entry matches' }).waitFor()
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await rows.first().waitFor()
      assert.match(page.url(), /#\/audit$/)
      await waitForData(page)
      await checkLooks(page, 'audit')
    },
    { cookie }
  )
  await visit(
    '#/audit',
    async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Not for your role' }).waitFor()
      await page.getByText('This page is for administrators and auditors').waitFor()
    },
    { cookie: cookieOf('user') }
  )
})
