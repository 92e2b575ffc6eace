import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import {
  addReplica,
  createAuthorization,
  listTools,
  postToken,
  REDIRECT,
  registerClient,
  signIn,
  startSignInGateway,
  type SignInGateway,
  type Tokens
} from '../fixtures/identity-provider/gateway.ts'
import { needs } from '../needs.ts'
import { engines } from '../store.ts'
import { until } from '../until.ts'

const skip = needs('PostgreSQL', engines.includes('postgres'))
const ROUNDS = 4

/** Sends one token request four times at once, to two replicas. Returns the tokens of those that were granted. */
async function raceFor(replicas: readonly SignInGateway[], fields: Record<string, string>): Promise<Tokens[]> {
  const answers = await Promise.all([...replicas, ...replicas].map((each) => postToken(each, fields)))
  const granted: Tokens[] = []
  for (const answer of answers) {
    const body = (await answer.json()) as Tokens & { readonly error?: string }
    if (answer.status === 200) granted.push(body)
    else assert.deepEqual([answer.status, body.error], [400, 'invalid_grant'])
  }
  return granted
}

test('a code that is sent four times at once gives tokens at most once, and they end', { skip }, async (t) => {
  const gateway = await startSignInGateway(t, { engine: 'postgres' })
  const replicas = [gateway, await addReplica(t, gateway)]
  const browser = createBrowser()
  await signIn(browser, `${gateway.url}/auth/login`, 'alice')
  const clientId = await registerClient(gateway)
  for (let round = 0; round < ROUNDS; round++) {
    const { url, verifier } = createAuthorization(gateway, clientId)
    const isBack = (to: URL) => to.href.startsWith(REDIRECT)
    const { url: back } = await browser.submit(await browser.open(url), { answer: 'allow' }, { stopsAt: isBack })
    const granted = await raceFor(replicas, {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: REDIRECT,
      code: back.searchParams.get('code')!,
      code_verifier: verifier
    })
    assert.ok(granted.length <= 1, `${granted.length} answers with tokens`)
    for (const { access_token, refresh_token } of granted) {
      const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token }
      assert.equal((await postToken(gateway, fields)).status, 400)
      for (const each of replicas) {
        await until('the token has ended', async () => (await listTools(each, access_token)).status === 401)
      }
    }
  }
})

test('the code of a device that polls four times at once gives tokens at most once', { skip }, async (t) => {
  const gateway = await startSignInGateway(t, { engine: 'postgres' })
  const replicas = [gateway, await addReplica(t, gateway)]
  const browser = createBrowser()
  await signIn(browser, `${gateway.url}/auth/login`, 'alice')
  const client_id = 'towpath-cli'
  for (let round = 0; round < ROUNDS; round++) {
    const body = new URLSearchParams({ client_id, scope: 'towpath:read', resource: `${gateway.publicUrl}/api` })
    const started = await fetch(`${gateway.url}/oauth/device`, { method: 'POST', body })
    const codes = (await started.json()) as { device_code: string; verification_uri_complete: string }
    await browser.submit(await browser.open(codes.verification_uri_complete), { answer: 'allow' })
    const answers = await Promise.all(
      [...replicas, ...replicas].map((each) =>
        postToken(each, {
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          client_id,
          device_code: codes.device_code
        })
      )
    )
    const granted = answers.filter(({ status }) => status === 200)
    assert.ok(granted.length <= 1, `${granted.length} answers with tokens`)
  }
})
