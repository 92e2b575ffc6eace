import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { registrationOf, startUpstream } from '../e2e/upstream.ts'
import { shareSetup } from '../shared-setup.ts'
import { addCleanup } from '../store.ts'
import { hold, navigate, overflowOf, resize, skip, startSite, waitForExpression, waitForValue } from './browser.ts'
import { crookedRows, scrollingTables } from './page-checks.ts'
import { makeBreakable } from './world.ts'

/** A gateway with a server that works, one that fails, and calls of both. */
const setUp = shareSetup(async (t) => {
  const site = await startSite(t, { args: ['--demo'] })
  const { gateway } = site
  const reports = await makeBreakable(t, 'FATAL: no entry for user "reports"')
  await gateway.register(reports.registration('reports'))
  await gateway.post('/api/v0/tools/invoke', { name: 'demo__add', a: 1, b: 2 })
  await reports.break()
  await gateway.post('/api/v0/tools/invoke', { name: 'reports__echo' })
  addCleanup(t, () => gateway.remove('/api/v0/servers/reports'))
  return site
})

const names = (page: Page) => page.getByRole('region', { name: 'Servers' }).locator('th .name').allTextContents()

test('the failing server is first, and a click on a head sorts the servers', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/servers', async (page) => {
    await waitForValue(['reports', 'demo'], () => names(page))
    const head = (sort: string) => page.locator(`th[aria-sort=${sort}]`).filter({ hasText: 'Server' })
    await page.getByRole('button', { name: 'Server', exact: true }).click()
    await waitForValue(['demo', 'reports'], () => names(page))
    await head('ascending').waitFor()
    await page.waitForURL(/sort=name/)
    await page.getByRole('button', { name: 'Failed', exact: true }).click()
    await page.waitForURL(/sort=-failed/)
    await waitForValue(['reports', 'demo'], () => names(page))
    await page.getByText('stdio', { exact: true }).last().click()
    await page.getByRole('heading', { name: 'demo' }).waitFor()
  })
})

test(
  'a click anywhere in the row of a call opens and closes it; its switches and links keep their own',
  { skip },
  async () => {
    const { visit, gateway } = await setUp()
    await visit('#/calls', async (page) => {
      const outcome = page.getByRole('cell', { name: 'OK' })
      await outcome.click()
      await page.locator('.callx').waitFor()
      await outcome.click()
      await page.locator('.callx').waitFor({ state: 'detached' })
      await navigate(page, '#/servers')
      // each change has arrived before the next one, and before the page is closed
      const isEnabled = async () => (await gateway.get('/api/v0/servers/demo')).body.enabled as boolean
      await page.getByRole('switch', { name: 'demo enabled' }).uncheck()
      await waitForValue(false, isEnabled)
      await page.getByRole('switch', { name: 'demo enabled' }).check()
      await waitForValue(true, isEnabled)
      await page.getByRole('heading', { name: 'Servers' }).waitFor()
    })
  }
)

test('calls of earlier days stand below the day', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/calls', async (page) => {
    const days = page.locator('tr.day')
    await page.getByRole('button', { name: 'demo__add' }).waitFor()
    // the page's clock is two days ahead of the calls
    await page.clock.setSystemTime(Date.now() + 2 * 86_400_000)
    await page.reload()
    await page.getByRole('button', { name: '7 d' }).click()
    await waitForValue(1, () => days.count())
    assert.match((await days.textContent()) ?? '', /^[A-Z][a-z]{2} \d{1,2} [A-Z][a-z]+$/)
  })
})

