import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchableSecrets } from '../../src/domain/secrets/known-secrets.ts'

const hex = '9f86d081884c7d65'

test('SR-M10 tokens, headers, variables, and secret parts of URLs and arguments are searched in results', () => {
  const basic = Buffer.from('user:basic-pass-1').toString('base64')
  const found = searchableSecrets(
    {
      bearer_token: 'bearer-token-1',
      oauth_client_secret: 'client-secret-1',
      headers: {
        Authorization: 'Token header-token-1',
        'X-Tenant': 'tenant-of-mine',
        'Proxy-Authorization': `Basic ${basic}`
      },
      env: {
        DB_PASSWORD: 'correct-horse-battery',
        DATABASE_URL: 'postgres://me:url%2Dpassword@db.test/app?sslmode=require',
        SIGNER: hex,
        GITHUB_PAT: 'ghp_16C7e42F292c6912E7710c838347',
        SECRET_PATH: 'not/a/path+but=base64'
      },
      url: 'https://host.test/mcp?api_key=query-key-1&v=2025-06-18',
      args: ['--token', 'argument-1', '--api-key=argument-2', '--verbose']
    },
    ['oauth-access-1', 'oauth-refresh-1']
  )
  for (const secret of [
    ...[
      'bearer-token-1',
      'client-secret-1',
      'header-token-1',
      'Token header-token-1',
      'tenant-of-mine',
      'basic-pass-1',
      basic
    ],
    ...['correct-horse-battery', 'url-password', 'url%2Dpassword', hex, 'ghp_16C7e42F292c6912E7710c838347'],
    ...['not/a/path+but=base64', 'query-key-1', 'argument-1', 'argument-2', 'oauth-access-1', 'oauth-refresh-1']
  ]) {
    assert.ok(found.includes(secret), `${secret} in ${found.join(' ')}`)
  }
  assert.ok(!found.includes('2025-06-18') && !found.includes('--verbose'), found.join(' '))
})

test('SR-M10 plain settings are not searched in results: words, numbers, paths, hosts, regions, what is short', () => {
  const env = {
    ...{ NODE_ENV: 'production', LOG: 'debug,info', AWS_REGION: 'eu-central-1', MODEL: 'gpt-4o-mini-2024-07-18' },
    ...{ HOME_DIR: '/home/somebody/files', TOKEN_FILE: '/run/secrets/token', MAX_TOKENS: '16777216', PORT: '65535' },
    ...{
      API_URL: 'https://api.host.test/v1',
      HOST_NAME: 'db.internal.test:5432',
      DATE: '2026-07-28 10:00',
      TOKEN: 'short-1'
    },
    ...{
      PASSWORD: 'password',
      API_TOKEN: 'changeme',
      NAMES: 'Alpha Beta, Gamma',
      IMAGE: 'node20-alpine',
      FLAGS: '--a=b --c'
    },
    ...{ EMPTY: '', ACCESS_TOKEN: '', DASHES: '-'.repeat(100_000) }
  }
  const headers = { Accept: 'application/json;q=0.9', 'User-Agent': 'Somebody/1.2.3 (abc123def456)', 'X-Id': 'short' }
  assert.deepEqual(searchableSecrets({ env, headers, url: 'https://host.test/mcp?region=eu-west-1' }), [])
})
