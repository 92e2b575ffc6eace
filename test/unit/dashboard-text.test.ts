import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bars } from '../../dashboard/src/calls/chart.ts'
import { findCommands } from '../../dashboard/src/shell/commands.ts'
import { bytes, count, countdown, duration, percent, plural, relative } from '../../dashboard/src/format.ts'
import { highlight } from '../../dashboard/src/ui/highlight.ts'
import { createKeyReader, type KeyPress } from '../../dashboard/src/shell/key-reader.ts'

const cases = <In extends readonly unknown[], Out>(
  title: string,
  run: (...input: In) => Out,
  rows: readonly (readonly [input: In, expected: Out])[]
) => {
  test(title, () => {
    for (const [input, expected] of rows) assert.deepEqual(run(...input), expected, JSON.stringify(input))
  })
}

cases('durations are told with three digits at most and their unit', duration, [
  [[undefined], '—'],
  [[0.4], '<1 ms'],
  [[0], '<1 ms'],
  [[411.7], '412 ms'],
  [[1_398], '1.4 s'],
  [[60_004], '60 s'],
  [[3_600_000], '60 min']
])

cases('a share is 0% or 100% only where it is exactly that', percent, [
  [[0, 0], '—'],
  [[0, 9], '0%'],
  [[1, 5_648], '<0.1%'],
  [[92, 5_648], '1.6%'],
  [[999, 1_000], '99%'],
  [[7, 7], '100%']
])

cases('sizes are told in units of a thousand', bytes, [
  [[999], '999 B'],
  [[1_234], '1.2 kB'],
  [[48_256], '48 kB'],
  [[2_500_000], '2.5 MB']
])

cases('moments are told from now, past and future', relative, [
  [[1_000, 3_000], 'just now'],
  [[0, 42_000], '42 s ago'],
  [[0, 3_599_000], '59 min ago'],
  [[0, 7_200_000], '2 h ago'],
  [[0, 172_800_000], '2 d ago'],
  [[600_000, 0], 'in 10 min']
])

cases('a countdown ends at zero', countdown, [
  [[581_000], '9:41'],
  [[-1], '0:00']
])

cases('numbers have separators, and words their number', (value: number) => [count(value), plural(value, 'tool')], [
  [[1], ['1', '1 tool']],
  [[20_800], ['20,800', '20,800 tools']]
])

test('highlighted JSON is the text that was given, keys told from values', () => {
  const json = JSON.stringify({ 'a": "b': 'c\\"d', list: ['x', 1, null, true], empty: '' }, null, 2)
  const tokens = highlight(json)
  assert.equal(tokens.map(({ text }) => text).join(''), json)
  assert.deepEqual(
    tokens.filter(({ kind }) => kind === 'k').map(({ text }) => text),
    ['"a\\": \\"b"', '"list"', '"empty"']
  )
  assert.deepEqual(
    tokens.filter(({ kind }) => kind === 's').map(({ text }) => text),
    ['"c\\\\\\"d"', '"x"', '""']
  )
})

test('bars show a single failure among many calls, and nothing where nothing was called', () => {
  const quiet = bars([{ calls: 0, failed: 0 }], 20)
  assert.deepEqual([quiet.ok, quiet.bad], ['', ''])
  assert.match(quiet.none, /^M0 19/)
  const busy = bars([{ calls: 1_000, failed: 1 }], 20)
  assert.equal(busy.bad, 'M0 18h2v2h-2z')
  assert.equal(busy.ok, 'M0 0h2v18h-2z')
  const failed = bars(
    [
      { calls: 3, failed: 3 },
      { calls: 6, failed: 0 }
    ],
    20
  )
  assert.equal(failed.bad, 'M0 10h2v10h-2z')
  assert.equal(failed.ok, 'M3 0h2v20h-2z')
})

const press = (key: string, more: Partial<KeyPress> = {}): KeyPress => ({
  ...{ key, ctrlKey: false, metaKey: false, altKey: false, typing: false, at: 0 },
  ...more
})

test('g and a letter lead to a page, for a moment only', () => {
  const read = createKeyReader(() => true)
  assert.equal(read(press('g')), undefined)
  assert.deepEqual(read(press('c', { at: 1_000 })), { go: 'calls' })
  read(press('g', { at: 2_000 }))
  assert.equal(read(press('c', { at: 9_000 })), undefined)
  read(press('g', { at: 10_000 }))
  assert.deepEqual(read(press('g', { at: 10_100 })), { go: 'groups' })
})

test('letters do nothing while somebody types or turned them off; Ctrl+K always does', () => {
  let enabled = true
  const read = createKeyReader(() => enabled)
  assert.deepEqual(read(press('/')), { act: 'filter' })
  assert.equal(read(press('n', { typing: true })), undefined)
  assert.equal(read(press('n', { altKey: true })), undefined)
  enabled = false
  assert.equal(read(press('n')), undefined)
  assert.deepEqual(read(press('k', { ctrlKey: true, typing: true })), { act: 'menu' })
  assert.deepEqual(read(press('K', { metaKey: true })), { act: 'menu' })
})

test('words of a command may be typed in any order, and together', () => {
  const labels = ['jira__search_issues', 'jira__create_issue', 'create_jira', 'github__create_issue']
  const commands = labels.map((label) => ({ label, kind: 'Tool' }))
  const found = (typed: string) => findCommands(commands, typed, 9).map(({ label }) => label)
  assert.deepEqual(found('jira cr'), ['jira__create_issue', 'create_jira'])
  assert.deepEqual(found(' CR  jira '), ['jira__create_issue', 'create_jira'])
  assert.deepEqual(found('jira crt'), ['jira__create_issue'])
  assert.deepEqual(found('jira delete'), [])
})

test('commands are found by their beginning first, then by words, then by letters in order', () => {
  const labels = ['github__create_issue', 'Create group', 'concrete', 'c_r_e_a_t_e']
  const commands = labels.map((label) => ({ label, kind: 'Tool' }))
  const found = (typed: string) => findCommands(commands, typed, 9).map(({ label }) => label)
  assert.deepEqual(found('crea'), ['Create group', 'github__create_issue', 'c_r_e_a_t_e'])
  assert.deepEqual(found(' '), labels)
  assert.deepEqual(found('zz'), [])
  assert.equal(findCommands(commands, '', 2).length, 2)
})
