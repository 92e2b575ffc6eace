import assert from 'node:assert/strict'
import test from 'node:test'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { register, startApp, stdioServer } from '../app.ts'

type Method = NonNullable<InjectOptions['method']>

const ask = async (app: FastifyInstance, method: Method, path: string, payload?: object) => {
  const answer = await app.inject({ method, url: `/api/dashboard${path}`, ...(payload ? { payload } : {}) })
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  const body = answer.body === '' ? undefined : (answer.json() as any)
  return { status: answer.statusCode, body, text: answer.body, headers: answer.headers }
}
const read = async <T>(app: FastifyInstance, path: string): Promise<T> => {
  const { status, body, text } = await ask(app, 'GET', path)
  assert.equal(status, 200, text)
  return body as T
}

const views = [
  '/overview',
  '/servers',
  '/tools',
  '/prompts',
  '/resources',
  '/tool-groups',
  '/diagnostics',
  '/stats',
  '/calls'
]

test('each view answers, and again with 304 to a page that has its contents', async (t) => {
  const app = await startApp(t)
  for (const path of views) await read(app, path)
  await register(app, stdioServer('alpha'))
  for (const path of views) {
    const first = await ask(app, 'GET', path)
    assert.equal(first.status, 200, `${path} ${first.text}`)
    assert.equal(first.headers['cache-control'], 'no-store', path)
    if (path === '/diagnostics') continue
    const etag = String(first.headers.etag)
    const again = await app.inject({ url: `/api/dashboard${path}`, headers: { 'if-none-match': etag } })
    assert.deepEqual([again.statusCode, again.body], [304, ''], path)
  }
  const document = (await app.inject('/openapi.json')).body
  assert.ok(!document.includes('/api/dashboard'))
})
