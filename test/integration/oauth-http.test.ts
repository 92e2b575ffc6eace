import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createOAuthHttp } from '../../src/upstream/oauth/oauth-http.ts'
import { egressOf } from '../egress.ts'
import { startHttp, type Handler } from '../fixtures/http/server.ts'
import { addCleanup } from '../store.ts'
import { failureOf } from '../unit/upstreams.ts'

async function setUp(t: TestContext, handle: Handler, timeoutMs = 5_000) {
  const server = await startHttp(handle)
  const egress = egressOf()
  addCleanup(t, server.close)
  addCleanup(t, egress.close)
  return { server, http: createOAuthHttp({ egress, userAgent: 'test', timeoutMs })('http://127.0.0.1/') }
}

test('an answer is read up to 64 KiB, and what is no JSON object is null', async (t) => {
  let body = ''
  const { server, http } = await setUp(t, (_request, response) => void response.end(body))
  const get = () => http.get(`${server.origin}/x?y=1`, 'it')
  body = JSON.stringify({ a: 'é' })
  assert.deepEqual(await get(), { status: 200, body: { a: 'é' } })
  assert.deepEqual([server.requests[0]!.path, server.requests[0]!.headers['user-agent']], ['/x?y=1', 'test'])
  for (body of ['', '[]', 'null', '"text"', '<html>', '{"a":']) assert.equal((await get()).body, null, body)
  body = JSON.stringify({ a: 'x'.repeat(65_536 - 8) })
  assert.equal(body.length, 65_536)
  assert.equal((await get()).status, 200)
  body += ' '
  const failure = await failureOf(get())
  assert.deepEqual([failure.reason, failure.message], ['too_large', 'it: answered with more than 65536 bytes'])
})

test('whoever stays silent, or sends for ever, is given up', async (t) => {
  let isEndless = false
  const handle: Handler = (_request, response) => {
    if (!isEndless) return
    const beat = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(beat))
  }
  const { server, http } = await setUp(t, handle, 300)
  for (isEndless of [false, true]) {
    for (const work of [() => http.get(server.origin, 'it'), () => http.post(server.origin, {}, 'a=b', 'it')]) {
      const failure = await failureOf(work())
      assert.deepEqual([failure.reason, failure.message], ['timeout', 'it: did not answer in time'])
    }
  }
})

test('redirects are followed within the origin, at most three times, and never with a body', async (t) => {
  const other = await startHttp((_request, response) => void response.end('{}'))
  addCleanup(t, other.close)
  let left = 0
  let location = ''
  const { server, http } = await setUp(t, ({ path }, response) => {
    if (path === '/there' || (path.startsWith('/again') && left-- <= 0)) return void response.end('{"found":true}')
    response.writeHead(307, { location }).end()
  })
  location = '/there'
  assert.deepEqual(await http.get(`${server.origin}/a`, 'it'), { status: 200, body: { found: true } })
  location = '/again'
  left = 2
  assert.equal((await http.get(`${server.origin}/a`, 'it')).status, 200)
  left = 3
  assert.equal((await failureOf(http.get(`${server.origin}/a`, 'it'))).reason, 'bad_response')
  for (location of [`${other.origin}/x`, 'file:///etc/passwd', '//127.0.0.2/x', 'http://[']) {
    const failure = await failureOf(http.get(`${server.origin}/a`, 'it'))
    assert.equal(failure.message, 'it: sent a redirect that is not followed')
  }
  location = '/there'
  assert.equal((await http.post(`${server.origin}/a`, {}, 'secret=1', 'it')).status, 307)
  location = `${other.origin}/x`
  assert.equal((await http.post(`${server.origin}/a`, {}, 'secret=1', 'it')).status, 307)
  assert.equal(other.requests.length, 0)
})

test('OA-10 what the egress policy forbids is not contacted, and said to be that', async (t) => {
  const { http } = await setUp(t, () => {})
  for (const url of ['https://169.254.169.254/x', 'http://[::ffff:169.254.169.254]/', 'http://2852039166/']) {
    const failure = await failureOf(http.get(url, 'it'))
    assert.equal(failure.reason, 'denied')
    assert.match(failure.message, /^it: the egress policy/)
  }
})
