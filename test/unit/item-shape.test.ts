import assert from 'node:assert/strict'
import { test } from 'node:test'
import { specTypeSchemas } from '@modelcontextprotocol/client'
import * as legacy from '@modelcontextprotocol/sdk/types.js'
import { listEntry } from '../../src/catalog/catalog.ts'
import { shapeProblem, unlistedMembers } from '../../src/catalog/items/item-shape.ts'
import { withMembers } from '../../src/json/json.ts'
import type { ItemKind } from '../../src/registry/model/model.ts'
import { catalogOf, storedItem, storedServer } from './stored.ts'

const common = {
  title: 'T',
  description: 'D',
  icons: [{ src: 'https://icon.test/', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }],
  _meta: { any: 1 }
}
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-02-28T12:00:00.5+01:00' }
const schema = { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'], more: [1] }
const hints = { title: 't', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

/** Kinds of the base protocol; `skill-entry.test.ts` has the others. */
type BaseKind = Exclude<ItemKind, 'skill'>

/** Definitions with every member defined by MCP. */
const full: Readonly<Record<BaseKind, object>> = {
  tool: {
    name: 'n',
    ...common,
    inputSchema: schema,
    outputSchema: schema,
    annotations: hints,
    execution: {},
    other: null
  },
  prompt: { name: 'n', ...common, arguments: [{ name: 'a', description: 'd', required: true }], other: null },
  resource: { uri: 'x://n', name: 'n', ...common, mimeType: 'a/b', size: 5, annotations, other: null },
  template: { uriTemplate: 'x://{n}', name: 'n', ...common, mimeType: 'a/b', annotations, other: null }
}

interface Schema {
  safeParse(value: unknown): { success: boolean }
}
const first: Readonly<Record<BaseKind, Schema>> = {
  tool: legacy.ToolSchema,
  prompt: legacy.PromptSchema,
  resource: legacy.ResourceSchema,
  template: legacy.ResourceTemplateSchema
}
const second = {
  tool: specTypeSchemas.Tool,
  prompt: specTypeSchemas.Prompt,
  resource: specTypeSchemas.Resource,
  template: specTypeSchemas.ResourceTemplate
}

/** Returns true if clients of both SDKs accept an item. */
function isTaken(kind: BaseKind, text: string): boolean {
  const item: unknown = JSON.parse(text)
  const outcome = second[kind]['~standard'].validate(item) as { issues?: readonly unknown[] }
  return first[kind].safeParse(item).success && outcome.issues === undefined
}

const others: readonly unknown[] = [
  undefined,
  null,
  true,
  5,
  -1,
  2,
  '',
  'x',
  '2026-02-30T12:00:00Z',
  '2026-02-28T12:00Z',
  '2026-02-28',
  '2024-02-29T00:00:00Z',
  [],
  [5],
  ['x'],
  [null],
  [{}],
  {},
  { type: 'array' },
  { type: 'object' },
  { a: true },
  { a: null }
]

/** Yields the value with one place replaced at a time. */
function* mutants(value: unknown): Generator<unknown> {
  yield* others
  if (typeof value !== 'object' || value === null) return
  const entries: [string, unknown][] = Object.entries(value)
  for (const [key, part] of entries) {
    for (const other of mutants(part)) {
      if (!Array.isArray(value)) yield { ...value, [key]: other }
      else if (other !== undefined) yield value.with(Number(key), other)
    }
  }
}

const kinds = ['tool', 'prompt', 'resource', 'template'] as const

for (const kind of kinds) {
  test(`SR-C1 a ${kind} is listed if and only if clients of both SDKs take the list that it stands in`, () => {
    let [taken, refused] = [0, 0]
    for (const item of [full[kind], ...mutants(full[kind])]) {
      if (typeof item !== 'object' || item === null || Array.isArray(item)) continue
      const text = JSON.stringify(item)
      const problem = shapeProblem(kind, text)
      const listed = problem ? text : withMembers(text, unlistedMembers(kind, text))
      assert.equal(problem === undefined, isTaken(kind, listed), `${text} ${problem?.reason}`)
      if (!problem) taken++
      else {
        refused++
        assert.equal(problem.code, 'shape', text)
        assert.match(problem.reason, /^it has no "\w[\w.]*"$|^its "\w[\w.]*" is not valid in MCP$/, text)
      }
    }
    assert.ok(taken > 50 && refused > 200, `${taken} are taken, ${refused} are refused`)
  })
}

test('SR-C1 a stored item of the wrong shape is left out, and costs its server and the others nothing else', () => {
  const wrong = {
    tool: '{"name":"bad","description":5}',
    prompt: '{"name":"bad","arguments":[{}]}',
    resource: '{"uri":"bad"}',
    template: '{"uriTemplate":"bad","name":"n","mimeType":1}'
  }
  const items = kinds.flatMap((kind) => [
    storedItem(kind, 'good'),
    storedItem(kind, 'bad', { definition: wrong[kind] }),
    storedItem(kind, 'last')
  ])
  const server = catalogOf([storedServer('a', items)]).server('a')!
  for (const kind of kinds) {
    assert.deepEqual(
      server.items(kind).map(({ name }) => name),
      ['good', 'last'],
      kind
    )
  }
  assert.deepEqual(
    server.leftOut?.items.map(({ name, code, reason }) => [name, code, reason]),
    [
      ['bad', 'shape', 'it has no "inputSchema"'],
      ['bad', 'shape', 'it has no "arguments.0.name"'],
      ['bad', 'shape', 'it has no "name"'],
      ['bad', 'shape', 'its "mimeType" is not valid in MCP']
    ],
    'each with its reason'
  )
})

test('SR-C1 lists go without optional members that are null and without output schemas that older clients refuse', () => {
  const definition =
    '{"name":"t","title":null,"inputSchema":{"type":"object","x":1.0},"outputSchema":{"type":"array"},"mine":null}'
  const server = catalogOf([storedServer('a', [storedItem('tool', 't', { definition })])]).server('a')!
  const [item] = server.items('tool')
  assert.equal(listEntry(item!), '{"name":"a__t","inputSchema":{"type":"object","x":1.0},"mine":null}', 'the list')
  assert.equal(item!.stored.definition, definition, 'what is stored stays as it came')
})
