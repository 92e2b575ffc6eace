import assert from 'node:assert/strict'
import fc from 'fast-check'
import { allServers, noServers, parseAllowList } from '../../src/domain/policy/allow-list.ts'
import type { Condition, ConditionValues } from '../../src/domain/policy/condition.ts'
import { judge } from '../../src/domain/policy/permit.ts'
import { compilePolicies } from '../../src/domain/policy/policy-set.ts'
import type { PolicyRule } from '../../src/domain/policy/rule.ts'
import type { Subject } from '../../src/domain/policy/subject.ts'
import type { PolicyItem } from '../../src/domain/policy/target.ts'
import { resolveGroup, type GroupRules } from '../../src/domain/groups.ts'
import { holds } from './property.ts'

const some = (values: readonly string[]) => fc.uniqueArray(fc.constantFrom(...values), { maxLength: 2 })
const names = ['x', 'get_x', 'get_y', '__proto__', '']
const servers = ['a', 'ab', 'b']
const allScopes = ['mcp:a', 'mcp:b', 'mcp:c']

const rule: fc.Arbitrary<PolicyRule> = fc
  .record({
    enabled: fc.boolean(),
    effect: fc.constantFrom('allow', 'deny', 'confirm', 'approve'),
    mode: fc.constantFrom('enforce', 'enforce', 'enforce', 'observe'),
    subjects: fc.record({
      users: some(['ann', 'bob', 'a*', '*']),
      roles: some(['admin', 'user']),
      groups: some(['sre', 's*']),
      teams: some(['platform', '*']),
      clients: some(['bot', 'b*']),
      oauth_clients: some(['https://claude.example/*', 'generated'])
    }),
    targets: fc.record({
      servers: some([...servers, 'a*', '*']),
      groups: some(['g', 'h', 'gone', '*']),
      tools: some(['x', 'get_*', '*']),
      prompts: some(['x', '*']),
      resources: some(['x', 'get_*']),
      annotations: fc.record({
        readOnly: fc.constantFrom(undefined, undefined, undefined, true, false),
        destructive: fc.constantFrom(undefined, undefined, undefined, true, false)
      })
    }),
    when: fc.constantFrom(null, null, null, 'yes', 'no', 'fails'),
    requireScopes: fc.oneof(fc.constant([]), some(allScopes))
  })
  .map((parts) => {
    const isAsking = parts.effect === 'confirm' || parts.effect === 'approve'
    const requireScopes = isAsking ? [] : parts.requireScopes
    return { name: 'r', everyone: true, reason: null, ...parts, requireScopes } as PolicyRule
  })

const subject: fc.Arbitrary<Subject> = fc.record({
  kind: fc.constantFrom('admin', 'user', 'client'),
  name: fc.constantFrom('ann', 'bob', 'bot', 'zed'),
  groups: some(['sre', 'sales']),
  teams: some(['platform', 'other']),
  scopes: some(allScopes),
  oauthClient: fc.constantFrom(undefined, 'https://claude.example/client', 'generated')
})

const item: fc.Arbitrary<PolicyItem> = fc
  .record({
    kind: fc.constantFrom('tool', 'prompt', 'resource', 'template'),
    server: fc.constantFrom(...servers),
    name: fc.constantFrom(...names),
    alias: fc.constantFrom(undefined, 'x', 'other'),
    readOnly: fc.constantFrom(undefined, true, false, 'yes'),
    destructive: fc.constantFrom(undefined, true, false, 'yes'),
    isTrusted: fc.boolean()
  })
  .map(({ kind, server, name, alias, readOnly, destructive, isTrusted }) => ({
    ...{ kind, name, alias: alias ?? name },
    server: { name: server, ...(isTrusted && { trustsAnnotations: true }) },
    stored: { definition: JSON.stringify({ annotations: { readOnlyHint: readOnly, destructiveHint: destructive } }) }
  }))

