import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { startFaulty } from '../fixtures/http/faulty.ts'
import { shareSetup } from '../shared-setup.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { waitForValue, findBarriers, navigate, hold, waitForData, skip, startSite } from './browser.ts'
import { makeBreakable } from './world.ts'

const calls = (page: Page) => page.getByRole('region', { name: 'Calls' }).locator('tbody tr:not(.detail, .day)')
const causes = (page: Page) => page.getByRole('group', { name: 'Failures by cause' }).getByRole('button')
const waitForRows = (page: Page, count: number) => waitForValue(count, () => calls(page).count())
const fact = async (page: Page, label: string) =>
  page
    .locator('.facts > div')
    .filter({ has: page.getByText(label, { exact: true }) })
    .locator('dd')
    .textContent()

/** A gateway with calls that succeeded, failed in a process, failed over HTTP and returned an error. */
const setUp = shareSetup(async (t) => {
  const site = await startSite(t, { args: ['--demo'], env: { TOWPATH_CALL_LOG_CONTENTS: 'off' } })
  const { gateway } = site
  const reports = await makeBreakable(t, 'FATAL: no entry for user "reports"')
  await gateway.register(reports.registration('reports'))
  const faulty = await startFaulty(null)
  addCleanup(t, faulty.close)
  await gateway.register({ name: 'beta', transport: 'streamable_http', url: faulty.url })
  const invoke = (name: string, more: object = {}) => gateway.post('/api/v0/tools/invoke', { name, ...more })
  await invoke('demo__add', { a: 1, b: 2 })
  await reports.break()
  for (let at = 0; at < 3; at++) await invoke('reports__echo', { text: 'hi' })
  faulty.mode = 'bad_gateway'
  await invoke('beta__echo')
  faulty.mode = 'none'
  await invoke('beta__fail')
  return { ...site, faulty, invoke }
})

test('a failed call shows its cause, the end of stderr, its phases and its protocols', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/calls', async (page) => {
    await page.getByText('Arguments and results are not recorded.').waitFor()
    await page.getByRole('button', { name: 'reports__echo' }).first().click()
    const detail = page.locator('.callx')
    await detail.getByText(/before answering initialize/).waitFor()
    await detail.getByText('FATAL: no entry for user "reports"', { exact: true }).waitFor()
    for (const [label, value] of [
      ['Initialize', /^ended after/],
      ['Call', /^not reached$/],
      ['Session mode', /^stateless$/],
      ['Protocol', /^REST$/]
    ] as const) {
      const row = detail.locator('.kv > div').filter({ has: page.getByText(label, { exact: true }) })
      assert.match((await row.locator('dd').textContent()) ?? '', value, label)
    }
    await detail.getByText('The arguments were not recorded').waitFor()
    await detail.getByRole('link', { name: 'Open server reports' }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
  })
})

test('a click on a cause filters the calls by server and failure, and the URL keeps the filter', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/calls', async (page) => {
    const cause = causes(page)
    await waitForValue(3, () => cause.count())
    await cause.filter({ hasText: 'reports' }).click()
    await waitForRows(page, 3)
    await page.waitForURL(/server=reports/)
    const shared = page.url()
    await cause.filter({ hasText: 'HTTP 502' }).click()
    await waitForRows(page, 1)
    await page.getByRole('button', { name: 'beta__echo' }).waitFor()
    // the URL alone restores the filters
    await navigate(page, shared.slice(shared.indexOf('#')))
    await waitForRows(page, 3)
    await cause.filter({ hasText: 'reports' }).click()
    await waitForRows(page, 5)
    // the gateway searches the text
    await page.getByRole('searchbox').fill('HTTP 502')
    await waitForRows(page, 1)
    await page.waitForURL(/q=HTTP(?:\+|%20)502/)
  })
})

