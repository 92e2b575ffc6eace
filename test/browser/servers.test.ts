import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { until } from '../until.ts'
import { registrationOf, startUpstream } from '../e2e/upstream.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { startAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { shareSetup } from '../shared-setup.ts'
import { addCleanup } from '../store.ts'
import { waitForValue, hold, waitForExpression, pressTogether, skip, startSite } from './browser.ts'
import { checkLooks } from './page-checks.ts'
import { ENOUGH_CALLS, slowToStart } from '../slow-start.ts'
import { makeBreakable } from './world.ts'

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

/** An empty gateway, a browser, and an upstream to register. */
const setUp = shareSetup(async (t) => ({ ...(await startSite(t)), alpha: await startUpstream(t, 'alpha') }))

/** The shared gateway with the server `alpha`. */
const withAlpha = shareSetup(async () => {
  const shared = await setUp()
  const { status } = await shared.gateway.get('/api/v0/servers/alpha')
  if (status === 404) await shared.gateway.register(registrationOf('alpha', shared.alpha))
  return shared
})

test('an empty gateway leads to adding the first server', { skip }, async () => {
  const { visit } = await setUp()
  await visit('', async (page) => {
    await waitForValue('Servers · Towpath', () => page.title())
    await page.getByRole('link', { name: 'Add server' }).click()
    await page.getByRole('heading', { name: 'Add server' }).waitFor()
  })
})

test('one button adds the demo server', { skip }, async () => {
  const { gateway, visit } = await setUp()
  await visit('#/servers', async (page) => {
    await page.getByRole('button', { name: 'Add the demo server' }).click()
    await row(page, 'demo').getByText('Connected').waitFor()
  })
  await gateway.remove('/api/v0/servers/demo')
})

test('a server is added, a tool called and a group created with the keyboard alone', { skip }, async () => {
  const { gateway, visit, alpha } = await setUp()
  await visit('#/overview', async (page) => {
    await pressTogether(page, 'g', 's')
    await page.getByRole('heading', { name: 'Servers' }).waitFor()
    await waitForExpression(page, 'document.activeElement.textContent === "Servers"')
    await page.keyboard.press('n')
    await page.getByRole('heading', { name: 'Add server' }).waitFor()
    const reach = async (label: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await page.keyboard.press('Tab')
        const focused = await page.evaluate(
          '(document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent)'
        )
        if (String(focused).startsWith(label)) return
      }
      throw new Error(`Tab never reaches ${label}`)
    }
    await reach('URL')
    await page.keyboard.type(alpha.url)
    await reach('Name')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('a__b')
    await page.getByText('The name must be').waitFor()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('alpha')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('heading', { name: 'alpha' }).waitFor()
    await page.getByRole('link', { name: 'echo' }).waitFor()

    await pressTogether(page, 'g', 't')
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await page.getByRole('link', { name: /^echo/ }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await waitForExpression(page, 'document.activeElement?.id === "tool-name"')
    await reach('Call tool')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Result' }).getByText('isError false').waitFor()

    await pressTogether(page, 'g', 'g')
    await page.getByRole('heading', { name: 'Groups', exact: true }).waitFor()
    await page.keyboard.press('n')
    await page.getByRole('heading', { name: 'New group' }).waitFor()
    await page.getByLabel('alpha, whole server').waitFor()
    await reach('Name')
    await page.keyboard.type('keys')
    const box = page.getByLabel('alpha, whole server')
    for (let presses = 0; presses < 40; presses++) {
      const label = await page.evaluate('document.activeElement.getAttribute("aria-label")')
      if (label === 'alpha, whole server') break
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Space')
    await page.getByRole('region', { name: 'Effective tools' }).getByText('echo').waitFor()
    await waitForValue(true, () => box.isChecked())
    await reach('Create group')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'keys' }).waitFor()
  })
  assert.deepEqual((await gateway.get('/api/v0/tool-groups/keys')).body.included_servers, ['alpha'])
  await gateway.remove('/api/v0/tool-groups/keys')
})

