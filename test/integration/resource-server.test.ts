import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import {
  addServer,
  ADMIN,
  allowEverybody,
  connectClient,
  listTools,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'

const endpoints = ['/mcp', '/sse', '/v0/groups/team/mcp', '/v0/groups/team/sse', '/v0/groups/unknown/mcp']

/** Requests without credentials that each endpoint takes. */
const requestsOf = (path: string): [string, string][] =>
  path.endsWith('/sse')
    ? [
        ['GET', path],
        ['POST', path.replace(/sse$/, 'message')]
      ]
    : ['GET', 'POST', 'DELETE'].map((method) => [method, path])

async function startWithGroup(t: Parameters<typeof startSignInGateway>[0], env: Record<string, string> = {}) {
  const gateway = await startSignInGateway(t, { env })
  await addServer(t, gateway)
  const made = await gateway.api('POST', '/tool-groups', { name: 'team', included_servers: ['k8s'] })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  await allowEverybody(gateway)
  return gateway
}

test('IA-01 each endpoint refuses a caller without token, and names its own metadata', async (t) => {
  const { url } = await startWithGroup(t)
  for (const path of endpoints) {
    for (const [method, at] of requestsOf(path)) {
      const answer = await fetch(url + at, { method })
      const metadata = `${url}/.well-known/oauth-protected-resource${path}`
      assert.equal(answer.status, 401, `${method} ${at}`)
      assert.equal(answer.headers.get('www-authenticate'), `Bearer scope="mcp", resource_metadata="${metadata}"`, at)
      assert.doesNotMatch(await answer.text(), /team|k8s|alice/, at)
    }
  }
  const rest = await fetch(`${url}/api/v0/servers`)
  assert.equal(
    rest.headers.get('www-authenticate'),
    `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/api"`
  )
})

test('IA-02 the metadata of each endpoint is open to all origins and names the authorization server', async (t) => {
  const { url } = await startWithGroup(t)
  for (const path of ['', ...endpoints, '/api']) {
    const answer = await fetch(`${url}/.well-known/oauth-protected-resource${path}`)
    assert.equal(answer.status, 200, path)
    assert.equal(answer.headers.get('access-control-allow-origin'), '*', path)
    assert.match(answer.headers.get('content-type')!, /^application\/json/)
    const body = (await answer.json()) as Record<string, unknown>
    assert.equal(body['resource'], url + (path || '/mcp'))
    assert.deepEqual(body['authorization_servers'], [url])
    assert.ok(!(body['scopes_supported'] as string[]).includes('offline_access'))
  }
  // whether a group exists is not shown
  const [known, unknown] = await Promise.all(
    ['team', 'other'].map(async (name) => {
      const answer = await fetch(`${url}/.well-known/oauth-protected-resource/v0/groups/${name}/mcp`)
      return (await answer.text()).replaceAll(name, 'NAME')
    })
  )
  assert.equal(known, unknown)
})

test('IA-04 the metadata of the authorization server announces only what works, also under a path', async (t) => {
  for (const prefix of ['', '/tools/gateway']) {
    const gateway = await startSignInGateway(t, { prefix })
    const { url, publicUrl } = gateway
    for (const document of ['oauth-authorization-server', 'openid-configuration']) {
      const paths = prefix === '' ? [''] : ['', prefix]
      for (const path of paths) {
        const answer = await fetch(`${url}/.well-known/${document}${path}`)
        assert.equal(answer.status, 200, `${document}${path}`)
        assert.equal(answer.headers.get('access-control-allow-origin'), '*')
        const body = (await answer.json()) as Record<string, any>
        assert.equal(body['issuer'], publicUrl)
        assert.deepEqual(body['code_challenge_methods_supported'], ['S256'])
        assert.equal(body['client_id_metadata_document_supported'], true)
        assert.equal(body['authorization_response_iss_parameter_supported'], true)
        for (const [name, address] of Object.entries(body)) {
          if (!/_endpoint$|^jwks_uri$/.test(name)) continue
          assert.ok(String(address).startsWith(`${publicUrl}/oauth/`), `${name}: ${address}`)
          // the reverse proxy takes the path away
          const at = url + String(address).slice(publicUrl.length)
          const method = /authorization_endpoint|jwks/.test(name) && !name.startsWith('device') ? 'GET' : 'POST'
          const reached = await fetch(at, { method, redirect: 'manual' })
          assert.ok(![404, 405].includes(reached.status), `${name}: ${reached.status}`)
        }
        assert.ok(!('pushed_authorization_request_endpoint' in body))
        assert.ok(!('dpop_signing_alg_values_supported' in body))
        assert.ok(!('userinfo_endpoint' in body))
      }
    }
  }
})

test('IA-24 a token works at the endpoint that it was issued for, and nowhere else', async (t) => {
  const gateway = await startWithGroup(t)
  const { url } = gateway
  const paths = ['/mcp', '/v0/groups/team/mcp']
  const sse = ['/sse', '/v0/groups/team/sse']
  for (const path of [...paths, ...sse, '/api']) {
    const request = { resource: url + path, scope: path === '/api' ? 'towpath:read' : 'mcp' }
    const { tokens } = await connectClient(gateway, { request })
    assert.equal(decodeJwt(tokens.access_token).aud, url + path)
    for (const other of paths) {
      const answer = await listTools(gateway, tokens.access_token, other)
      assert.equal(answer.status, other === path ? 200 : 401, `${path} at ${other}`)
      if (other !== path) assert.match(answer.headers.get('www-authenticate')!, /error="invalid_token"/)
    }
    for (const other of sse) {
      const stop = new AbortController()
      const headers = { authorization: `Bearer ${tokens.access_token}` }
      const answer = await fetch(url + other, { headers, signal: stop.signal })
      assert.equal(answer.status, other === path ? 200 : 401, `${path} at ${other}`)
      stop.abort()
    }
    const rest = await fetch(`${url}/api/v0/servers`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
    assert.equal(rest.status, path === '/api' ? 200 : 401, `${path} at the REST interface`)
  }
  // the administrator's static token is none of MCP
  assert.equal((await listTools(gateway, ADMIN)).status, 401)
})

/** Sends headers that fetch would join or refuse. */
const sendRaw = ({ config }: SignInGateway, path: string, headers: readonly string[]) =>
  new Promise<number>((resolve, reject) => {
    const sent = httpRequest({ port: config.port, host: '127.0.0.1', path, method: 'POST' }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    for (let i = 0; i < headers.length; i += 2) {
      const same = headers.filter((_, at) => at % 2 === 1 && headers[at - 1] === headers[i])
      sent.setHeader(headers[i]!, same)
    }
    sent.on('error', reject)
    sent.end()
  })

test('IA-26 a token counts in one header only: not twice, not in the query, not in a cookie', async (t) => {
  const gateway = await startWithGroup(t)
  const { url } = gateway
  const { tokens, browser } = await connectClient(gateway)
  const bearer = `Bearer ${tokens.access_token}`
  assert.equal(await sendRaw(gateway, '/mcp', ['Authorization', bearer, 'Authorization', bearer]), 401)
  for (const path of ['/mcp', '/v0/groups/team/mcp']) {
    for (const query of ['access_token', 'token', 'authorization']) {
      const at = `${url}${path}?${new URLSearchParams({ [query]: tokens.access_token }).toString()}`
      assert.equal((await fetch(at, { method: 'POST' })).status, 401, query)
    }
    for (const name of ['towpath', 'access_token', 'Authorization']) {
      const headers = { cookie: `${name}=${tokens.access_token}` }
      assert.equal((await fetch(url + path, { method: 'POST', headers })).status, 401, name)
    }
    // a browser that has a session cannot be led to the MCP endpoints
    assert.equal((await browser.open(url + path)).status, 401)
  }
  assert.equal((await browser.open(`${url}/auth/session`)).status, 200)
})