test('calls in flight are counted, and the list does not move while it is scrolled', { skip }, async () => {
  const { gateway, visit, faulty, invoke } = await setUp()
  await visit('#/calls', async (page) => {
    await page.getByText('Live', { exact: true }).waitFor()
    await waitForValue('0', () => fact(page, 'In flight'))
    faulty.mode = 'silent'
    const leaving = new AbortController()
    const running = fetch(`${gateway.url}/api/v0/tools/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"beta__echo"}',
      signal: leaving.signal
    }).catch(() => {})
    await waitForValue('1', () => fact(page, 'In flight'))
    leaving.abort()
    await running
    await waitForValue('0', () => fact(page, 'In flight'))
    faulty.mode = 'none'

    // the row is written shortly afterwards; the list must not shift later
    await calls(page).filter({ hasText: 'Cancelled' }).waitFor()
    await causes(page).first().waitFor()
    await waitForData(page)
    await page.setViewportSize({ width: 1440, height: 420 })
    await page.evaluate('document.querySelector(".calls-list tbody tr:last-child").scrollIntoView()')
    await page.getByText('Paused', { exact: true }).waitFor()
    const before = await calls(page).count()
    await invoke('demo__add', { a: 2, b: 2 })
    await page.getByRole('button', { name: '1 newer call: show' }).waitFor()
    assert.equal(await calls(page).count(), before, 'what is new came in by the same answer')
    await page.getByRole('button', { name: '1 newer call: show' }).click()
    await page.evaluate('scrollTo(0, 0)')
    await page.getByText('Live', { exact: true }).waitFor()
    await waitForRows(page, before + 1)
  })
})

test('charts tell their values under the pointer and by keyboard', { skip }, async () => {
  const { gateway, visit } = await setUp()
  await visit('#/calls', async (page) => {
    for (const [hash, name, range] of [
      ['#/calls', 'Latency', '24h'],
      ['#/overview', 'Calls', '24h']
    ] as const) {
      await navigate(page, hash)
      const probe = page.getByRole('slider', { name: `Values of the chart ${name}` })
      const told = async () => (await probe.getAttribute('aria-valuetext')) ?? ''
      const last = Number(await probe.getAttribute('aria-valuemax'))
      /** Returns the calls of all buckets together, read by keyboard from left to right. */
      const readAll = async () => {
        let sum = 0
        await probe.press('Home')
        for (let at = 0; at <= last; at++) {
          await waitForValue(String(at), async () => (await probe.getAttribute('aria-valuenow')) ?? '')
          const calls = /^\w{3} \d\d:\d\d: ([\d,]+) calls?/.exec(await told())?.[1] ?? 'nothing'
          sum += Number(calls.replaceAll(',', ''))
          await probe.press('ArrowRight')
        }
        return sum
      }
      // calls of the tests before may still be on their way to the page
      await until('the calls of the chart are those of the figures', async () => {
        const { body } = await gateway.get(`/api/dashboard/stats?range=${range}`)
        return (await readAll()) === body.total.calls
      })
      await page.getByText(await told(), { exact: true }).waitFor()
      await probe.press('Escape')
      await page.getByText('Point at the chart').waitFor()

      const box = (await probe.boundingBox())!
      await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2)
      await waitForValue(String(last), async () => (await probe.getAttribute('aria-valuenow')) ?? '')
      await page.getByText(await told(), { exact: true }).waitFor()
      await page.mouse.move(box.x + 2, box.y + box.height / 2)
      await waitForValue('0', async () => (await probe.getAttribute('aria-valuenow')) ?? '')
      await page.mouse.move(0, 0)
      await page.getByText('Point at the chart').waitFor()
      assert.deepEqual(await findBarriers(page), [], hash)
    }
  })
})

test('rows stay while another range is loading, and the chart has a table', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/calls', async (page) => {
    await calls(page).first().waitFor()
    await waitForData(page)
    const { request } = await hold(page, /range=7d/)
    await page.getByRole('button', { name: '7 d' }).click()
    const route = await request
    assert.equal(await page.locator('.skeleton').count(), 0)
    assert.ok((await calls(page).count()) > 0)
    await route.continue()
    await page.getByRole('heading', { name: 'Latency, p50 to p95 per 2 h' }).waitFor()
    await page.getByText('View as table').click()
    await page.getByRole('columnheader', { name: 'p95' }).waitFor()
  })
})

test('a panel of the overview that cannot be loaded does not affect the others', { skip }, async () => {
  const { visit } = await setUp()
  await visit(
    '#/overview',
    async (page) => {
      await page.getByRole('heading', { name: 'Top tools' }).waitFor()
      await page.route(/\/stats\?range=1h/, (route) =>
        route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":"the database is away"}' })
      )
      await page.getByRole('button', { name: '1 h' }).click()
      await page.getByRole('alert').filter({ hasText: 'The database is away.' }).getByRole('button').waitFor()
      await page.getByRole('heading', { name: 'Endpoints' }).waitFor()
      await until('its figures', async () => /^\d+of \d+ enabled$/.test((await fact(page, 'Servers up')) ?? ''))
    },
    { expected: /503/ }
  )
})

test('diagnostics fold passed checks, show failed ones, and can test the servers', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/diagnostics', async (page) => {
    const wrong = page.getByRole('region', { name: 'Failed checks and warnings' })
    await wrong.getByRole('link', { name: 'The server reports is failing' }).waitFor()
    await page.getByText(/checks passed$/).click()
    await page.getByRole('button', { name: 'Test servers' }).click()
    const passed = page.getByRole('region', { name: 'Passed checks' })
    await passed
      .getByText(/Initialize \d+ ms, lists \d+ ms/)
      .first()
      .waitFor()
    assert.deepEqual(await findBarriers(page), [])
  })
})

test('a page whose code could not be loaded opens once the gateway is back', { skip }, async () => {
  const { visit } = await setUp()
  await visit(
    '#/servers',
    async (page) => {
      await page.getByRole('link', { name: 'demo' }).waitFor()
      await page.context().setOffline(true)
      await page
        .getByRole('navigation')
        .getByRole('link', { name: /^Tools/ })
        .click()
      await page.getByText('The page could not be loaded.').waitFor()
      await page.context().setOffline(false)
      await page.getByRole('heading', { name: 'Tools' }).waitFor()
      await waitForData(page)
    },
    { expected: /ERR_INTERNET_DISCONNECTED|ERR_NETWORK|Failed to load|dynamically imported/ }
  )
})
