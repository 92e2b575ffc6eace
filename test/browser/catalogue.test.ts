import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tempDir } from '../store.ts'
import { overflowOf, resize, skip, startSite, waitForValue } from './browser.ts'

test(
  'a server is found in the catalogue, its command is shown, and it is installed with the keyboard',
  { skip },
  async (t) => {
    const { gateway, visit } = await startSite(t)
    const folder = await tempDir(t)
    await visit('#/catalogue', async (page) => {
      await page.getByRole('searchbox').fill('filesystem')
      const found = page.getByRole('link', { name: 'Filesystem', exact: true })
      await found.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Install' }).click()
      await page.getByText('A value is required.').waitFor()
      const input = page.getByRole('textbox', { name: /^directory/ })
      await input.fill(folder)
      await page.getByRole('group', { name: 'Command or address' }).getByText(folder).waitFor()
      assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
      await page.getByRole('textbox', { name: 'Name' }).fill('files')
      await resize(page, 390)
      await waitForValue(0, () => overflowOf(page))
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'files', exact: true, level: 1 }).waitFor({ timeout: 120_000 })
      const { body } = await gateway.get('/api/v0/servers/files')
      assert.deepEqual((body as { args: string[] }).args.slice(-1), [folder])
    })
  }
)

test(
  'the variables of a command are shown before it is installed, and a changed entry is not offered as a replacement',
  { skip },
  async (t) => {
    const { visit } = await startSite(t)
    await visit(
      '#/catalogue/io.github.tavily-ai%2Ftavily-mcp',
      async (page) => {
        const variables = page.getByRole('group', { name: 'Variables' })
        await variables.getByText('TAVILY_API_KEY=<TAVILY_API_KEY>').waitFor()
        await page.getByLabel('TAVILY_API_KEY').fill('S3CRET')
        await variables.getByText('TAVILY_API_KEY=***').waitFor()
        const json = { error: 'the entry has changed', code: 'catalogue_entry_changed' }
        await page.route('**/api/v0/catalogue/install', (route) => route.fulfill({ status: 409, json }))
        await page.getByRole('button', { name: 'Install' }).click()
        await page.getByText('The entry has changed').waitFor()
        assert.equal(await page.getByRole('button', { name: /Replace/ }).count(), 0)
        await page.getByRole('button', { name: 'Show the new entry' }).click()
        await page.getByText('The entry has changed').waitFor({ state: 'detached' })
      },
      { expected: /409|Failed to load/ }
    )
  }
)

test('the catalogue says when no server matches, and when it cannot be loaded', { skip }, async (t) => {
  const { visit } = await startSite(t)
  const expected = /404|500|Failed to load/
  await visit(
    '#/catalogue?q=nothing-has-this-name',
    async (page) => {
      await page.getByRole('heading', { name: 'No server matches' }).waitFor()
      await page.route('**/api/v0/catalogue?*', (route) =>
        route.fulfill({ status: 500, json: { error: 'it is broken' } })
      )
      await page.getByRole('searchbox').fill('other')
      await page.getByText('The catalogue could not be loaded.').waitFor()
      await page.goto(page.url().replace(/#.*/, '#/catalogue/no.such%2Fserver'))
      await page.getByText('The server could not be loaded.').waitFor()
    },
    { expected }
  )
})
