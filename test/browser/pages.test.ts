import assert from 'node:assert/strict'
import { test } from 'node:test'
import { someFor } from '../matrix.ts'
import { waitForValue, findBarriers, navigate, overflowOf, resize, skip, startSite } from './browser.ts'
import { checkBarriers } from './page-checks.ts'
import { themes, widths } from './page-list.ts'
import { registrationOf, hostile, makeBreakable, startHostile } from './world.ts'

const routes = [
  '#/overview',
  '#/servers',
  '#/servers/demo',
  '#/servers/evil',
  '#/servers/evil?tab=prompts',
  '#/servers/evil?tab=resources',
  '#/servers/evil?tab=calls',
  '#/servers/evil?tab=settings',
  '#/servers/reports?tab=log',
  '#/new/server?tab=form&transport=stdio',
  '#/new/server?tab=paste',
  '#/catalogue',
  `#/catalogue/${encodeURIComponent('io.github.modelcontextprotocol/server-filesystem')}`,
  `#/catalogue/${encodeURIComponent('io.github.makenotion/notion-mcp-server')}`,
  '#/tools',
  '#/tools/evil__look',
  `#/tools/${encodeURIComponent(`evil__${hostile.image}`)}`,
  '#/prompts',
  '#/prompts/evil__ask',
  '#/resources',
  `#/resources?uri=${encodeURIComponent('x://{id}')}`,
  '#/groups',
  '#/groups/evil',
  '#/new/group',
  '#/calls',
  '#/calls?outcome=failed',
  '#/diagnostics',
  '#/connect',
  '#/nothing'
]

test('every page is open to everybody, in both themes and widths, and hostile text stays text', { skip }, async (t) => {
  const { gateway, visit } = await startSite(t, { args: ['--demo'] })
  const reports = await makeBreakable(t, `FATAL: ${hostile.image}`)
  await gateway.register({
    ...registrationOf('evil', await startHostile(t)),
    description: Object.values(hostile).join(' ')
  })
  await gateway.register(reports.registration('reports'))
  const description = `${Object.values(hostile).join(' ')} ${'long '.repeat(40)}`
  const group = { name: 'evil', description, included_servers: ['evil'] }
  assert.equal((await gateway.post('/api/v0/tool-groups', group)).status, 201)
  await gateway.post('/api/v0/tools/invoke', { name: 'evil__look' })
  await gateway.post('/api/v0/tools/invoke', { name: 'demo__add', a: 1, b: 2 })
  await reports.break()
  await gateway.post('/api/v0/tools/invoke', { name: 'reports__echo' })

  await visit('#/servers', async (page) => {
    for (const route of routes) {
      await t.test(`DA-08 ${route} is inert, has no barriers and fits its window`, async () => {
        await resize(page, 1440)
        await navigate(page, route)
        await checkBarriers(page, route)
        for (const width of [...widths, 320]) {
          await resize(page, width)
          await waitForValue(0, () => overflowOf(page))
        }
        assert.equal(await page.evaluate('window.__x'), undefined)
        assert.equal(await page.locator('main img, main script, main a[href^="javascript:"]').count(), 0)
      })
    }
  })

  await t.test('the reader of the API can be read in both themes, and offers to try', async () => {
    for (const colorScheme of someFor('docs', themes)) {
      await visit(
        'docs',
        async (page) => {
          await page.getByText('List servers', { exact: true }).click()
          await page.getByRole('button', { name: 'Execute' }).waitFor()
          const barriers = await findBarriers(page)
          assert.deepEqual(
            barriers.filter((each) => each.startsWith('color-contrast')),
            [],
            colorScheme
          )
        },
        { colorScheme }
      )
    }
  })

  await t.test('prompts and resources whose texts hold hidden characters need attention', async () => {
    await visit('#/overview', async (page) => {
      await page.getByRole('link', { name: 'evil__ask contains hidden characters' }).click()
      await page.locator('.det').getByText('hidden characters').waitFor()
      await navigate(page, '#/overview')
      await page.getByRole('link', { name: /^x:\/\/a.* contains hidden characters/ }).click()
      await page.locator('.det').getByText('hidden characters').waitFor()
    })
  })

  await t.test(
    'SR-C1 items that are left out are found from the checks, named as they are, with the reason',
    async () => {
      await visit('#/diagnostics', async (page) => {
        const checks = page.getByRole('region', { name: 'Failed checks and warnings' })
        await checks.getByRole('link', { name: 'The server evil lists 1 item that is not served' }).click()
        const row = page.getByRole('region', { name: 'Left out' }).getByRole('row', { name: hostile.image })
        assert.match((await row.textContent()) ?? '', /tool.*its name contains characters/)
        const label = page.locator('.kv dt', { hasText: /^Server$/ })
        assert.ok(((await label.boundingBox())?.width ?? 0) > 40, 'the label stands on one line')
      })
    }
  )

  await t.test('DA-08 hostile text is shown as it is, hidden characters as marks', async () => {
    await visit('#/servers/evil', async (page) => {
      const row = page.getByRole('row', { name: 'look' })
      const text = (await row.textContent()) ?? ''
      for (const part of [hostile.image, hostile.script, hostile.link]) assert.ok(text.includes(part), part)
      assert.match(text, /aU\+200BbU\+202EcU\+E0041d/)
      await row.getByText('hidden characters').waitFor()
    })
  })
})
