import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Catalog } from '../../src/gateway/catalog.ts'
import { listPage } from '../../src/gateway/downstream/list-page.ts'
import { globalScope } from '../../src/gateway/scope.ts'
import { catalogOf, storedServer, tool } from './stored.ts'

const tools = (count: number) => Array.from({ length: count }, (_, i) => tool(`t${i}ü`))
const namesOf = (pieces: readonly Buffer[]) =>
  (JSON.parse(`[${Buffer.concat(pieces).toString()}]`) as { name: string }[]).map(({ name }) => name)

/** All pages, by their sizes, and the names on them. */
function walk(catalog: Catalog) {
  const sizes: number[] = []
  const names: string[] = []
  for (let index: number | undefined = 0; index !== undefined;) {
    const { pieces, next } = listPage(globalScope(catalog), 'tool', index)
    const page = namesOf(pieces)
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
  assert.deepEqual(listPage(globalScope(catalog), 'tool', 3), { pieces: [], next: undefined })
})

test('pages are cut from the bytes of the catalog, not copied', () => {
  const catalog = catalogOf([storedServer('a', tools(1_500))])
  const { bytes } = catalog.server('a')!.listing('tool')
  const { pieces } = listPage(globalScope(catalog), 'tool', 1_000)
  assert.equal(pieces[0]!.buffer, bytes.buffer)
})
