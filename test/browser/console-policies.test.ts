import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { connectClient, registerClient } from '../fixtures/identity-provider/gateway.ts'
import { startConsole, type Console, type ViewerRole } from '../integration/console-helpers.ts'
import { addCleanup } from '../store.ts'
import { launchBrowser, requireBuild, skip, waitForData } from './browser.ts'
import { checkLooks } from './page-checks.ts'

const HOSTILE = '<img src=x onerror="window.__x=1">'
const ACCEPT = 'application/json, text/event-stream'
const INITIALIZE = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bot', version: '1' } }
})

/** Opens a browser with the session of a role; `complaints` is what its content policy refused, and errors of scripts. */
async function openPage(t: TestContext, browser: Browser, console: Console, role: ViewerRole) {
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1_440, height: 900 } })
  context.setDefaultTimeout(30_000)
  addCleanup(t, () => context.close())
  const [name, value] = console.cookieOf(role).split(/=(.*)/s) as [string, string]
  await context.addCookies([{ name, value, url: console.gateway.url }])
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error.stack)))
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|Refused/.test(message.text())) complaints.push(message.text())
  })
  return { page, complaints }
}

const start = async (t: TestContext, env: Readonly<Record<string, string>> = {}) => {
  requireBuild()
  const console = await startConsole(t, { env })
  return { console, browser: await launchBrowser() }
}

/** Opens a page of the console, and waits for its heading and data. */
async function goTo(page: Page, { gateway }: Console, hash: string, heading: string): Promise<void> {
  await page.goto(`${gateway.url}/console/${hash}`)
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  await waitForData(page)
}

const inDialog = (page: Page, action: string) => page.getByRole('dialog').getByRole('button', { name: action }).click()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Calls a tool as the user; returns its name. */
async function callTool(console: Console): Promise<string> {
  const { tools } = (await (await console.send('user', 'GET', '/api/console/tools')).json()) as {
    tools: readonly { canonical_name: string }[]
  }
  const name = tools[0]!.canonical_name
  const answer = await console.send('user', 'POST', '/api/v0/tools/invoke', { body: { name } })
  assert.equal(answer.status, 200, await answer.text())
  return name
}

/** Registers a program, approves it, and lets it in. */
async function connectApproved({ gateway }: Console): Promise<void> {
  const clientId = await registerClient(gateway)
  const { status } = await gateway.api('POST', `/oauth_clients/${encodeURIComponent(clientId)}/approve`)
  assert.equal(status, 200)
  await connectClient(gateway, { clientId })
}

