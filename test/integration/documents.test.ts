import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../../src/app.ts'
import type { Environment } from '../../src/config/config.ts'
import { freshConfig, startApp } from '../app.ts'
import { addCleanup, tempDir } from '../store.ts'
import { until } from '../until.ts'
import { needs } from '../needs.ts'

const adminToken = 'administrator-0123456789'
const enterprise = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  TOWPATH_ADMIN_TOKEN: adminToken
}
const modes: Readonly<Record<string, Environment>> = { development: {}, enterprise }
const descriptions = [
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/json',
  '/docs/yaml',
  '/docs/static/swagger-ui-bundle.js'
]

const hasProc = { skip: needs('/proc', existsSync('/proc/self/fd')) }

/** Returns the target of a link; empty if the target does not exist. */
function target(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

async function withPages(t: TestContext): Promise<{ app: FastifyInstance; root: string }> {
  const root = await tempDir(t)
  await mkdir(join(root, 'assets'))
  await writeFile(join(root, 'index.html'), `<!doctype html><title>pages</title>${' '.repeat(2_000)}`)
  await writeFile(join(root, 'assets', 'x-1a2b.js'), 'export {}\n'.repeat(200))
  await writeFile(join(root, 'assets', 'x.woff2'), Buffer.alloc(2_000, 1))
  const app = await buildApp(await freshConfig(t), { dashboardRoot: root })
  addCleanup(t, () => app.close())
  await app.ready()
  return { app, root }
}

/** Asserts that the document is served, compressed, and not sent again to a caller that has it. */
async function checkDocument(app: FastifyInstance, url: string): Promise<void> {
  const { statusCode, headers, rawPayload } = await app.inject(url)
  assert.equal(statusCode, 200, url)
  assert.equal(Number(headers['content-length']), rawPayload.length, url)
  const isText = !url.endsWith('.woff2') && rawPayload.length >= 1_024
  const tags = new Set([headers.etag])
  for (const [asked, coding] of [
    ['br, gzip;q=0.5', 'br'],
    ['gzip, deflate', 'gzip'],
    ['gzip, br;q=0', 'gzip']
  ] as const) {
    const packed = await app.inject({ url, headers: { 'accept-encoding': asked } })
    assert.equal(packed.headers['content-encoding'], isText ? coding : undefined, `${url} ${asked}`)
    const decode = coding === 'br' ? brotliDecompressSync : gunzipSync
    const bytes = isText ? decode(packed.rawPayload) : packed.rawPayload
    assert.ok(rawPayload.equals(bytes), `${url} is another document as ${coding}`)
    if (isText) assert.ok(packed.rawPayload.length < rawPayload.length, `${url} is not smaller as ${coding}`)
    tags.add(packed.headers.etag)
    const tag = String(packed.headers.etag)
    const again = await app.inject({ url, headers: { 'accept-encoding': asked, 'if-none-match': tag } })
    assert.deepEqual([again.statusCode, again.headers.etag], [304, tag], `${url} ${asked} is sent again`)
  }
  assert.equal(tags.size, isText ? 3 : 1, `${url} has not one entity tag for each coding`)
  for (const refused of ['gzip;q=0', 'br;q=0.0', 'deflate', 'x-gzip-like']) {
    const plain = await app.inject({ url, headers: { 'accept-encoding': refused } })
    assert.equal(plain.headers['content-encoding'], undefined, `${url} ${refused}`)
  }
  assert.match(String(headers.vary), /Accept-Encoding/)
  for (const tag of [String(headers.etag), `"other", ${String(headers.etag)}`, '*']) {
    const again = await app.inject({ url, headers: { 'if-none-match': tag } })
    assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', headers.etag], url)
  }
  const head = await app.inject({ url, method: 'HEAD' })
  assert.deepEqual([head.statusCode, head.body, head.headers.etag], [200, '', headers.etag], url)
}

for (const [mode, env] of Object.entries(modes)) {
  test(`SR-H1 descriptions of the API are made once for all callers in ${mode} mode`, async (t) => {
    const app = await buildApp(await freshConfig(t, env))
    addCleanup(t, () => app.close())
    const sent = new Map<string, Set<unknown>>()
    app.addHook('onSend', (request, reply, payload, done) => {
      if (reply.statusCode === 200 && request.method === 'GET') {
        const encoding = String(reply.getHeader('content-encoding'))
        const place = `${request.url} ${encoding}`
        sent.set(place, (sent.get(place) ?? new Set()).add(payload))
      }
      done(null, payload)
    })
    await app.ready()
    for (const url of descriptions) await checkDocument(app, url)
    assert.ok(sent.size > descriptions.length)
    for (const [place, payloads] of sent) assert.equal(payloads.size, 1, place)
  })

  test(`SR-H1 TOWPATH_DOCS decides who reads the description of the API in ${mode} mode`, async (t) => {
    const isOpen = mode === 'development'
    const authorization = `Bearer ${adminToken}`
    for (const [docs, anonymous, administrator] of [
      ['on', 200, 200],
      ['admin', isOpen ? 200 : 401, 200],
      ['off', isOpen ? 404 : 401, 404]
    ] as const) {
      const app = await startApp(t, { env: { ...env, TOWPATH_DOCS: docs } })
      for (const url of descriptions) {
        assert.equal((await app.inject(url)).statusCode, anonymous, `${docs} ${url}`)
        assert.equal(
          (await app.inject({ url, headers: { authorization } })).statusCode,
          administrator,
          `${docs} ${url}`
        )
      }
    }
  })
}

test('SR-H3 while the API is described for its first reader, the event loop is free for others', async (t) => {
  const app = await startApp(t)
  const before = performance.eventLoopUtilization()
  assert.equal((await app.inject('/openapi.json')).statusCode, 200)
  const { utilization } = performance.eventLoopUtilization(before)
  assert.ok(utilization < 0.5, `the event loop was busy for ${(utilization * 100).toFixed(0)} % of the time`)
})

test('a gateway that stops while its API is described ends the thread, and its reader gets an error', async (t) => {
  const app = await buildApp(await freshConfig(t))
  addCleanup(t, () => app.close())
  await app.ready()
  const answer = app.inject('/openapi.json')
  await new Promise(setImmediate)
  await app.close()
  assert.deepEqual([(await answer).statusCode, (await answer).json()], [500, { error: 'internal server error' }])
})

test('SR-H1 CR-A11 pages of the dashboard are read once, and again after a new build', async (t) => {
  const { app, root } = await withPages(t)
  for (const url of ['/', '/index.html', '/assets/x-1a2b.js', '/assets/x.woff2']) await checkDocument(app, url)
  await writeFile(join(root, 'index.html'), 'built anew')
  await writeFile(join(root, 'assets', 'y.js'), 'export const y = 1')
  await rm(join(root, 'assets', 'x-1a2b.js'))
  assert.equal((await app.inject('/')).body, 'built anew')
  assert.equal((await app.inject('/assets/y.js')).body, 'export const y = 1')
  assert.equal((await app.inject('/assets/x-1a2b.js')).statusCode, 404)
})

test('SR-H1 pages of the dashboard that nobody reads hold no file open', hasProc, async (t) => {
  const { app, root } = await withPages(t)
  await writeFile(join(root, 'assets', 'large.js'), 'x'.repeat(16 * 1_024 * 1_024))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  let answered = 0
  app.server.on('request', () => answered++)
  const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  addCleanup(t, () => sockets.forEach((socket) => socket.destroy()))
  for (const socket of sockets) socket.write('GET /assets/large.js HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until('every request to be taken', () => answered === sockets.length)
  await Promise.all(sockets.map((socket) => once(socket, 'readable')))
  const open = readdirSync('/proc/self/fd').map((fd) => target(`/proc/self/fd/${fd}`))
  assert.deepEqual(
    open.filter((path) => path.startsWith(root)),
    []
  )
})
