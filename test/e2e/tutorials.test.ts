import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { freshDataDir, addCleanup, tempDir } from '../store.ts'
import { administer } from '../templates.ts'
import type { Page } from 'playwright-core'
import { launchBrowser, skip as noBrowser } from '../browser/browser.ts'
import { connectClient } from '../fixtures/identity-provider/gateway.ts'
import { startIdentityProvider } from '../fixtures/identity-provider/provider.ts'
import { legacyBody } from '../integration/mcp-messages.ts'
import { createBrowserSteps } from './browser-steps.ts'
import { useConfiguration } from './client-config.ts'
import { skip } from './enterprise.ts'
import { freePort } from '../ports.ts'
import { blocksOf, cloneProject, follow, readPage, type Follow } from './pages.ts'
import { needs } from '../needs.ts'

const add = { name: 'demo__add', arguments: { a: 2, b: 40 } }
const demoTools = ['demo__add', 'demo__time_now', 'demo__word_count']

/**
 * Asserts for each client that it finds the demo server's tools and nothing else, and calls one; `used` receives the
 * client's name.
 */
const withClients =
  (t: TestContext, used: string[]): NonNullable<Follow['onClient']> =>
  async (configuration, terminal) => {
    // Claude Code and Cursor expand a variable; a reader pastes the token itself, and the folder
    const token = await terminal('printf %s "${TOWPATH_CLIENT_TOKEN-}"')
    const filled = configuration
      .replaceAll(/\$\{(env:)?TOWPATH_CLIENT_TOKEN\}|twp_…/g, token)
      .replaceAll('/path/to/towpath', cwd)
    for (const { by, tools, result } of await useConfiguration(t, filled, add)) {
      assert.deepEqual([by, tools ?? demoTools, result.structuredContent], [by, demoTools, { sum: 42 }])
      used.push(by)
    }
  }

const bySdks = ['the first SDK', 'the second SDK']
const byAll = [...bySdks, 'the inspector', ...bySdks, 'towpath stdio']

/** One clone for all readers: the first `npm start` builds it for the next ones. */
let cwd = ''
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'towpath-clone-'))
  await cloneProject(cwd)
})
after(() => rm(cwd, { recursive: true, force: true }))

/** Opens the terminal of a reader without any configuration. */
async function reader(t: TestContext) {
  const port = await freePort()
  return {
    port,
    url: `http://localhost:${port}`,
    env: { HOME: await tempDir(t), PORT: String(port) } as Record<string, string>
  }
}

test('who follows the tutorial of the first call gets there, with every client that it shows', async (t) => {
  const { url, env } = await reader(t)
  const used: string[] = []
  await follow(t, blocksOf(readPage('docs/tutorials/first-call.md')), {
    cwd,
    // prebuilt, since `demo-start.test.ts` covers its creation
    env: { ...env, TOWPATH_DATA_DIR: await freshDataDir(t) },
    places: [['http://localhost:8080', url]],
    services: [`${url}/ready`],
    onClient: withClients(t, used)
  })
  assert.deepEqual(used, byAll)
})

/** The tutorial creates its database with PostgreSQL's own client. */
const noPsql = needs('psql', spawnSync('psql', ['--version']).status === 0)
const team = { skip: noPsql || skip }

test('who follows the tutorial of the team gateway gets there, with every client that it shows', team, async (t) => {
  const { url, env } = await reader(t)
  const adminUrl = process.env.TEST_DATABASE_URL!
  const name = `tutorial_${randomUUID().replaceAll('-', '')}`
  const own = new URL(adminUrl)
  Object.assign(own, { username: name, password: 'change-this', pathname: `/${name}` })
  addCleanup(t, async () => {
    await administer(adminUrl, `drop database if exists ${name} with (force)`)
    await administer(adminUrl, `drop role if exists ${name}`)
  })
  const everything = await freePort()
  const used: string[] = []
  await follow(t, blocksOf(readPage('docs/tutorials/team-gateway.md')), {
    cwd,
    env,
    places: [
      ['http://localhost:8080', url],
      ['postgres://postgres@localhost:5432/postgres', adminUrl],
      ['postgres://towpath:change-this@localhost:5432/towpath', own.href],
      ['role towpath', `role ${name}`],
      ['database towpath owner towpath', `database ${name} owner ${name}`],
      ['3001', String(everything)]
    ],
    services: [`${url}/health`, `http://localhost:${everything}/mcp`],
    onClient: withClients(t, used)
  })
  assert.deepEqual(used, byAll)
})

/** Signs in on the page of the provider in this process, which follows the first page of the console. */
async function signInAtProvider(page: Page, person: string): Promise<void> {
  await page.locator('input[name=login]').fill(person)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit], input[type=submit]').first().click()
  const consent = page.locator('form[action$="/confirm"] button')
  await page.locator('main h1').or(consent).first().waitFor()
  if (await consent.isVisible()) await consent.click()
  await page.locator('main h1').waitFor()
}

test(
  'who follows the tutorial of the company gateway has people who sign in, a client by URL and an auditor who sees the calls',
  { skip: noBrowser },
  async (t) => {
    const { url, env } = await reader(t)
    const idp = await startIdentityProvider({ redirectUris: [`${url}/auth/callback`] })
    addCleanup(t, () => idp.close())
    const everything = await freePort()
    const places: [string, string][] = [
      ['http://localhost:8080', url],
      ['https://idp.example.com', idp.issuer],
      ['3001', String(everything)],
      ['the-secret-of-the-client', idp.clientSecret]
    ]
    let calls = 0
    await follow(t, blocksOf(readPage('docs/tutorials/company-gateway.md')), {
      cwd,
      env: { ...env, TOWPATH_DATA_DIR: await freshDataDir(t) },
      places,
      services: [`${url}/health`, `http://localhost:${everything}/mcp`],
      onBrowser: createBrowserSteps(t, {
        browser: await launchBrowser(),
        signIn: signInAtProvider,
        onCopy: (name, text) => places.push([`${name}=twp_…`, `${name}=${text}`])
      }),
      async onClient(command) {
        // Claude Code itself needs an account; a client without any registration does here what it does
        const endpoint = /^claude mcp add --transport http towpath (\S+)$/.exec(command.trim())?.[1]
        assert.equal(endpoint, `${url}/mcp`)
        const provider = { ...idp, credentials: (login: string) => ({ login, password: 'any' }) }
        const { tokens } = await connectClient({ url, publicUrl: url, provider })
        const answer = await fetch(endpoint, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: `Bearer ${tokens.access_token}`
          },
          body: legacyBody('tools/call', { name: 'everything__echo', arguments: { message: 'from a client' } })
        })
        assert.match(await answer.text(), /Echo: from a client/)
        calls++
      }
    })
    assert.equal(calls, 1)
  }
)
