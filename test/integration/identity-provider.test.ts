import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'openid-client'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import { startIdentityProvider } from '../fixtures/identity-provider/provider.ts'

test('the test provider signs people in by its form, with their groups', async (t) => {
  const redirectUri = 'http://127.0.0.1:9/callback'
  const provider = await startIdentityProvider({ redirectUris: [redirectUri] })
  t.after(() => provider.close())
  const config = await oauth.discovery(new URL(provider.issuer), provider.clientId, provider.clientSecret, undefined, {
    execute: [oauth.allowInsecureRequests]
  })
  const verifier = oauth.randomPKCECodeVerifier()
  const page = oauth.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid profile email',
    state: 's',
    nonce: 'n',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256'
  })
  const stopsAt = ({ host }: URL) => host === '127.0.0.1:9'
  const browser = createBrowser()
  const form = await browser.open(page, stopsAt)
  const { url } = await browser.submit(form, { login: 'alice', password: 'any' }, { stopsAt })
  const checks = { pkceCodeVerifier: verifier, expectedState: 's', expectedNonce: 'n' }
  const tokens = await oauth.authorizationCodeGrant(config, url, checks)
  assert.deepEqual(tokens.claims()?.groups, ['sre', 'dev'])
  provider.faults.groupsIn = 'id_token'
  const userinfo = await oauth.fetchUserInfo(config, tokens.access_token, 'alice')
  assert.deepEqual([userinfo.groups, userinfo.email], [undefined, 'alice@example.com'])
})