test(
  'an administrator writes a policy with the form, asks why, tries it on the last day and enforces it',
  { skip },
  async (t) => {
    const { console, browser } = await start(t)
    const tool = await callTool(console)
    const { page, complaints } = await openPage(t, browser, console, 'admin')
    await goTo(page, console, '#/policies', 'Policies')
    await page.getByText('User a-user may use everything of k8s').waitFor()
    await checkLooks(page, 'policies')

    await page.getByRole('link', { name: 'New policy' }).click()
    await page.getByRole('heading', { level: 1, name: 'New policy' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('nobody-calls')
    await press(page, 'Deny')
    await page.getByLabel('Users', { exact: true }).fill('a-user, b-user')
    await page.getByLabel('Servers', { exact: true }).fill('k8s')
    await page.getByLabel('Reason').fill(HOSTILE)
    await page.getByText('User a-user or b-user may not use everything of k8s.').waitFor()
    await press(page, 'Add condition')
    await page.getByLabel('Argument of condition 1').fill('namespace')
    await page.getByLabel('Value of condition 1').fill('staging, dev')
    await page.getByText('may not use everything of k8s when namespace is staging or dev.').waitFor()
    await checkLooks(page, 'new-policy')

    // the text is the other view of the same policy
    await page.getByRole('tab', { name: 'Text' }).click()
    const text = page.getByLabel('Policy', { exact: true })
    const written = JSON.parse(await text.inputValue()) as Record<string, unknown>
    assert.deepEqual(written, {
      name: 'nobody-calls',
      effect: 'deny',
      mode: 'observe',
      subjects: { users: ['a-user', 'b-user'] },
      targets: { servers: ['k8s'] },
      when: 'args.namespace in ["staging", "dev"]',
      reason: HOSTILE
    })
    await text.fill('{"name": 5}')
    await page.getByText('"name" must be a text.').waitFor()
    await page.getByRole('tab', { name: 'Form' }).click()
    await page.getByText('Mend the text first').waitFor()
    const { when: _when, ...plain } = written
    await text.fill(JSON.stringify(plain))
    await page.getByRole('tab', { name: 'Form' }).click()
    await page.getByText('User a-user or b-user may not use everything of k8s.').waitFor()
    assert.equal(await page.getByLabel('Argument of condition 1').count(), 0)
    await press(page, 'Save policy')
    await page.getByRole('heading', { level: 1, name: 'nobody-calls' }).waitFor()
    await waitForData(page)
    await page.getByText('Observed', { exact: true }).waitFor()

    // the page is told of calls that the policy would have changed
    await page.getByText('No call has matched this policy').waitFor()
    await callTool(console)
    await page.getByText('1 call has matched, the first').waitFor()
    await page.getByText('and 1 would have been denied').waitFor()
    await goTo(page, console, '#/policies', 'Policies')
    await page
      .getByRole('row', { name: /nobody-calls/ })
      .getByText('1 call, 1 would be denied', { exact: true })
      .waitFor()
    await checkLooks(page, 'policies-observed')
    await goTo(page, console, '#/policies/nobody-calls', 'nobody-calls')

    await press(page, 'Try on the last day')
    await page.getByText('Of 2 calls of the last day, 2 would be denied').waitFor()
    await checkLooks(page, 'policy-trial')

    const question = new URLSearchParams({ view: 'why', who: 'user', caller: 'a-user', kind: 'tool', item: tool })
    await goTo(page, console, `#/policies?${question}`, 'Policies')
    await page.getByRole('heading', { name: `a-user can use ${tool}` }).waitFor()
    await page.getByText('observed, without effect').waitFor()

    await goTo(page, console, '#/policies/nobody-calls', 'nobody-calls')
    await press(page, 'Enforce policy')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Of 2 calls of the last day, 2 would be denied').waitFor()
    await checkLooks(page, 'policy-enforce')
    await inDialog(page, 'Enforce policy')
    await page.getByText('Enforced', { exact: true }).waitFor()
    const refused = await console.send('user', 'POST', '/api/v0/tools/invoke', { body: { name: tool } })
    assert.notEqual(refused.status, 200)

    await goTo(page, console, '#/policies?view=why', 'Policies')
    await page.getByLabel('Name', { exact: true }).fill('a-user')
    await page.getByLabel('Name of the tool').fill(tool)
    await page.getByLabel('Arguments').fill('{"namespace": "dev"}')
    await press(page, 'Explain')
    await page.getByRole('heading', { name: `a-user cannot use ${tool}` }).waitFor()
    await page.getByText('A policy denies it.').waitFor()
    await page.getByText('it decided').waitFor()
    await checkLooks(page, 'policies-why')
    assert.doesNotMatch(page.url(), /namespace/, 'arguments are not in the address')

    await goTo(page, console, '#/policies/nobody-calls', 'nobody-calls')
    await press(page, 'Delete')
    await page.getByRole('dialog').getByRole('term').getByText('Newly allowed').waitFor()
    await inDialog(page, 'Delete policy')
    await page.getByRole('heading', { level: 1, name: 'Policies' }).waitFor()
    await page.getByText('User a-user may use everything of k8s').waitFor()
    assert.equal(await page.getByRole('row', { name: /nobody-calls/ }).count(), 0)
    assert.equal(await page.evaluate('globalThis.__x'), undefined)
    assert.deepEqual(complaints, [])
  }
)

test('an auditor reads policies and asks why, and a user is told who can help', { skip }, async (t) => {
  const { console, browser } = await start(t)
  const made = await console.send('admin', 'POST', '/api/v0/policies', {
    body: {
      name: 'hostile',
      effect: 'deny',
      mode: 'observe',
      subjects: { groups: [HOSTILE, 'hid\u200bden'] },
      reason: HOSTILE
    }
  })
  assert.equal(made.status, 201, await made.text())
  const { page, complaints } = await openPage(t, browser, console, 'auditor')
  await goTo(page, console, '#/policies', 'Policies')
  await page.getByText(HOSTILE.replaceAll('"', '\\"')).waitFor()
  for (const name of ['New policy', 'Save policy', 'Delete', 'Enforce policy', 'Try on the last day'])
    assert.equal(await page.getByText(name, { exact: true }).count(), 0, name)
  await checkLooks(page, 'policies-auditor')
  await goTo(page, console, '#/policies/hostile', 'hostile')
  await page.getByText(`Callers are told: ${HOSTILE}`).waitFor()
  for (const name of ['Save policy', 'Delete', 'Enforce policy', 'Try on the last day'])
    assert.equal(await page.getByRole('button', { name }).count(), 0, name)
  await checkLooks(page, 'policy-auditor')
  await goTo(page, console, '#/new/policy', 'Not for your role')
  await goTo(page, console, '#/policies?view=why&caller=a-user&item=k8s__none', 'Policies')
  await page.getByText('No server offers it.').waitFor()
  assert.equal(await page.evaluate('globalThis.__x'), undefined)
  assert.deepEqual(complaints, [])

  const user = await openPage(t, browser, console, 'user')
  await goTo(user.page, console, '#/policies', 'Not for your role')
  await user.page.getByText('administrators and auditors').waitFor()
  assert.equal(await user.page.getByRole('link', { name: 'Policies' }).count(), 0)
})

test('an administrator makes, changes, rotates and deletes an MCP client', { skip }, async (t) => {
  const { console, browser } = await start(t)
  const { page, complaints } = await openPage(t, browser, console, 'admin')
  const tokenShown = async () => {
    await page.getByText('Copy it now').waitFor()
    const token = (await page.locator('dialog code.url').textContent())!
    await inDialog(page, 'Close')
    return token
  }
  const isAccepted = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: ACCEPT }
    const answer = await fetch(`${console.gateway.url}/mcp`, { method: 'POST', headers, body: INITIALIZE })
    await answer.body?.cancel()
    return answer.status
  }
  await goTo(page, console, '#/clients', 'MCP clients')
  await page.getByText('There are no MCP clients yet').waitFor()
  await press(page, 'New client')
  await page.getByLabel('Name', { exact: true }).fill('deploy-bot')
  await page.getByLabel('Description').fill(HOSTILE)
  await page.getByLabel('k8s').check()
  await checkLooks(page, 'mcp-client-new')
  await inDialog(page, 'Create client')
  const first = await tokenShown()
  assert.equal(await isAccepted(first), 200)
  await page
    .getByRole('row', { name: /deploy-bot/ })
    .getByText('k8s')
    .waitFor()
  await checkLooks(page, 'mcp-clients')
  assert.equal((await page.content()).includes(first), false, 'the token is shown once')

  await press(page, 'deploy-bot')
  await page.getByLabel('All servers').check()
  await inDialog(page, 'Save client')
  await page
    .getByRole('row', { name: /deploy-bot/ })
    .getByText('all servers')
    .waitFor()
  await press(page, 'deploy-bot')
  await inDialog(page, 'Rotate token')
  await page.getByRole('heading', { name: 'Rotate the token of deploy-bot?' }).waitFor()
  await inDialog(page, 'Rotate token')
  const second = await tokenShown()
  assert.deepEqual([await isAccepted(first), await isAccepted(second)], [401, 200])

  const auditor = await openPage(t, browser, console, 'auditor')
  await goTo(auditor.page, console, '#/clients', 'MCP clients')
  await auditor.page.getByRole('row', { name: /deploy-bot/ }).waitFor()
  for (const name of ['New client', 'deploy-bot'])
    assert.equal(await auditor.page.getByRole('button', { name }).count(), 0, name)

  await press(page, 'deploy-bot')
  await inDialog(page, 'Delete')
  await inDialog(page, 'Delete client')
  await page.getByText('There are no MCP clients yet').waitFor()
  assert.equal(await isAccepted(second), 401)
  assert.equal(await page.evaluate('globalThis.__x'), undefined)
  assert.deepEqual([...complaints, ...auditor.complaints], [])
})

