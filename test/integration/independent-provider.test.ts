import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import {
  addServer,
  connectClient,
  failedChecks,
  listTools,
  startProviderGateway,
  type ProviderGateway
} from '../fixtures/identity-provider/gateway.ts'
import {
  prepareIndependentProvider,
  startIndependentProvider
} from '../fixtures/identity-provider/independent/start.ts'
import { freePort } from '../ports.ts'
import { needs } from '../needs.ts'

const missing = await prepareIndependentProvider()
const skip = needs(`oidc-provider-mock: ${missing}`, missing === undefined)

const toolsOf = async (gateway: ProviderGateway, token: string): Promise<string[]> => {
  const listed = await listTools(gateway, token)
  const { result } = (await listed.json()) as { result: { tools: { name: string }[] } }
  return result.tools.map(({ name }) => name)
}

test(
  'people of a provider with other code sign in, and their clients see the tools of their groups',
  { skip },
  async (t) => {
    const provider = await startIndependentProvider(t)
    const url = `http://127.0.0.1:${await freePort()}`
    const gateway = await startProviderGateway(t, url, provider)
    await addServer(t, gateway)
    const subjects = { groups: ['sre'] }
    const rule = { name: 'sre', effect: 'allow', subjects, targets: { servers: ['k8s'] } }
    assert.equal((await gateway.api('POST', '/policies', rule)).status, 201)
    const { tokens, refresh } = await connectClient(gateway)
    assert.ok((await toolsOf(gateway, tokens.access_token)).length > 0)
    assert.equal((await refresh()).status, 200)
    const bob = await connectClient(gateway, { person: 'bob' })
    assert.deepEqual(await toolsOf(gateway, bob.tokens.access_token), [])
    assert.deepEqual(await failedChecks(gateway), ['public_url warn', 'oidc_pkce warn'])
  }
)

test('a provider with other code signs people out, and leads them back', { skip }, async (t) => {
  const provider = await startIndependentProvider(t)
  const gateway = await startProviderGateway(t, `http://127.0.0.1:${await freePort()}`, provider)
  const browser = createBrowser()
  const form = await browser.open(`${gateway.url}/auth/login`)
  const home = await browser.submit(form, provider.credentials('alice'))
  assert.match(home.text, /You are signed in/)
  const asked = await browser.submit(await browser.open(`${gateway.url}/auth/logout`), {})
  assert.equal(asked.url.origin, provider.issuer)
  const back = await browser.submit(asked, {})
  assert.deepEqual([back.url.href, back.status], [`${gateway.url}/auth/logout`, 200])
  assert.equal((await browser.open(`${gateway.url}/api/v0/me/session`)).status, 401)
})
