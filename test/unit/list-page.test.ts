import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noServers } from '../../src/domain/policy/allow-list.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { listPage } from '../../src/mcp/messages/list-page.ts'
import { globalScope, scopeAt, scopeFor } from '../../src/catalog/scope.ts'
import type { ItemKind, StoredServer } from '../../src/registry/model/model.ts'
import { catalogOf, prompt, storedGroup, storedServer, tool } from './stored.ts'

/** Tools with a two-byte character in each definition: pages are counted in tools and limited in bytes. */
const tools = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    tool(`t${i}`, { definition: JSON.stringify({ name: `t${i}`, description: 'ü', inputSchema: { type: 'object' } }) })
  )
const namesOf = (bytes: Buffer) => (JSON.parse(`[${bytes.toString()}]`) as { name: string }[]).map(({ name }) => name)

/** Returns the sizes of all pages, and the names on them. */
function walk(catalog: Catalog) {
  const sizes: number[] = []
  const names: string[] = []
  for (let index: number | undefined = 0; index !== undefined;) {
    const { bytes, next } = listPage(globalScope(catalog), 'tool', index)
    const page = namesOf(bytes)
    sizes.push(page.length)
    names.push(...page)
    index = next
  }
  return { sizes, names }
}

test('2,500 tools of three servers make pages of 1,000, each tool once, in order', () => {
  const counts = { a: 900, b: 1_300, c: 300 }
  const catalog = catalogOf(Object.entries(counts).map(([name, count]) => storedServer(name, tools(count))))
  const { sizes, names } = walk(catalog)
  assert.deepEqual(sizes, [1_000, 1_000, 500])
  const expected = Object.entries(counts).flatMap(([name, count]) =>
    tools(count).map((each) => `${name}__${each.name}`)
  )
  assert.deepEqual(names, expected)
})

test('no page is empty and none is missing where a page ends with a server', () => {
  const sizesOf = (...counts: number[]) =>
    walk(catalogOf(counts.map((count, i) => storedServer(`s${i}`, tools(count))))).sizes
  assert.deepEqual(sizesOf(1_000), [1_000])
  assert.deepEqual(sizesOf(1_000, 0, 0), [1_000])
  assert.deepEqual(sizesOf(1_000, 0, 1), [1_000, 1])
  assert.deepEqual(sizesOf(500, 500, 1_000), [1_000, 1_000])
  assert.deepEqual(sizesOf(0, 1_001), [1_000, 1])
  assert.deepEqual(sizesOf(999, 2), [1_000, 1])
  assert.deepEqual(sizesOf(...Array.from({ length: 1_001 }, () => 1)), [1_000, 1])
  assert.deepEqual(sizesOf(), [0])
  assert.deepEqual(sizesOf(0), [0])
})

test('past the end there is nothing', () => {
  const catalog = catalogOf([storedServer('a', tools(3))])
  assert.deepEqual(listPage(globalScope(catalog), 'tool', 3), { bytes: Buffer.alloc(0), next: undefined })
})

test('a page of one server is cut from the bytes of the catalog, not copied', () => {
  const catalog = catalogOf([storedServer('a', tools(1_500))])
  const { bytes } = catalog.server('a')!.listing('tool')
  const page = listPage(globalScope(catalog), 'tool', 1_000)
  assert.equal(page.bytes.buffer, bytes.buffer)
})

const grouped = (catalog: Catalog, group: string, kind: ItemKind = 'tool', index = 0) =>
  listPage(scopeAt(catalog, group), kind, index)

test('a page is made once for all who see the same, of each kind and place, and anew for another catalog', () => {
  const servers = [storedServer('a', tools(1_200)), storedServer('b', [...tools(3), prompt('p')])]
  const groups = [
    storedGroup('one', { included_servers: ['a', 'b'] }),
    storedGroup('same', { included_servers: ['b', 'a'] }),
    storedGroup('other', { included_servers: ['a', 'b'], excluded_tools: ['a__t7'] }),
    storedGroup('bare', { included_servers: ['b'], tool_names: 'bare' }),
    storedGroup('qualified', { included_servers: ['b'] })
  ]
  const catalog = catalogOf(servers, '7', groups)
  const page = grouped(catalog, 'one', 'tool', 1_000)
  assert.equal(grouped(catalog, 'one', 'tool', 1_000), page)
  assert.equal(grouped(catalog, 'same', 'tool', 1_000), page)
  assert.equal(namesOf(page.bytes).length, 203)
  assert.equal(namesOf(grouped(catalog, 'other', 'tool', 1_000).bytes).length, 202)
  assert.equal(namesOf(grouped(catalog, 'one').bytes).length, 1_000)
  assert.deepEqual(namesOf(grouped(catalog, 'one', 'prompt').bytes), ['b__p'])
  assert.deepEqual(namesOf(grouped(catalog, 'bare').bytes), ['t0', 't1', 't2'])
  assert.deepEqual(namesOf(grouped(catalog, 'qualified').bytes), ['b__t0', 'b__t1', 'b__t2'])
  assert.deepEqual(namesOf(listPage(scopeFor(catalog, undefined, noServers), 'tool', 0).bytes), [])

  const [first, second] = servers as [StoredServer, StoredServer]
  const next = catalogOf([first, { ...second, items: tools(2) }], '8', groups)
  assert.equal(namesOf(grouped(next, 'one', 'tool', 1_000).bytes).length, 202)
  assert.equal(grouped(catalog, 'one', 'tool', 1_000), page)
})

test('pages that many groups make of many tools are held within bounds', () => {
  const count = 1_000
  const definition = { name: 'large', description: 'd'.repeat(1_000_000), inputSchema: { type: 'object' } }
  const large = tool('large', { definition: JSON.stringify(definition) })
  const servers = [storedServer('a', [large]), storedServer('b', tools(count))]
  const groups = Array.from({ length: 100 }, (_, i) =>
    storedGroup(`g${i}`, { included_servers: ['a', 'b'], excluded_tools: [`b__t${i}`] })
  )
  const catalog = catalogOf(servers, '7', groups)
  for (const { stored } of catalog.groups) {
    assert.equal(namesOf(grouped(catalog, stored.name).bytes).length, count)
    assert.ok(catalog.pages.calculatedSize <= 33_554_432, String(catalog.pages.calculatedSize))
  }
  assert.ok(catalog.pages.calculatedSize > 30_000_000, String(catalog.pages.calculatedSize))
})
