import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { root, startGateway } from '../e2e/harness.ts'
import { freePort } from '../ports.ts'
import {
  ADMIN,
  connectClient,
  REDIRECT,
  registerClient,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { startListed } from '../fixtures/listed/listed.ts'
import { META, modernBody, modernHeaders } from '../integration/mcp-messages.ts'
import { tool } from '../integration/definition-helpers.ts'
import { addCleanup } from '../store.ts'
import { navigate, launchBrowser, requireBuild, waitForData } from './browser.ts'
import { openConsole, signInAs } from './console-site.ts'

/** `npm run screenshots`: takes the pictures of the console, of a gateway at which people have worked. */
const folder = join(root, 'docs/images')
const viewport = { width: 1_280, height: 800 }

const schema = (...names: readonly string[]) => ({
  inputSchema: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) }
})
const servers = {
  k8s: [
    tool('get_pods', 'Lists the pods of a namespace', schema('namespace')),
    tool('get_logs', 'Returns the last lines that a pod wrote', schema('namespace', 'pod')),
    tool('restart_deployment', 'Restarts the pods of a deployment', schema('namespace', 'deployment')),
    tool('delete_namespace', 'Deletes a namespace with all that is in it', schema('namespace'))
  ],
  tickets: [
    tool('search_tickets', 'Finds tickets by words', schema('query')),
    tool('add_comment', 'Adds a comment to a ticket', schema('ticket', 'text'))
  ],
  wiki: [tool('search_pages', 'Finds pages of the wiki', schema('query'))]
}

const policies = [
  {
    name: 'sre-use-k8s',
    effect: 'allow',
    subjects: { groups: ['sre'] },
    targets: { servers: ['k8s'], tools: ['get_*', 'restart_*'] }
  },
  { name: 'everybody-reads', effect: 'allow', targets: { servers: ['wiki', 'tickets'] } },
  {
    name: 'restarts-need-a-yes',
    effect: 'approve',
    targets: { servers: ['k8s'], tools: ['restart_*'] },
    when: 'args.namespace in ["production"]',
    reason: 'Restarts in production need the yes of the platform team.',
    approvers: { teams: ['platform'] }
  },
  {
    name: 'never-delete',
    effect: 'deny',
    targets: { servers: ['k8s'], tools: ['delete_*'] },
    reason: 'Namespaces are deleted by the pipeline only.'
  },
  {
    name: 'support-comments-only',
    effect: 'deny',
    mode: 'observe',
    subjects: { groups: ['sales'] },
    targets: { servers: ['tickets'], tools: ['search_*'] }
  }
]

/** Calls tools for a person, as a program that was let in. */
async function callTools(
  { url }: SignInGateway,
  token: string,
  calls: readonly (readonly [name: string, args: object])[]
): Promise<void> {
  const _meta = { [`${META}clientInfo`]: { name: 'claude-code', version: '2.1.0' } }
  for (const [name, args] of calls) {
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...modernHeaders('tools/call', name) },
      body: modernBody('tools/call', { name, arguments: args, _meta })
    })
    await answer.body?.cancel()
  }
}

async function fillServers(t: TestContext, write: (path: string, body: object) => Promise<void>): Promise<void> {
  for (const [name, tools] of Object.entries(servers)) {
    const listed = await startListed(t, 'streamable_http', { tools, serverName: name })
    await write('/servers', { name, ...listed.registration })
  }
  for (const policy of policies) await write('/policies', policy)
  await write('/tool-groups', { name: 'on-call', included_servers: ['k8s'], included_tools: ['wiki__search_pages'] })
}

/** Adds people to the identity provider; their groups make carol an administrator and dora an auditor. */
function addPeople({ idp: { people } }: SignInGateway): void {
  const like = people.get('alice')!
  const add = (login: string, name: string, groups: readonly string[]) =>
    people.set(login, { ...like, email: `${login}@example.com`, name, preferred_username: login, groups })
  add('alice', 'Alice Arnold', ['sre'])
  add('bob', 'Bob Brandt', ['sales'])
  add('carol', 'Carol Chen', ['platform'])
  add('dora', 'Dora Diaz', ['audit'])
}

/** Lets programs in for everybody. Returns the access tokens with which they act for people. */
async function connectPrograms(gateway: SignInGateway): Promise<ReadonlyMap<string, string>> {
  const claude = await registerClient(gateway, { client_name: 'Claude Code' })
  const tokens = new Map<string, string>()
  for (const person of ['alice', 'bob', 'carol', 'dora']) {
    const { tokens: given } = await connectClient(gateway, { person, clientId: claude })
    tokens.set(person, given.access_token)
  }
  const redirect_uris = [REDIRECT, 'cursor://anysphere.cursor-mcp/oauth/callback']
  const cursor = await registerClient(gateway, { client_name: 'Cursor', redirect_uris })
  await connectClient(gateway, { person: 'alice', clientId: cursor })
  return tokens
}

