import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { startApp } from '../app.ts'
import { engines } from '../store.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: { readonly type?: string; readonly minimum?: number; readonly maximum?: number }
}
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[]; readonly tags: string[] }>>>
  >
}

/** Returns every operation under `/api/v0` that development mode has, or that enterprise mode has, with its query parameters. */
async function operations(app: FastifyInstance, isEnterprise = false) {
  const { paths } = (await app.inject('/openapi.json')).json<Document>()
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], tags }]) => {
      const isOnlyEnterprise = enterprisePaths.includes(path) || enterpriseTags.some((tag) => tags.includes(tag))
      if (!path.startsWith('/api/v0') || (!isEnterprise && isOnlyEnterprise)) return []
      const names = parameters.filter((one) => one.in === 'query')
      return [{ method: method as 'GET', url: path.replaceAll(/\{\w+\}/g, 'absent'), parameters: names }]
    })
  )
}

/** Operations that answer 403 in development mode. */
const enterpriseTags = ['users', 'clients', 'teams', 'oauth clients', 'policies', 'me']
const enterprisePaths = ['/api/v0/signing_keys/rotate']

const numbers = [
  ...['0', '-1', '-0', '1e39', '1e-39', '1e-50', '1e308', '1e309', '-1e39', '1e400', 'NaN', 'Infinity', '-Infinity'],
  ...['9007199254740993', '9223372036854775808', '99999999999999999999', '0.5', '1e2', '0x10', '1_000', '', ' 1 ']
]
const texts = [
  '%00',
  '%ED%A0%80',
  "'",
  '%25',
  '1970-01-01',
  '0000-01-01',
  '0001-01-01T00:00:00%2B23:59',
  '9999-12-31T23:59:59-23:59',
  '9999-12-31T23:59:59.999999999%2B23:59',
  'null'
]

const values = [
  ...numbers.map((text) => ({ value: encodeURIComponent(text), number: Number(text) })),
  ...texts.map((value) => ({ value, number: NaN }))
]

for (const engine of engines) {
  test(`CR-F11: no value of a query parameter is a fault of the gateway (${engine})`, async (t) => {
    const app = await startApp(t, { engine })
    let asked = 0
    for (const { method, url, parameters } of await operations(app)) {
      for (const { name, schema } of parameters) {
        const others = parameters.filter((one) => one.required && one.name !== name).map((one) => `&${one.name}=x`)
        for (const { value, number } of values) {
          const path = `${url}?${name}=${value}${others.join('')}`
          const { statusCode, body } = await app.inject({ method, url: path })
          assert.ok(statusCode < 500, `${method} ${path}: ${statusCode} ${body}`)
          const { type = '', minimum = 0, maximum = 0 } = schema
          const isRefused = !(number >= minimum && number <= maximum)
          if (/number|integer/.test(type) && isRefused) assert.equal(statusCode, 400, `${method} ${path} is taken`)
          asked++
        }
      }
    }
    assert.ok(asked > 500, `only ${asked} requests were made`)
  })
}

for (const mode of ['development', 'enterprise']) {
  test(`CR-A11: a query parameter that an operation does not have is refused, wherever it is (${mode} mode)`, async (t) => {
    const token = 'a'.repeat(40)
    const TOWPATH_ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64')
    const isEnterprise = mode === 'enterprise'
    const env = { SERVER_MODE: mode, ...(isEnterprise && { TOWPATH_ADMIN_TOKEN: token, TOWPATH_ENCRYPTION_KEY }) }
    const app = await startApp(t, { env })
    const headers = isEnterprise ? { authorization: `Bearer ${token}` } : {}
    const all = await operations(app, isEnterprise)
    assert.ok(all.length > (isEnterprise ? 60 : 30), `there are only ${all.length} operations`)
    for (const { method, url, parameters } of all) {
      const needed = parameters.filter(({ required }) => required).map(({ name }) => `${name}=x&`)
      for (const unknown of ['Server', 'server[]', 'serve', '__proto__', 'constructor', '']) {
        const path = `${url}?${needed.join('')}${encodeURIComponent(unknown)}=alpha`
        const payload = /^(post|put|patch)$/i.test(method) && { payload: {} }
        const answer = await app.inject({ method, url: path, headers, ...payload })
        assert.equal(answer.statusCode, 400, `${method} ${path}: ${answer.statusCode} ${answer.body}`)
      }
    }
    const answer = await app.inject({ url: '/api/v0/tools?Server=alpha', headers })
    assert.deepEqual(answer.json(), { error: 'unknown query parameter "Server"' }, 'the refusal does not name it')
  })
}
