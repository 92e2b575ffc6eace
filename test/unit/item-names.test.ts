import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createItemNames, type ToolNames } from '../../src/catalog/items/item-names.ts'
import type { ItemKind } from '../../src/registry/model/model.ts'

const llm = /^[A-Za-z0-9_-]+$/

/** Returns the public names and problem codes of one server's items of a kind. */
function namesOf(policy: ToolNames, server: string, kind: ItemKind, names: readonly string[]) {
  const given = createItemNames(
    policy,
    server,
    names.map((name) => ({ kind, name }))
  )
  return names.map((name) => given.problem(kind, name)?.code ?? given.publicPart(kind, name))
}

const good = ['plain', 'dots.and/slashes', 'x__y__z', '_lead', 'UPPER-case_9', 'n'.repeat(125)]
const bad = [
  '',
  ' ',
  'two words',
  'new\nline',
  'tab\t',
  '\u001b[31mred',
  '\u202eevil',
  'zero\u200bwidth',
  'аlpha',
  '<img>'
]
const long = ['l'.repeat(126), 'l'.repeat(254)]

test('SR-M8 tools whose names MCP does not allow are left out, and those that it allows keep their names', () => {
  assert.deepEqual(namesOf('leave-out', 's', 'tool', good), good)
  for (const code of namesOf('leave-out', 's', 'tool', bad)) assert.equal(code, 'name_characters')
  assert.deepEqual(namesOf('leave-out', 's', 'tool', long), ['name_too_long', 'name_too_long'])
})

test('SR-M8 prompts, URIs and templates are left out for what cannot be seen, and not for other scripts', () => {
  const seen = ['Zusammenfassung für Kunden', 'Отчёт', '要約', 'a & b?', '👩‍💻 review']
  const unseen = ['\u001b[31mred', '\u202eevil', 'zero\u200bwidth', 'new\nline', 'tab\tbed', '\u2028', '\u{e0041}']
  for (const kind of ['prompt', 'resource', 'template'] as const) {
    for (const policy of ['leave-out', 'rename'] as const) {
      assert.deepEqual(namesOf(policy, 's', kind, seen), seen)
      const isRenamed = kind === 'prompt' && policy === 'rename'
      for (const found of namesOf(policy, 's', kind, unseen)) {
        if (isRenamed) assert.match(found, llm)
        else assert.equal(found, 'name_characters')
      }
    }
  }
  assert.deepEqual(namesOf('leave-out', 's', 'prompt', [' x', 'x ', ' ']), Array(3).fill('name_characters'))
  const uri = `file:///${'u'.repeat(1_000)}/{path}?a b#c`
  for (const kind of ['resource', 'template'] as const) assert.deepEqual(namesOf('leave-out', 's', kind, [uri]), [uri])
})

test('SR-M8 keep leaves every name of every kind as it is', () => {
  for (const kind of ['tool', 'prompt', 'resource', 'template'] as const) {
    assert.deepEqual(namesOf('keep', 's', kind, [...good, ...bad, ...long]), [...good, ...bad, ...long])
  }
})

test('SR-M8 a renamed tool has a name that LLM APIs take, however long the name of its server is', () => {
  const all = [...good, ...bad.slice(1), ...long]
  for (const server of ['s', 'x'.repeat(38), 'x'.repeat(64)]) {
    const names = namesOf('rename', server, 'tool', all)
    assert.equal(new Set(names).size, names.length)
    for (const name of names) {
      assert.match(name, llm)
      assert.ok(`${server}__${name}`.length <= Math.max(64, server.length + 26), name)
    }
  }
  assert.deepEqual(namesOf('rename', 's', 'tool', ['plain', 'x__y__z']), ['plain', 'x__y__z'])
})

test('SR-M8 the new name depends on the old one alone, not on the order or on other tools', () => {
  const all = [...bad.slice(1), ...long, 'a.b', 'a/b', 'a b']
  const names = new Map(namesOf('rename', 's', 'tool', all).map((name, at) => [all[at]!, name]))
  for (const some of [all.toReversed(), all.filter((_, at) => at % 2 === 0), ['other', ...all.slice(3)]]) {
    for (const [at, name] of namesOf('rename', 's', 'tool', some).entries()) {
      if (some[at] !== 'other') assert.equal(name, names.get(some[at]!))
    }
  }
  assert.equal(names.get('a.b'), 'a_b_2e7336dc')
})

test('SR-M8 a new name that another tool has already gets a longer hash, and the other keeps its name', () => {
  const [renamed] = namesOf('rename', 's', 'tool', ['a.b'])
  const names = namesOf('rename', 's', 'tool', ['a.b', renamed!])
  assert.equal(names[1], renamed)
  assert.match(names[0]!, /^a_b_[0-9a-f]{16}$/)
})