/** Starts a gateway at which alice, bob, carol and programs have worked. */
async function startBusyGateway(t: TestContext): Promise<SignInGateway> {
  const groups = { TOWPATH_OIDC_ADMIN_GROUPS: 'platform', TOWPATH_OIDC_AUDITOR_GROUPS: 'audit' }
  const gateway = await startSignInGateway(t, { env: { TOWPATH_CONSOLE: 'on', ...groups } })
  addPeople(gateway)
  const write = async (path: string, body: object) => {
    const answer = await gateway.api('POST', path, body)
    assert.equal(answer.status, 201, `${path} ${JSON.stringify(answer.body)}`)
  }
  await fillServers(t, write)
  const tokens = await connectPrograms(gateway)
  const platform = [{ user: 'carol', role: 'manager' }, { user: 'alice' }]
  await write('/teams', { name: 'platform', members: platform, groups: ['platform'] })
  await write('/teams', { name: 'support', members: [{ user: 'bob' }], groups: ['sales'] })
  await write('/clients', { name: 'deploy-bot', description: 'The pipeline', allowed_servers: ['k8s'] })
  const report = { name: 'nightly-report', description: 'Writes the report of the night' }
  await write('/clients', { ...report, allowed_servers: ['tickets', 'wiki'] })
  const alice = tokens.get('alice')!
  const namespace = 'production'
  await callTools(gateway, alice, [
    ['k8s__get_pods', { namespace }],
    ['k8s__get_logs', { namespace, pod: 'shop-6d9f' }],
    ['wiki__search_pages', { query: 'restart the shop' }],
    ['k8s__restart_deployment', { namespace, deployment: 'shop' }]
  ])
  const searches = ['refund', 'login', 'invoice'].map((query) => ['tickets__search_tickets', { query }] as const)
  await callTools(gateway, tokens.get('bob')!, [...searches, ['k8s__delete_namespace', { namespace: 'staging' }]])
  await callTools(gateway, tokens.get('carol')!, [['k8s__delete_namespace', { namespace: 'staging' }]])
  return gateway
}

const shoot = async (page: Page, name: string) => {
  await waitForData(page)
  await page.mouse.move(0, 0)
  await page.evaluate('document.activeElement.blur()')
  await page.screenshot({ path: join(folder, `${name}.png`) })
}

const question = new URLSearchParams({
  ...{ view: 'why', who: 'user', caller: 'bob', kind: 'tool', item: 'k8s__delete_namespace' }
})

/** Makes a token, which the page shows once. */
const makeToken = async (page: Page) => {
  await page.getByRole('button', { name: 'New token' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('laptop')
  await dialog.getByRole('button', { name: /^(Create|Make) token/ }).click()
  await dialog.getByText('Copy it now').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
}

const pages: readonly (readonly [name: string, hash: string, before?: (page: Page) => Promise<void>])[] = [
  ['console', '#/overview'],
  ['people', '#/people'],
  ['person', '#/people/alice'],
  ['team', '#/teams/platform'],
  ['mcp-clients', '#/clients'],
  ['oauth-clients', '#/oauth-clients'],
  ['policies', '#/policies'],
  ['policy', '#/policies/support-comments-only'],
  ['why', `#/policies?${question}`],
  ['approvals', '#/approvals'],
  ['audit', '#/audit']
]

test('pictures of the console', async (t) => {
  requireBuild()
  await mkdir(folder, { recursive: true })
  const gateway = await startBusyGateway(t)
  const { visit } = await openConsole(gateway, [gateway.provider.issuer])
  const work = (person: string, shown: typeof pages) =>
    visit(
      '#/overview',
      async (page) => {
        await signInAs(page, person)
        for (const [name, hash, before] of shown) {
          await navigate(page, hash)
          await before?.(page)
          await shoot(page, name)
        }
      },
      { viewport, expected: /401/ }
    )
  await work('carol', pages)
  await work('alice', [['me', '#/me', makeToken]])
})

test('pictures of the way in', async (t) => {
  requireBuild()
  await mkdir(folder, { recursive: true })
  const browser = await launchBrowser()
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1_000, height: 640 } })
  addCleanup(t, () => context.close())
  const page = await context.newPage()
  for (const [name, env] of [
    ['set-up', {}],
    ['sign-in', { TOWPATH_ADMIN_TOKEN: ADMIN, TOWPATH_LOCAL_SIGN_IN: 'on' }]
  ] as const) {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const settings = {
      SERVER_MODE: 'enterprise',
      TOWPATH_PUBLIC_URL: url,
      TOWPATH_AUTH: 'embedded',
      TOWPATH_ENCRYPTION_KEY: randomBytes(32).toString('base64')
    }
    await startGateway(t, { port, env: { ...settings, TOWPATH_CONSOLE: 'on', ...env } })
    await page.goto(`${url}/console/`)
    await page.locator('h1').waitFor()
    await page.evaluate('document.activeElement.blur()')
    await page.screenshot({ path: join(folder, `${name}.png`) })
  }
})
