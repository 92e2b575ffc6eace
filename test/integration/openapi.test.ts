import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import type { FastifyInstance } from 'fastify'
import { errorsReference } from '../../src/reference/errors.ts'
import { httpReference, type Document as HttpDocument } from '../../src/reference/http-reference.ts'
import { limitsReference } from '../../src/reference/limits.ts'
import { startApp } from '../app.ts'
import { routesOf } from '../routes.ts'

interface Document {
  readonly openapi: string
  readonly info: { readonly license?: { readonly identifier: string } }
  readonly servers?: readonly { readonly url: string }[]
  readonly tags?: readonly { readonly name: string; readonly description: string }[]
  readonly components: { readonly securitySchemes?: Readonly<Record<string, { readonly scheme: string }>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly responses: Readonly<Record<string, { description: string }>>
  readonly parameters?: readonly Parameter[]
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
}

/** `openapi.json` documents an enterprise gateway, and mentions where development mode differs. */
const enterprise = { env: { SERVER_MODE: 'enterprise', TOWPATH_ENCRYPTION_KEY: '7'.repeat(64) } }
const documentOf = async (app: FastifyInstance) => (await app.inject('/openapi.json')).json<Document>()
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, name: `${method} ${path}`, operation }))
  )

test('openapi.json is what `npm run openapi` writes', async (t) => {
  const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8')
  const served = await documentOf(await startApp(t, enterprise))
  assert.equal(served.openapi, '3.1.0')
  assert.deepEqual(JSON.parse(committed), served)
})

test('CR-A2: documents of both modes differ in nothing but the tokens that operations ask for', async (t) => {
  const served = await documentOf(await startApp(t, enterprise))
  const development = await documentOf(await startApp(t))
  for (const { name, operation } of operationsOf(development)) {
    assert.deepEqual(operation.security, [], `${name} asks for a token in development mode`)
  }
  const { components, paths, ...rest } = served
  const { securitySchemes, ...others } = components
  assert.deepEqual(Object.keys(securitySchemes ?? {}), ['token', 'clientToken'])
  const open = Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, one]) => [method, { ...one, security: [] }]))
    ])
  )
  assert.deepEqual(development, { ...rest, components: others, paths: open })
})

test('CR-A2: in enterprise mode every operation says which token opens it', async (t) => {
  const app = await startApp(t, enterprise)
  const initialized = await app.inject({ method: 'POST', url: '/init' })
  assert.equal(initialized.statusCode, 200, initialized.body)
  for (const { path, method, name, operation } of operationsOf(await documentOf(app))) {
    const { security = [] } = operation
    const schemes = security.flatMap((one) => Object.keys(one))
    const isOpen = security.length === 0 || security.some((one) => Object.keys(one).length === 0)
    const wanted = path.startsWith('/api/') ? ['token'] : operation.tags?.[0] === 'mcp' ? ['clientToken'] : undefined
    if (wanted) assert.deepEqual(schemes, wanted, name)
    const url = path.replaceAll(/\{\w+\}/g, 'x')
    const { statusCode } = await app.inject({ method: method as 'GET', url })
    assert.equal(statusCode === 401, !isOpen, `${name} answers ${statusCode} without a token`)
  }
})

test('CR-F10: every operation has an id of its own, of verb and noun, and a tag that is described', async (t) => {
  const document = await documentOf(await startApp(t))
  const tags = new Map(document.tags?.map(({ name, description }) => [name, description]))
  const ids = new Set<string>()
  for (const { name, operation } of operationsOf(document)) {
    const { operationId = '', summary } = operation
    assert.match(operationId, /^[a-z]+([A-Z][a-z]+)+$/, `${name} has the id "${operationId}"`)
    assert.equal(ids.has(operationId), false, `${operationId} is the id of two operations`)
    ids.add(operationId)
    assert.ok(summary, `${name} has no summary`)
    assert.equal(operation.tags?.length, 1, `${name} has not one tag`)
    assert.ok(tags.get(operation.tags![0]!), `the tag of ${name} is not described`)
    tags.set(operation.tags![0]!, 'used')
  }
  for (const [tag, description] of tags) assert.equal(description, 'used', `no operation has the tag ${tag}`)
  assert.ok(ids.size >= 66, `there are only ${ids.size} operations`)
})

test('CR-F10: the document names a licence and a server, which is the public URL where there is one', async (t) => {
  const { info, servers } = await documentOf(await startApp(t))
  assert.equal(info.license?.identifier, 'Apache-2.0')
  assert.deepEqual(
    servers?.map(({ url }) => url),
    ['/']
  )
  const published = await startApp(t, { env: { TOWPATH_PUBLIC_URL: 'https://mcp.example.com/gateway' } })
  const answer = await published.inject({ url: '/openapi.json', headers: { host: 'mcp.example.com' } })
  assert.deepEqual(
    answer.json<Document>().servers?.map(({ url }) => url),
    ['https://mcp.example.com/gateway']
  )
})

test('CR-F10: formats are those of JSON Schema, and every text says what it may hold', async (t) => {
  const document = await documentOf(await startApp(t))
  const formats = new Set([...JSON.stringify(document).matchAll(/"format":"([^"]*)"/g)].map(([, name]) => name))
  assert.deepEqual([...formats], ['date-time'])
})

/** Statuses possible at any route, and those caused by its path, body and access. */
const shared = ['400', '403', '408', '431', '500']

test('CR-F10: operations name the statuses that a request can meet anywhere', async (t) => {
  for (const { path, method, name, operation } of operationsOf(await documentOf(await startApp(t)))) {
    const expected = [
      ...shared,
      ...(path.includes('{') ? ['404', '414'] : []),
      ...(method === 'get' ? [] : ['413', '415']),
      ...(/^\/(api|mcp|sse|message|v0)/.test(path) ? ['401', '429', '503'] : [])
    ]
    for (const status of expected) assert.ok(status in operation.responses, `${name} does not name ${status}`)
    assert.equal('405' in operation.responses && operation.tags?.[0] !== 'mcp', false, `${name} exists: no 405`)
  }
})

test('docs/reference/http.md, errors.md and limits.md are what `npm run openapi` writes', async (t) => {
  const app = await startApp(t)
  const document = (await app.inject('/openapi.json')).json<HttpDocument>()
  const pages = { http: httpReference(document), errors: errorsReference(), limits: limitsReference() }
  for (const [name, text] of Object.entries(pages)) {
    assert.equal(await readFile(new URL(`../../docs/reference/${name}.md`, import.meta.url), 'utf8'), text, name)
  }
})

test('the schemas of all routes can be compiled, which happens when each is first needed', async (t) => {
  await startApp(t, { compileEagerly: true })
})

/** Routes of the dashboard, and of the document itself. */
const undocumented = /^\/($|index\.html|assets|api\/dashboard|docs|openapi\.json)(\/|$)/
/** Returns true for methods that a group's endpoint refuses if the group exists. */
const isRefusal = ({ method, url }: { method: string; url: string }) =>
  url.startsWith('/v0/groups') &&
  !{ mcp: ['get', 'post', 'delete'], sse: ['get'], message: ['post'] }[url.split('/').at(-1)!]?.includes(method)

test('CR-A2: the document has every route for integrators, and no other', async (t) => {
  const app = await startApp(t)
  const routes = routesOf(app.printRoutes())
    .filter((route) => !undocumented.test(route.url) && !isRefusal(route))
    .map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
  const described = operationsOf(await documentOf(app)).map(({ name }) => name)
  assert.deepEqual(described.toSorted(), routes.toSorted())
})
