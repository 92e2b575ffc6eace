import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { errorsReference } from '../../src/reference/errors.ts'
import { httpReference, type Document as HttpDocument } from '../../src/reference/http.ts'
import { limitsReference } from '../../src/reference/limits.ts'
import { startApp } from '../app.ts'
import { routesOf } from '../routes.ts'

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
interface Operation {
  readonly summary?: string
  readonly responses: Readonly<Record<string, { description: string }>>
}

test('openapi.json is what `npm run openapi` writes', async (t) => {
  const app = await startApp(t)
  const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8')
  const served = (await app.inject('/openapi.json')).json<Document>()
  assert.equal(served.openapi, '3.1.0')
  assert.deepEqual(JSON.parse(committed), served)
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
  await startApp(t, { compilesAtOnce: true })
})

/** Not for integrators, or described elsewhere: the dashboard, the MCP protocol's own endpoints, the document itself. */
const undocumented = /^\/($|index\.html|assets|api\/dashboard|mcp|sse|message|v0\/groups|docs|openapi\.json)(\/|$)/

test('every REST route is in the document, with a summary and what it answers', async (t) => {
  const app = await startApp(t)
  const { paths } = (await app.inject('/openapi.json')).json<Document>()
  for (const { method, url } of routesOf(app.printRoutes())) {
    if (undocumented.test(url)) continue
    const operation = paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method]
    assert.ok(operation?.summary, `${method} ${url}`)
    const statuses = Object.keys(operation.responses)
    assert.ok(statuses.length > 0, `${method} ${url}`)
    const named = url.includes(':name') && !statuses.includes('403') ? ['400', '404', '414'] : []
    const switched = /\/(enable|disable)$/.test(url) ? ['400', '415'] : []
    for (const status of [...named, ...switched]) assert.ok(statuses.includes(status), `${method} ${url} ${status}`)
  }
})