test('the form tests a server without saving it, and offers to replace one of the same name', { skip }, async (t) => {
  const { gateway, visit, alpha } = await withAlpha()
  const beta = await startUpstream(t, 'beta', { tools: [{ name: 'other', inputSchema: { type: 'object' } }] })
  await visit(
    '#/new/server?tab=form',
    async (page) => {
      await page.getByLabel('URL').fill(beta.url)
      await page.getByLabel('Name').fill('alpha')
      await page.getByRole('button', { name: 'Test' }).click()
      await page.getByText(/Connected in .*: 1 tool\./).waitFor()
      await page.getByRole('button', { name: 'Add server' }).click()
      await page.getByRole('alert').filter({ hasText: 'alpha' }).waitFor()
      assert.equal((await gateway.get('/api/v0/tools?server=alpha')).body[0].name, 'alpha__echo')
      await page.getByRole('button', { name: 'Replace alpha' }).click()
      await page.getByRole('link', { name: 'other' }).waitFor()
    },
    { expected: /409/ }
  )
  await gateway.remove('/api/v0/servers/alpha')
  await gateway.register(registrationOf('alpha', alpha))
})

test('changes and calls by others appear without a reload', { skip }, async () => {
  const { gateway, visit, alpha } = await withAlpha()
  await visit('#/servers', async (page) => {
    // includes changes made before the page's event stream opens
    const { request } = await hold(page, /\/dashboard\/events$/)
    await page.reload()
    const listening = await request
    await row(page, 'alpha').waitFor()
    await gateway.register(registrationOf('early', alpha))
    await listening.continue()
    await row(page, 'early').waitFor()
    await gateway.register(registrationOf('gamma', alpha))
    await row(page, 'gamma').waitFor()
    await gateway.remove('/api/v0/servers/early')
    await row(page, 'early').waitFor({ state: 'detached' })
    await page.getByRole('navigation').getByRole('link', { name: 'Calls' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    await gateway.post('/api/v0/tools/invoke', { name: 'gamma__echo' })
    await page.getByRole('button', { name: 'gamma__echo' }).click()
    await page.getByText('In the gateway').waitFor()
    await gateway.remove('/api/v0/servers/gamma')
  })
})

test('a switch changes at once, and reverts with the reason if the change fails', { skip }, async () => {
  const { gateway, visit } = await withAlpha()
  await visit(
    '#/servers',
    async (page) => {
      const control = page.getByRole('switch', { name: 'alpha enabled' })
      await control.uncheck()
      await row(page, 'alpha').getByText('Disabled').waitFor()
      await until('the gateway to know', async () => !(await gateway.get('/api/v0/servers')).body[0].enabled)
      await control.check()
      await row(page, 'alpha').getByText('Disabled').waitFor({ state: 'detached' })

      // a key pressed during a change is applied after it
      const { request } = await hold(page, /\/enabled$/)
      await control.click()
      const first = await request
      await control.click()
      const second = page.waitForRequest(/\/enabled$/)
      await first.continue()
      assert.deepEqual((await second).postDataJSON(), { enabled: true })
      await row(page, 'alpha').getByText('Disabled').waitFor({ state: 'detached' })
      await waitForValue(true, () => control.isChecked())
      assert.equal((await gateway.get('/api/v0/servers')).body[0].enabled, true)

      await page.context().setOffline(true)
      await control.click()
      await row(page, 'alpha').getByRole('alert').filter({ hasText: 'Towpath cannot be reached' }).waitFor()
      await waitForValue(true, () => control.isChecked())
      await page.context().setOffline(false)
    },
    { expected: /ERR_INTERNET_DISCONNECTED|ERR_NETWORK/ }
  )
})

test(
  'a server whose starts cost more than its calls is marked, and one click keeps what was started',
  { skip },
  async () => {
    const { gateway, visit } = await setUp()
    const { name, ...settings } = slowToStart('slow')
    const registration = { name, ...settings, env: { KEPT: 'secret' }, description: 'Starts slowly' }
    await gateway.register(registration)
    const call = () => gateway.post('/api/v0/tools/invoke', { name: 'slow__echo', text: 'x' })
    await Promise.all(Array.from({ length: ENOUGH_CALLS }, call))
    await visit('#/servers', async (page) => {
      await row(page, 'slow').getByText('slow starts').waitFor()
      await checkLooks(page, 'servers with a mark')
      await page.getByRole('link', { name: 'slow', exact: true }).click()
      const hint = page.getByRole('region', { name: 'Cost of starts' })
      await hint.getByText(/^Starting a process takes [\d.]+ s, a call .*\.$/).waitFor()
      await hint.getByRole('button', { name: 'Share one between all' }).waitFor()
      await checkLooks(page, 'a server with a hint')
      await hint.getByRole('button', { name: 'Keep one for each client' }).click()
      await page.getByText('slow keeps one for each client').waitFor()
      await hint.waitFor({ state: 'detached' })
      await page.goto(page.url().replace(/#.*/, '#/servers'))
      await row(page, 'slow').waitFor()
      await page.getByText('slow starts').waitFor({ state: 'detached' })
    })
    const { body: configs } = await gateway.get('/api/v0/server_configs')
    const kept = configs.find((config: { name: string }) => config.name === 'slow')
    assert.deepEqual(kept, { ...registration, session_mode: 'stateful' })
    await gateway.remove('/api/v0/servers/slow')
  }
)

test('a failing server is expanded with the cause and the last line of stderr', { skip }, async (t) => {
  const { gateway, visit } = await setUp()
  const reports = await makeBreakable(t, 'FATAL: DATABASE_URI is missing')
  await gateway.register(reports.registration('reports'))
  await visit('#/servers', async (page) => {
    await row(page, 'reports').getByText('Connected').waitFor()
    await reports.break()
    await gateway.post('/api/v0/tools/invoke', { name: 'reports__echo' })
    await row(page, 'reports').getByText('Failing').waitFor()
    await page.getByText('FATAL: DATABASE_URI is missing').first().waitFor()
    await page.getByRole('button', { name: 'Test connection' }).click()
    await page.getByText(/Failed after/).waitFor()
    await page.getByRole('link', { name: 'View stderr' }).click()
    await page.locator('.log').getByText('FATAL: DATABASE_URI is missing').waitFor()
  })
  await gateway.remove('/api/v0/servers/reports')
})

test(
  'a pasted configuration is previewed, completed with missing values, and added server by server',
  { skip },
  async (t) => {
    const { gateway, visit } = await setUp()
    const guarded = await startRecorder(t)
    const configuration = {
      mcpServers: {
        'my notes': { url: guarded.url, headers: { Authorization: 'Bearer ${NOTES_TOKEN}' }, autoApprove: [] },
        loop: { url: `${gateway.url.replace('127.0.0.1', 'localhost.')}/mcp` },
        gone: { url: 'http://127.0.0.1:9/mcp' },
        'my-notes': { url: 'http://127.0.0.1:9/mcp' }
      }
    }
    await visit('#/new/server?tab=paste', async (page) => {
      await page.getByLabel('Configuration').fill(JSON.stringify(configuration))
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('Ignored: autoApprove').waitFor()
      const twins = page.getByRole('checkbox', { name: 'Add my-notes' })
      assert.deepEqual([await twins.first().isChecked(), await twins.last().isChecked()], [true, false])
      assert.equal(await page.getByRole('checkbox', { name: 'Add loop' }).isDisabled(), true)
      await page.getByLabel('NOTES_TOKEN').fill('a-token-of-notes')
      const hanging = await startUpstream(t, 'hanging', { onRequest: () => true })
      await page.getByRole('button', { name: 'Add 2 servers' }).click()
      await page.getByText(/Added, \d+ tools?/).waitFor()
      await page.getByText('Failed', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'my-notes' }).waitFor()
      await page.getByText('1 added, 1 failed').waitFor()
      await page.getByRole('button', { name: 'Add 1 server', exact: true }).waitFor()

      // a slow change shows its progress and duration
      await page
        .getByRole('textbox', { name: 'Configuration' })
        .fill(JSON.stringify({ mcpServers: { slow: { url: hanging.url } } }))
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByRole('button', { name: 'Add 1 server', exact: true }).click()
      await page.getByText('Connecting', { exact: true }).waitFor()
      await page.getByRole('row', { name: /slow/ }).getByText(/\d s$/).waitFor()
      await hanging.close()
      await page.getByText('Failed', { exact: true }).waitFor()
    })
    assert.ok(guarded.requests.some(({ headers }) => headers.authorization === 'Bearer a-token-of-notes'))
    await gateway.remove('/api/v0/servers/my-notes')
  }
)

test('command lines that documentation shows are pasted like a configuration', { skip }, async (t) => {
  const { gateway, visit } = await setUp()
  const docs = await startRecorder(t)
  const good = fileURLToPath(new URL('../fixtures/stdio/good.mjs', import.meta.url))
  const configOf = async (wanted: string) =>
    (await gateway.get('/api/v0/server_configs')).body.find(({ name }: { name: string }) => name === wanted)
  await visit('#/new/server', async (page) => {
    await page.getByRole('tab', { name: 'Paste', selected: true }).waitFor()
    const box = page.getByRole('textbox', { name: 'Configuration' })
    assert.match((await box.getAttribute('placeholder'))!, /mcpServers.*npx -y.*claude mcp add.*https:/s)

    await box.fill(`MODE=fast API_KEY=$GOOD_KEY \\\n  ${process.execPath} '${good}'`)
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByLabel('GOOD_KEY').fill('a-key-of-good')
    await page.getByRole('button', { name: 'Add 1 server', exact: true }).click()
    await page.getByText(/Added, \d+ tools?/).waitFor()
    const { command, args, env } = await configOf('good-mjs')
    assert.deepEqual([command, args, env], [process.execPath, [good], { MODE: 'fast', API_KEY: 'a-key-of-good' }])

    await box.fill(`claude mcp add --transport http docs ${docs.url} --header "X-Key: $DOCS_KEY" && rm -rf ~`)
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText(/contains & or &&/).waitFor()
    assert.equal(await page.getByRole('checkbox', { name: 'Add docs' }).isDisabled(), true)
    await box.fill(`claude mcp add --transport http docs ${docs.url} --header "X-Key: $DOCS_KEY"`)
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByLabel('DOCS_KEY').fill('a-key-of-docs')
    await page.getByRole('button', { name: 'Add 1 server', exact: true }).click()
    await page.getByText(/Added, \d+ tools?/).waitFor()
    assert.deepEqual((await configOf('docs')).headers, { 'X-Key': 'a-key-of-docs' })
  })
  for (const name of ['good-mjs', 'docs']) await gateway.remove(`/api/v0/servers/${name}`)
})

test('a stored secret survives changes of other settings, and is never sent to another URL', { skip }, async (t) => {
  const { gateway, visit, alpha } = await withAlpha()
  const guarded = await startRecorder(t)
  const notes = { name: 'notes', transport: 'streamable_http', url: guarded.url, bearer_token: 'a-token-of-notes' }
  await gateway.register(notes)
  await visit(
    '#/servers/notes?tab=settings',
    async (page) => {
      await page.getByText('Stored, not shown').waitFor()
      await page.getByLabel('Description').fill('What was said')
      const seen = guarded.requests.length
      const own = /\/dashboard\/servers\/notes$/
      const saving = await hold(page, own)
      await page.getByRole('button', { name: 'Save settings' }).click()
      const save = await saving.request
      const loading = await hold(page, own)
      await save.continue()
      const load = await loading.request
      // while the saved state is unknown, the old form must not be shown
      await page.getByRole('tab', { name: 'Settings' }).click()
      await load.continue()
      await page.getByRole('tab', { name: /^Tools/, selected: true }).waitFor()
      await page.getByText('What was said').waitFor()
      const later = guarded.requests.slice(seen)
      assert.ok(later.length > 0)
      assert.ok(later.every(({ headers }) => headers.authorization === 'Bearer a-token-of-notes'))

      await page.getByRole('tab', { name: 'Settings' }).click()
      await waitForValue('What was said', () => page.getByLabel('Description').inputValue())
      await page.getByLabel('URL').fill(alpha.url)
      await page.getByRole('button', { name: 'Save settings' }).click()
      await page
        .getByRole('alert')
        .filter({ hasText: /bearer_token/ })
        .waitFor()
    },
    { expected: /400/ }
  )
  await gateway.remove('/api/v0/servers/notes')
})

test('adding a server that requires a sign-in leads through the sign-in', { skip }, async (t) => {
  const { gateway, visit } = await setUp()
  const as = await startAuthorizationServer(null)
  addCleanup(t, as.close)
  const upstream = await startProtected(null, as)
  addCleanup(t, upstream.close)
  await visit('#/new/server?tab=form', async (page) => {
    await page.getByLabel('URL').fill(upstream.url)
    await page.getByLabel('Name').fill('tracker')
    await page.getByRole('button', { name: 'Add server' }).click()
    await page.getByText(/The link expires in \d+:\d\d/).waitFor()
    const target = await page.getByRole('link', { name: 'Open sign-in page' }).getAttribute('href')
    // the other tab, after the user consents
    const callback = await fetch(await as.agree(target!))
    assert.equal(callback.status, 200)
    assert.match(callback.headers.get('content-type') ?? '', /text\/html/)
    await page.getByRole('heading', { name: 'tracker', exact: true }).waitFor()
    await page.getByText('Connected', { exact: true }).waitFor()
  })
  await gateway.remove('/api/v0/servers/tracker')
})

test('deleting a server names the affected groups, focuses Cancel and returns the focus', { skip }, async () => {
  const { gateway, visit, alpha } = await withAlpha()
  await gateway.register(registrationOf('tracker', alpha))
  await gateway.post('/api/v0/tool-groups', { name: 'helpers', included_servers: ['tracker'] })
  await visit('#/servers/tracker', async (page) => {
    const remove = page.getByRole('button', { name: 'Delete', exact: true })
    await remove.click()
    const dialog = page.getByRole('dialog', { name: 'Delete tracker' })
    await dialog.getByText('1 group will lose tools: helpers').waitFor()
    await waitForExpression(page, 'document.activeElement.textContent === "Cancel"')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await waitForExpression(page, 'document.activeElement.textContent === "Delete"')
    await remove.click()
    await dialog.getByRole('button', { name: 'Delete server' }).click()
    await page.getByRole('heading', { name: 'Servers' }).waitFor()
    await row(page, 'alpha').waitFor()
    await row(page, 'tracker').waitFor({ state: 'detached' })
  })
})

test('keyboard shortcuts work as soon as the page is shown', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/servers', async (page) => {
    await page.addInitScript(`
        new MutationObserver((_, observer) => {
          if (!document.querySelector('h1')) return
          observer.disconnect()
          dispatchEvent(new KeyboardEvent('keydown', { key: '?' }))
        }).observe(document, { childList: true, subtree: true })`)
    await page.reload()
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  })
})

