import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { shareSetup } from '../shared-setup.ts'
import { until } from '../until.ts'
import { registrationOf } from '../e2e/upstream.ts'
import {
  waitForValue,
  findBarriers,
  navigate,
  waitForExpression,
  overflowOf,
  skip,
  startSite,
  type Site
} from './browser.ts'
import { startSampleUpstream } from './offering.ts'

const manyTools = fileURLToPath(new URL('../fixtures/stdio/many-tools.mjs', import.meta.url))
const manyToolsServer = {
  name: 'many',
  transport: 'stdio',
  command: process.execPath,
  args: [manyTools],
  env: { TOOLS: '2000' }
}

const result = (page: Page) => page.getByRole('region', { name: 'Result' })
const field = (page: Page, name: string) => page.getByLabel(new RegExp(`^${name}\\b`))
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const callTool = (page: Page) => page.getByRole('button', { name: /^Call tool/ })

/** Returns the body of the next request to a path, as text. */
const requestBodyOf = async (page: Page, path: string, work: () => Promise<void>): Promise<string> => {
  const [request] = await Promise.all([page.waitForRequest((each) => each.url().endsWith(path)), work()])
  return request.postData() ?? ''
}

const assertAccessible = async (page: Page) => {
  assert.deepEqual(await findBarriers(page), [])
  await waitForValue(0, () => overflowOf(page))
}

const enabledOf = async ({ gateway }: Site, name: string) =>
  (await gateway.get(`/api/v0/tool?name=${name}`)).body.enabled as boolean

/** A gateway with the demo server and an upstream with items of every kind, and a browser. */
const setUp = shareSetup(async (t) => {
  const upstream = await startSampleUpstream(t)
  const site = await startSite(t, { args: ['--demo'], env: { TOWPATH_CALL_LOG_CONTENTS: 'true' } })
  await site.gateway.register(registrationOf('shop', upstream))
  return { ...site, site, upstream }
})

/** A group of one whole server without one of its tools, and of a tool of another server. */
const support = {
  name: 'support',
  description: 'For those who help',
  included_servers: ['shop'],
  included_tools: ['demo__add'],
  excluded_tools: ['shop__drop']
}
const supportPath = '/api/v0/tool-groups/support'

async function createSupport({ gateway }: Site): Promise<void> {
  const { status, text } = await gateway.post('/api/v0/tool-groups', support)
  assert.equal(status, 201, text)
}

test('a form is generated from a schema with references, alternatives, lists and open members', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/tools/shop__order', async (page) => {
    await callTool(page).click()
    await page.getByText('2 fields need attention').waitFor()
    await page.getByText('id is required').waitFor()
    await page.getByText('title is required').waitFor()
    await waitForValue('true', () => field(page, 'id').getAttribute('aria-invalid'))
    await waitForExpression(page, 'document.activeElement.getAttribute("aria-invalid") === "true"')
    await assertAccessible(page)

    await field(page, 'id').fill('12345678901234567890')
    await field(page, 'title').fill('Boat')
    await field(page, 'body').fill('Two\nlines')
    await field(page, 'labels').fill('red')
    await field(page, 'labels').press('Enter')
    await field(page, 'labels').fill('blue')
    await field(page, 'labels').press('Tab')
    await page.getByRole('group', { name: 'urgent' }).getByRole('button', { name: 'true' }).click()
    await field(page, 'size').selectOption('large')
    await button(page, 'Set limit to null').click()
    await page.getByRole('group', { name: 'Form of source' }).getByRole('button', { name: 'Link' }).click()
    await field(page, 'url').fill('https://example.com')
    await button(page, 'Add tree').click()
    await field(page, 'label').first().fill('root')
    await button(page, 'Add children').click()
    await button(page, 'Add to children').click()
    await field(page, 'label').nth(1).fill('leaf')
    await button(page, 'Add extra').click()
    await button(page, 'Add a member to extra').click()
    await page.getByLabel('Name', { exact: true }).fill('note')
    await page.getByLabel('Name', { exact: true }).press('Tab')
    await field(page, 'Value of note').fill('yes')
    await assertAccessible(page)

    const body = await requestBodyOf(page, '/tools/invoke', () => page.keyboard.press('Control+Enter'))
    const wanted =
      '{"name":"shop__order","id":12345678901234567890,"title":"Boat","body":"Two\\nlines",' +
      '"labels":["red","blue"],"urgent":true,"size":"large","limit":null,"source":{"url":"https://example.com"},' +
      '"tree":{"label":"root","children":[{"label":"leaf"}]},"extra":{"note":"yes"}}'
    assert.deepEqual(JSON.parse(body), JSON.parse(wanted))
    assert.ok(body.includes('"id":12345678901234567890'), body)
    await result(page).getByText('isError false').waitFor()
    await assertAccessible(page)
  })
})

