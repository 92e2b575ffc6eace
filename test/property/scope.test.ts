import assert from 'node:assert/strict'
import fc from 'fast-check'
import { allServers, parseAllowList } from '../../src/domain/policy/allow-list.ts'
import { loadConditions } from '../../src/domain/policy/condition.ts'
import type { Permit } from '../../src/domain/policy/permit.ts'
import { compilePolicies } from '../../src/domain/policy/policy-set.ts'
import type { PolicyRule } from '../../src/domain/policy/rule.ts'
import { policyRule } from '../unit/policies.ts'
import { scopeAt, type Scope } from '../../src/catalog/scope.ts'
import type { ItemKind, StoredGroup, StoredItem, StoredServer } from '../../src/registry/model/model.ts'
import { catalogOf, storedGroup, storedItem, storedServer } from '../unit/stored.ts'
import { holds } from './property.ts'

const compileCondition = await loadConditions()
const serverNames = ['a', 'b', 'a-b', 'B', 'a_b']
/** Names that look qualified, like another server's, or like built-in properties. */
const itemNames = ['x', 'y', '_x', 'a__x', 'x__y', '__proto__', 'X']
const uris = ['same://1', 'one://1', 'one://2', 'towpath://a/same://1', 'towpath://B/x', 'plain']
const templates = ['same://{id}', 'one://{+path}', 'towpath://a/{x}']

const item = (kind: ItemKind, names: readonly string[]): fc.Arbitrary<StoredItem> =>
  fc
    .record({ name: fc.constantFrom(...names), enabled: fc.boolean() })
    .map(({ name, enabled }) => storedItem(kind, name, { enabled }))

const items = fc.uniqueArray(
  fc.oneof(
    item('tool', itemNames),
    item('tool', itemNames),
    item('prompt', itemNames),
    item('resource', uris),
    item('template', templates)
  ),
  { selector: ({ kind, name }) => `${kind} ${name}`, maxLength: 10 }
)

const server: fc.Arbitrary<StoredServer> = fc
  .record({ name: fc.constantFrom(...serverNames), items, enabled: fc.boolean(), day: fc.integer({ min: 1, max: 3 }) })
  .map(({ name, items, enabled, day }) =>
    storedServer(name, items, { enabled, registeredAt: `2026-01-0${day}T00:00:00.000Z` })
  )

const servers = fc.uniqueArray(server, { selector: ({ name }) => name, maxLength: 4 })

const qualified = fc
  .tuple(fc.constantFrom(...serverNames, 'gone'), fc.constantFrom(...itemNames, 'gone'))
  .map((parts) => parts.join('__'))
const group: fc.Arbitrary<StoredGroup> = fc
  .oneof(
    fc.record({
      included_tools: fc.array(qualified, { maxLength: 6 }),
      included_servers: fc.uniqueArray(fc.constantFrom(...serverNames, 'gone'), { maxLength: 3 }),
      excluded_tools: fc.array(qualified, { maxLength: 6 })
    }),
    fc.record({
      included_servers: fc.constantFrom(...serverNames).map((name) => [name]),
      excluded_tools: fc.array(qualified, { maxLength: 3 }),
      tool_names: fc.constant('bare' as const)
    })
  )
  .map((more) => storedGroup('g', more))

/** Entries of an allow list; undefined for callers without one, who may use everything. */
const entries = fc.option(fc.uniqueArray(fc.constantFrom(...serverNames, 'gone', 'a__x', '*'), { maxLength: 4 }), {
  nil: undefined
})

/** A caller's permissions and endpoint. */
interface Place {
  readonly group: StoredGroup | undefined
  readonly allowed: readonly string[] | undefined
  readonly policies: readonly PolicyRule[]
}
const names = (all: readonly string[]) => fc.uniqueArray(fc.constantFrom(...all), { maxLength: 2 })
const policy: fc.Arbitrary<PolicyRule> = fc
  .record({
    effect: fc.constantFrom('allow', 'deny', 'deny'),
    targets: fc.record({
      servers: names(serverNames),
      tools: names([...itemNames, 'x*']),
      prompts: names(itemNames),
      resources: names([...uris, ...templates, 'one://*'])
    }),
    when: fc.constantFrom(null, null, 'true')
  })
  .map((more) => policyRule('p', more as Partial<PolicyRule>))
const place: fc.Arbitrary<Place> = fc.record({
  group: fc.option(group, { nil: undefined }),
  allowed: entries,
  policies: fc.array(policy, { maxLength: 3 })
})

