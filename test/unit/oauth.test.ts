import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { withAuthorization, type Authorization } from '../../src/upstream/transport/authorization.ts'
import { Call } from '../../src/upstream/transport/call.ts'
import type { Connection, TransportClient } from '../../src/upstream/transport/connection.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { preregisteredClient } from '../../src/upstream/oauth/client.ts'
import { readChallenge } from '../../src/upstream/http/challenge.ts'
import { readServer } from '../../src/upstream/oauth/authorization-server.ts'
import type { OAuthHttp } from '../../src/upstream/oauth/oauth-http.ts'
import { exchangeCode } from '../../src/upstream/oauth/token.ts'
import { cancelled, failureOf, newCall } from './upstreams.ts'

test('a challenge is read as browsers and servers write it', () => {
  const cases: readonly (readonly [string | undefined, object])[] = [
    [undefined, {}],
    ['Basic realm="x", resource_metadata="https://a/b"', {}],
    ['Bearer', {}],
    ['Bearer resource_metadata="https://a/b"', { resourceMetadata: 'https://a/b' }],
    ['bearer RESOURCE_METADATA = "https://a/b",scope="r w"', { resourceMetadata: 'https://a/b', scope: 'r w' }],
    ['Basic realm="x", Bearer error="e", scope=one', { scope: 'one', error: 'e' }],
    ['Bearer realm="say \\"hi\\"", scope="a\\\\b"', { scope: 'a\\b' }],
    ['Bearer scope=""', {}],
    ['Bearer x_scope="no"', {}]
  ]
  for (const [header, expected] of cases) assert.deepEqual(readChallenge(header), expected, header)
})

const metadata = {
  issuer: 'https://as.example',
  authorization_endpoint: 'https://as.example/authorize',
  token_endpoint: 'https://as.example/token',
  code_challenge_methods_supported: ['plain', 'S256']
}

test('OA-06 metadata that are not safe to use are refused, and lists that are none count as absent', () => {
  assert.deepEqual(readServer(metadata), {
    issuer: 'https://as.example',
    authorizationEndpoint: 'https://as.example/authorize',
    tokenEndpoint: 'https://as.example/token',
    registrationEndpoint: undefined,
    authMethods: undefined,
    namesIssuer: false,
    readsClientDocuments: false
  })
  const refused = [
    { code_challenge_methods_supported: 'S256' },
    { code_challenge_methods_supported: [1, 'S256'] },
    { authorization_endpoint: 7 },
    { authorization_endpoint: 'https://user@as.example/' },
    { authorization_endpoint: 'https://as.example/#x' },
    { token_endpoint: 'data:text/plain,x' },
    { registration_endpoint: 'http://as.example/register' },
    { grant_types_supported: ['implicit'] }
  ]
  for (const more of refused) assert.throws(() => readServer({ ...metadata, ...more }), UpstreamFailure)
  assert.equal(readServer({ ...metadata, token_endpoint_auth_methods_supported: 'none' }).authMethods, undefined)
  assert.equal(
    readServer({ ...metadata, authorization_response_iss_parameter_supported: 'true' }).namesIssuer,
    false,
    'only what is really said'
  )
})

test('CR-F5: the switch stands in for an announcement of PKCE that is absent, never for one without S256', () => {
  const { code_challenge_methods_supported: _, ...silent } = metadata
  assert.throws(() => readServer(silent), /register with "oauth_assume_pkce": true$/, 'the refusal names the switch')
  assert.equal(readServer(silent, true).issuer, metadata.issuer, 'with the switch')
  for (const told of [['plain'], [], 'S256', null, {}]) {
    const announced = { ...silent, code_challenge_methods_supported: told }
    for (const assumes of [false, true]) {
      assert.throws(() => readServer(announced, assumes), UpstreamFailure, JSON.stringify([told, assumes]))
    }
  }
})