test('form and JSON are two views of one value, which is kept until the tab is closed', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/tools/shop__order', async (page) => {
    await field(page, 'title').fill('Boat')
    await button(page, 'JSON').click()
    const json = page.getByLabel('Arguments as JSON')
    assert.deepEqual(JSON.parse(await json.inputValue()), { title: 'Boat' })
    await json.fill('{"id": 7, ')
    await page.getByText(/^Invalid JSON/).waitFor()
    await button(page, 'Form').click()
    // invalid JSON is kept, not discarded
    await waitForExpression(page, 'document.activeElement.matches("textarea[aria-invalid=true]")')
    assert.equal(await json.inputValue(), '{"id": 7, ')
    await json.fill('{"id": 7, "title": "Ship", "other": [1], "size": "huge"}')
    await button(page, 'Form').click()
    await waitForValue('7', () => field(page, 'id').inputValue())
    // nothing hidden is sent
    await waitForValue('[\n  1\n]', () => page.getByLabel('Value of other').inputValue())
    await page.getByText('does not fit the form').waitFor()
    await page.reload()
    await waitForValue('Ship', () => field(page, 'title').inputValue())
    await callTool(page).click()
    await page.getByText('Must be one of "small","large"').waitFor()
    const body = await requestBodyOf(page, '/tools/invoke', () => button(page, 'Send anyway').click())
    assert.equal(JSON.parse(body).size, 'huge')
    assert.equal(await page.evaluate('Object.keys(localStorage).some((key) => key.includes("input"))'), false)
  })
})

test('results of every kind are shown, and checked against the output schema', { skip }, async () => {
  const { visit } = await setUp()
  await visit(
    '#/tools/shop__show',
    async (page) => {
      await page.getByText('No parameters.').waitFor()
      await callTool(page).click()
      const shown = result(page)
      await shown.getByText('Plain <b>text</b>').waitFor()
      await shown.getByText('12345678901234567890').waitFor()
      const image = shown.getByRole('img', { name: /image\/png/ })
      await waitForValue(1, () =>
        image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)
      )
      await waitForValue(1, () => shown.locator('audio').count())
      const link = shown.getByRole('link', { name: 'https://example.com/report' })
      assert.equal(await link.getAttribute('rel'), 'noopener noreferrer')
      const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()])
      assert.equal(download.suggestedFilename(), 'blob')
      await shown.getByText('It does not match the output schema').waitFor()
      await shown.getByText('Must be a number').waitFor()
      await assertAccessible(page)
      await button(page, 'Raw').click()
      await shown.getByText('"resource_link"').waitFor()
      await page.getByRole('tab', { name: 'Recent calls' }).click()
      await page.waitForURL(/shop__show\?tab=calls$/)
      await page.getByRole('tabpanel').getByText('OK', { exact: true }).first().waitFor()
      await page.getByRole('tab', { name: 'Output schema' }).click()
      await page.getByRole('group', { name: 'Output schema' }).getByText('"sum"').waitFor()
      await assertAccessible(page)
    },
    { expected: /ERR_|media/i }
  )
})

test("a tool's own error is shown as a result, and a failed call is not", { skip }, async () => {
  const { visit } = await setUp()
  await visit(
    '#/tools/shop__fail',
    async (page) => {
      await callTool(page).click()
      await result(page).getByText('isError true').waitFor()
      await result(page).getByText('No such order').waitFor()
      await navigate(page, '#/tools/shop__break')
      await callTool(page).click()
      await page.getByRole('alert').getByText('The tool was not called.').waitFor()
      await page.getByRole('alert').getByText('It broke').waitFor()
      assert.equal(await result(page).count(), 0)
      await assertAccessible(page)
    },
    { expected: /502/ }
  )
})

