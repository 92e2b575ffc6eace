import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionLabel, shownValue } from '../../src/domain/definitions/shown.ts'
import { diffLines, diffRows, hunksOf } from '../../src/domain/text/diff.ts'
import { indentJson } from '../../src/domain/text/indent-json.ts'

const changes = (before: string, after: string) =>
  diffLines(before, after).map(({ change, text }) => `${{ same: ' ', added: '+', removed: '-' }[change]}${text}`)

test('a diff holds the lines of both texts in their order', () => {
  assert.deepEqual(changes('a\nb\nc\nd', 'a\nx\nc\ny\nd'), [' a', '-b', '+x', ' c', '+y', ' d'])
  assert.deepEqual(changes('a', 'a'), [' a'])
  assert.deepEqual(changes('', 'a'), ['-', '+a'])
  assert.deepEqual(changes('a\na', 'a'), [' a', '-a'])
})

test('a diff of texts too long to compare tells all of it as changed', () => {
  const long = (mark: string) => Array.from({ length: 2_100 }, (_, i) => `${mark}${i}`).join('\n')
  assert.equal(diffLines(long('a'), long('b')).length, 4_200)
})

test('what changed is shown with a few lines around it, and how many are left out', () => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`)
  const hunks = hunksOf(
    diffLines(lines.join('\n'), lines.with(5, 'new').with(20, 'other').join('\n')),
    ({ change }) => change !== 'same',
    1
  )
  assert.deepEqual(
    hunks.map(({ skipped, lines: some }) => [skipped, ...some.map(({ text }) => text)]),
    [
      [4, 'line 4', 'line 5', 'new', 'line 6'],
      [12, 'line 19', 'line 20', 'other', 'line 21']
    ]
  )
})

test('two columns hold changed lines side by side, with the changed words marked', () => {
  const marked = (before: string, after: string) =>
    diffRows(before, after).map((row) =>
      [row.before, row.after].map((pieces) =>
        pieces?.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text)).join('')
      )
    )
  assert.deepEqual(marked('same\nAdds two numbers\nend', 'same\nAdds three big numbers\nend\nmore'), [
    ['same', 'same'],
    ['Adds [two] numbers', 'Adds [three big] numbers'],
    ['end', 'end'],
    [undefined, '[more]']
  ])
  assert.deepEqual(marked('a\nb', 'a'), [
    ['a', 'a'],
    ['[b]', undefined]
  ])
})

test('JSON is indented without a change of its values', () => {
  const json = '{"a":[1.0,{"b":"x,\\"{}"},[],{}],"c":12345678901234567890,"d":null}'
  assert.equal(
    indentJson(json),
    '{\n  "a": [\n    1.0,\n    {\n      "b": "x,\\"{}"\n    },\n    [],\n    {}\n  ],\n  "c": 12345678901234567890,\n  "d": null\n}'
  )
  assert.equal(indentJson('"text"'), '"text"')
  assert.equal(indentJson('{}'), '{}')
})

test('texts are shown as they are, other values as indented JSON, absent ones not at all', () => {
  assert.equal(shownValue('description', '{"a":1}'), '{"a":1}')
  assert.equal(shownValue('inputSchema', '{"a":1}'), '{\n  "a": 1\n}')
  assert.equal(shownValue('title', null), '')
  assert.equal(definitionLabel({ server: 's', kind: 'resource', name: 'r://a/b' }), 's/resource/r://a/b')
  assert.equal(definitionLabel({ server: 's', kind: 'instructions', name: 'instructions' }), 's/instructions')
})

test('hostile texts are compared and indented in bounded time', () => {
  const long = 'a '.repeat(100_000)
  assert.equal(diffRows(long, `${long}b`).length, 1)
  assert.ok(diffRows('x\n'.repeat(50_000), 'y\n'.repeat(50_000)).length >= 50_000)
  assert.ok(indentJson('['.repeat(5_000) + ']'.repeat(5_000)).length > 0)
  const lines = (mark: string) => Array.from({ length: 250 }, (_, i) => `${mark}${i} ${`${mark} `.repeat(990)}${mark}`)
  const startedAt = process.cpuUsage().user
  assert.equal(diffRows(lines('a').join('\n'), lines('b').join('\n')).length, 250)
  assert.ok(process.cpuUsage().user - startedAt < 2_000_000, 'the words of all lines together have a limit')
})
