import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlockBuilder, maxParameters, type SearchBlock } from '../../src/domain/search/block.ts'
import { nearestNames } from '../../src/domain/search/nearest.ts'
import { ToolRanking } from '../../src/domain/search/ranking.ts'
import { termsOf } from '../../src/domain/search/tokens.ts'

interface BlockItem {
  readonly name: string
  readonly description?: string
  readonly parameters?: string
}

function block(server: string, tools: readonly BlockItem[], about = ''): SearchBlock {
  const builder = new BlockBuilder()
  for (const { name, description = '', parameters = '' } of tools) {
    builder.add({ name: `${server}__${name}`, ownName: name, description, parameters })
  }
  return builder.finish({ name: server, about })
}

function find(blocks: readonly SearchBlock[], query: string, limit = 10, only?: ReadonlySet<number>) {
  const steps = new ToolRanking(blocks.map((each) => ({ block: each }))).search(query, limit, only)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return { total: value.total, names: value.hits.map(({ part, tool }) => blocks[part]!.names[tool]!) }
  }
}

const demo = block('demo', [
  { name: 'word_count', description: 'Counts the words of a text' },
  { name: 'add', description: 'Adds two numbers', parameters: 'a b first and second number' }
])
const github = block('github', [
  { name: 'create_issue', description: 'Opens an issue in a repository' },
  { name: 'list_issues', description: 'Lists issues of a repository' },
  { name: 'delete_file', description: 'Deletes a file' }
])
const gitlab = block('gitlab', [{ name: 'create_issue', description: 'Opens an issue in a project' }])

test('words are split at capitals and punctuation, without accents, stop words and suffixes', () => {
  assert.deepEqual(termsOf('getHTTPStatus of_the/Cafés-list.all'), [
    'get',
    'http',
    'status',
    'gethttpstatus',
    'cafe',
    'list',
    'all'
  ])
  assert.deepEqual(termsOf('creates creating created creation create'), Array(5).fill('creat'))
  assert.deepEqual(termsOf('GitHub'), ['git', 'hub', 'github'])
  assert.deepEqual(termsOf('東京の天気'), ['東京', '京の', 'の天', '天気'])
  assert.deepEqual(termsOf('  ,;  '), [])
})

test('a request in other words finds the tool', () => {
  assert.equal(find([demo, github], 'please sum two numbers').names[0], 'demo__add')
  assert.equal(find([demo, github], 'remove a document file').names[0], 'github__delete_file')
  assert.equal(find([demo, github], 'open new bug').names[0], 'github__create_issue')
})

test('the name of a server tells tools of one name apart', () => {
  assert.equal(find([github, gitlab], 'create a gitlab issue').names[0], 'gitlab__create_issue')
  assert.equal(find([github, gitlab], 'create a GitHub issue').names[0], 'github__create_issue')
})

test('a name in the query comes first, if no sentence has it by chance', () => {
  assert.equal(
    find([demo, github], 'issue issues repository: use `demo__word_count`, now').names[0],
    'demo__word_count'
  )
  assert.equal(find([demo, github], 'list issues or rather delete_file').names[0], 'github__delete_file')
  assert.equal(find([demo, github], 'add').names[0], 'demo__add')
  assert.equal(find([demo, github], 'add an issue to the repository').names[0], 'github__create_issue')
})

test('a name that a sentence can have does not put its tool first, unless it is the whole query', () => {
  const other = block('other', [{ name: 'YouTube' }, { name: 'e-mail' }, { name: 'node.js' }, { name: 'createIssue' }])
  const videos = block('videos', [{ name: 'find_videos', description: 'Finds videos on YouTube' }])
  const blocks = [github, gitlab, videos, other]
  assert.equal(find(blocks, 'find videos about canals on YouTube').names[0], 'videos__find_videos')
  assert.equal(find(blocks, 'e-mail').names[0], 'other__e-mail')
  assert.equal(find(blocks, 'file repository: createIssue').names[0], 'other__createIssue')
})

test('of two tools whose names are in the query the one with more of its words comes first', () => {
  assert.equal(find([github, gitlab], 'create_issue in a gitlab project').names[0], 'gitlab__create_issue')
  assert.equal(find([github, gitlab], 'create_issue in a repository').names[0], 'github__create_issue')
})

test('a word that is repeated counts three times at most', () => {
  const fair = block('fair', [{ name: 'convert_currency', description: 'Converts an amount to another currency.' }])
  const stuffed = block('stuffed', [{ name: 'x', description: 'convert currency '.repeat(300) }])
  assert.equal(find([fair, stuffed, demo], 'convert a currency').names[0], 'fair__convert_currency')
})

test('equal tools are sorted by name', () => {
  const equal = block(
    's',
    ['c', 'a', 'b'].map((name) => ({ name: `${name}_x`, description: 'same' }))
  )
  assert.deepEqual(find([equal], 'same').names, ['s__a_x', 's__b_x', 's__c_x'])
})

test('any word suffices, and a tool with more of them comes first', () => {
  const { names, total } = find([demo, github], 'repository words')
  assert.equal(total, 3)
  assert.ok(names.includes('demo__word_count') && names.includes('github__create_issue'))
  assert.deepEqual(find([demo, github], 'xylophone'), { total: 0, names: [] })
  assert.deepEqual(find([demo, github], ''), { total: 0, names: [] })
  assert.deepEqual(find([], 'add'), { total: 0, names: [] })
})

test('one server can be searched alone', () => {
  assert.deepEqual(find([github, gitlab], 'create issue', 10, new Set([1])), {
    total: 1,
    names: ['gitlab__create_issue']
  })
})

test('long texts and long queries count up to a length', () => {
  const long = block('s', [
    { name: 'long', description: `${'x '.repeat(5_000)}needle`, parameters: `${'y '.repeat(maxParameters)}pin` }
  ])
  assert.equal(find([long], 'needle pin').total, 0)
  assert.ok(long.bytes < 2_000)
  assert.equal(find([demo], `${'z'.repeat(1_000)} add`).total, 0)
  assert.equal(find([demo], 'add '.repeat(100)).names[0], 'demo__add')
})

test('a ranking gives way after each term', () => {
  const steps = new ToolRanking([{ block: demo }]).search('count words numbers', 10)
  let count = 0
  while (!steps.next().done) count++
  assert.equal(count, 3)
})

test('a name is nearest to itself, before one with the same pairs of letters in another order', () => {
  const names = ['search_delete_create', 'search_create_delete']
  for (const name of names) assert.equal(nearestNames(name, names)[0], name)
})

test('names that are written alike are nearest', () => {
  const names = [...demo.names, ...github.names]
  assert.equal(nearestNames('demo__ad', names)[0], 'demo__add')
  assert.equal(nearestNames('createIssue', names)[0], 'github__create_issue')
  assert.equal(nearestNames('x'.repeat(100_000), names).length, 3)
})
