import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { anyByUri } from '../../src/catalog/item-lookup.ts'
import { globalScope, scopeAt, type Scope } from '../../src/catalog/scope.ts'
import { namedAddressOf, looseSegmentOf, splitNamedAddress } from '../../src/catalog/resource-uris.ts'
import type { ItemKind, StoredItem, StoredServer } from '../../src/registry/model/model.ts'
import { catalogOf, resource, storedGroup, storedServer, template, tool } from './stored.ts'

const CHART = 'ui://chart/app.html'

const naming = (name: string, uri: string, more: Partial<StoredItem> = {}) =>
  tool(name, {
    definition: JSON.stringify({ name, inputSchema: { type: 'object' }, _meta: { ui: { resourceUri: uri } } }),
    ...more
  })

const where = (scope: Scope, uri: string) => {
  const target = scope.resolve(uri)
  return target && [target.server.name, target.uri, target.form]
}
const listed = (scope: Scope, kind: ItemKind) =>
  scope
    .listings(kind)
    .flatMap(
      ({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as { name?: string; uri?: string; uriTemplate?: string }[]
    )

const apps = (name: string, uris: readonly string[] = [CHART], more: Partial<StoredServer> = {}) =>
  storedServer(name, [...uris.map((uri) => resource(uri)), ...uris.map((uri, i) => naming(`t${i}`, uri))], more)

test('an own URI comes back from its address whatever it is, and the case of the scheme is kept', () => {
  for (const uri of [
    'ui://',
    'ui:///x',
    'ui://x',
    'UI://X/y',
    'ui://a//b/../c?d#e',
    'ui://alpha/x',
    'ui://%2Fx',
    'ui://ü'
  ]) {
    const address = namedAddressOf('s', uri)
    assert.ok(address.slice(5).startsWith('s/'), address)
    assert.deepEqual(splitNamedAddress(address), { server: 's', uri })
  }
  assert.equal(namedAddressOf('s', ' u\ti:\n//x'), 'ui://s/x')
  for (const other of ['ui:/s/x', 'ui:s/x', 'ui:ui://s/x', ' ui://s/x', 'ui://s', 'xui://s/x']) {
    assert.equal(splitNamedAddress(other), undefined, other)
  }
})

/** Addresses that some reader could take for the interface of beta, and the own URI that each has at alpha. */
const hostile = [
  'ui://beta/chart/app.html',
  'UI://beta/chart/app.html',
  'ui://BETA/chart/app.html',
  'ui://beta%2Fchart/app.html',
  'ui://beta%252Fchart/app.html',
  'ui://%62eta/chart/app.html',
  'ui://beta\\chart/app.html',
  'ui://beta?/chart/app.html',
  'ui://beta#/chart/app.html',
  'ui://beta',
  'ui://../beta/chart/app.html',
  'ui://./beta/chart/app.html',
  'ui:///beta/chart/app.html',
  'ui:////beta//chart/app.html',
  'ui://alpha/../beta/chart/app.html',
  'ui://ui://beta/chart/app.html',
  'ui:ui://beta/chart/app.html',
  'ui:beta/chart/app.html',
  'ui:/beta/chart/app.html',
  ' ui://beta/chart/app.html',
  'u\ti://beta/chart/app.html',
  'ui:\n//beta/chart/app.html',
  'towpath://beta/ui://chart/app.html',
  `ui://${'x/'.repeat(2_000)}../beta/chart/app.html`
]

// oxlint-disable-next-line no-control-regex -- these are the characters
const hasHidden = (uri: string) => /[\0-\x1f]/.test(uri)

/** Every `resourceUri` and URI that a scope shows for a server. */
const shownFor = (scope: Scope, server: string): string[] => [
  ...listed(scope, 'tool')
    .filter(({ name }) => name!.startsWith(`${server}__`))
    .map((entry) => (entry as { _meta?: { ui: { resourceUri: string } } })._meta!.ui.resourceUri),
  ...listed(scope, 'resource').flatMap(({ uri }) => (uri!.includes(`://${server}/`) ? [uri!] : []))
]

test('no hostile address of a server shows, or leads to, the interface of another', () => {
  for (const uri of hostile) {
    const catalog = catalogOf([apps('alpha', [uri]), apps('beta')])
    const scope = globalScope(catalog)
    const shown = shownFor(scope, 'alpha')
    assert.ok(shown.length > 0, uri)
    for (const address of shown) {
      assert.match(address, /^(ui|towpath):\/\/alpha\//i, uri)
      // a resource with hidden characters in its URI is left out, and so are all spellings of that URI
      assert.equal(scope.resolve(address)?.server.name, hasHidden(uri) ? undefined : 'alpha', address)
    }
    assert.deepEqual(where(scope, 'ui://beta/chart/app.html'), ['beta', CHART, 'named'])
    assert.deepEqual(where(scope, 'ui://alpha/chart/app.html'), ['alpha', CHART, 'named'])
    const raw = where(scope, uri)
    const isExplicit = uri === 'ui://beta/chart/app.html' || uri.startsWith('towpath:') || uri.startsWith('UI:')
    if (!isExplicit) assert.ok(raw === undefined || raw[0] === 'alpha', `${uri} ${String(raw)}`)
  }
})

test('an own URI is found only if no reader can take its first segment for a server in scope', () => {
  const scope = globalScope(
    catalogOf([
      apps(
        'alpha',
        hostile.filter((uri) => /^ui:\/\//i.test(uri))
      ),
      apps('beta')
    ])
  )
  for (const uri of [
    'ui://BETA/chart/app.html',
    'ui://beta%2Fchart/app.html',
    'ui://beta%252Fchart/app.html',
    'ui://../beta/chart/app.html',
    'ui://x@beta/chart/app.html',
    'ui://beta:80/chart/app.html',
    'ui:// beta/chart/app.html',
    'ui://beta'
  ]) {
    assert.equal(looseSegmentOf(uri), 'beta')
    assert.equal(scope.resolve(uri), undefined, uri)
  }
  assert.equal(looseSegmentOf('ui://%E0%A4%A/x'), '%e0%a4%a')
})

test('an own URI that two servers have is found nowhere, and one that a single server has is found there', () => {
  const both = [apps('alpha'), apps('beta')]
  assert.equal(globalScope(catalogOf(both)).resolve(CHART), undefined)
  const [alpha, beta] = both as [StoredServer, StoredServer]
  const one = globalScope(catalogOf([{ ...alpha, enabled: false }, beta]))
  assert.deepEqual(where(one, CHART), ['beta', CHART, 'own'])
  assert.equal(one.resolve('ui://alpha/chart/app.html')?.form, undefined)
  // a template and a tool count as having it
  const templated = storedServer('alpha', [template('ui://chart/{page}')])
  assert.equal(globalScope(catalogOf([templated, beta])).resolve(CHART), undefined)
  const unlisted = storedServer('alpha', [naming('t', CHART)])
  assert.equal(globalScope(catalogOf([unlisted, beta])).resolve(CHART), undefined)
  assert.deepEqual(where(globalScope(catalogOf([unlisted])), CHART), ['alpha', CHART, 'own'])
})

test('the address of a server that is disabled or out of scope does not lead to a server that has it as an own URI', () => {
  const hostile = apps('alpha', ['ui://beta/chart/app.html'])
  const off = catalogOf([hostile, { ...apps('beta'), enabled: false }])
  const narrow = catalogOf([hostile, apps('beta')], '1', [storedGroup('g', { included_servers: ['alpha'] })])
  for (const scope of [globalScope(off), scopeAt(narrow, 'g')]) {
    assert.equal(scope.resolve('ui://beta/chart/app.html'), undefined)
    assert.equal(scope.resolve('ui://alpha/beta/chart/app.html')?.server.name, 'alpha')
  }
})

test('a disabled interface is found by no address', () => {
  const off = storedServer('alpha', [resource(CHART, { enabled: false }), naming('t', CHART), resource('ui://other')])
  const scope = globalScope(catalogOf([off]))
  for (const uri of [CHART, 'ui://alpha/chart/app.html', `towpath://alpha/${CHART}`]) {
    assert.equal(scope.resolve(uri), undefined, uri)
  }
  assert.equal(scope.resolve('ui://alpha/other')?.uri, 'ui://other')
})

test('nothing with the scheme of interfaces is guessed, not even for the server that sent it', () => {
  const scope = globalScope(catalogOf([storedServer('alpha', [resource('ui://listed'), template('{+any}')])]))
  for (const uri of ['ui://unlisted', 'UI://unlisted', 'ui:unlisted', 'ui:ui://unlisted', ' ui://unlisted']) {
    assert.equal(scope.resolve(uri, true, 'alpha'), undefined, uri)
  }
  assert.equal(scope.resolve('file:///unlisted', true, 'alpha')?.server.name, 'alpha')
})

test('templates of interfaces name their server as well, and complete by either form', () => {
  const own = 'ui://chart/{page}'
  const servers = [storedServer('alpha', [template(own)]), storedServer('beta', [template(own)])]
  const scope = globalScope(catalogOf(servers))
  assert.deepEqual(
    listed(scope, 'template').map(({ uriTemplate }) => uriTemplate),
    ['ui://alpha/chart/{page}', 'ui://beta/chart/{page}']
  )
  assert.equal(scope.resolveTemplate('ui://beta/chart/{page}')?.server.name, 'beta')
  assert.equal(scope.resolveTemplate(own), undefined)
  const one = globalScope(catalogOf([servers[1]!]))
  assert.deepEqual([one.resolveTemplate(own)?.server.name, one.resolveTemplate(own)?.form], ['beta', 'own'])
  assert.deepEqual(where(one, 'ui://beta/chart/1'), ['beta', 'ui://chart/1', 'named'])
})

test('in a group an interface belongs to the tools that name it, and goes with them', () => {
  const servers = [apps('alpha', [CHART, 'ui://map']), apps('beta')]
  const at = (group: object, more: readonly StoredServer[] = servers) =>
    scopeAt(catalogOf(more, '1', [storedGroup('g', group)]), 'g')
  const picked = at({ included_tools: ['alpha__t0'] })
  assert.deepEqual(
    listed(picked, 'resource').map(({ uri }) => uri),
    ['ui://alpha/chart/app.html']
  )
  assert.deepEqual(where(picked, CHART), ['alpha', CHART, 'own'])
  assert.deepEqual(picked.resolveAt('alpha', CHART)?.uri, CHART)
  for (const uri of ['ui://alpha/map', 'ui://map', 'ui://beta/chart/app.html', `towpath://alpha/${CHART}`]) {
    assert.equal(picked.resolve(uri), undefined, uri)
  }
  assert.equal(picked.resolveAt('alpha', 'ui://map'), undefined)
  const without = at({ included_servers: ['alpha'], excluded_tools: ['alpha__t0', 'alpha__t1'] })
  assert.equal(without.resolve('ui://alpha/map')?.server.name, 'alpha')
  const hidden = apps('alpha', [CHART], { settings: { url: 'http://a.test', apps: false } })
  assert.deepEqual(listed(at({ included_tools: ['alpha__t0'] }, [hidden]), 'resource'), [])
  assert.equal(at({ included_tools: ['alpha__t0'] }, [hidden]).resolve('ui://alpha/chart/app.html'), undefined)
})

test('a server whose apps are off lists its tools without interfaces, in bare groups too', () => {
  const meta = {
    ui: { resourceUri: CHART, visibility: ['app'] },
    'ui/resourceUri': CHART,
    'openai/outputTemplate': CHART
  }
  const definition = JSON.stringify({ name: 't', inputSchema: { type: 'object' }, _meta: { ...meta, other: 1 } })
  const off = storedServer('alpha', [tool('t', { definition })], { settings: { url: 'http://a.test', apps: false } })
  const catalog = catalogOf([off], '1', [storedGroup('g', { included_servers: ['alpha'], tool_names: 'bare' })])
  for (const scope of [globalScope(catalog), scopeAt(catalog, 'g')]) {
    const [entry] = listed(scope, 'tool') as { _meta?: unknown }[]
    assert.deepEqual(entry!._meta, { ui: { visibility: ['app'] }, other: 1 })
  }
})

test('REST finds an interface by its address whether enabled or not, and by its own URI if only one server has it', () => {
  const find = (catalog: Catalog, uri: string) => anyByUri(catalog, 'resource', uri)?.server.name
  const two = catalogOf([apps('alpha', [CHART], { enabled: false }), apps('beta')])
  assert.deepEqual([find(two, 'ui://alpha/chart/app.html'), find(two, 'ui://beta/chart/app.html')], ['alpha', 'beta'])
  assert.equal(find(two, CHART), 'beta')
  const off = catalogOf([apps('alpha', [CHART], { enabled: false }), apps('beta', [CHART], { enabled: false })])
  assert.equal(find(off, CHART), undefined)
  assert.equal(
    find(catalogOf([apps('alpha', ['ui://beta/x'], { enabled: false }), apps('beta')]), 'ui://beta/x'),
    undefined
  )
})
