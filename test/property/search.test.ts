import assert from 'node:assert/strict'
import fc from 'fast-check'
import { BlockBuilder, type ServerText, type ToolText } from '../../src/domain/search/block.ts'
import { nearestNames } from '../../src/domain/search/nearest.ts'
import { ToolRanking, type Ranking, type SearchPart } from '../../src/domain/search/ranking.ts'
import { termsOf } from '../../src/domain/search/tokens.ts'
import { holds } from './property.ts'

const word = fc.constantFrom(
  ...'add create delete fetch get issue issues message number numbers search tool two user'.split(' ')
)
const sentence = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '))
const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('_'))
/** A tool, and whether the caller may use it */
const tool = fc.record({ name, description: sentence, parameters: sentence, isIncluded: fc.boolean() })
const server = fc.record({ name, about: sentence, tools: fc.array(tool, { maxLength: 6 }) })
const servers = fc.array(server, { minLength: 1, maxLength: 4 })

type Tool = Omit<ToolText, 'ownName'> & { readonly isIncluded: boolean }
type Server = ServerText & { readonly tools: readonly Tool[] }

function blockOf({ tools, ...text }: Server) {
  const builder = new BlockBuilder()
  for (const each of tools) builder.add({ ...each, ownName: each.name })
  return builder.finish(text)
}

function answer(generator: Generator<void, Ranking>): Ranking {
  for (;;) {
    const { done, value } = generator.next()
    if (done) return value
  }
}

function find(parts: readonly SearchPart[], query: string, limit = 10) {
  const { hits, total } = answer(new ToolRanking(parts).search(query, limit))
  return { total, found: hits.map(({ part, tool: at, score }) => ({ name: parts[part]!.block.names[at]!, score })) }
}

const masked = (given: Server): SearchPart => ({
  block: blockOf(given),
  included: Uint8Array.from(given.tools, ({ isIncluded }) => (isIncluded ? 1 : 0))
})
const alone = (given: Server): SearchPart => ({
  block: blockOf({ ...given, tools: given.tools.filter(({ isIncluded }) => isIncluded) })
})

holds('tools that a caller may not use change nothing of what it finds', [servers, sentence], (all, query) => {
  const seen = all.filter(({ tools }) => tools.some(({ isIncluded }) => isIncluded))
  assert.deepEqual(find(all.map(masked), query), find(seen.map(alone), query))
})

holds('what is found is in order of score, then of name, and within the limit', [servers, sentence], (all, query) => {
  const parts = all.map(masked)
  const { found, total } = find(parts, query, 5)
  const whole = find(parts, query, 1_000)
  assert.equal(found.length, Math.min(5, total))
  assert.equal(whole.found.length, total)
  assert.deepEqual(whole.found.slice(0, 5), found)
  for (const [i, { score, name: own }] of whole.found.entries()) {
    const next = whole.found[i + 1]
    assert.ok(score > 0)
    if (next) assert.ok(score > next.score || (score === next.score && own <= next.name))
  }
})

holds('the order of servers and of tools does not change what is found', [servers, sentence], (all, query) => {
  const turned = all.toReversed().map((each) => ({ ...each, tools: each.tools.toReversed() }))
  const names = (of: readonly Server[]) =>
    find(of.map(masked), query, 1_000).found.map(({ name: own, score }) => `${own} ${score.toFixed(9)}`)
  assert.deepEqual(names(turned).toSorted(), names(all).toSorted())
})

holds('any text has a bounded number of terms, each short', [fc.string({ unit: 'binary', maxLength: 500 })], (text) => {
  const terms = termsOf(text)
  assert.ok(terms.length <= 4 * text.length + 1)
  for (const term of terms) assert.ok(term.length > 0 && term.length <= 40)
  assert.ok(termsOf(text, 3).length <= 3)
})

holds('a name is nearest to itself', [fc.uniqueArray(name, { minLength: 1, maxLength: 20 })], (names) => {
  for (const each of names) assert.equal(nearestNames(each, names)[0], each)
  assert.equal(nearestNames('x', names).length, Math.min(3, names.length))
})
