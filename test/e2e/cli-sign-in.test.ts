import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { createBrowser, type Page } from '../fixtures/identity-provider/browser.ts'
import { addServer, allowEverybody, postToken, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { commandLine, type CommandLine } from './cli.ts'

async function start(t: TestContext) {
  return { gateway: await startSignInGateway(t), towpath: await commandLine(t) }
}

const accountFile = ({ home }: CommandLine) => join(home, '.towpath.account.json')

interface StoredSignIn {
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_at: string
}

const readAccount = async (towpath: CommandLine): Promise<Record<string, StoredSignIn>> =>
  JSON.parse(await readFile(accountFile(towpath), 'utf8'))

/** Signs in as alice at the provider and allows what is asked. Returns the last page. */
async function approve(link: string): Promise<Page> {
  const browser = createBrowser()
  const asked = await browser.submit(await browser.open(link), { login: 'alice', password: 'any' })
  return browser.submit(asked, { answer: 'allow' })
}

/** Runs `login`; the person opens the link as soon as it is printed. */
async function logIn(towpath: CommandLine, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const opened: Promise<Page>[] = []
  const onErr = (text: string) => {
    const [link] = /http\S+(?:user_code|code_challenge)=\S+/.exec(text) ?? []
    if (link) opened.push(approve(link))
  }
  const result = await towpath(['login', '--json', ...args], { env, onErr })
  return { result, pages: await Promise.all(opened) }
}

// a command that opens nothing stands for a browser: the test reads the link instead
const withBrowser = { BROWSER: 'true' }

test('the command line signs in by a link and a code that it shows', async (t) => {
  const { gateway, towpath } = await start(t)
  const { result, pages } = await logIn(towpath, ['--device', '--registry', gateway.url])
  assert.deepEqual([result.code, result.json.name], [0, 'alice'], result.err)
  assert.match(pages[0]!.text, /The machine is signed in/)
  assert.match(result.err, /check that the page shows this code: [A-Z]{4}-[A-Z]{4}/)
  assert.equal((await stat(accountFile(towpath))).mode & 0o777, 0o600)
  const { access_token: token } = (await readAccount(towpath))[gateway.url]!
  assert.ok(!`${result.out}${result.err}`.includes(token))
  assert.deepEqual(parse(await readFile(join(towpath.home, '.towpath.conf'), 'utf8')), { registry_url: gateway.url })
  assert.equal((await towpath(['whoami', '--json'])).json.name, 'alice')
})

test('the command line signs in with the browser of this machine, and its commands do what the person may', async (t) => {
  const { gateway, towpath } = await start(t)
  await addServer(t, gateway)
  await allowEverybody(gateway)
  const { result, pages } = await logIn(towpath, ['--registry', gateway.url], withBrowser)
  assert.deepEqual([result.code, result.json.name], [0, 'alice'], result.err)
  assert.match(pages[0]!.text, /Signed in/)
  const tools = await towpath(['list', 'tools', '--json'])
  assert.equal(tools.code, 0, tools.err)
  assert.match(tools.out, /k8s__echo/)
  const users = await towpath(['list', 'users'])
  assert.equal(users.code, 4, 'alice is no administrator')
})

test('an expired access token is renewed once, however many commands run at the same time', async (t) => {
  const { gateway, towpath } = await start(t)
  assert.equal((await logIn(towpath, ['--registry', gateway.url], withBrowser)).result.code, 0)
  const account = await readAccount(towpath)
  const expired = { ...account[gateway.url], expires_at: new Date(0).toISOString() }
  await writeFile(accountFile(towpath), JSON.stringify({ [gateway.url]: expired }))
  const count = () => gateway.app.registry.oauthRecords.count('RefreshToken')
  const before = await count()
  const results = await Promise.all(Array.from({ length: 5 }, () => towpath(['whoami'])))
  for (const { code, err } of results) assert.equal(code, 0, err)
  assert.equal((await count()) - before, 1)
})

test('a sign-in that has ended says how to sign in again', async (t) => {
  const { gateway, towpath } = await start(t)
  assert.equal((await logIn(towpath, ['--registry', gateway.url], withBrowser)).result.code, 0)
  assert.equal((await gateway.api('DELETE', '/users/alice')).status, 204)
  const result = await towpath(['whoami'])
  assert.equal(result.code, 4)
  assert.match(result.err, /the sign-in at http\S+ has ended[\s\S]*towpath login/)
})

test('logging out ends the sign-in at the gateway too', async (t) => {
  const { gateway, towpath } = await start(t)
  assert.equal((await logIn(towpath, ['--registry', gateway.url], withBrowser)).result.code, 0)
  const { access_token: access, refresh_token: token } = (await readAccount(towpath))[gateway.url]!
  const out = await towpath(['logout'])
  assert.equal(out.code, 0, out.err)
  assert.deepEqual(await readAccount(towpath), {})
  const fields = { grant_type: 'refresh_token', client_id: 'towpath-cli', refresh_token: token }
  const answer = await postToken(gateway, fields)
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /invalid_grant/)
  const headers = { authorization: `Bearer ${access}` }
  assert.equal((await fetch(`${gateway.url}/api/v0/users/whoami`, { headers })).status, 401)
})

test('a gateway that calls itself otherwise is not signed in at', async (t) => {
  const { gateway, towpath } = await start(t)
  const other = gateway.url.replace('127.0.0.1', 'localhost')
  const result = await towpath(['login', '--device', '--registry', other])
  assert.equal(result.code, 2)
  assert.match(result.err, /calls itself http:\/\/127\.0\.0\.1/)
})
