import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCatalog, listEntry } from '../../src/catalog/catalog.ts'
import { definitionProblem } from '../../src/catalog/items/definition.ts'
import { itemRecords } from '../../src/control/item-records.ts'
import { wholeView } from '../../src/control/rest-view.ts'
import { globalScope } from '../../src/catalog/scope.ts'
import { withoutLoneSurrogates } from '../../src/json/surrogates.ts'
import type { ItemKind, StoredItem, StoredServer } from '../../src/registry/model/model.ts'
import { catalogOf, stateOf, storedClient, storedGroup, storedItem, storedServer } from './stored.ts'

const kinds = ['tool', 'prompt', 'resource', 'template'] as const

test('SR-C1 a definition is one JSON object with each member once, and nothing else', () => {
  const good = ['{}', '{"a":[{"b":1},{"b":2}],"b":{"a":{"a":"\\"a\\":1"}}}', ' {"a" : "\\u00e9\\/" } '.trim()]
  for (const text of good) assert.equal(definitionProblem(text), undefined, text)
  const bad = [
    '',
    '[]',
    '"a"',
    'null',
    '{}{}',
    '{"a":1',
    '{"a":"\t"}',
    '{"a":"\\x"}',
    '{"a":1,"a":1}',
    '{"a":[{"":1,"":1}]}'
  ]
  for (const text of bad) assert.ok(definitionProblem(text), text)
})

test('SR-H3 a definition of more than a hundred thousand members and elements is left out, whatever holds them', () => {
  const numbers = Array.from({ length: 100_002 }, (_, i) => i)
  const object = `{${numbers.map((i) => `"${i}":0`).join(',')}}`
  for (const text of [object, `{"execution":${object}}`, `{"inputSchema":{"enum":[${numbers.join(',')}]}}`]) {
    assert.equal(definitionProblem(text)?.code, 'too_large', text.slice(0, 40))
  }
})

test('SR-C1 halves of surrogate pairs become U+FFFD, everything else stays byte for byte', () => {
  const cases = [
    ['"\\ud83d\\ude00"', '"\\ud83d\\ude00"'],
    ['"\\uD83D\\uDE00\\u00e9"', '"\\uD83D\\uDE00\\u00e9"'],
    ['"\\ud83d"', '"\\ufffd"'],
    ['"\\ude00\\ud83d"', '"\\ufffd\\ufffd"'],
    ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['"\\u0041\\ud83d\\ude00\\udc00"', '"\\u0041\\ud83d\\ude00\\ufffd"'],
    ['"\\\\ud83d \\\\\\ud83d"', '"\\\\ud83d \\\\\\ufffd"'],
    ['"\\ud83dx\\n\\ude00"', '"\\ufffdx\\n\\ufffd"']
  ] as const
  for (const [given, expected] of cases) assert.equal(withoutLoneSurrogates(given), expected)
})

/** Definitions that version 0.1 may have stored. */
const poisons = [
  '{"KEY":"bad","description":"\\q"}',
  '{"KEY":"bad","description":"x-mcp-header \\q"}',
  '{"KEY":"bad","description":"a\nb"}',
  '{"KEY":"bad","execution":{"taskSupport":"\\q"}}',
  '{"KEY":"bad","inputSchema":{"x-mcp-header":nope}}',
  '{"KEY":"bad","inputSchema":{"type":"object"}',
  '{"KEY":"bad","KEY":"other"}',
  'nothing at all',
  ''
]
const keys: Record<ItemKind, string> = {
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  template: 'uriTemplate',
  skill: 'uri'
}

for (const transport of ['streamable_http', 'sse', 'stdio'] as const) {
  test(`SR-C1 a stored item that cannot be used costs its ${transport} server nothing else`, () => {
    for (const poison of poisons) {
      const items = kinds.flatMap((kind): StoredItem[] => [
        storedItem(kind, 'good://1/SKILL.md'),
        storedItem(kind, 'bad', { definition: poison.replaceAll('KEY', keys[kind]) }),
        storedItem(kind, 'last://1/SKILL.md')
      ])
      const catalog = catalogOf([storedServer('a', items, { transport }), storedServer('b', [storedItem('tool', 't')])])
      const server = catalog.server('a')!
      assert.deepEqual(
        server.unusable.map(({ kind, name }) => [kind, name]),
        kinds.map((kind) => [kind, 'bad'])
      )
      for (const kind of kinds) {
        assert.deepEqual(
          server.items(kind).map(({ name }) => name),
          ['good://1/SKILL.md', 'last://1/SKILL.md']
        )
        assert.equal(
          (JSON.parse(itemRecords(wholeView(catalog), kind).toString()) as unknown[]).length,
          kind === 'tool' ? 3 : 2
        )
        for (const item of server.items(kind)) JSON.parse(listEntry(item))
        for (const { bytes } of globalScope(catalog).listings(kind)) JSON.parse(`[${bytes.toString()}]`)
      }
      assert.deepEqual(catalog.faults, [])
    }
  })
}

test('SR-C1 an accepted text that cannot be used is still another one than the present', () => {
  const item = storedItem('tool', 't', { accepted: '{"name":"t","description":"\\q"}' })
  assert.equal(
    catalogOf([storedServer('a', [item])])
      .server('a')!
      .items('tool')[0]!.stored.accepted,
    '{}'
  )
})

test('SR-C1 whatever of the state cannot be read is not served and named, all else is', () => {
  const broken = { ...storedServer('broken', []), items: null } as unknown as StoredServer
  const group = { ...storedGroup('g'), included_tools: null, included_servers: null } as never
  const client = { ...storedClient('bad'), allowed_servers: null } as never
  const good = storedServer('good', [storedItem('tool', 't')])
  const catalog = buildCatalog(
    stateOf('9', {
      servers: [broken, good],
      groups: [group, storedGroup('h')],
      principals: [client, storedClient('c')]
    })
  )
  assert.deepEqual(
    catalog.faults.map(({ subject }) => subject),
    ['server "broken"', 'tool group "g"', 'principal "bad"']
  )
  assert.equal(catalog.server('broken')!.items('tool').length, 0)
  assert.equal(catalog.server('good')!.items('tool').length, 1)
  assert.deepEqual(
    [catalog.groups.map(({ stored }) => stored.name), catalog.principals.map(({ stored }) => stored.name)],
    [['h'], ['c']]
  )
})
