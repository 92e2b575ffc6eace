import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formOf, overrideOf } from '../../dashboard/src/groups/override-form.ts'
import {
  changeCount,
  draftOf,
  emptyDraft,
  groupInput,
  withoutName,
  withOverride
} from '../../dashboard/src/groups/draft.ts'
import { tokensByServer } from '../../dashboard/src/groups/tokens.ts'
import type { ToolOverride } from '../../src/domain/overrides/tool-overrides.ts'

const schema = {
  properties: { text: { type: 'string' }, n: { type: ['integer', 'null'] }, any: {}, constructor: { type: 'string' } },
  required: ['text', 'constructor']
}

test('an override comes back from its form as it was', () => {
  const overrides: ToolOverride[] = [
    { name: 'plus', title: 'T', description: 'D' },
    { annotations: { readOnlyHint: true } },
    { arguments: { text: { lock: 'a "b"' }, n: { lock: null }, any: { lock: { secret: '***' } } } },
    {
      arguments: { text: { default: 'x', enum: ['x', 'y z'], description: 'D' }, n: { enum: [1, null], default: null } }
    },
    { arguments: { any: { lock: { a: [1] } }, gone: { default: 'text' }, constructor: { lock: 'c' } } }
  ]
  for (const override of overrides) assert.deepEqual(overrideOf(formOf(schema, override)), override)
  assert.equal(overrideOf(formOf(schema)), undefined)
  assert.equal(overrideOf(formOf(undefined)), undefined)
})

test('fields of texts take texts, others JSON, and what is no JSON is told', () => {
  const { arguments: fields, ...form } = formOf(schema)
  const with_ = (name: string, change: object) =>
    overrideOf({ ...form, arguments: fields.map((each) => (each.name === name ? { ...each, ...change } : each)) })
  assert.deepEqual(with_('text', { mode: 'fixed', fixed: '5' }), { arguments: { text: { lock: '5' } } })
  assert.deepEqual(with_('n', { mode: 'fixed', fixed: '5' }), { arguments: { n: { lock: 5 } } })
  assert.deepEqual(with_('n', { choices: '1\n\n2 ' }), { arguments: { n: { enum: [1, 2] } } })
  assert.equal(with_('any', { byDefault: 'five' }), 'any: five is not JSON. Texts need quotation marks.')
  assert.deepEqual(with_('text', { mode: 'secret', secret: 's' }), { arguments: { text: { lock: { secret: 's' } } } })
  assert.deepEqual(
    fields.map(({ name, isText, isRequired }) => [name, isText, isRequired]),
    [
      ['text', true, true],
      ['n', false, false],
      ['any', false, false],
      ['constructor', true, true]
    ]
  )
})

test('a draft carries overrides, instructions and the limit, and counts their changes', () => {
  const record = {
    ...{ name: 'g', included_servers: ['a'], included_tools: [], excluded_tools: [] },
    ...{ overrides: { a__x: { name: 'y' } }, instructions: 'I', max_tokens: 100 }
  }
  const draft = draftOf(record)
  const { overrides: tools, included_tools: _tools, excluded_tools: _excluded, ...rest } = record
  assert.deepEqual(groupInput(draft), { ...rest, tools })
  assert.equal(changeCount(draft, draftOf(record)), 0)
  assert.equal(changeCount(draft, withOverride(draft, 'a__x', { name: 'z' })), 1)
  assert.equal(changeCount(draft, { ...withOverride(draft, 'a__x', undefined), max_tokens: '' }), 2)
  assert.deepEqual(withoutName(draft, 'a__x').tools, {})
  assert.deepEqual(groupInput({ ...emptyDraft, name: 'e' }), { name: 'e' })
})

test('tokens are added up by server, the dearest first', () => {
  const tool = (server: string, tokens: number, tokens_before: number) =>
    ({ name: `${server}__${tokens}`, server, reason: 'server', tokens, tokens_before }) as const
  assert.deepEqual(tokensByServer([tool('a', 1, 2), tool('b', 5, 5), tool('a', 2, 2)]), [
    { server: 'b', tokens: 5, before: 5 },
    { server: 'a', tokens: 3, before: 4 }
  ])
})