test('the command menu finds servers and tools, and letter shortcuts can be disabled', { skip }, async () => {
  const { visit } = await withAlpha()
  await visit('#/servers', async (page) => {
    await row(page, 'alpha').waitFor()
    const { request } = await hold(page, /\/dashboard\/tools$/)
    await page.keyboard.press('Control+K')
    await page.keyboard.type('no such thing')
    const names = await request
    const isNothing = page.getByText('No matches.')
    assert.equal(await isNothing.count(), 0, 'while the names of tools are not known')
    await names.continue()
    await isNothing.waitFor()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('alpha')
    await page.getByRole('option', { name: 'alpha Server', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'alpha' }).waitFor()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard' })
    await help.getByRole('switch').uncheck()
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { name: 'alpha' }).waitFor()
    await page.keyboard.press('?')
    await page.keyboard.press('Control+K')
    await page.getByRole('dialog', { name: 'Go to' }).waitFor()
    assert.equal(await help.count(), 0)
  })
})

test(
  'the command menu and the help open from buttons too, and the menu does not change its height',
  { skip },
  async () => {
    const { visit } = await withAlpha()
    await visit('#/servers', async (page) => {
      await row(page, 'alpha').waitFor()
      await page.getByRole('button', { name: 'Search Ctrl K' }).click()
      const menu = page.getByRole('dialog', { name: 'Go to' })
      const height = async () => (await menu.boundingBox())?.height
      await menu.getByRole('option', { name: 'alpha__echo Tool' }).waitFor({ state: 'detached' })
      const before = await height()
      await page.keyboard.type('echo al')
      await menu.getByRole('option', { name: 'alpha__echo Tool', selected: true }).waitFor()
      assert.equal(await height(), before)
      await page.keyboard.press('Escape')
      await menu.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Keyboard shortcuts and help' }).click()
      const help = page.getByRole('dialog', { name: 'Keyboard' })
      assert.match((await help.getByRole('link', { name: 'Documentation' }).getAttribute('href')) ?? '', /^https:/)
      await page.keyboard.press('Escape')
      await help.waitFor({ state: 'detached' })
    })
  }
)