/** Computes the visible items naively from the rules, one item after the other. */
function createModel(all: readonly StoredServer[], at: Place) {
  const { group: g } = at
  const permit = permitAt(at)
  const isWhole = (name: string) => !g || g.included_servers.includes(name)
  const isServed = (from: StoredServer, { kind, name, enabled }: StoredItem) => {
    if (!from.enabled || !enabled || permit.decide({ kind, server: from, name, alias: name }).verdict === 'no')
      return false
    if (kind !== 'tool' || !g) return isWhole(from.name)
    const full = `${from.name}__${name}`
    return (isWhole(from.name) || g.included_tools.includes(full)) && !g.excluded_tools.includes(full)
  }
  const ordered = all.toSorted((one, two) => (one.name < two.name ? -1 : 1))
  const served = (kind: ItemKind) =>
    ordered.flatMap((from) =>
      from.items
        .filter((each) => each.kind === kind && isServed(from, each))
        .map(({ name }) => ({ server: from.name, name }))
    )
  const publicName = ({ server: from, name }: { server: string; name: string }) =>
    g?.tool_names === 'bare' ? name : `${from}__${name}`
  return { served, publicName }
}

const keys = { tool: 'name', prompt: 'name', resource: 'uri', template: 'uriTemplate', skill: 'uri' } as const

const listed = (scope: Scope, kind: ItemKind): string[] =>
  scope
    .listings(kind)
    .flatMap(({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as Record<string, string>[])
    .map((entry) => entry[keys[kind]]!)

/** Every name that could be requested, and invalid ones. */
const askable = [
  ...itemNames,
  ...[...serverNames, 'gone', ''].flatMap((from) => [...itemNames, 'gone', ''].map((name) => `${from}__${name}`)),
  '',
  '__'
]

function permitAt({ allowed, policies }: Place): Permit {
  const set = compilePolicies(policies, { groups: new Map(), groupHashes: new Map(), compileCondition })
  const list = allowed ? parseAllowList(allowed) : allServers
  return set.permitOf(set.classOf({ kind: 'client', name: 'c', groups: [], teams: [] }), list)
}
const scopeOf = (all: readonly StoredServer[], at: Place) =>
  scopeAt(catalogOf(all, '7', at.group ? [at.group] : []), at.group?.name, permitAt(at))

for (const kind of ['tool', 'prompt'] as const) {
  holds(`${kind}s: what is listed is what is found, and both are what the rules say`, [servers, place], (all, at) => {
    const scope = scopeOf(all, at)
    const model = createModel(all, at)
    const expected = model.served(kind)
    assert.deepEqual(listed(scope, kind), expected.map(model.publicName))
    const found = askable.flatMap((name) => {
      const hit = scope.find(kind, name)
      if (hit) assert.equal(hit.kind, kind)
      return hit ? [`${name} is ${hit.server.name} ${hit.name}`] : []
    })
    assert.deepEqual(
      new Set(found),
      new Set(expected.map((each) => `${model.publicName(each)} is ${each.server} ${each.name}`))
    )
  })
}

holds('an item is served exactly if it is in the list of its kind', [servers, place], (all, at) => {
  const scope = scopeOf(all, at)
  const model = createModel(all, at)
  for (const block of scope.catalog.servers) {
    for (const kind of Object.keys(keys) as ItemKind[]) {
      const expected = model
        .served(kind)
        .filter((each) => each.server === block.name)
        .map(({ name }) => name)
      assert.deepEqual(
        block
          .items(kind)
          .filter((each) => scope.includes(each))
          .map(({ name }) => name),
        expected
      )
    }
  }
})

for (const kind of ['resource', 'template'] as const) {
  holds(
    `${kind}s: each is listed once under a text of its own, which leads back to it`,
    [servers, place],
    (all, at) => {
      const scope = scopeOf(all, at)
      const expected = createModel(all, at).served(kind)
      const texts = listed(scope, kind)
      assert.equal(new Set(texts).size, texts.length)
      const targets = texts.map((text) => (kind === 'resource' ? scope.resolve(text) : scope.resolveTemplate(text)))
      assert.deepEqual(
        targets.map((target) => ({ server: target?.server.name, name: target?.uri })),
        expected
      )
    }
  )
}

const anyUri = fc.oneof(
  fc.constantFrom(...uris, ...templates, 'one://3', 'other://1', 'towpath://', 'towpath://gone/x'),
  fc.tuple(fc.constantFrom(...serverNames), fc.constantFrom(...uris)).map(([from, uri]) => `towpath://${from}/${uri}`)
)

holds(
  'no URI leads to a server that is not served whole, nor to what is switched off',
  [servers, place, anyUri],
  (all, at, uri) => {
    const scope = scopeOf(all, at)
    const target = scope.resolve(uri)
    if (!target) return
    const { name } = target.server
    assert.ok(all.find((each) => each.name === name)?.enabled)
    assert.ok(!at.group || at.group.included_servers.includes(name))
    assert.notEqual(
      permitAt(at).decide({ kind: 'resource', server: { name }, name: target.uri, alias: target.uri }).verdict,
      'no'
    )
    const known = target.server.find('resource', target.uri)
    assert.ok(known === undefined || known.enabled)
    const template = scope.resolveTemplate(uri)
    if (template) assert.equal(template.server.find('template', template.uri)?.enabled, true)
  }
)