test('a client authenticates as its server supports it, with id and secret encoded as the form has it', async () => {
  const sent: { headers: Readonly<Record<string, string>>; form: URLSearchParams }[] = []
  const http: OAuthHttp = {
    isAllowed: () => assert.fail('not asked for'),
    get: () => assert.fail('not asked for'),
    async post(_url, headers, body) {
      sent.push({ headers, form: new URLSearchParams(body) })
      return { status: 200, body: { access_token: 'a-token', token_type: 'BEARER', expires_in: 60 } }
    }
  }
  const exchange = (authMethods: readonly string[] | undefined, secret?: string) => {
    const client = preregisteredClient({ ...readServer(metadata), authMethods }, 'id:1', secret)
    const source = { issuer: metadata.issuer, tokenEndpoint: metadata.token_endpoint, client, resource: 'https://r/' }
    return exchangeCode(http, source, { code: 'c', verifier: 'v', redirectUri: 'https://g/cb' })
  }
  const { grant, source } = await exchange(undefined, 's%s +')
  assert.deepEqual(grant, { access: 'a-token', lifetime: 60 }, 'what was handed out')
  assert.equal(source.client.method, 'client_secret_basic', 'what RFC 8414 has where the server says nothing')
  await exchange(['client_secret_post', 'none'], 's')
  await exchange(['none'], 's')
  await exchange(['client_secret_basic'])
  const [basic, post, forced, open] = sent
  assert.equal(basic!.headers.authorization, `Basic ${Buffer.from('id%3A1:s%25s+%2B').toString('base64')}`)
  assert.deepEqual([basic!.form.get('client_id'), basic!.form.get('client_secret')], [null, null])
  for (const { headers, form } of [post!, forced!]) {
    assert.deepEqual(
      [headers.authorization, form.get('client_id'), form.get('client_secret')],
      [undefined, 'id:1', 's']
    )
  }
  assert.deepEqual([open!.form.get('client_id'), open!.form.get('client_secret')], ['id:1', null])
  assert.deepEqual(Object.fromEntries(basic!.form), {
    grant_type: 'authorization_code',
    code: 'c',
    code_verifier: 'v',
    redirect_uri: 'https://g/cb',
    resource: 'https://r/'
  })
})

test('an answer without a token that a header can carry is refused', async () => {
  const source = {
    issuer: metadata.issuer,
    tokenEndpoint: metadata.token_endpoint,
    client: { id: 'x', method: 'none' },
    resource: 'https://r/'
  } as const
  const bodies = [
    null,
    {},
    { access_token: '' },
    { access_token: 'a b' },
    { access_token: 'a\r\nx: y' },
    { access_token: 7 },
    { access_token: 'a', token_type: 'DPoP' },
    { access_token: 'x'.repeat(16_385) }
  ]
  for (const body of bodies) {
    const http: OAuthHttp = {
      isAllowed: () => assert.fail(),
      get: () => assert.fail(),
      post: async () => ({ status: 200, body })
    }
    const failure = await failureOf(exchangeCode(http, source, { code: 'c', verifier: 'v', redirectUri: 'u' }))
    assert.equal(failure.reason, 'bad_response')
  }
})

/** Returns a client whose one connection is not used. */
const idle = (send: Connection['send']): TransportClient => ({
  open: async () => ({ send, closed: false, close() {} }) as unknown as Connection,
  close() {}
})

test('a call that is ended while it waits for a token fails at once and is not sent', async () => {
  let finish = () => {}
  const authorization: Authorization = {
    value: undefined,
    secrets: [],
    isFresh: false,
    renew: () => new Promise<void>((resolve) => (finish = resolve)),
    replace: () => assert.fail('nothing was refused'),
    markRejected: () => assert.fail('nothing was refused'),
    redact: (text) => text
  }
  let sent = 0
  const client = withAuthorization(
    idle(async () => {
      sent++
      return { kind: 'result', body: Payload.of('{}') }
    }),
    authorization
  )
  const opening = client.open({ era: 'modern', capabilities: '{}', deadline: Infinity })
  finish()
  const connection = await opening
  const call: Call = newCall()
  const sending = connection.send(call)
  call.stop(cancelled())
  assert.equal((await failureOf(sending)).reason, 'cancelled')
  finish()
  await new Promise(setImmediate)
  assert.equal(sent, 0)
  const second = connection.send(newCall())
  finish()
  await second
  assert.equal(sent, 1)
})