const groups: Readonly<Record<string, GroupRules>> = {
  g: { included_servers: ['a'], included_tools: ['b__x'], excluded_tools: ['a__get_y'] },
  h: { included_servers: [], included_tools: ['ab__get_x'], excluded_tools: [] }
}
const context = {
  groups: new Map(Object.entries(groups).map(([name, rules]) => [name, resolveGroup(rules)])),
  groupHashes: new Map([
    ['g', '1'],
    ['h', '2']
  ]),
  compileCondition: (text: string): Condition => ({
    maxCharacters: Infinity,
    evaluate() {
      if (text === 'fails') throw new Error('no such key')
      return text === 'yes'
    }
  })
}

const like = (text: string, glob: string) => (glob.endsWith('*') ? text.startsWith(glob.slice(0, -1)) : text === glob)
const isOneOf = (text: string, globs: readonly string[] = []) => globs.some((glob) => like(text, glob))
const isIn = (text: string, globs: readonly string[] = []) => globs.length === 0 || isOneOf(text, globs)

function isInGroups({ kind, server, name, alias }: PolicyItem, globs: readonly string[]): boolean {
  return Object.entries(groups).some(([group, { included_servers, included_tools, excluded_tools }]) => {
    if (!isOneOf(group, globs)) return false
    const isWhole = included_servers.includes(server.name)
    if (kind !== 'tool') return isWhole
    const full = [name, alias].map((each) => `${server.name}__${each}`)
    const isNamed = (list: readonly string[]) => full.some((each) => list.includes(each))
    return (isWhole || isNamed(included_tools)) && !isNamed(excluded_tools)
  })
}

/** Tells naively if a rule matches, without its condition. */
function matches({ enabled, effect, subjects, targets }: PolicyRule, by: Subject, on: PolicyItem): boolean {
  const { users = [], roles = [], groups: inGroups = [], teams = [], clients = [], oauth_clients = [] } = subjects
  const isPerson = by.kind !== 'client'
  const asPerson =
    isOneOf(by.name, users) ||
    isOneOf(by.kind, roles) ||
    by.groups.some((each) => isOneOf(each, inGroups)) ||
    by.teams.some((each) => isOneOf(each, teams))
  const asProgram = isPerson
    ? by.oauthClient !== undefined && isOneOf(by.oauthClient, oauth_clients)
    : isOneOf(by.name, clients)
  const namesPeople = [users, roles, inGroups, teams].some((list) => list.length > 0)
  const namesPrograms = [clients, oauth_clients].some((list) => list.length > 0)
  const isSubject = (!namesPeople || (isPerson && asPerson)) && (!namesPrograms || asProgram)
  if (!enabled || !isSubject || !isIn(on.server.name, targets.servers)) return false
  if ((targets.groups ?? []).length > 0 && !isInGroups(on, targets.groups!)) return false
  const lists = {
    tool: targets.tools,
    prompt: targets.prompts,
    resource: targets.resources,
    template: targets.resources,
    skill: targets.resources
  }
  const hasNames = Object.values(lists).some((list) => (list ?? []).length > 0)
  const own = lists[on.kind] ?? []
  if (hasNames && !isOneOf(on.name, own) && !isOneOf(on.alias, own)) return false
  // prompts and resources run nothing that somebody could say yes to
  if ((effect === 'confirm' || effect === 'approve') && on.kind !== 'tool') return false
  const { readOnly, destructive } = targets.annotations ?? {}
  if (readOnly === undefined && destructive === undefined) return true
  // what a server says of its tools opens nothing unless an administrator vouches for it
  if (effect === 'allow' && !on.server.trustsAnnotations) return false
  const { annotations } = JSON.parse(on.stored!.definition) as { annotations: Record<string, unknown> }
  const isReadOnly = annotations['readOnlyHint'] === true
  const isDestructive = annotations['destructiveHint'] !== false && !isReadOnly
  const isWanted = (wanted: boolean | undefined, is: boolean) => wanted === undefined || wanted === is
  return on.kind === 'tool' && isWanted(readOnly, isReadOnly) && isWanted(destructive, isDestructive)
}

