import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:https'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startSse } from '../fixtures/http/sse.ts'
import { addCleanup, tempDir } from '../store.ts'
import { startEnterprise } from './enterprise.ts'
import { restart, startGateway, type Answer, type Gateway } from './harness.ts'
import { registrationOf, echoTool, startUpstream } from './upstream.ts'

const REFUSAL = 'the egress policy does not allow this address (TOWPATH_EGRESS_DENY, TOWPATH_EGRESS_ALLOW)'
const LOOP = 'the egress policy does not allow this address: it leads back to this gateway (TOWPATH_EGRESS_ALLOW)'

const metadata = [
  '169.254.169.254',
  '[::ffff:169.254.169.254]',
  '2852039166',
  '0xA9.0xFE.0xA9.0xFE',
  '0251.0376.0251.0376'
]
const others = ['[fe80::1]', '[fd00:ec2::254]', '100.100.100.200', '0.0.0.0', '[::]', '224.0.0.1', '255.255.255.255']

/** Asserts that the policy refuses the URL over both transports, and that nothing is registered. */
async function assertRefused(gateway: Pick<Gateway, 'post'>, url: string, error = REFUSAL): Promise<void> {
  for (const transport of ['streamable_http', 'sse']) {
    const answer = await gateway.post('/api/v0/servers', { name: 'alpha', transport, url })
    assert.deepEqual([answer.status, answer.body], [400, { error }], url)
  }
}
const errorOf = ({ status, body }: Answer) => [status, (body as { error: string }).error]

test('IN-18 upstreams at link-local, metadata and other special addresses are refused in every notation', async (t) => {
  const gateway = await startGateway(t)
  for (const host of [...metadata, ...others]) await assertRefused(gateway, `http://${host}/`)
  await assertRefused(gateway, 'https://169.254.169.254/latest/meta-data')
  assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
})

test('IN-18 enterprise mode has the same policy, for its admins too', async (t) => {
  const { admin, url } = await startEnterprise(t, { engine: 'pglite' })
  for (const host of [...metadata, ...others]) await assertRefused(admin, `http://${host}/`)
  await assertRefused(admin, `${url}/mcp`, LOOP)
  const upstream = await startUpstream(t, 'alpha')
  assert.equal((await admin.post('/api/v0/servers', registrationOf('alpha', upstream))).status, 201)
})

test('IN-18 loopback is allowed by default, by address and by name, and the gateway itself is not', async (t) => {
  const gateway = await startGateway(t)
  const upstream = await startUpstream(t, 'alpha')
  await gateway.register(registrationOf('literal', upstream))
  await gateway.register(registrationOf('named', { url: upstream.url.replace('127.0.0.1', 'localhost') }))
  for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]']) {
    await assertRefused(gateway, `http://${host}:${gateway.port}/mcp`, LOOP)
  }
})

test('IN-18 networks that the settings deny are refused, by address and by name, without a connection', async (t) => {
  const upstream = await startUpstream(t, 'alpha')
  const gateway = await startGateway(t, { env: { TOWPATH_EGRESS_DENY: 'private, loopback' } })
  await assertRefused(gateway, upstream.url)
  await assertRefused(gateway, upstream.url.replace('127.0.0.1', 'localhost'))
  for (const host of ['10.0.0.1', '192.168.1.1', '172.16.5.5', '[fd00::1]', '[::1]']) {
    await assertRefused(gateway, `http://${host}/mcp`)
  }
  assert.equal(upstream.requests.length, 0)
})

