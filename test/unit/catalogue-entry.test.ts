import assert from 'node:assert/strict'
import test from 'node:test'
import { indexEntries } from '../../src/control/catalogue/entry-index.ts'
import { packEntries, unpackLines } from '../../src/control/catalogue/entry-lines.ts'
import { createEntryReader } from '../../src/control/catalogue/read-entry.ts'
import shipped from '../../src/control/catalogue/servers.json' with { type: 'json' }
import { installOptions } from '../../src/domain/catalogue/install.ts'
import { namePattern } from '../../src/domain/catalogue/search.ts'

const read = createEntryReader()
const server = (members: object = {}) => ({
  name: 'com.example/a',
  description: 'A server',
  version: '1.0.0',
  ...members
})
const withPackage = (members: object = {}) =>
  server({
    packages: [{ registryType: 'npm', identifier: 'a', version: '1', transport: { type: 'stdio' }, ...members }]
  })

test('every entry that the package contains can be installed, and pins its version', () => {
  assert.ok(shipped.servers.length >= 20)
  assert.match(shipped.date, /^\d{4}-\d\d-\d\d$/)
  const names = new Set<string>()
  for (const item of shipped.servers) {
    const entry = read(item)
    assert.ok(entry, item.name)
    names.add(entry.name)
    for (const { id, problem } of installOptions(entry)) assert.equal(problem, undefined, `${entry.name} ${id}`)
    for (const { version } of entry.packages) assert.ok(version, entry.name)
  }
  assert.equal(names.size, shipped.servers.length)
})

test('an entry is read with and without the wrapper of the API', () => {
  const plain = read(withPackage())
  assert.equal(plain?.name, 'com.example/a')
  assert.deepEqual(read({ server: withPackage(), _meta: {} }), plain)
})

test('deleted entries and old versions are not used, and deprecated ones are marked', () => {
  const withStatus = (official: object) =>
    read({ server: withPackage(), _meta: { 'io.modelcontextprotocol.registry/official': official } })
  assert.equal(withStatus({ status: 'deleted' }), undefined)
  assert.equal(withStatus({ status: 'active', isLatest: false }), undefined)
  assert.equal(withStatus({ status: 'deprecated', isLatest: true })?.isDeprecated, true)
  assert.equal(withStatus({ status: 'active' })?.isDeprecated, undefined)
})

test('items that are not entries, or are too large, are refused', () => {
  const deep = Array.from({ length: 101 }, () => ({ type: 'positional', value: 'x' }))
  const bad: unknown[] = [
    null,
    [],
    'x',
    {},
    server({ name: 'no-slash' }),
    server({ name: 'a/b/c' }),
    server({ name: `a/${'b'.repeat(300)}` }),
    server({ description: 1 }),
    server({ packages: {} }),
    server({ remotes: [{ type: 'ws', url: 'ws://x' }] }),
    withPackage({ packageArguments: deep }),
    withPackage({ packageArguments: [{ type: 'named', value: 'x' }] }),
    withPackage({ environmentVariables: [{}] }),
    withPackage({ transport: { type: 'pipe' } }),
    server({ title: 'x'.repeat(5_000) }),
    server({ junk: 'x'.repeat(70_000) })
  ]
  for (const item of bad) assert.equal(read(item), undefined, JSON.stringify(item)?.slice(0, 80))
})

test('texts for people are cleaned, and texts that would run must be visible as they are', () => {
  const shown = read(
    withPackage({}) && { ...withPackage(), title: 'A\u202eB\n\tC', description: `\u200b${'d'.repeat(900)}` }
  )
  assert.equal(shown?.title, 'AB C')
  assert.ok(shown.description.length <= 501 && !shown.description.includes('\u200b'))
  for (const text of ['a\u202eb', 'a\u200bb', 'a\nb', 'a\u0000b', 'a\u{e0041}b']) {
    assert.equal(read(withPackage({ identifier: text })), undefined)
    assert.equal(read(withPackage({ packageArguments: [{ type: 'positional', value: text }] })), undefined)
    assert.equal(read(withPackage({ environmentVariables: [{ name: 'A', default: text }] })), undefined)
    assert.equal(read(server({ remotes: [{ type: 'sse', url: text }] })), undefined)
  }
})

test('links of entries are http or https, or left out', () => {
  const links = (url: string) => read(server({ websiteUrl: url, repository: { url } }))
  assert.deepEqual(
    [links('https://a.example/')?.website, links('https://a.example/')?.repository],
    ['https://a.example/', 'https://a.example/']
  )
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'https://user:pw@a.example/', 'x'])
    assert.deepEqual([links(url)?.website, links(url)?.repository], [undefined, undefined], url)
})

test('members named like those of every object are ordinary names', () => {
  const variables = JSON.parse('{"__proto__":{"isRequired":true},"constructor":{"default":"c"}}') as object
  const entry = read(
    withPackage({ packageArguments: [{ type: 'positional', value: '{__proto__}{toString}', variables }] })
  )
  assert.ok(entry)
  const [option] = installOptions(entry)
  assert.deepEqual(
    option!.inputs.map(({ label, isRequired }) => [label, isRequired]),
    [['argument', true]]
  )
})

test('a search finds entries with all words, best matches first, page by page', async () => {
  const list = ['com.files/x', 'com.a/files', 'com.b/my-files', 'com.c/other'].map((name) => ({
    ...read(server({ name }))!,
    description: name.endsWith('other') ? 'Also about Files' : 'Nothing'
  }))
  const lines = await unpackLines(await packEntries(list))
  const index = await indexEntries(lines, undefined)
  const names = (search: string) =>
    index.search({ search, limit: 10, after: undefined }).entries.map(({ name }) => name)
  assert.deepEqual(names('FILES'), ['com.a/files', 'com.b/my-files', 'com.files/x', 'com.c/other'])
  assert.deepEqual(names('files other'), ['com.c/other'])
  assert.deepEqual(names('nowhere'), [])
  const first = index.search({ search: '', limit: 3, after: undefined })
  assert.deepEqual([first.total, first.entries.length], [4, 3])
  const second = index.search({ search: '', limit: 3, after: first.next })
  assert.deepEqual([second.entries.map(({ name }) => name), second.next], [['com.files/x'], undefined])
  assert.equal(index.find('com.a/files')?.version, '1.0.0')
  const allowed = await indexEntries(lines, ['com.b/*', 'com.c/other'])
  assert.deepEqual([allowed.size, allowed.find('com.a/files')], [2, undefined])
})

test('a pattern covers the whole name, and only the asterisk is special', () => {
  const matches = (pattern: string, name: string) => namePattern(pattern)(name)
  assert.ok(matches('io.github.a/*', 'io.github.a/b'))
  assert.ok(!matches('io.github.a/*', 'io.github.ab/c'))
  assert.ok(!matches('io.github.a/b', 'io.github.a/bc'))
  assert.ok(!matches('io.github.a/b', 'ioxgithub.a/b'))
  assert.ok(matches('*', 'x/y'))
})
