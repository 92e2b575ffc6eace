import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../src', import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

/** Parts of `src` that each part may import, besides itself. `errors.ts` and `domain/product.ts` are open to all. */
const layers: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  schemas: [],
  'errors.ts': [],
  'setting-values.ts': ['domain'],
  'settings.ts': ['domain', 'setting-values.ts'],
  'config.ts': ['domain', 'setting-values.ts', 'settings.ts'],
  'validation.ts': ['domain'],
  'compilers.ts': [],
  'inherited-descriptors.ts': [],
  registry: ['domain', 'schemas', 'config.ts', '../migrations'],
  gateway: ['domain', 'schemas', 'registry', 'config.ts'],
  demo: ['domain'],
  plugins: ['domain', 'schemas', 'registry', 'gateway', 'demo', 'config.ts', 'validation.ts'],
  routes: ['domain', 'schemas', 'registry', 'gateway', 'demo', 'plugins', 'config.ts', 'settings.ts', 'validation.ts'],
  'app.ts': ['domain', 'schemas', 'gateway', 'plugins', 'routes', 'config.ts', 'compilers.ts', 'validation.ts'],
  'secret-files.ts': ['registry', 'config.ts', 'settings.ts'],
  'server.ts': ['domain', 'registry', 'plugins', 'app.ts', 'config.ts', 'inherited-descriptors.ts', 'secret-files.ts'],
  reference: ['schemas', 'gateway', 'settings.ts'],
  'migrate.ts': ['domain', 'registry', 'config.ts'],
  'openapi-document.ts': ['app.ts', 'cli', 'config.ts', 'plugins', 'reference'],
  cli: ['domain', 'schemas', 'config.ts', 'validation.ts']
}
const openToAll = new Set(['errors.ts', 'domain/product.ts'])

/** Packages restricted to these parts; unlisted packages are open to all. */
const owners: readonly [packages: RegExp, parts: readonly string[]][] = [
  [/^(fastify|fastify-plugin|@fastify\/(?!.*-compiler$).*)$/, ['plugins', 'routes', 'app.ts', 'server.ts']],
  [/^@fastify\/.*-compiler$/, ['compilers.ts', 'validation.ts']],
  [/^(kysely|pg|@electric-sql\/.*)$/, ['registry']],
  [/^(undici|@modelcontextprotocol\/.*)$/, ['gateway', 'demo']],
  [/^@sinclair\/typebox$/, ['schemas', 'routes', 'plugins', 'cli']],
  [/^@opentelemetry\//, ['plugins', 'server.ts']],
  [/^commander$/, ['cli']]
]

/**
 * Modules that open outgoing sockets, all under the egress policy (security-model.md#egress-policy). The gateway may
 * import their types.
 */
const waysOut: Readonly<Record<string, readonly string[]>> = {
  undici: ['gateway/egress.ts', 'gateway/upstream/http-pool.ts'],
  // for status names, and to listen
  'node:http': ['plugins/errors.ts', 'plugins/openapi/document.ts', 'cli/callback.ts'],
  'node:https': [],
  'node:http2': [],
  'node:tls': [],
  'node:dns': ['gateway/egress.ts'],
  'node:dns/promises': []
}

const partOf = (path: string) => path.split('/', 1)[0]!

/** Returns the specifiers of all imports that load code or name a type. */
const importsOf = (text: string) =>
  [...text.matchAll(/^(?:import|export)\b[^'\n]*?(?:\n[^'\n]*?)*?\bfrom '([^']+)'/gm)].map((match) => match[1]!)

/** Returns the specifiers of the imports that bring a value. */
const valuesFrom = (text: string) =>
  [...text.matchAll(/^import\b(?! type\b)([^'\n]*?(?:\n[^'\n]*?)*?)\bfrom '([^']+)'/gm)].flatMap((match) =>
    /^\s*\{(?:\s*type [^,}]+,?)*\s*\}\s*$/.test(match[1]!) ? [] : [match[2]!]
  )

for (const file of files) {
  test(`${file} imports only what its part may`, () => {
    const text = readFileSync(join(root, file), 'utf8')
    const part = partOf(file)
    const allowed = layers[part]
    assert.ok(allowed, `${part} is in no layer`)
    for (const specifier of importsOf(text)) {
      if (!specifier.startsWith('.')) {
        for (const [packages, parts] of owners) {
          if (packages.test(specifier)) assert.ok(parts.includes(part), `${specifier} is for ${parts.join(', ')}`)
        }
        continue
      }
      const target = relative(root, join(root, file, '..', specifier))
      const isAllowed =
        openToAll.has(target) ||
        partOf(target) === part ||
        allowed.some((path) => target === path || target.startsWith(`${path}/`))
      assert.ok(isAllowed, `${file} must not import ${target}`)
    }
    for (const specifier of valuesFrom(text)) {
      const owned = waysOut[specifier]
      if (owned) assert.ok(owned.includes(file), `${specifier} leads past the egress policy`)
    }
    // the command line is a separate program
    if (part !== 'cli') assert.doesNotMatch(text, /(?<![.\w])(?:fetch|WebSocket|EventSource)\(/)
    if (file !== 'plugins/errors.ts') assert.doesNotMatch(text, /setErrorHandler/)
    if (!['config.ts', 'cli/main.ts'].includes(file)) assert.doesNotMatch(text, /process\.env\b/)
    if (part !== 'plugins') assert.doesNotMatch(text, /^export default/m)
  })
}

const dashboard = fileURLToPath(new URL('../../dashboard/src', import.meta.url))

test('the dashboard takes from src only the domain and the types of schemas', () => {
  const sources = readdirSync(dashboard, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  assert.ok(sources.length > 20)
  for (const file of sources) {
    const text = readFileSync(join(dashboard, file), 'utf8')
    const ours = (specifiers: string[]) =>
      specifiers
        .map((specifier) => relative(root, join(dashboard, file, '..', specifier)))
        .filter((target) => target.endsWith('.ts') && !target.startsWith('..'))
    for (const target of ours(importsOf(text))) {
      assert.ok(['domain', 'schemas'].includes(partOf(target)), `${file} must not import ${target}`)
    }
    for (const target of ours(valuesFrom(text))) assert.equal(partOf(target), 'domain', `${file} imports ${target}`)
  }
})
