import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OidcConfig } from '../../src/config/config.ts'
import { createOpenIdProvider } from '../../src/identity/openid-provider.ts'

const oidc: OidcConfig = {
  issuer: 'https://login.microsoftonline.com/common/v2.0',
  clientId: 'towpath',
  clientSecret: 'a secret',
  clientAuth: undefined,
  scopes: 'openid',
  groupsClaim: 'groups',
  nameClaim: 'preferred_username',
  adminGroups: [],
  auditorGroups: [],
  requiredGroups: [],
  allowedDomains: [],
  claimsMaxAgeMs: 1_000,
  provision: 'jit'
}

const providerOf = (issuer: string, configured: string) => {
  const endpoint = 'https://login.microsoftonline.com/token'
  const metadata = { issuer, authorization_endpoint: endpoint, token_endpoint: endpoint, jwks_uri: endpoint }
  return createOpenIdProvider({
    oidc: { ...oidc, issuer: configured },
    redirectUri: 'https://gw.example.com/auth/callback',
    request: async () => Response.json(metadata)
  })
}

test('an issuer that stands for any tenant of Entra ID lets nobody sign in', async () => {
  const anyTenant = 'https://login.microsoftonline.com/{tenantid}/v2.0'
  for (const tenant of ['common', 'organizations']) {
    const provider = providerOf(anyTenant, `https://login.microsoftonline.com/${tenant}/v2.0`)
    await assert.rejects(provider.begin(), { statusCode: 503 })
  }
  const one = 'https://login.microsoftonline.com/00000000-0000-4000-8000-000000000001/v2.0'
  assert.match((await providerOf(one, one).begin()).url, /code_challenge_method=S256/)
})
