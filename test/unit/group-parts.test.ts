import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllowList } from '../../src/domain/policy/allow-list.ts'
import { bindingOf } from '../../src/catalog/compiled-override.ts'
import { buildCatalog, createCatalogCache, type DecryptLocks } from '../../src/catalog/catalog.ts'
import { partsOf } from '../../src/catalog/group-parts.ts'
import { scopeAt, type Scope } from '../../src/catalog/scope.ts'
import { budgetOf } from '../../src/catalog/token-budget.ts'
import type { ToolOverrides } from '../../src/domain/overrides/tool-overrides.ts'
import type { StoredGroup, StoredItem, StoredServer } from '../../src/registry/model/model.ts'
import { catalogOf, resource, stateOf, storedGroup, storedServer, tool } from './stored.ts'

const withText = (name: string, properties: object = { a: { type: 'string' } }, more: object = {}) =>
  tool(name, {
    definition: JSON.stringify({ name, description: name, inputSchema: { type: 'object', properties }, ...more })
  })

const groupOf = (tools: ToolOverrides, more: Partial<StoredGroup> = {}) =>
  storedGroup('g', { included_servers: ['a', 'b'], tools, ...more })
const servers = (b: readonly StoredItem[] = [withText('x')]) => [
  storedServer('a', [withText('x'), withText('y')]),
  storedServer('b', b)
]
const namesOf = (scope: Scope) =>
  scope
    .listings('tool')
    .flatMap(({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as { name: string }[])
    .map(({ name }) => name)
const withheld = (all: readonly StoredServer[], group: StoredGroup) => {
  const catalog = catalogOf(all, '7', [group])
  return partsOf(catalog, catalog.group('g')!).withheld.map(({ tool: name }) => name)
}
const scopeOf = (all: readonly StoredServer[], group: StoredGroup, permit?: Parameters<typeof scopeAt>[2]) =>
  scopeAt(catalogOf(all, '7', [group]), 'g', permit)

test('a name that a group gives wins over the tool that a server adds later, which is withheld and broken', () => {
  const group = groupOf({ a__x: { name: 'b__new' } })
  assert.deepEqual(namesOf(scopeOf(servers(), group)), ['b__new', 'a__y', 'b__x'])
  const later = servers([withText('x'), withText('new')])
  const scope = scopeOf(later, group)
  assert.deepEqual(namesOf(scope), ['b__new', 'a__y', 'b__x'])
  assert.equal(scope.find('tool', 'b__new')?.publicName, 'a__x')
  assert.equal(scope.find('tool', 'a__x'), undefined)
  assert.deepEqual(withheld(later, group), ['b__new'])
  // a renamed tool leaves its usual name to others
  const both = groupOf({ a__x: { name: 'b__new' }, b__new: { name: 'other' } })
  assert.deepEqual(namesOf(scopeOf(later, both)), ['b__new', 'a__y', 'b__x', 'other'])
  assert.deepEqual(withheld(later, both), [])
  const text = groupOf({ b__new: { title: 'T' }, a__x: { name: 'b__new' } })
  assert.deepEqual(withheld(later, text), ['b__new'])
  // tools that the endpoint does not list take no name
  assert.deepEqual(withheld(later, groupOf({ a__x: { name: 'b__new' } }, { excluded_tools: ['b__new'] })), [])
  const off = servers([withText('x'), { ...withText('new'), enabled: false }])
  assert.deepEqual(withheld(off, group), [])
})

test('what is withheld with a server that another catalog has as well is listed there', () => {
  const cache = createCatalogCache()
  const group = groupOf({ a__x: { name: 'b__x' } })
  const [a, b] = servers() as [StoredServer, StoredServer]
  const of = (version: string, all: StoredServer[]) =>
    namesOf(scopeAt(buildCatalog(stateOf(version, { servers: all, groups: [group] }), cache), 'g'))
  assert.deepEqual(of('1', [a, b]), ['b__x', 'a__y'])
  assert.deepEqual(of('2', [storedServer('a', [withText('y')], { revision: '2' }), b]), ['a__y', 'b__x'])
  assert.deepEqual(of('3', [a, b]), ['b__x', 'a__y'])
})

test('servers whose tools have no override share their ready bytes with the group', () => {
  const catalog = catalogOf(servers(), '7', [groupOf({ a__x: { title: 'T' } })])
  const [a, b] = scopeAt(catalog, 'g').listings('tool')
  assert.notEqual(a, catalog.server('a')!.listing('tool'))
  assert.equal(b, catalog.server('b')!.listing('tool'))
})

test('overrides of tools that the group does not serve change nothing', () => {
  for (const name of ['a__gone', 'c__x', 'nothing', '']) {
    const scope = scopeOf(servers(), groupOf({ [name]: { name: 'a__y' } }))
    assert.deepEqual(namesOf(scope), ['a__x', 'a__y', 'b__x'])
    assert.equal(scope.find('tool', 'a__y')?.name, 'y')
  }
  const excluded = groupOf({ a__x: { name: 'a__y' } }, { excluded_tools: ['a__x'] })
  assert.deepEqual(namesOf(scopeOf(servers(), excluded)), ['a__y', 'b__x'])
})

test('a renamed tool stays within the permit of its server', () => {
  const group = groupOf({ a__x: { name: 'plus' }, b__x: { name: 'minus' } })
  const scope = scopeOf(servers(), group, parseAllowList(['b']))
  assert.deepEqual(namesOf(scope), ['minus'])
  for (const name of ['plus', 'a__x', 'b__x']) assert.equal(scope.find('tool', name), undefined)
  assert.equal(scope.renamed('plus')?.publicName, 'a__x')
  assert.equal(scope.renamed('a__y'), undefined)
})

test('tools of a bare group can have other names as well', () => {
  const group = groupOf({ a__x: { name: 'plus' } }, { included_servers: ['a'], tool_names: 'bare' })
  const scope = scopeOf(servers(), group)
  assert.deepEqual(namesOf(scope), ['plus', 'y'])
  assert.equal(scope.find('tool', 'plus')?.name, 'x')
  for (const name of ['x', 'a__x', 'a__plus']) assert.equal(scope.find('tool', name), undefined)
  const taken = groupOf({ a__x: { name: 'y' } }, { included_servers: ['a'], tool_names: 'bare' })
  assert.deepEqual(namesOf(scopeOf(servers(), taken)), ['y'])
  assert.deepEqual(withheld(servers(), taken), ['a__y'])
})

test('an interface calls its own tools by the names at its server, with the override', () => {
  const _meta = { ui: { resourceUri: 'ui://chart/app.html' } }
  const all = [storedServer('a', [resource('ui://chart/app.html'), withText('x', { a: {} }, { _meta }), withText('y')])]
  const scope = scopeOf(all, groupOf({ a__x: { name: 'plus', arguments: { a: { lock: 1 } } } }))
  const item = scope.find('tool', 'x')!
  assert.equal(item.publicName, 'a__x')
  assert.equal(scope.overrideOf(item)?.editArguments?.('{}'), '{"a":1}')
  assert.equal(scope.find('tool', 'a__x'), undefined)
})

test('locks and enums withhold a tool that no longer fits them; defaults and texts are left out', () => {
  const one = (properties: object) => [storedServer('a', [withText('x', properties)]), storedServer('b', [])]
  const known = { n: { type: 'number' }, s: { type: 'string' } }
  const saved = (override: ToolOverrides[string]) => {
    const item = catalogOf(one(known)).server('a')!.find('tool', 'x')!
    return groupOf({ a__x: override }, { bindings: { a__x: bindingOf(item, override) } })
  }
  const locked = saved({ arguments: { n: { lock: 1 } } })
  const narrowed = saved({ arguments: { s: { enum: ['a'] } } })
  const soft = saved({ name: 'soft', arguments: { n: { default: 1 }, s: { description: 'S' } } })
  for (const group of [locked, narrowed, soft]) assert.deepEqual(withheld(one(known), group), [])
  for (const group of [locked, narrowed]) {
    assert.deepEqual(withheld(one({}), group), ['a__x'])
    assert.deepEqual(withheld(one({ n: {}, s: {} }), group), ['a__x'])
    assert.deepEqual(withheld([storedServer('a', [tool('x')]), storedServer('b', [])], group), ['a__x'])
  }
  const scope = scopeOf(one({ n: { type: 'string' } }), soft)
  assert.deepEqual(namesOf(scope), ['soft'])
  assert.equal(scope.overrideOf(scope.find('tool', 'soft')!)!.editArguments, undefined)
})

test('a tool whose secret is not known is withheld, and the rest of the group is served', () => {
  const group = groupOf({ a__x: { arguments: { a: { lock: { secret: '***' } } } } }, { sealed: Buffer.from('sealed') })
  const refuse: DecryptLocks = () => {
    throw new Error('cannot be decrypted')
  }
  for (const decrypt of [refuse, () => ({}), () => ({ a__x: {} })] as DecryptLocks[]) {
    const state = stateOf('7', { servers: servers(), groups: [group] })
    const catalog = buildCatalog(state, createCatalogCache(), undefined, undefined, decrypt)
    const scope = scopeAt(catalog, 'g')
    assert.deepEqual(namesOf(scope), ['a__y', 'b__x'])
    assert.equal(scope.find('tool', 'a__x'), undefined)
    const [broken] = partsOf(catalog, catalog.group('g')!).withheld
    assert.match(broken!.reason, /secrets cannot be decrypted/)
  }
})

test('tokens are counted before and after the overrides, with the names of the endpoint', () => {
  const { tools, tokens, before } = budgetOf(scopeOf(servers(), groupOf({ a__x: { description: 'd'.repeat(400) } })))
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['a__x', 'a__y', 'b__x']
  )
  assert.equal(tokens - before, tools[0]!.tokens - tools[0]!.before)
  assert.ok(tokens - before >= 99 && tokens - before <= 101)
})