test('cancelling a call cancels it at the server', { skip }, async () => {
  const { visit, upstream } = await setUp()
  await visit('#/tools/shop__wait', async (page) => {
    await callTool(page).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Waiting for the server').waitFor()
    const waiting = () => upstream.requests.filter(({ message }) => message.params?.name === 'wait')
    await until('the call to arrive', () => waiting().length === 1)
    // focus moves to the button that replaces the focused one
    await waitForExpression(page, 'document.activeElement?.textContent === "Cancel"')
    await page.keyboard.press('Enter')
    await page.getByText('Cancelled.').waitFor()
    await until('the server to hear of it', () => waiting()[0]!.abandoned)
    await callTool(page).waitFor()
  })
})

test(
  'a pattern with endless backtracking does not block the page; the server validates the value',
  { skip },
  async () => {
    const { visit } = await setUp()
    await visit('#/tools/shop__spin', async (page) => {
      await field(page, 'word').fill(`${'a'.repeat(60)}!`)
      await callTool(page).click()
      await page.evaluate('new Promise((done) => setTimeout(done))')
      await result(page).getByText('aaa!').waitFor()
    })
  }
)

test('a destructive tool asks for confirmation once per tab', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/tools/shop__drop', async (page) => {
    await callTool(page).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('may delete or overwrite').waitFor()
    await assertAccessible(page)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await callTool(page).click()
    await dialog.getByRole('button', { name: 'Call tool' }).click()
    await result(page).waitFor()
    await page.reload()
    await callTool(page).click()
    await result(page).waitFor()
    assert.equal(await dialog.count(), 0)
  })
})

test('a call can be copied as curl, for the command line and as JSON-RPC', { skip }, async () => {
  const { gateway, visit } = await setUp()
  await visit(
    '#/tools/demo__add',
    async (page) => {
      await field(page, 'a').fill('1')
      await field(page, 'b').fill('2')
      const copied = async (name: string, isIt: (text: string) => boolean) => {
        await button(page, name).click()
        await until(name, async () => isIt(await page.evaluate<string>('navigator.clipboard.readText()')))
      }
      await copied('Copy as curl', (text) => text.startsWith(`curl -sS ${gateway.url}/api/v0/tools/invoke`))
      await copied('Copy as CLI', (text) => text === `towpath invoke demo__add --input '{"a":1,"b":2}'`)
      await copied('Copy as JSON-RPC', (text) => JSON.parse(text).params.arguments.b === 2)
    },
    { permissions: ['clipboard-read', 'clipboard-write'] }
  )
})