test('IN-18 a server that the policy came to forbid is not called, and that is a 502', async (t) => {
  const upstream = await startUpstream(t, 'alpha')
  const old = await startSse(null)
  addCleanup(t, old.close)
  const first = await startGateway(t)
  await first.register(registrationOf('alpha', upstream))
  await first.register({ name: 'old', transport: 'sse', url: old.url })
  await first.stop()
  const before = [upstream.requests.length, old.requests.length]

  const gateway = await restart(t, first, { env: { TOWPATH_EGRESS_DENY: '127.0.0.0/8' } })
  const call = async (name: string) => errorOf(await gateway.post('/api/v0/tools/invoke', { name }))
  assert.deepEqual(await call('alpha__echo'), [502, `server "alpha": ${REFUSAL}`])
  assert.deepEqual(await call('old__echo'), [502, `server "old": ${REFUSAL}`])
  assert.deepEqual(errorOf(await gateway.post('/api/v0/servers/alpha/refresh')), [502, `server "alpha": ${REFUSAL}`])
  assert.deepEqual([upstream.requests.length, old.requests.length], before)
  await gateway.stop()

  const again = await restart(t, first, {
    env: { TOWPATH_EGRESS_DENY: '127.0.0.0/8', TOWPATH_EGRESS_ALLOW: '127.0.0.1' }
  })
  assert.equal((await again.post('/api/v0/tools/invoke', { name: 'alpha__echo' })).status, 200)
})

test('a proxy in the environment is not used', async (t) => {
  const proxy = await startUpstream(t, 'proxy')
  const upstream = await startUpstream(t, 'alpha')
  const at8 = new URL(proxy.url).origin
  const env = { HTTP_PROXY: at8, http_proxy: at8, HTTPS_PROXY: at8, ALL_PROXY: at8, NODE_USE_ENV_PROXY: '1' }
  const gateway = await startGateway(t, { env })
  await gateway.register(registrationOf('alpha', upstream))
  assert.equal((await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })).status, 200)
  assert.equal(proxy.requests.length, 0)
})

/** Starts an upstream over TLS whose certificate is signed by a private authority. */
async function startTlsUpstream(t: TestContext) {
  const folder = await tempDir(t)
  const path = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(
    'req',
    '-x509',
    ...curve,
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
    '-subj',
    '/CN=test',
    '-days',
    '1'
  )
  const extension = ['-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=CA:FALSE']
  const signer = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-days', '1']
  const files = ['-keyout', path('key.pem'), '-out', path('cert.pem'), '-subj', '/CN=localhost']
  openssl('req', '-x509', ...curve, ...signer, ...files, ...extension)
  const plain = await startUpstream(t, 'secure')
  const server = createServer({ key: readFileSync(path('key.pem')), cert: readFileSync(path('cert.pem')) })
  server.on('request', (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = 'GET' } = request
      const body = method === 'GET' ? {} : { body: Buffer.concat(chunks) }
      void fetch(plain.url, { method, ...body }).then(async (answer) => {
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
        response.end(await answer.text())
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  addCleanup(t, () => new Promise((resolve) => server.close(resolve)))
  addCleanup(t, () => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  return { authority: path('ca.pem'), url: (host: string) => `https://${host}:${port}/mcp` }
}

test('TLS is verified, and NODE_EXTRA_CA_CERTS adds an authority to those that are trusted', async (t) => {
  const upstream = await startTlsUpstream(t)
  const careless = await startGateway(t, { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } })
  const refused = await careless.post('/api/v0/servers', registrationOf('secure', { url: upstream.url('localhost') }))
  assert.equal(refused.status, 502, refused.text)
  assert.match(refused.text, /certificate|CERT|SIGNATURE/)

  const gateway = await startGateway(t, { env: { NODE_EXTRA_CA_CERTS: upstream.authority } })
  await gateway.register(registrationOf('secure', { url: upstream.url('localhost') }))
  const answer = await gateway.post('/api/v0/tools/invoke', { name: `secure__${echoTool.name}` })
  assert.equal(answer.status, 200, answer.text)
  const wrongName = await gateway.post('/api/v0/servers', registrationOf('other', { url: upstream.url('127.0.0.1') }))
  assert.equal(wrongName.status, 502, wrongName.text)
})