/** Texts of the first visible column of a table. */
const columnOf = (page: Page, region: string, column: number) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('[role=region][aria-label="${region}"] tbody tr')].map((row) => row.cells[${column}].innerText)`
  )

test('every column of a table sorts it, and the address keeps the order', { skip }, async (t) => {
  const { visit, gateway } = await setUp()
  await gateway.post('/api/v0/tool-groups', { name: 'small', included_tools: ['demo__add'] })
  await gateway.post('/api/v0/tool-groups', { name: 'large', included_servers: ['demo'] })
  addCleanup(t, async () => {
    for (const name of ['small', 'large']) await gateway.remove(`/api/v0/tool-groups/${name}`)
  })
  const tables = [
    ['#/servers', 'Servers'],
    ['#/servers/demo', 'Tools of demo'],
    ['#/servers/demo?tab=prompts', 'Prompts of demo'],
    ['#/groups', 'Groups'],
    ['#/catalogue', 'Servers of the catalogue'],
    ['#/diagnostics', 'Failed checks and warnings']
  ] as const
  await visit('#/servers', async (page) => {
    for (const [hash, label] of tables) {
      await navigate(page, hash)
      const region = page.getByRole('region', { name: label, exact: true })
      await region.locator('tbody tr').first().waitFor()
      const heads = await region.locator('thead th').allTextContents()
      const sorting = await region.locator('thead th button.sort').count()
      const unsorted = heads.filter((text) => text === 'Actions').length
      assert.equal(sorting, heads.length - unsorted, `${hash}: ${heads.join(', ')}`)
      for (let at = 0; at < sorting; at++) {
        const head = region.locator('thead th:has(button.sort)').nth(at)
        await head.getByRole('button').click()
        await waitForValue(true, async () => (await head.getAttribute('aria-sort')) !== 'none')
        assert.match(page.url(), /sort=/, hash)
      }
    }

    await navigate(page, '#/groups')
    const table = page.getByRole('region', { name: 'Groups', exact: true })
    await table.locator('tbody tr').nth(1).waitFor()
    const sort = (name: string) => table.getByRole('button', { name, exact: true }).click()
    const groups = async () => (await columnOf(page, 'Groups', 0)).map((text) => text.split('\n')[0])
    await sort('Tools')
    await waitForValue(['small', 'large'], groups)
    await sort('Tools')
    await waitForValue(['large', 'small'], groups)
    await page.reload()
    await waitForValue(['large', 'small'], groups)
  })
})

const routes = [
  '#/servers',
  '#/servers/demo',
  '#/servers/demo?tab=prompts',
  '#/calls',
  '#/groups',
  '#/diagnostics',
  '#/overview'
]

test('on a phone every cell of a table stands below its head', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/servers', async (page) => {
    for (const width of [390, 800]) {
      await resize(page, width)
      for (const route of routes) {
        await navigate(page, route)
        await waitForExpression(page, `document.querySelector('main table, main .empty') !== null`)
        assert.deepEqual(await crookedRows(page), [], `${width} ${route}`)
      }
    }
  })
})

test('names of servers have room at every width, and no column is cut', { skip }, async (t) => {
  const { visit, gateway } = await setUp()
  const upstream = await startUpstream(t, 'long')
  const long = 'payments-production'
  await gateway.register(registrationOf(long, upstream))
  addCleanup(t, () => gateway.remove(`/api/v0/servers/${long}`))
  await visit('#/servers', async (page) => {
    const name = page.getByRole('link', { name: long })
    await name.waitFor()
    // the longest state of a server
    await page.evaluate(`document.querySelector('main .st.ok').lastChild.data = 'Not contacted yet'`)
    for (const width of [1_440, 1_361, 1_360, 1_200, 1_199, 1_001, 901, 721, 641, 390]) {
      await resize(page, width)
      assert.deepEqual(await scrollingTables(page), [], `${width}: tables that scroll sideways`)
      assert.equal(await overflowOf(page), 0, `${width}`)
      assert.deepEqual(await crookedRows(page), [], `${width}`)
      if (width <= 640) continue
      const { width: room } = (await page.getByRole('rowheader').filter({ has: name }).boundingBox())!
      assert.ok(room >= 180, `${width}: ${room}`)
      assert.equal(await name.evaluate((link) => link.getClientRects().length), 1, `${width}: the name wraps`)
    }
  })
})

test('what is already shown on the overview does not move when the rest arrives', { skip }, async () => {
  const { visit, gateway } = await setUp()
  await visit('#/calls', async (page) => {
    const { request } = await hold(page, /\/dashboard\/overview$/)
    await page.evaluate(`localStorage.setItem('towpath.first-steps', 'off')`)
    await page.goto(`${gateway.url}/?again#/overview`)
    const place = () => page.getByRole('region', { name: 'Top tools' }).boundingBox()
    await page.getByRole('heading', { name: 'Top tools' }).waitFor()
    const before = await place()
    await (await request).continue()
    await page.getByRole('heading', { name: 'Endpoints' }).waitFor()
    assert.deepEqual(await place(), before)
  })
})