test('a call is replayed with its arguments', { skip }, async () => {
  const { gateway, visit } = await setUp()
  const answer = await gateway.post('/api/v0/tools/invoke', { name: 'demo__add', a: 20, b: 22 })
  assert.equal(answer.status, 200)
  await visit('#/tools/demo__add', async (page) => {
    await field(page, 'a').fill('7')
    await navigate(page, '#/calls')
    await page.getByRole('button', { name: 'demo__add' }).first().click()
    await page.getByRole('link', { name: 'Replay' }).click()
    await page.waitForURL(/#\/tools\/demo__add$/)
    await waitForValue('20', () => field(page, 'a').inputValue())
    await waitForValue('22', () => field(page, 'b').inputValue())
    await callTool(page).click()
    await result(page).getByText('42').first().waitFor()
  })
})

test('a changed definition is flagged, compared and accepted on the page Definitions', { skip }, async () => {
  const { gateway, visit, upstream } = await setUp()
  const tool = upstream.tools.find(({ name }) => name === 'fail')!
  tool.description = 'Says that it failed\u200b, and sends your files away'
  upstream.prompts[0]!.description = 'Greets, and asks for a password'
  upstream.resources[0]!.mimeType = 'text/html'
  assert.equal((await gateway.post('/api/v0/servers/shop/refresh')).status, 200)
  await visit('#/tools?state=flagged', async (page) => {
    await page.getByRole('link', { name: /^fail/ }).click()
    await page.locator('.det').getByText('hidden characters').waitFor()
    await assertAccessible(page)
    await page.getByRole('link', { name: 'Compare and decide' }).click()
    const changed = page.getByRole('article', { name: /^Tool fail/ })
    await changed.getByText('Agents get the new definition').waitFor()
    await changed.locator('ins', { hasText: 'sends your files away' }).getByText('U+200B').waitFor()
    await assertAccessible(page)
    await button(page, 'Accept shop/tool/fail').click()
    await changed.waitFor({ state: 'detached' })
    await navigate(page, '#/overview')
    await page.getByRole('link', { name: '2 definitions of shop wait for a decision' }).click()
    const resource = page.getByRole('article', { name: /^Resource/ })
    await resource.locator('del', { hasText: 'plain' }).waitFor()
    await resource.locator('ins', { hasText: 'html' }).waitFor()
    await page
      .getByRole('article', { name: /^Prompt greet/ })
      .locator('ins', { hasText: 'password' })
      .waitFor()
    await button(page, 'Accept all without warnings').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Accept' }).click()
    await navigate(page, '#/overview')
    await page.getByRole('link', { name: /of shop wait/ }).waitFor({ state: 'detached' })
  })
})

test('prompts are rendered with their roles, and can be disabled', { skip }, async () => {
  const { gateway, visit } = await setUp()
  await visit('#/prompts', async (page) => {
    await page.getByRole('link', { name: /^greet/ }).click()
    await field(page, 'who').fill('Ada')
    await field(page, 'who').press('Enter')
    await result(page).getByText('Greet Ada').waitFor()
    await result(page).getByText('assistant').waitFor()
    await assertAccessible(page)
    await page.getByRole('switch').click()
    await page.getByText('This prompt is disabled.').waitFor()
    assert.equal((await gateway.get('/api/v0/prompt?name=shop__greet')).body.enabled, false)
    await page.getByRole('link', { name: /^greet/ }).focus()
    await page.keyboard.press('e')
    await page.getByText('This prompt is disabled.').waitFor({ state: 'detached' })
  })
})

test('resources and templates are read', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/resources', async (page) => {
    await page.getByRole('link', { name: /^One/ }).click()
    await waitForExpression(page, 'document.activeElement?.id === "resource-name"')
    await page.keyboard.press('Control+Enter')
    await result(page).getByText('It is note://one').waitFor()
    await page.getByRole('link', { name: /^Any note/ }).click()
    await field(page, 'id').fill('two')
    await page.keyboard.press('Control+Enter')
    await result(page).getByText('It is note://two').waitFor()
    await waitForExpression(page, 'document.activeElement?.labels?.[0]?.textContent.startsWith("id")')
    await assertAccessible(page)
  })
})

test('a read of a resource that no server lists is replayed', { skip }, async () => {
  const { gateway, visit } = await setUp()
  const read = await gateway.post('/api/v0/resources/read', { uri: 'note://two' })
  assert.equal(read.status, 200, read.text)
  await visit('#/calls', async (page) => {
    await page.getByRole('button', { name: 'note://two' }).first().click()
    await page.getByRole('link', { name: 'Replay' }).click()
    await page.getByRole('heading', { name: 'No server lists this resource' }).waitFor()
    await page.getByRole('button', { name: /^Read/ }).click()
    await result(page).getByText('It is note://two').waitFor()
    await assertAccessible(page)
  })
})