/** Decides naively if a call may run at all: all matching rules, one after the other. */
function isAllowed(rules: readonly PolicyRule[], by: Subject, on: PolicyItem, isDefault: boolean): boolean {
  const enforced = rules.filter((each) => each.mode === 'enforce' && matches(each, by, on))
  const hasScopes = ({ requireScopes }: PolicyRule) => requireScopes.every((scope) => by.scopes!.includes(scope))
  const spares = (each: PolicyRule) => each.when === 'no' || (each.requireScopes.length > 0 && hasScopes(each))
  if (enforced.some((each) => each.effect === 'deny' && !spares(each))) return false
  const isOpen = ({ when }: PolicyRule) => when === null || when === 'yes'
  // the claims of a server open nothing, also with a yes
  const believes = ({ targets: { annotations = {} } }: PolicyRule) =>
    on.server.trustsAnnotations || Object.values(annotations).every((hint) => hint === undefined)
  const opens = (each: PolicyRule) => each.effect !== 'deny' && believes(each) && isOpen(each) && hasScopes(each)
  return isDefault || enforced.some(opens)
}

/** Tells naively whose yes an allowed call needs: a condition that fails counts as true. */
function askOf(rules: readonly PolicyRule[], by: Subject, on: PolicyItem): string | undefined {
  const asking = rules.filter((each) => each.mode === 'enforce' && each.when !== 'no' && matches(each, by, on))
  return ['approve', 'confirm'].find((effect) => asking.some((each) => each.effect === effect))
}

const fallbacks = [
  [allServers, () => true],
  [noServers, () => false],
  [parseAllowList(['a']), (name: string) => name === 'a']
] as const

const values = {} as ConditionValues
const factsOf = ({ scopes = [] }: Subject) => ({
  test: (condition: Condition) => condition.evaluate(values),
  scopes
})

holds(
  'every decision is that of a naive reading of the rules, whatever their order',
  [fc.array(rule, { maxLength: 6 }), subject, item, fc.constantFrom(0, 1, 2)],
  (rules, by, on, index) => {
    const [fallback, isDefault] = fallbacks[index]!
    const expected = isAllowed(rules, by, on, isDefault(on.server.name))
    for (const ordered of [rules, rules.toReversed()]) {
      const set = compilePolicies(ordered, context)
      const permit = set.permitOf(set.classOf(by), fallback)
      const decision = permit.decide(on)
      assert.equal(permit.decide(on), decision)
      const judgement = judge(decision, factsOf(by))
      assert.equal(judgement.isAllowed, expected)
      assert.equal(judgement.ask?.rule.effect, expected ? askOf(rules, by, on) : undefined)
      // the scopes that are named help, and without them nothing does
      const scopes = judgement.scopes ?? allScopes
      const isHelped = isAllowed(rules, { ...by, scopes: [...scopes, ...by.scopes!] }, on, isDefault(on.server.name))
      if (!expected) assert.equal(isHelped, judgement.scopes !== undefined)
      const reach = permit.reach(on.server.name)
      if (reach === 'all') assert.notEqual(decision.verdict, 'no')
      if (reach === 'none') assert.equal(decision.verdict, 'no')
    }
  },
  5_000
)

holds(
  'permits with the same hash decide alike',
  [fc.array(rule, { maxLength: 3 }), subject, subject, item],
  (rules, one, other, on) => {
    const set = compilePolicies(rules, context)
    const [first, second] = [one, other].map((by) => set.permitOf(set.classOf(by), noServers))
    if (first!.contentHash !== second!.contentHash) return
    const facts = factsOf(one)
    assert.equal(judge(first!.decide(on), facts).isAllowed, judge(second!.decide(on), facts).isAllowed)
  }
)
