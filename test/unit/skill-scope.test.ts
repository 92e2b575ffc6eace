import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { StoredServer } from '../../src/registry/model/model.ts'
import type { ItemKind } from '../../src/registry/model/model.ts'
import { allServers } from '../../src/domain/policy/allow-list.ts'
import { compilePolicies } from '../../src/domain/policy/policy-set.ts'
import { globalScope, scopeAt, scopeFor, type Scope } from '../../src/catalog/scope.ts'
import { policyRule } from './policies.ts'
import { catalogOf, legacyNegotiation, resource, skill, storedGroup, storedServer, template, tool } from './stored.ts'

const SKILLS = 'io.modelcontextprotocol/skills'
const negotiation = { ...legacyNegotiation, capabilities: { resources: {}, extensions: { [SKILLS]: {} } } }
const server = (name: string, items: StoredServer['items'], more: Partial<StoredServer> = {}) =>
  storedServer(name, items, { negotiation, ...more })

const at = 'skill://refunds/SKILL.md'
const named = (name: string, path = 'refunds/SKILL.md') => `skill://${name}/${path}`
const where = (scope: Scope, uri: string) => {
  const target = scope.resolve(uri)
  return target && [target.server.name, target.uri, target.form]
}
const listed = (scope: Scope, kind: ItemKind): { uri: string }[] =>
  scope.listings(kind).flatMap(({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as { uri: string }[])
const urisOf = (scope: Scope, kind: ItemKind = 'skill') => listed(scope, kind).map(({ uri }) => uri)

test('the address of a skill and of each of its files names the server', () => {
  const scope = globalScope(catalogOf([server('alpha', [skill(at)]), server('beta', [skill(at)])]))
  assert.deepEqual(urisOf(scope), [named('alpha'), named('beta')])
  for (const name of ['alpha', 'beta']) {
    assert.deepEqual(where(scope, named(name)), [name, at, 'named'])
    assert.deepEqual(where(scope, named(name, 'refunds/a/b.md')), [name, 'skill://refunds/a/b.md', 'named'])
    assert.equal((JSON.parse(scope.skillAt(named(name))!) as { uri: string }).uri, named(name))
  }
  assert.equal(where(scope, at), undefined, 'two servers have it')
  assert.equal(scope.skillAt(named('gamma')), undefined)
})

test('an address leads to no other server, however its first segment is spelled', () => {
  const items = [skill(at), template('skill://{+path}')]
  const hostile = [skill('skill://beta/refunds/SKILL.md'), template('skill://{+path}')]
  const scope = globalScope(catalogOf([server('alpha', hostile), server('beta', items)]))
  assert.deepEqual(where(scope, named('beta')), ['beta', at, 'named'])
  assert.deepEqual(where(scope, named('alpha', 'beta/refunds/SKILL.md')), ['alpha', named('beta'), 'named'])
  const spellings = [
    'Beta',
    'BETA',
    '%62eta',
    'be%74a',
    'beta%2f',
    'beta%5C',
    '',
    '.',
    '..',
    'beta@x',
    'x@beta',
    ' beta'
  ]
  for (const spelling of spellings) {
    const found = where(scope, `skill://${spelling}/refunds/SKILL.md`)
    assert.equal(found, undefined, `${spelling}: ${String(found)}`)
  }
  assert.deepEqual(where(scope, 'SKILL://beta/refunds/SKILL.md'), ['beta', 'SKILL://refunds/SKILL.md', 'named'])
})

test('skills with another scheme keep their addresses until two servers have the same', () => {
  const own = 'github://owner/refunds/SKILL.md'
  const catalog = catalogOf([
    server('alpha', [skill(own)], { registeredAt: '2026-01-02T00:00:00.000Z' }),
    server('beta', [skill(own)], { registeredAt: '2026-01-01T00:00:00.000Z' })
  ])
  const scope = globalScope(catalog)
  assert.deepEqual(urisOf(scope), [`towpath://alpha/${own}`, own], 'the older server keeps it')
  assert.deepEqual(where(scope, own), ['beta', own, 'own'])
  assert.deepEqual(where(scope, 'github://owner/refunds/x.md'), ['beta', 'github://owner/refunds/x.md', 'own'])
  assert.deepEqual(where(scope, `towpath://alpha/${own}`), ['alpha', own, 'alias'])
  assert.equal((JSON.parse(scope.skillAt(`towpath://alpha/${own}`)!) as { uri: string }).uri, `towpath://alpha/${own}`)
})

test('a bare group shows the addresses of its server, and reads what only that server lists', () => {
  const bare = storedGroup('g', { included_servers: ['beta'], tool_names: 'bare' })
  const catalog = catalogOf([server('alpha', [skill(at)]), server('beta', [skill(at)])], '7', [bare])
  const scope = scopeAt(catalog, 'g')
  assert.deepEqual(urisOf(scope), [at])
  for (const uri of [at, 'skill://refunds/x.md', 'skill://unlisted/SKILL.md', named('alpha')])
    assert.deepEqual(where(scope, uri), ['beta', uri, 'own'])
})

test('only servers that a group includes whole give skills', () => {
  const part = storedGroup('g', { included_tools: ['alpha__t'], included_servers: ['beta'] })
  const catalog = catalogOf([server('alpha', [skill(at), tool('t')]), server('beta', [skill(at)])], '7', [part])
  const scope = scopeAt(catalog, 'g')
  assert.deepEqual(urisOf(scope), [named('beta')])
  assert.equal(where(scope, named('alpha')), undefined)
  assert.equal(scope.skillAt(named('alpha')), undefined)
})

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

/** Returns a skill with these files below its directory. */
function skillWith(uri: string, files: readonly string[]) {
  const root = uri.slice(0, uri.lastIndexOf('/'))
  const frontmatter = { name: root.slice(root.lastIndexOf('/') + 1), description: 'd' }
  const resources = files.map((file) => ({ uri: `${root}/${file}`, digest: digestOf(file), size: 1 }))
  return skill(uri, { definition: JSON.stringify({ uri, frontmatter, resources }) })
}

interface Entry {
  readonly uri: string
  readonly resources: readonly { readonly uri: string; readonly digest: string }[]
}

const filesIn = ({ resources }: Entry) => resources.map(({ uri }) => uri)

function scopeWith(items: StoredServer['items'], resources: readonly string[], group?: object): Scope {
  const rule = policyRule('p', { effect: 'deny', targets: { resources } })
  const policies = compilePolicies([rule], { groups: new Map(), groupHashes: new Map(), compileCondition: undefined })
  const groups = group ? [storedGroup('g', { included_servers: ['alpha'], ...group })] : []
  const catalog = catalogOf([server('alpha', items)], '7', groups)
  return scopeAt(catalog, group && 'g', policies.permitOf([0], allServers))
}

test('the entry of a skill names no file that a policy denies, and keeps the others as they are', () => {
  const items = [skillWith(at, ['SKILL.md', 'secret.md', 'a.md'])]
  for (const [group, prefix] of [
    [undefined, 'skill://alpha/refunds'],
    [{ tool_names: 'bare' }, 'skill://refunds']
  ] as const) {
    const scope = scopeWith(items, ['skill://refunds/Secret.md'], group)
    const [entry] = listed(scope, 'skill') as unknown as Entry[]
    const kept = ['SKILL.md', 'a.md'].map((file) => ({ uri: `${prefix}/${file}`, digest: digestOf(file), size: 1 }))
    assert.deepEqual(entry!.resources, kept)
    assert.deepEqual(JSON.parse(scope.skillAt(`${prefix}/SKILL.md`)!), entry)
  }
})

test('a skill of another scheme keeps its addresses when a file that is denied leads to no server', () => {
  const uri = 'docs://refunds/SKILL.md'
  const scope = scopeWith([skillWith(uri, ['SKILL.md', 'secret.md', 'a.md'])], ['docs://refunds/secret.md'])
  const [entry] = listed(scope, 'skill') as unknown as Entry[]
  assert.deepEqual([entry!.uri, ...filesIn(entry!)], [uri, uri, 'docs://refunds/a.md'])
})

test('a skill whose SKILL.md is denied in another spelling is hidden as a whole, because its entry would be invalid', () => {
  const items = [skillWith(at, ['SKILL.md', 'a.md']), skillWith('skill://ok/SKILL.md', ['SKILL.md'])]
  const scope = scopeWith(items, ['skill://refunds/skill.md'])
  assert.deepEqual(urisOf(scope), [named('alpha', 'ok/SKILL.md')])
  assert.equal(scope.skillAt(named('alpha')), undefined)
})

test('a policy that denies resources hides the skills that they belong to, and every file that it names', () => {
  const targets = { resources: ['skill://refunds/*', 'skill://other/secret.md'] }
  const rule = policyRule('p', { effect: 'deny', targets })
  const policies = compilePolicies([rule], { groups: new Map(), groupHashes: new Map(), compileCondition: undefined })
  const catalog = catalogOf([
    server('alpha', [skill(at), skill('skill://other/SKILL.md'), template('skill://{+path}')])
  ])
  const scope = scopeFor(catalog, undefined, policies.permitOf([0], allServers))
  assert.deepEqual(urisOf(scope), [named('alpha', 'other/SKILL.md')])
  assert.equal(scope.skillAt(named('alpha')), undefined)
  for (const path of ['refunds/SKILL.md', 'refunds/x.md', 'other/secret.md'])
    assert.equal(where(scope, named('alpha', path)), undefined, path)
  assert.ok(where(scope, named('alpha', 'other/x.md')))
})

test('a disabled skill takes its files with it, but not those of a skill around it', () => {
  const items = [
    skill(at, { enabled: false }),
    skill('skill://outer/SKILL.md'),
    skill('skill://outer/inner/SKILL.md', { enabled: false }),
    resource(at),
    resource('skill://refunds/x.md'),
    template('skill://{+path}')
  ]
  const scope = globalScope(catalogOf([server('alpha', items)]))
  assert.deepEqual(urisOf(scope), [named('alpha', 'outer/SKILL.md')])
  assert.deepEqual(urisOf(scope, 'resource'), [])
  const hidden = [
    'refunds/SKILL.md',
    'refunds',
    'refunds/x.md',
    'refunds/y.md',
    'outer/../refunds/x.md',
    'refunds/./x.md',
    '%72efunds/x.md',
    '%2572efunds/x.md',
    'Refunds/x.md',
    'outer/%2e%2e%2frefunds/x.md',
    'outer/..%5crefunds/x.md',
    '/refunds/x.md'
  ]
  for (const path of hidden) {
    assert.equal(where(scope, named('alpha', path)), undefined, path)
    assert.equal(where(scope, `skill://${path}`), undefined, path)
  }
  assert.ok(where(scope, named('alpha', 'outer/inner/SKILL.md')), 'it is a file of the outer skill')
  assert.equal(scope.skillAt(named('alpha', 'outer/inner/SKILL.md')), undefined)
})