test('a group is built from servers, tools and exclusions, and its name is checked', { skip }, async () => {
  const { gateway, visit } = await setUp()
  await visit(
    '#/groups',
    async (page) => {
      await page.getByText('There are no groups yet').waitFor()
      await page.keyboard.press('n')
      await page.getByRole('heading', { name: 'New group' }).waitFor()
      await page.getByText('Agents see no tools on this endpoint.').waitFor()
      await page.getByLabel(/^Name/).fill('support')
      await page.getByLabel('shop, whole server').click()
      const effective = page.getByRole('region', { name: 'Effective tools' })
      await effective.getByText('drop').waitFor()
      await page.locator('summary', { hasText: 'shop' }).getByText('includes new tools').waitFor()
      await page.locator('summary', { hasText: 'shop' }).click()
      await page.locator('.tn', { hasText: 'drop' }).click()
      await effective.getByText('excluded').waitFor()
      await page.locator('summary', { hasText: 'demo' }).click()
      await page.locator('.tn', { hasText: 'add' }).click()
      await effective.getByText('picked').waitFor()
      await page.locator('.tn', { hasText: 'word_count' }).click()
      await button(page, 'Undo').click()
      await waitForValue(false, () => page.locator('.tn', { hasText: 'word_count' }).getByRole('checkbox').isChecked())
      const whole = page.getByLabel('shop, whole server')
      await waitForValue(true, () =>
        whole.evaluate((box) => (box as unknown as { indeterminate: boolean }).indeterminate)
      )
      await assertAccessible(page)
      await page.getByText('As JSON').click()
      await page.getByRole('group', { name: 'The group as JSON' }).getByText('"shop__drop"').waitFor()
      await button(page, 'Create group').click()
      await page.getByRole('heading', { name: 'support' }).waitFor()
      await button(page, 'Add a description').click()
      await waitForExpression(page, 'document.activeElement?.id === "group-description"')
      await page.keyboard.type('For those who help')
      await page.keyboard.press('Enter')
      await page.getByText('1 change not saved').waitFor({ state: 'detached' })
      await navigate(page, '#/new/group')
      await button(page, 'Create group').click()
      await page.getByText('Enter a name.').waitFor()
      await waitForExpression(page, 'document.activeElement?.id === "group-name"')
      await page.keyboard.type('sup port')
      await page.getByText('The name must be 1 to 64').waitFor()
      await page.keyboard.press('Control+A')
      await page.keyboard.type('support')
      await button(page, 'Create group').click()
      await page.getByText('A group named support already exists.').waitFor()
      await assertAccessible(page)
      await button(page, 'Cancel').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
      await page
        .getByRole('row', { name: /support/ })
        .getByText('For those who help')
        .waitFor()
    },
    { expected: /409/ }
  )
  const saved = (await gateway.get(supportPath)).body
  assert.deepEqual(
    [saved.included_servers, saved.included_tools, saved.excluded_tools],
    [support.included_servers, support.included_tools, support.excluded_tools]
  )
  await gateway.remove(supportPath)
})