test('tools that are named as clients see them are warned of, in both views of a policy', { skip }, async (t) => {
  const { console, browser } = await start(t)
  const { page, complaints } = await openPage(t, browser, console, 'admin')
  await goTo(page, console, '#/new/policy', 'New policy')
  const hint = page.getByRole('status').filter({ hasText: 'begins with the name of the server' })
  const tools = page.getByLabel('Tools', { exact: true })
  await tools.fill('other__get, get_*')
  await tools.fill('k8s__delete_*, other__get')
  await hint.getByText('Write “delete_*” instead, and “k8s” under Servers.').waitFor()
  await checkLooks(page, 'a policy with a hint')
  await page.getByRole('tab', { name: 'Text' }).click()
  await hint.waitFor()
  await page.getByRole('tab', { name: 'Form' }).click()
  await page.getByLabel('Name', { exact: true }).fill('no-deletion')
  await press(page, 'Deny')
  await press(page, 'Save policy')
  await page.getByRole('heading', { level: 1, name: 'no-deletion' }).waitFor()
  await hint.waitFor()
  await tools.fill('delete_*, other__get')
  await hint.waitFor({ state: 'detached' })
  assert.deepEqual(complaints, [])
})

test('programs that need no approval say so, and are not offered for one', { skip }, async (t) => {
  const { console, browser } = await start(t)
  await registerClient(console.gateway, { client_name: 'Coder' })
  const { page, complaints } = await openPage(t, browser, console, 'admin')
  await goTo(page, console, '#/oauth-clients', 'OAuth clients')
  const program = page.getByRole('row', { name: /Coder/ })
  await program.getByText('No approval needed', { exact: true }).waitFor()
  await program.getByText('People can let it in.').waitFor()
  assert.equal(await page.getByRole('button', { name: /^Approve/ }).count(), 0)
  await checkLooks(page, 'oauth-clients')
  assert.deepEqual(complaints, [])
})

