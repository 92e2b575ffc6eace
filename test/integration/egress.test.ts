import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import type { EgressOptions, Resolve } from '../../src/upstream/http/egress.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { createHttpClient } from '../../src/upstream/http/streamable-http-client.ts'
import { createSseClient } from '../../src/upstream/http/sse-client.ts'
import { egressOf, policyOf } from '../egress.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { sendJson, startHttp } from '../fixtures/http/server.ts'
import { addCleanup, tempDir } from '../store.ts'

/** Returns a resolver that answers from a table and records its queries. */
function resolverOf(table: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = []
  const resolve: Resolve = (name, _options, done) => {
    asked.push(name)
    const addresses = table[name]
    if (!addresses) return done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' }), [])
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    )
  }
  return { resolve, asked }
}

const newEgress = (t: TestContext, options: Partial<EgressOptions> = {}) => {
  const egress = egressOf(options)
  t.after(() => egress.close())
  return egress
}
const startPlain = async (t: TestContext) => {
  const fixture = await startHttp((_request, response) => sendJson(response, 200, { ok: true }))
  addCleanup(t, fixture.close)
  return fixture
}

const failureOf = async (work: Promise<unknown>): Promise<UpstreamFailure> => {
  const error = await work.then(
    () => assert.fail('did not fail'),
    (reason: unknown) => reason
  )
  assert.ok(error instanceof UpstreamFailure, String(error))
  return error
}

const REFUSAL = 'the egress policy does not allow this address (TOWPATH_EGRESS_DENY, TOWPATH_EGRESS_ALLOW)'
const LOOP = 'the egress policy does not allow this address: it leads back to this gateway (TOWPATH_EGRESS_ALLOW)'
const refused = (failure: UpstreamFailure, message = REFUSAL) =>
  assert.deepEqual([failure.reason, failure.message, failure.maybeProcessed], ['denied', message, false])

test('IN-18 one denied address among those of a name is enough to refuse it, and none is connected to', async (t) => {
  const upstream = await startPlain(t)
  const { resolve } = resolverOf({ 'mixed.example': ['127.0.0.1', '169.254.169.254'] })
  const { dispatcher } = newEgress(t, { resolve })
  refused(await failureOf(request(`http://mixed.example:${upstream.port}/`, { dispatcher })))
  assert.equal(upstream.requests.length, 0)
  assert.equal(upstream.openConnections(), 0)
})

test('IN-18 both transports refuse a name that resolves to a denied address', async (t) => {
  const { resolve } = resolverOf({ 'metadata.example': ['::ffff:169.254.169.254'] })
  const { connector } = newEgress(t, { resolve })
  for (const create of [createHttpClient, createSseClient]) {
    const url = 'http://metadata.example/mcp'
    const client = create({ url, headers: {}, version: '1', maxResponseBytes: 1_000_000, connector })
    t.after(() => client.close())
    const deadline = performance.now() + 60_000
    refused(await failureOf(client.open({ era: 'legacy', capabilities: '{}', deadline })))
  }
})

test('the address that was checked is the one connected to, and a kept connection asks for no name', async (t) => {
  const upstream = await startPlain(t)
  const { resolve, asked } = resolverOf({ 'upstream.example': ['127.0.0.1'] })
  const { dispatcher } = newEgress(t, { resolve })
  for (let round = 0; round < 20; round++) {
    const { statusCode, body } = await request(`http://upstream.example:${upstream.port}/`, { dispatcher })
    assert.deepEqual([statusCode, await body.json()], [200, { ok: true }])
  }
  assert.equal(upstream.requests[0]!.headers.host, `upstream.example:${upstream.port}`)
  // a second connection may open before the first is known to be free
  assert.ok(asked.length < 5, String(asked.length))
})

test('where a name has several addresses, one that does not answer does not matter', async (t) => {
  const upstream = await startPlain(t)
  const { resolve } = resolverOf({ 'both.example': ['::1', '127.0.0.1'] })
  const { dispatcher } = newEgress(t, { resolve })
  const { statusCode, body } = await request(`http://both.example:${upstream.port}/`, { dispatcher })
  await body.dump()
  assert.equal(statusCode, 200)
})

test('a name that does not resolve is no matter of the policy', async (t) => {
  const { resolve } = resolverOf({})
  const { connector } = newEgress(t, { resolve })
  const url = 'http://nowhere.example/mcp'
  const client = createHttpClient({ url, headers: {}, version: '1', maxResponseBytes: 1_000_000, connector })
  t.after(() => client.close())
  const deadline = performance.now() + 60_000
  const { reason, message } = await failureOf(client.open({ era: 'legacy', capabilities: '{}', deadline }))
  assert.deepEqual([reason, message], ['unreachable', 'host name does not resolve'])
})

test('a host rule decides before the name is resolved, an exception whatever it resolves to', async (t) => {
  const upstream = await startPlain(t)
  const { resolve, asked } = resolverOf({ 'good.example': ['127.0.0.1'], 'evil.example': ['127.0.0.1'] })
  const policy = policyOf({ deny: ['loopback', 'evil.example'], allow: ['good.example'] })
  const { dispatcher } = newEgress(t, { resolve, policy })
  refused(await failureOf(request(`http://evil.example:${upstream.port}/`, { dispatcher })))
  assert.deepEqual(asked, [])
  const { statusCode, body } = await request(`http://good.example:${upstream.port}/`, { dispatcher })
  await body.dump()
  assert.equal(statusCode, 200)
  refused(await failureOf(request('https://EVIL.example./', { dispatcher })))
})

