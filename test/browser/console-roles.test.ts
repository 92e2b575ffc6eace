import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { addServer, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { startConsole } from '../integration/console-helpers.ts'
import { findBarriers, navigate, skip } from './browser.ts'
import { openConsole, signInAs } from './console-site.ts'

const textOf = async (page: Page): Promise<string> => (await page.locator('main').textContent())!
const labelsOf = (page: Page, selector: string): Promise<string[]> =>
  page.locator(selector).evaluateAll((elements) => elements.map((each) => each.textContent?.trim() ?? ''))

test('CO-06 a user sees only what is hers, and a page for administrators says who can help', { skip }, async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_CONSOLE: 'on' } })
  await addServer(t, gateway, 'k8s')
  await addServer(t, gateway, 'billing')
  const allow = async (name: string, subjects: object, targets: object) => {
    const { status, body } = await gateway.api('POST', '/policies', { name, effect: 'allow', subjects, targets })
    assert.equal(status, 201, JSON.stringify(body))
  }
  await allow('sre-echo', { groups: ['sre'] }, { servers: ['k8s'], tools: ['echo'] })
  const other = await gateway.api('POST', '/users', { name: 'carol', role: 'user' })
  await allow('carol-all', { users: ['carol'] }, { servers: ['k8s', 'billing'] })
  const called = await fetch(`${gateway.url}/api/v0/tools/invoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${other.body.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'billing__echo', text: 'of carol' })
  })
  assert.equal(called.status, 200, await called.text())
  const { visit } = await openConsole(t, gateway, [gateway.provider.issuer])
  await visit(
    '#/tools',
    async (page) => {
      const asked: string[] = []
      page.on('request', (request) => asked.push(new URL(request.url()).pathname))
      await signInAs(page, 'alice')

      await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor()
      await page.getByRole('link', { name: /^echo/ }).click()
      assert.equal(await page.locator('.itm').count(), 1)
      assert.doesNotMatch(await textOf(page), /billing|Select|New group/)
      assert.equal(await page.getByRole('switch').count(), 0)
      await page.getByLabel('text').fill('of alice')
      await page.getByRole('button', { name: 'Call tool' }).click()
      await page.getByText('of alice').last().waitFor()
      await page
        .getByText(/Result after|ms/)
        .first()
        .waitFor()

      await navigate(page, '#/calls')
      await page.getByRole('button', { name: 'k8s__echo' }).waitFor()
      assert.equal(await page.locator('table.calls [data-row]').count(), 1)
      assert.doesNotMatch(await textOf(page), /carol|billing|p95|In flight/)

      await navigate(page, '#/overview')
      await page.getByRole('region', { name: 'Your newest calls' }).waitFor()
      assert.doesNotMatch(await textOf(page), /carol|billing|Top tools|Needs attention|First steps|p95/)

      await navigate(page, '#/servers')
      assert.deepEqual(await labelsOf(page, 'main thead th'), ['Server', 'Status', 'Transport', 'Tools / prompts'])
      await navigate(page, '#/servers/k8s')
      assert.deepEqual(await labelsOf(page, '[role=tab]'), ['Tools 1', 'Prompts', 'Resources', 'Skills', 'Calls'])
      assert.doesNotMatch(await textOf(page), /127\.0\.0\.1|Delete|Edit|Refresh|Record/)

      await navigate(page, '#/new/server')
      await page.getByRole('heading', { level: 1, name: 'Not for your role' }).waitFor()
      assert.match(await textOf(page), /signed in as alice.*administrators can help: admin/)
      assert.deepEqual(await findBarriers(page), [])
      assert.deepEqual(
        asked.filter((path) => /stats|causes|diagnostics|catalogue/.test(path)),
        []
      )
      // a page without a session finds out that there is none
    },
    { expected: /401 .*\/api\/console\/session$/ }
  )
})

/** Buttons and links of the pages that change something or call it. */
const changing =
  /^(Select|New group.*|Add server.*|Import.*|Edit.*|Delete|Test|Refresh|Clone.*|Accept|Record.*|Call tool.*|Render.*|Read|Replay|Save.*|Install.*|Dismiss)$/

const everyPage = ['overview', 'servers', 'servers/k8s', 'tools', 'tools/k8s__echo', 'prompts', 'resources', 'groups']

test('what a role may not do is on no page of it, and no page of it asks for what is refused', { skip }, async (t) => {
  const { gateway, cookieOf } = await startConsole(t)
  const made = await gateway.api('POST', '/tool-groups', { name: 'ops', included_tools: ['k8s__echo'] })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { visit } = await openConsole(t, gateway)
  for (const role of ['user', 'auditor'] as const) {
    await visit(
      '#/overview',
      async (page) => {
        const pages = [...everyPage, 'groups/ops', 'calls', 'connect']
        for (const hash of role === 'auditor' ? [...pages, 'catalogue', 'diagnostics'] : pages) {
          await navigate(page, `#/${hash}`)
          if (hash === 'groups/ops') await page.getByRole('heading', { level: 1, name: 'ops' }).waitFor()
          const controls = await labelsOf(page, 'main button, main a')
          const dead = controls.filter((label) => changing.test(label))
          const mayCall = role === 'user' ? /^(Call tool|Render|Read|Replay)/ : /^$/
          assert.deepEqual(
            dead.filter((label) => !mayCall.test(label)),
            [],
            `${role} at ${hash}`
          )
          assert.equal(await page.locator('main [role=switch]').count(), 0, `${role} at ${hash}`)
        }
      },
      { cookie: cookieOf(role) }
    )
  }
})

test(
  'Connect offers sign-in by URL first and an access token second, and copied commands name no token',
  { skip },
  async (t) => {
    const { gateway, cookieOf } = await startConsole(t)
    const { visit } = await openConsole(t, gateway)
    await visit(
      '#/connect',
      async (page) => {
        const snippet = page.locator('.snippet pre').first()
        assert.equal(await snippet.textContent(), `claude mcp add --transport http towpath ${gateway.url}/mcp`)
        await page.getByRole('button', { name: 'Access token' }).click()
        await page.getByText('Authorization: Bearer $TOWPATH_TOKEN').first().waitFor()
        await page.getByRole('tab', { name: 'curl' }).click()
        await page.getByText('-H "Authorization: Bearer $TOWPATH_TOKEN"').first().waitFor()
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          assert.deepEqual(await findBarriers(page), [])
        }
        await navigate(page, '#/tools/k8s__echo')
        await page.evaluate('navigator.clipboard.writeText = async (text) => { document.title = text }')
        await page.getByRole('button', { name: 'Copy as curl' }).click()
        assert.match(await page.title(), /-H "Authorization: Bearer \$TOWPATH_TOKEN"/)
      },
      { cookie: cookieOf('user') }
    )
  }
)