test('where no server is started from a command, the box for configurations shows none', { skip }, async (t) => {
  const { console, browser } = await start(t, { TOWPATH_STDIO: 'off' })
  const { page, complaints } = await openPage(t, browser, console, 'admin')
  await goTo(page, console, '#/new/server?tab=paste', 'Add server')
  const box = page.getByRole('textbox', { name: 'Configuration' })
  const example = (await box.getAttribute('placeholder')) ?? ''
  assert.match(example, /mcpServers.*"url".*claude mcp add.*https:/s)
  assert.doesNotMatch(example, /command|npx/)
  await page.getByText('This gateway adds servers by URL').waitFor()
  assert.equal(await page.getByText('npx').count(), 0)
  await checkLooks(page, 'a box for configurations by URL')
  assert.deepEqual(complaints, [])
})

test('an administrator sees for whom programs act, approves one and removes it', { skip }, async (t) => {
  const { console, browser } = await start(t, { TOWPATH_OAUTH_DCR: 'approve' })
  await connectApproved(console)
  await registerClient(console.gateway, { client_name: `Coder ${HOSTILE}` })
  const { page, complaints } = await openPage(t, browser, console, 'admin')
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await goTo(page, console, '#/oauth-clients', 'OAuth clients')
  const connected = page.getByRole('row', { name: /A test client/ })
  await connected.getByRole('link', { name: 'alice' }).waitFor()
  await connected.getByText('mcp', { exact: true }).waitFor()
  const waiting = page.getByRole('row', { name: /Coder/ })
  await waiting.getByText(`Coder ${HOSTILE}`).waitFor()
  await waiting.getByText('nobody', { exact: true }).waitFor()
  await waiting.getByText('Waits for approval', { exact: true }).waitFor()
  await waiting.getByText('Nobody can let it in before an administrator approves it.').waitFor()
  assert.equal(asked.filter((path) => path === '/api/v0/oauth_grants').length, 1)
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/api/v0/users/')),
    [],
    'no request for each person'
  )
  await checkLooks(page, 'oauth-clients')
  await waiting.getByRole('button', { name: /^Approve/ }).click()
  await waiting.getByText('Approved', { exact: true }).waitFor()

  const auditor = await openPage(t, browser, console, 'auditor')
  await goTo(auditor.page, console, '#/oauth-clients', 'OAuth clients')
  await auditor.page.getByRole('row', { name: /A test client/ }).waitFor()
  assert.equal(await auditor.page.getByRole('button', { name: /^(?:Approve|Remove)/ }).count(), 0)

  await connected.getByRole('button', { name: /^Remove/ }).click()
  await inDialog(page, 'Remove')
  await connected.waitFor({ state: 'detached' })
  assert.equal(await page.evaluate('globalThis.__x'), undefined)
  assert.deepEqual([...complaints, ...auditor.complaints], [])
})