test('IN-18 a literal address is refused before anything is connected', async (t) => {
  const upstream = await startPlain(t)
  const { dispatcher } = newEgress(t, { policy: policyOf({ deny: ['loopback'] }) })
  const { port } = upstream
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0177.0.0.1', '[::1]']) {
    refused(await failureOf(request(`http://${host}:${port}/`, { dispatcher })))
  }
  assert.equal(upstream.requests.length, 0)
})

test('the gateway does not connect to itself, by address or by name, unless an exception says so', async (t) => {
  const upstream = await startPlain(t)
  const listenAddresses = () => [{ address: '127.0.0.1', port: upstream.port }]
  const { resolve } = resolverOf({ 'me.example': ['127.0.0.1'] })
  const { dispatcher } = newEgress(t, { listenAddresses, resolve })
  const url = (host: string, port = upstream.port) => `http://${host}:${port}/`
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', 'me.example'])
    refused(await failureOf(request(url(host), { dispatcher })), LOOP)
  await assert.rejects(request(url('127.0.0.2'), { dispatcher }), { code: 'ECONNREFUSED' })
  assert.equal(upstream.openConnections(), 0)

  for (const allow of ['127.0.0.1', 'me.example']) {
    const { dispatcher: open } = newEgress(t, { listenAddresses, resolve, policy: policyOf({ allow: [allow] }) })
    const { statusCode, body } = await request(url('me.example'), { dispatcher: open })
    await body.dump()
    assert.equal(statusCode, 200, allow)
  }
})

/** Returns the result of a request as text. */
const outcomeOf = (asked: Promise<unknown>) => asked.then(() => 'answered', String)

test('a gateway that listens on all addresses knows each of them as its own', async (t) => {
  const addresses = Object.values(networkInterfaces()).flatMap(
    (entries) => entries?.map(({ address }) => address) ?? []
  )
  for (const wildcard of ['0.0.0.0', '::']) {
    const { dispatcher } = newEgress(t, { listenAddresses: () => [{ address: wildcard, port: 8080 }] })
    for (const address of ['127.0.0.1', '127.1.2.3', '::1', ...addresses.filter((one) => !one.startsWith('fe80'))]) {
      const host = address.includes(':') ? `[${address}]` : address
      refused(await failureOf(request(`http://${host}:8080/mcp`, { dispatcher })), LOOP)
      assert.doesNotMatch(await outcomeOf(request(`http://${host}:9/mcp`, { dispatcher })), /egress policy/, host)
    }
  }
})

test("ports that a URL leaves out are the scheme's", async (t) => {
  const { dispatcher } = newEgress(t, { listenAddresses: () => [{ address: '127.0.0.1', port: 443 }] })
  refused(await failureOf(request('https://127.0.0.1/', { dispatcher })), LOOP)
  assert.doesNotMatch(await outcomeOf(request('http://127.0.0.1/', { dispatcher })), /egress policy/)
})

test("requests that are no upstream's follow no redirect", async (t) => {
  const fixture = await startHttp((_request, response) => void response.writeHead(302, { location: '/there' }).end())
  addCleanup(t, fixture.close)
  const { dispatcher } = newEgress(t)
  const { statusCode, body } = await request(fixture.origin, { dispatcher })
  await body.dump()
  assert.equal(statusCode, 302)
  assert.equal(fixture.requests.length, 1)
})

test('a certificate that nobody vouches for is refused, whatever the environment says', async (t) => {
  const folder = await tempDir(t)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '1', '-nodes']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-keyout', key, '-out', cert]
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject], { stdio: 'ignore' })
  const answer = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) =>
    response.end()
  )
  await new Promise<void>((resolve) => answer.listen(0, '127.0.0.1', resolve))
  addCleanup(t, () => new Promise((resolve) => answer.close(resolve)))
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  addCleanup(t, () => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  })
  const { dispatcher } = newEgress(t)
  const url = `https://127.0.0.1:${(answer.address() as AddressInfo).port}/`
  await assert.rejects(request(url, { dispatcher }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
})

test('an upstream is called through the policy without a question to the resolver per call', async (t) => {
  const upstream = await startRecorder(t)
  const { resolve, asked } = resolverOf({ 'upstream.example': ['127.0.0.1'] })
  const { connector } = newEgress(t, { resolve })
  const url = upstream.url.replace('127.0.0.1', 'upstream.example')
  const client = createHttpClient({ url, headers: {}, version: '1', maxResponseBytes: 1_000_000, connector })
  t.after(() => client.close())
  for (let round = 0; round < 10; round++) {
    const deadline = performance.now() + 60_000
    const connection = await client.open({ era: 'legacy', capabilities: '{}', deadline })
    connection.close()
  }
  // one socket for requests, and one for requests that must not wait
  assert.ok(asked.length <= 4, String(asked.length))
})
