import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { circles, importGraph } from '../style/measures.ts'
import { readSource, sourcePaths } from '../style/source.ts'

const root = fileURLToPath(new URL('../../src', import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

const basics = ['lib', 'json', 'domain', 'schemas']
const stored = [...basics, 'protocol', 'registry']
const upstream = [...stored, 'config', 'catalog', 'observe']
const mcp = [...upstream, 'upstream']
const gateway = [...mcp, 'mcp', 'validation', 'control']
const web = ['http', 'validation', 'demo', 'gateway', 'identity', 'authorization-server']

/** The start opens the embedded store before it loads the server. */
const early = 'registry/store/pglite.ts'

/** Parts of `src`, lowest first, and the parts that each may import. Every part may import itself. */
const layers: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  json: ['lib'],
  domain: [],
  schemas: ['domain'],
  config: ['domain'],
  validation: ['lib', 'domain'],
  demo: ['domain'],
  protocol: ['lib', 'json', 'domain'],
  registry: ['lib', 'domain', 'schemas', '../migrations'],
  catalog: stored,
  observe: [...stored, 'catalog'],
  upstream,
  mcp,
  control: [...mcp, 'mcp', 'validation'],
  gateway,
  http: ['lib', 'domain', 'config'],
  identity: ['lib', 'domain', 'config', 'registry', 'catalog'],
  'authorization-server': ['lib', 'domain', 'config', 'registry', 'http'],
  plugins: [...gateway, ...web],
  routes: [...gateway, ...web, 'plugins'],
  'app.ts': [...gateway, ...web, 'plugins', 'routes'],
  'secret-files.ts': ['lib', 'config'],
  start: ['lib', 'domain', 'config', 'http'],
  'server.ts': ['lib', 'domain', 'config', 'start', 'app.ts', 'secret-files.ts', early],
  workers: ['lib', 'domain', 'config', 'http', 'start', 'app.ts', 'secret-files.ts'],
  'migrate.ts': ['lib', 'domain', 'config', 'registry'],
  cli: [...basics, 'protocol', 'config', 'validation'],
  reference: ['domain', 'schemas', 'config', 'protocol', 'plugins', 'cli', 'app.ts']
}

/** Packages that only these parts may use; every other package is open to all. */
const owners: readonly [packages: RegExp, parts: readonly string[]][] = [
  [
    /^(fastify|fastify-plugin|@fastify\/(?!.*-compiler$).*)$/,
    ['http', 'plugins', 'routes', 'app.ts', 'start', 'server.ts', 'workers']
  ],
  [/^@fastify\/.*-compiler$/, ['validation']],
  [/^(kysely|pg|@electric-sql\/.*)$/, ['registry']],
  [/^undici(\/|$)/, ['upstream']],
  [/^openid-client$/, ['identity', 'cli']],
  [/^scimmy$/, ['identity']],
  [/^jose$/, ['identity', 'authorization-server']],
  [/^oidc-provider$/, ['authorization-server']],
  [/^@modelcontextprotocol\//, ['demo']],
  [/^@sinclair\/typebox$/, ['schemas', 'routes', 'plugins', 'cli']],
  [/^@opentelemetry\//, ['plugins']],
  [/^commander$/, ['cli']],
  [/^openid-client$/, ['cli', 'identity']]
]

/**
 * Modules that open connections, and the only files that may import values from them: all connections pass the egress
 * policy (security-model.md#egress-policy).
 */
const waysOut: Readonly<Record<string, readonly string[]>> = {
  undici: ['upstream/http/undici-parts.ts'],
  'upstream/http/undici-parts.ts': [
    'upstream/http/egress.ts',
    'upstream/http/closing-pool.ts',
    'upstream/http/holding-pool.ts'
  ],
  'upstream/http/holding-pool.ts': ['upstream/http/egress.ts', 'upstream/http/closing-pool.ts'],
  'upstream/http/closing-pool.ts': ['upstream/http/pool.ts'],
  // for the names of statuses, to listen, and on the private sockets between workers
  'node:http': [
    'plugins/errors.ts',
    'plugins/openapi/document.ts',
    'cli/io/callback.ts',
    'http/siblings.ts',
    'http/forwarding.ts'
  ],
  'node:https': [],
  'node:http2': [],
  'node:tls': [],
  'node:dns': ['upstream/http/egress.ts'],
  'node:dns/promises': []
}

const partOf = (path: string) => path.split('/', 1)[0]!

/** Specifiers of all imports, those of types included. */
const importsOf = (text: string) =>
  [...text.matchAll(/^(?:import|export)\b[^'\n]*?(?:\n[^'\n]*?)*?\bfrom '([^']+)'/gm)].map((match) => match[1]!)

/** Specifiers of the imports that bring a value. */
const valuesFrom = (text: string) =>
  [...text.matchAll(/^import\b(?! type\b)([^'\n]*?(?:\n[^'\n]*?)*?)\bfrom '([^']+)'/gm)].flatMap((match) =>
    /^\s*\{(?:\s*type [^,}]+,?)*\s*\}\s*$/.test(match[1]!) ? [] : [match[2]!]
  )

/** Returns the path in `src` of what a file imports, or the name of the package or of Node's module. */
const moduleOf = (file: string, specifier: string) => {
  if (specifier.startsWith('.')) return relative(root, join(root, file, '..', specifier))
  return specifier.startsWith('node:') ? specifier : specifier.split('/', 1)[0]!
}

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
      const target = moduleOf(file, specifier)
      const isAllowed =
        partOf(target) === part || allowed.some((path) => target === path || target.startsWith(`${path}/`))
      assert.ok(isAllowed, `${file} must not import ${target}`)
    }
    for (const specifier of valuesFrom(text)) {
      const owned = waysOut[moduleOf(file, specifier)]
      if (owned) assert.ok(owned.includes(file), `${specifier} leads past the egress policy`)
    }
    // the command line is a program of its own
    if (part !== 'cli') assert.doesNotMatch(text, /(?<![.\w])(?:fetch|WebSocket|EventSource)\(/)
    if (file !== 'plugins/errors.ts') assert.doesNotMatch(text, /setErrorHandler/)
    if (!['config/config.ts', 'cli/main.ts'].includes(file)) assert.doesNotMatch(text, /process\.env\b/)
    if (part !== 'plugins') assert.doesNotMatch(text, /^export default/m)
  })
}

test('folders of src do not import each other in circles, types included', () => {
  const graph = importGraph(sourcePaths('src').map(readSource), { valuesOnly: false, roomOf: dirname })
  assert.ok(graph.size > 40)
  assert.deepEqual(circles(graph), [])
})

test('no folder of src or of the dashboard holds more than 25 source files', () => {
  const counts = new Map<string, number>()
  for (const path of sourcePaths('src', 'dashboard/src')) {
    counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  }
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 25),
    []
  )
})

test('the architecture page lists every folder of src', () => {
  const page = readFileSync(new URL('../../docs/explanation/architecture.md', import.meta.url), 'utf8')
  const listed = page.matchAll(/^\| (`src\/[^|]+)\|/gm)
  const names = [...listed].flatMap(([, cell]) => [...cell!.matchAll(/`src\/([^`]+)`/g)].map(([, name]) => name!))
  assert.deepEqual(names.sort(), Object.keys(layers).sort())
})

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
