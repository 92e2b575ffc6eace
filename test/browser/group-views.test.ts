import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { findBarriers, overflowOf, skip, startSite } from './browser.ts'

async function assertUsable(page: Page): Promise<void> {
  assert.deepEqual(await findBarriers(page), [])
  assert.equal(await overflowOf(page), 0)
}

test(
  'the group builder gives a tool another name, fixed and secret arguments, and shows what that saves',
  { skip },
  async (t) => {
    const { gateway, visit } = await startSite(t, { args: ['--demo'] })
    const group = { name: 'sums', included_servers: ['demo'] }
    assert.equal((await gateway.post('/api/v0/tool-groups', group)).status, 201)
    const saved = async () => (await gateway.get('/api/v0/tool-groups/sums')).body
    const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
    await visit(
      '#/groups/sums',
      async (page) => {
        await button(page, 'Change demo__add here').click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('Name').fill('plus')
        await dialog.getByLabel('Description').first().fill('Adds.')
        const b = dialog.getByRole('group', { name: 'Argument b' })
        await b.getByRole('button', { name: 'Fixed' }).click()
        await dialog.getByLabel('Value of every call').fill('forty')
        await dialog.getByRole('button', { name: 'Apply' }).click()
        await dialog.getByText('b: forty is not JSON').waitFor()
        await assertUsable(page)
        await dialog.getByLabel('Value of every call').fill('40')
        await dialog.getByRole('button', { name: 'Apply' }).click()
        await dialog.waitFor({ state: 'detached' })
        const row = page.getByRole('row', { name: /plus/ })
        await row.locator('s').waitFor()
        await page.getByText(/without changes/).waitFor()
        await button(page, 'Change demo__word_count here').click()
        await page.getByRole('group', { name: 'Argument text' }).getByRole('button', { name: 'Secret' }).click()
        await page.getByRole('dialog').getByLabel('Value of every call').fill('hidden text')
        await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click()
        await page.getByText('Instructions and token limit').click()
        await page.getByLabel('Instructions').fill('For sums')
        await page.getByLabel('Token limit').fill('5')
        await page.getByText('More than the limit of 5 tokens').waitFor()
        await button(page, 'Save group').click()
        await page.getByText(/tokens, more than its "max_tokens" 5/).waitFor()
        await page.getByLabel('Token limit').fill('5000')
        await page.getByText('4 changes not saved').waitFor()
        await assertUsable(page)
        await button(page, 'Save group').click()
        await page.getByText('changes not saved').waitFor({ state: 'detached' })
      },
      { expected: /409/ }
    )
    const tools = {
      demo__add: { name: 'plus', description: 'Adds.', arguments: { b: { lock: 40 } } },
      demo__word_count: { arguments: { text: { lock: { secret: '***' } } } }
    }
    const { tools: stored, instructions, max_tokens } = await saved()
    assert.deepEqual([stored, instructions, max_tokens], [tools, 'For sums', 5000])
    await visit('#/groups/sums', async (page) => {
      await button(page, 'Change demo__word_count here').click()
      await page.getByRole('dialog').getByText('Stored, not shown').waitFor()
      await page.getByRole('dialog').getByLabel('Title').fill('Words')
      await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click()
      await button(page, 'Change demo__add here').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Show as the server does' }).click()
      await page.getByText('2 changes not saved').waitFor()
      await button(page, 'Save group').click()
      await page.getByText('changes not saved').waitFor({ state: 'detached' })
    })
    assert.deepEqual((await saved()).tools, { demo__word_count: { title: 'Words', ...tools.demo__word_count } })
  }
)