test('a saved group is edited without losing changes by accident, copied and deleted', { skip }, async () => {
  const { site, gateway, visit } = await setUp()
  await createSupport(site)
  await visit('#/groups/support', async (page) => {
    await page.locator('.tn', { hasText: 'add' }).click()
    await page.getByText('1 change not saved').waitFor()
    await page.getByText('was 7').waitFor()
    await page.getByRole('link', { name: 'Tools', exact: false }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 change to this group will be lost').waitFor()
    await assertAccessible(page)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.waitForURL(/#\/groups\/support$/)
    await button(page, 'Save group').click()
    await page.getByText('1 change not saved').waitFor({ state: 'detached' })
    assert.deepEqual((await gateway.get(supportPath)).body.included_tools, [])
    await navigate(page, '#/groups')
    await page.getByLabel('Clone support').click()
    await waitForValue('support-copy', () => page.getByLabel(/^Name/).inputValue())
    await button(page, 'Create group').click()
    await page.getByRole('heading', { name: 'support-copy' }).waitFor()
    await button(page, 'Delete').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete group' }).click()
    await page.getByRole('heading', { name: 'Groups' }).waitFor()
    await page.getByRole('link', { name: 'support', exact: true }).waitFor()
    await page.getByRole('link', { name: 'support-copy', exact: true }).waitFor({ state: 'detached' })
  })
  await gateway.remove(supportPath)
})

test('a group keeps names of missing tools, marked as such, until they are dropped', { skip }, async () => {
  const { site, gateway, visit, upstream } = await setUp()
  await createSupport(site)
  const tool = upstream.tools.pop()!
  assert.equal((await gateway.post('/api/v0/servers/shop/refresh')).status, 200)
  await visit('#/groups/support', async (page) => {
    await page.getByText('missing').waitFor()
    await page.getByText('shop does not offer this tool now').waitFor()
    await button(page, 'Drop shop__drop').click()
    await button(page, 'Save group').click()
    await page.getByText('1 change not saved').waitFor({ state: 'detached' })
  })
  assert.deepEqual((await gateway.get(supportPath)).body.excluded_tools, [])
  upstream.tools.push(tool)
  await gateway.remove(supportPath)
})

test('2,000 tools are filtered in less than 100 ms per key, and several are disabled at once', { skip }, async () => {
  const { site, gateway, visit } = await setUp()
  await gateway.register(manyToolsServer)
  await visit('#/tools', async (page) => {
    await page.getByText('tokens of tool definitions').waitFor()
    const filter = page.getByRole('searchbox')
    // the machine may be busy: the time counts that the page computes, the best of several runs
    const client = await page.context().newCDPSession(page)
    await client.send('Performance.enable', { timeDomain: 'threadTicks' })
    const computed = async () => {
      const { metrics } = await client.send('Performance.getMetrics')
      return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1_000
    }
    const times: number[] = []
    for (const text of ['t', 'to', 'tool', 'tool_00', 'tool_000']) {
      const before = await computed()
      await page.evaluate(`(async () => {
          const box = document.querySelector('main input[type=search]')
          box.value = ${JSON.stringify(text)}
          box.dispatchEvent(new InputEvent('input', { bubbles: true }))
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
        })()`)
      times.push((await computed()) - before)
    }
    assert.ok(Math.min(...times) < 100, `${times.map(Math.round).join(', ')} ms`)
    await page.waitForURL(/q=tool_000/)
    await button(page, 'Select').click()
    await button(page, 'Select all shown').click()
    await page.getByText('9 of 9 selected').waitFor()
    await filter.fill('tool_0003')
    await page.getByText('1 of 1 selected, 8 more are hidden').waitFor()
    await button(page, 'Disable').nth(0).click()
    await page.locator('.list').getByText('disabled', { exact: true }).waitFor()
    await assertAccessible(page)
  })
  assert.deepEqual(
    await Promise.all(['tool_0002', 'tool_0003', 'tool_0004'].map((name) => enabledOf(site, `many__${name}`))),
    [true, false, true]
  )
})

test('the list of tools is used with the keyboard alone', { skip }, async () => {
  const { site, visit } = await setUp()
  await visit('#/tools?server=shop', async (page) => {
    await page.getByRole('link', { name: /^order/ }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('ai')
    await page.getByRole('link', { name: /^order/ }).waitFor({ state: 'detached' })
    await page.keyboard.press('Tab')
    await page.getByRole('heading', { level: 1 }).focus()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('e')
    await page.locator('.list').getByText('disabled', { exact: true }).waitFor()
    assert.equal(await enabledOf(site, 'shop__wait'), false)
    await page.keyboard.press('e')
    await page.locator('.list').getByText('disabled', { exact: true }).waitFor({ state: 'detached' })
    await page.keyboard.press('Space')
    await page.getByText('1 of 2 selected').waitFor()
    await button(page, 'Done').click()
    await page.getByRole('link', { name: /^wait/ }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/shop__wait/)
    await waitForExpression(page, 'document.activeElement?.id === "tool-name"')
    await page.keyboard.press('k')
    await waitForExpression(page, 'document.activeElement?.textContent.startsWith("fail")')
  })
})

test('tools of an unreachable server keep their definitions and report the server', { skip }, async () => {
  const { gateway, visit, upstream } = await setUp()
  await upstream.close()
  await gateway.post('/api/v0/servers/shop/refresh')
  await visit(
    '#/tools/shop__order',
    async (page) => {
      await page.getByText('The server shop cannot be reached').waitFor()
      await field(page, 'title').waitFor()
      await navigate(page, '#/tools/shop__show')
      await callTool(page).click()
      await page.getByText('The tool was not called.').waitFor()
      await assertAccessible(page)
    },
    { expected: /50[234]/ }
  )
})
