import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { circles, commentCount, functionLengths, importGraph, pronounComments } from '../style/measures.ts'
import { longTests, typeNames, whatComments, wordCount, type Finding } from '../style/measures.ts'
import { readSource, root, sourcePaths } from '../style/source.ts'

const trees = {
  src: sourcePaths('src').map(readSource),
  dashboard: sourcePaths('dashboard/src').map(readSource),
  'tests and tools': sourcePaths('test', 'benchmarks', 'migrations', 'scripts').map(readSource)
}
const listed = (findings: readonly Finding[]) =>
  findings.map(({ path, line, text }) => `${path}:${line} ${text}`).join('\n')

for (const [tree, sources] of Object.entries(trees)) {
  test(`${tree}: at most 3 % of the comments begin with a pronoun or a question word`, () => {
    const found = pronounComments(sources)
    assert.ok(found.length <= 0.03 * commentCount(sources), listed(found))
  })

  test(`${tree}: comments say "what" at most three times in a thousand words`, () => {
    const found = whatComments(sources)
    assert.ok(found.length <= 0.003 * wordCount(sources), listed(found))
  })

  test(`${tree}: at most 2 % of the types are named by a participle alone`, () => {
    const { all, participles } = typeNames(sources)
    assert.ok(participles.length <= 0.02 * all.length, listed(participles))
  })

  test(`${tree}: half of the functions have at most 10 lines, nine of ten at most 40`, () => {
    const { lengths } = functionLengths(sources, 120)
    const at = (share: number) => lengths[Math.floor(lengths.length * share)]!
    assert.ok(at(0.5) <= 10 && at(0.9) <= 40, `${at(0.5)} and ${at(0.9)} lines`)
  })
}

test('no function of the product is longer than 120 lines', () => {
  assert.equal(listed(functionLengths([...trees.src, ...trees.dashboard], 120).long), '')
})

test('no test is longer than 150 lines', () => {
  assert.equal(listed(longTests(trees['tests and tools'], 150)), '')
})

test('no module imports itself by way of others at run time, except the recursive form of the dashboard', () => {
  const found = circles(importGraph([...trees.src, ...trees.dashboard], { valuesOnly: true }))
  assert.deepEqual(
    found.filter((members) => !members.every((path) => path.startsWith('dashboard/src/form/'))),
    []
  )
})

/** Wordings that readers stumbled over. */
const banned =
  /\b(?:good for nothing|nobody's business|in nobody's way|is told of|of whoever|says nothing good|what is what|for good and all|is there for nobody|the word that)\b/gi

test('no text for readers uses a wording that readers stumbled over', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'llms.txt'].concat(
    readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name))
  )
  const texts = [
    ...pages.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
    ...trees.src,
    ...trees.dashboard
  ]
  const found = texts.flatMap(({ path, text }) => [...text.matchAll(banned)].map(([phrase]) => `${path}: ${phrase}`))
  assert.deepEqual(found, [])
})
