import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCatalog, createCatalogCache, type Catalog } from '../../src/catalog/catalog.ts'
import { createListingCache } from '../../src/catalog/list-cache.ts'
import { globalScope, scopeAt, scopeFor } from '../../src/catalog/scope.ts'
import type { ItemKind, StoredGroup, StoredItem } from '../../src/registry/model/model.ts'
import { catalogOf, prompt, resource, stateOf, storedGroup, storedServer, template, tool } from './stored.ts'

const off = { enabled: false }
const early = { registeredAt: '2026-01-01T00:00:00.000Z' }
const late = { registeredAt: '2026-02-01T00:00:00.000Z' }

const servers = () => [
  storedServer('a', [tool('x'), tool('y'), tool('z', off), prompt('p'), resource('a://1'), template('a://{t}')], late),
  storedServer('b', [tool('x'), tool('y'), prompt('p'), resource('b://1'), resource('same://1')], early),
  storedServer('c', [tool('x'), prompt('p'), resource('same://1')], late)
]
const withGroup = (more: Partial<StoredGroup>, items = servers()) => {
  const catalog = catalogOf(items, '7', [storedGroup('g', more)])
  return { catalog, scope: scopeAt(catalog, 'g') }
}
const listed = (catalog: Catalog, kind: ItemKind, group = 'g') =>
  scopeAt(catalog, group)
    .listings(kind)
    .flatMap(({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as Record<string, string>[])
const names = (catalog: Catalog, kind: ItemKind, group?: string) =>
  listed(catalog, kind, group).map(({ name, uri, uriTemplate }) => uri ?? uriTemplate ?? name)

test('a group of picked tools lists and finds these alone, in order of server and upstream, and nothing of another kind', () => {
  const { catalog, scope } = withGroup({ included_tools: ['c__x', 'a__y', 'a__x', 'a__z', 'a__gone', 'nobody__x'] })
  assert.deepEqual(names(catalog, 'tool'), ['a__x', 'a__y', 'c__x'])
  for (const name of ['a__x', 'a__y', 'c__x']) assert.equal(scope.find('tool', name)?.publicName, name)
  for (const name of ['a__z', 'a__gone', 'b__x', 'nobody__x', 'x', ''])
    assert.equal(scope.find('tool', name), undefined)
  for (const kind of ['prompt', 'resource', 'template'] as const) assert.deepEqual(names(catalog, kind), [])
  assert.equal(scope.find('prompt', 'a__p'), undefined)
  assert.equal(scope.resolve('a://1'), undefined)
  assert.equal(scope.resolve('towpath://a/a://1'), undefined)
  assert.equal(scope.resolve('a://anything'), undefined)
  assert.equal(scope.resolveTemplate('a://{t}'), undefined)
})

test('a group of whole servers serves their prompts, resources and templates too, and of no other server', () => {
  const { catalog, scope } = withGroup({ included_servers: ['a'], included_tools: ['b__x'] })
  assert.deepEqual(names(catalog, 'tool'), ['a__x', 'a__y', 'b__x'])
  assert.deepEqual(names(catalog, 'prompt'), ['a__p'])
  assert.deepEqual(names(catalog, 'resource'), ['a://1'])
  assert.deepEqual(names(catalog, 'template'), ['a://{t}'])
  assert.equal(scope.find('prompt', 'a__p')?.name, 'p')
  assert.equal(scope.find('prompt', 'b__p'), undefined)
  assert.equal(scope.resolve('a://1')?.server.name, 'a')
  assert.equal(scope.resolve('a://5')?.server.name, 'a')
  assert.equal(scope.resolve('other://1')?.server.name, 'a', 'the only server that can be meant')
  assert.equal(scope.resolve('b://1'), undefined, "another server's, which is not here")
  assert.equal(scope.resolve('towpath://b/b://1')?.server.name, 'a', 'no alias of a server that is not here')
  assert.equal(scope.resolve('towpath://a/a://1')?.form, 'alias')
})

test('exclusion wins over both ways in, for calls as for lists', () => {
  const { catalog, scope } = withGroup({
    included_servers: ['a', 'b'],
    included_tools: ['a__x', 'c__x'],
    excluded_tools: ['a__x', 'c__x', 'b__gone']
  })
  assert.deepEqual(names(catalog, 'tool'), ['a__y', 'b__x', 'b__y'])
  for (const name of ['a__x', 'c__x']) assert.equal(scope.find('tool', name), undefined)
  assert.deepEqual(
    scope.servers.map(({ name }) => name),
    ['a', 'b']
  )
})

test('who collides is judged among the servers of the group', () => {
  const both = withGroup({ included_servers: ['b', 'c'] })
  assert.deepEqual(names(both.catalog, 'resource'), ['b://1', 'same://1', 'towpath://c/same://1'])
  assert.equal(both.scope.resolve('same://1')?.server.name, 'b')
  const one = withGroup({ included_servers: ['c'], included_tools: ['b__x'] })
  assert.deepEqual(names(one.catalog, 'resource'), ['same://1'])
  assert.equal(one.scope.resolve('same://1')?.server.name, 'c')
})

test('a disabled server and a group that is not there serve nothing', () => {
  const items = servers().map((server) => (server.name === 'a' ? { ...server, ...off } : server))
  const { catalog, scope } = withGroup({ included_servers: ['a'], included_tools: ['a__x'] }, items)
  assert.deepEqual([scope.servers, names(catalog, 'tool'), names(catalog, 'prompt')], [[], [], []])
  assert.equal(scope.find('tool', 'a__x'), undefined)
  const gone = scopeAt(catalog, 'gone')
  assert.deepEqual([gone.servers, names(catalog, 'tool', 'gone')], [[], []])
  assert.equal(gone.find('tool', 'b__x'), undefined)
  assert.equal(gone.resolve('b://1'), undefined)
})

const bare = (more: Partial<StoredGroup> = {}) => ({ included_servers: ['a'], tool_names: 'bare' as const, ...more })

test('a bare group lists and finds its server’s own names; qualified ones are names of nothing there', () => {
  const { catalog, scope } = withGroup(bare({ excluded_tools: ['a__y'] }))
  assert.deepEqual([names(catalog, 'tool'), names(catalog, 'prompt')], [['x'], ['p']])
  assert.equal(scope.find('tool', 'x')?.publicName, 'a__x')
  assert.equal(scope.find('prompt', 'p')?.publicName, 'a__p')
  for (const name of ['a__x', 'y', 'z', 'b__x', '']) assert.equal(scope.find('tool', name), undefined, name)
  assert.equal(scope.find('prompt', 'a__p'), undefined)
})

test('definitions of a bare group are those of the upstream, byte for byte, but for what is never listed', () => {
  const definition = '{ "na\\u006de" : "x", "n":12345678901234567890, "inputSchema": {"type":"object"} }'
  const tasks = '{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}'
  const items = [tool('x', { definition }), tool('t', { definition: tasks }), prompt('p', { definition })]
  const { scope } = withGroup(bare(), [storedServer('a', items)])
  assert.equal(
    Buffer.concat(scope.listings('tool').map(({ bytes }) => bytes)).toString(),
    `${definition},{"name":"t","inputSchema":{"type":"object"}}`
  )
  assert.equal(scope.listings('prompt')[0]!.bytes.toString(), definition)
})

test('resources of a bare group keep their URIs, also where they look like an alias', () => {
  const items = [resource('towpath://a/x://1'), resource('a://1'), template('towpath://a/{t}')]
  const { catalog, scope } = withGroup(bare(), [storedServer('a', items)])
  assert.deepEqual(names(catalog, 'resource'), ['towpath://a/x://1', 'a://1'])
  assert.deepEqual(names(catalog, 'template'), ['towpath://a/{t}'])
  for (const uri of ['towpath://a/x://1', 'a://1', 'towpath://a/a://1']) {
    const target = scope.resolve(uri)
    assert.deepEqual([target?.uri, target?.form], [uri, 'own'])
  }
  assert.equal(scope.resolveTemplate('towpath://a/{t}')?.uri, 'towpath://a/{t}')
})

test('a whole server shares its ready listing, and groups of the same content share everything', () => {
  const same = { included_tools: ['a__x', 'b__y'], included_servers: ['c'] }
  const groups = [
    storedGroup('one', same),
    storedGroup('two', { ...same, included_tools: ['b__y', 'a__x'], description: 'other' }),
    storedGroup('three', { included_tools: ['a__x'] })
  ]
  const catalog = catalogOf(servers(), '7', groups)
  const [one, two, three] = ['one', 'two', 'three'].map((name) => scopeAt(catalog, name))
  assert.equal(one, two)
  assert.notEqual(one, three)
  assert.equal(one!.listings('tool')[2], catalog.server('c')!.listing('tool'))
  assert.equal(one!.listings('tool')[0], three!.listings('tool')[0])
  assert.notEqual(scopeFor(catalog), one)
})

test('what did not change keeps its listing from catalog to catalog, also with another group beside it', () => {
  const cache = createCatalogCache()
  const stored = servers()
  const group = storedGroup('g', { included_tools: ['a__x'] })
  const before = buildCatalog(stateOf('1', { servers: stored, groups: [group] }), cache)
  const [, ...others] = stored
  const after = buildCatalog(
    stateOf('2', {
      servers: [stored[0]!, ...others.map((each) => ({ ...each }))],
      groups: [storedGroup('f'), group]
    }),
    cache
  )
  assert.equal(scopeAt(after, 'g').listings('tool')[0], scopeAt(before, 'g').listings('tool')[0])
  assert.equal(after.group('g'), before.group('g'))
})

test('100 groups over 2,000 tools hold no more bytes than the cache may', () => {
  const many: StoredItem[] = Array.from({ length: 2_000 }, (_, i) =>
    tool(`t${i}`, {
      definition: JSON.stringify({ name: `t${i}`, description: 'd'.repeat(400), inputSchema: { type: 'object' } })
    })
  )
  const groups = Array.from({ length: 100 }, (_, i) =>
    storedGroup(`g${String(i).padStart(3, '0')}`, { included_servers: ['a'], excluded_tools: [`a__t${i}`] })
  )
  const listings = createListingCache(2_000_000)
  const catalog = buildCatalog(stateOf('1', { servers: [storedServer('a', many)], groups }), {
    ...createCatalogCache(),
    listings
  })
  for (const { stored } of catalog.groups) {
    const [listing] = scopeAt(catalog, stored.name).listings('tool')
    assert.equal(listing!.ends.length, 1_999)
    assert.ok(listings.bytes <= 2_000_000)
  }
  const first = scopeAt(catalog, 'g000')
  assert.equal(first.find('tool', 'a__t0'), undefined)
  assert.equal(first.find('tool', 'a__t1')?.name, 't1')
  assert.equal(names(catalog, 'tool', 'g000').includes('a__t0'), false)
})

test('the global scope is the same with groups as without', () => {
  const { catalog } = withGroup({ included_tools: ['a__x'], excluded_tools: ['b__x'] })
  const plain = catalogOf(servers())
  for (const kind of ['tool', 'prompt', 'resource', 'template'] as const) {
    assert.deepEqual(globalScope(catalog).listings(kind), globalScope(plain).listings(kind))
  }
})