test('j and k move between rows, e switches a server, and the filter is kept in the URL', { skip }, async () => {
  const { visit } = await withAlpha()
  await visit('#/servers', async (page) => {
    await row(page, 'alpha').waitFor()
    await page.keyboard.press('j')
    await waitForExpression(page, 'document.activeElement.textContent === "alpha"')
    await page.keyboard.press('e')
    await row(page, 'alpha').getByText('Disabled').waitFor()
    await page.keyboard.press('e')
    await row(page, 'alpha').getByText('Disabled').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.keyboard.type('nothing')
    await page.getByText('No server matches “nothing”').waitFor()
    await page.waitForURL(/#\/servers\?q=nothing$/)
    await page.getByRole('button', { name: 'Clear' }).click()
    await row(page, 'alpha').waitFor()
  })
})

test('a chosen theme applies before the first paint of the next visit', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/servers', async (page) => {
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const before = await ground()
    await page.getByRole('button', { name: 'Switch colour theme' }).click()
    await until('another ground', async () => (await ground()) !== before)
    await page.reload()
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  })
})

test('the page for connecting clients reports the first client', { skip }, async () => {
  const { gateway, visit } = await withAlpha()
  await visit('#/connect', async (page) => {
    await page.getByText(`claude mcp add --transport http towpath ${gateway.url}/mcp`).waitFor()
    const initialize = {
      ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'some-agent', version: '1.2' } }
    }
    const answer = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(initialize)
    })
    assert.equal(answer.status, 200)
    await page.getByText('A client is connected').waitFor()
    await page.getByText('some-agent 1.2').waitFor()
  })
})

test('diagnostics list their checks, and can be repeated', { skip }, async () => {
  const { visit } = await setUp()
  await visit('#/diagnostics', async (page) => {
    await page.getByText(/checks passed$/).click()
    await page.getByRole('cell', { name: 'Pass' }).first().waitFor()
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.getByRole('button', { name: 'Check again' }).waitFor()
  })
})

test('while the gateway is unreachable the last data stays, with a banner', { skip }, async () => {
  const { gateway, visit } = await withAlpha()
  await visit(
    '#/servers',
    async (page) => {
      await row(page, 'alpha').waitFor()
      await gateway.stop('SIGKILL')
      await page.getByText('Towpath cannot be reached.').waitFor()
      assert.equal(await row(page, 'alpha').count(), 1)
    },
    { expected: /ERR_CONNECTION|ERR_INCOMPLETE|Failed to load/ }
  )
})
