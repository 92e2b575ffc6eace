import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allServers, noServers } from '../../src/domain/policy/allow-list.ts'
import { judge, type Permit } from '../../src/domain/policy/permit.ts'
import { compilePolicies } from '../../src/domain/policy/policy-set.ts'
import { POLICY_LIMITS, ruleProblems, type PolicyRule } from '../../src/domain/policy/rule.ts'
import type { Subject } from '../../src/domain/policy/subject.ts'
import type { PolicyItem } from '../../src/domain/policy/target.ts'
import { policyRule } from './policies.ts'

const problems = (more: Partial<PolicyRule>) => ruleProblems(policyRule('r', more)).join('; ')

test('PO-07 a rule that is too wide, contradictory or too long is refused with its place', () => {
  assert.match(problems({ everyone: false, subjects: {}, targets: {} }), /^everyone: /)
  assert.match(problems({ everyone: false, subjects: { users: [] }, targets: { annotations: {} } }), /^everyone: /)
  assert.equal(problems({ everyone: true }), '')
  assert.equal(problems({ everyone: false, targets: { servers: ['a*'] } }), '')
  for (const glob of ['*a', 'a*b', '**'])
    assert.match(problems({ targets: { tools: [glob] } }), /^targets\.tools: "\*"/)
  assert.match(problems({ targets: { tools: [''] } }), /^targets\.tools: an entry is empty/)
  assert.match(problems({ subjects: { users: ['a'], clients: ['b'] } }), /^subjects: /)
  for (const people of [{ roles: ['admin'] }, { groups: ['sre'] }, { teams: ['platform'] }])
    assert.match(problems({ subjects: { ...people, clients: ['b'] } }), /^subjects: /)
  assert.equal(problems({ subjects: { groups: ['sre'], oauth_clients: ['https://claude.example/*'] } }), '')
  for (const list of ['users', 'groups', 'teams', 'roles', 'clients', 'oauth_clients'])
    assert.match(problems({ subjects: { [list]: [] } }), new RegExp(`^subjects\\.${list}: the list is empty`))
  for (const list of ['servers', 'groups', 'tools', 'prompts', 'resources'])
    assert.match(problems({ targets: { [list]: [] } }), new RegExp(`^targets\\.${list}: the list is empty`))
  assert.equal(problems({ effect: 'allow', everyone: false, targets: { annotations: { readOnly: true } } }), '')
  assert.match(problems({ effect: 'deny', targets: { prompts: ['a'], annotations: { readOnly: true } } }), /^targets\./)
  assert.match(problems({ subjects: { users: Array<string>(201).fill('a') } }), /^subjects\.users: at most 200/)
  assert.match(problems({ when: 'é'.repeat(POLICY_LIMITS.conditionBytes / 2 + 1) }), /^when: longer than 2048 bytes/)
  assert.equal(problems({ when: 'x'.repeat(POLICY_LIMITS.conditionBytes) }), '')
  for (const scope of ['', 'mcp', 'mcp:', 'towpath:admin', 'mcp:W', 'mcp:a"', 'mcp:a b', `mcp:${'a'.repeat(61)}`])
    assert.match(problems({ requireScopes: [scope] }), /^require_scopes: .*is no scope/, scope)
  assert.equal(problems({ requireScopes: ['mcp:write', `mcp:${'a'.repeat(60)}`] }), '')
  assert.match(
    problems({ requireScopes: Array.from({ length: 9 }, (_, i) => `mcp:${i}`) }),
    /^require_scopes: at most 8/
  )
})

const context = { groups: new Map(), groupHashes: new Map(), compileCondition: undefined }
const tool = (name: string, server = 'k8s'): PolicyItem => ({
  kind: 'tool',
  server: { name: server },
  name,
  alias: name
})
const user: Subject = { kind: 'user', name: 'ann', groups: [], teams: [] }

function permitOf(rules: readonly PolicyRule[], fallback: Permit = noServers): Permit {
  const set = compilePolicies(rules, context)
  return set.permitOf(set.classOf(user), fallback)
}

test('PO-04 a deny wins over an allow in any order; a disabled or observed rule has no effect', () => {
  const allow = policyRule('allow', { targets: { servers: ['k8s'] } })
  const deny = policyRule('deny', { effect: 'deny', targets: { tools: ['delete_*'] } })
  const verdict = (rules: readonly PolicyRule[], name: string) => permitOf(rules).decide(tool(name)).verdict
  for (const rules of [
    [allow, deny],
    [deny, allow]
  ]) {
    assert.equal(verdict(rules, 'delete_pod'), 'no')
    assert.equal(verdict(rules, 'get_pod'), 'yes')
  }
  for (const off of [{ enabled: false }, { mode: 'observe' } as const])
    assert.equal(verdict([allow, { ...deny, ...off }], 'delete_pod'), 'yes')
  const { observed } = permitOf([allow, { ...deny, mode: 'observe' }]).decide(tool('delete_pod'))
  assert.deepEqual(
    observed.map(({ rule }) => rule.name),
    ['deny']
  )
})

test('annotations of a tool have the defaults of MCP, and only tools have them', () => {
  const deny = policyRule('deny', { effect: 'deny', targets: { annotations: { readOnly: false } } })
  const permit = permitOf([deny], allServers)
  const annotated = (hint: unknown): PolicyItem => ({
    ...tool('t'),
    stored: { definition: JSON.stringify({ annotations: { readOnlyHint: hint } }) }
  })
  assert.equal(permit.decide(tool('t')).verdict, 'no')
  assert.equal(permit.decide(annotated('true')).verdict, 'no')
  assert.equal(permit.decide(annotated(true)).verdict, 'yes')
  assert.equal(permit.decide({ ...tool('t'), kind: 'prompt' }).verdict, 'yes')
})

test('an allow goes by annotations only at servers whose annotations are trusted, and never widens what it names', () => {
  const allow = policyRule('allow', { targets: { tools: ['get_*'], annotations: { readOnly: true } } })
  const permit = permitOf([allow])
  const item = (name: string, trustsAnnotations: boolean, hints?: object): PolicyItem => ({
    ...tool(name),
    server: { name: 'k8s', trustsAnnotations },
    stored: { definition: JSON.stringify({ name, ...(hints && { annotations: hints }) }) }
  })
  const verdict = (...of: Parameters<typeof item>) => permit.decide(item(...of)).verdict
  assert.equal(verdict('get_pods', true, { readOnlyHint: true }), 'yes')
  assert.equal(verdict('get_pods', false, { readOnlyHint: true }), 'no')
  assert.equal(verdict('get_pods', true, { readOnlyHint: 'true' }), 'no')
  assert.equal(verdict('get_pods', true), 'no')
  assert.equal(verdict('delete_pod', true, { readOnlyHint: true }), 'no')
  assert.equal(permit.decide({ ...item('get_pods', true), kind: 'prompt' }).verdict, 'no')
  assert.equal(permit.decide(tool('get_pods')).verdict, 'no')
  assert.equal(permit.reach('k8s'), 'some')
  const alone = permitOf([policyRule('allow', { targets: { annotations: { destructive: false } } })])
  assert.equal(alone.decide(item('drop', true)).verdict, 'no', 'a tool without the hint counts as destructive')
  assert.equal(alone.decide(item('drop', true, { destructiveHint: false })).verdict, 'yes')
  const deny = permitOf(
    [policyRule('deny', { effect: 'deny', targets: { annotations: { readOnly: false } } })],
    allServers
  )
  assert.equal(deny.decide(item('delete_pod', false)).verdict, 'no', 'a deny goes by the annotations of every server')
})

test('a rule that asks goes by the annotations that a group shows, and allows by those of the server alone', () => {
  const item = (own: boolean, shown: boolean): PolicyItem => ({
    ...tool('t'),
    server: { name: 'k8s', trustsAnnotations: true },
    stored: { definition: JSON.stringify({ annotations: { readOnlyHint: own } }) },
    listed: { definition: JSON.stringify({ annotations: { readOnlyHint: shown } }) }
  })
  const targets = { annotations: { readOnly: false } }
  const asks = (fallback: Permit, each: PolicyItem) => {
    const { verdict, asks: rules } = permitOf([policyRule('ask', { effect: 'confirm', targets })], fallback).decide(
      each
    )
    return [verdict, rules.length]
  }
  assert.deepEqual(asks(allServers, item(true, false)), ['residual', 1])
  assert.deepEqual(asks(allServers, item(false, true)), ['yes', 0])
  assert.deepEqual(asks(noServers, item(false, false)), ['residual', 1])
  // the group alone says that the rule is for this tool
  assert.deepEqual(asks(noServers, item(true, false)), ['no', 0])
  const verdict = (effect: 'allow' | 'deny', fallback: Permit, each: PolicyItem) =>
    permitOf([policyRule('r', { effect, targets })], fallback).decide(each).verdict
  assert.equal(verdict('allow', noServers, item(true, false)), 'no')
  assert.equal(verdict('allow', noServers, item(false, true)), 'yes')
  assert.equal(verdict('deny', allServers, item(true, false)), 'yes')
  assert.equal(verdict('deny', allServers, item(false, true)), 'no')
})

test('a condition that cannot be compiled is taken against the caller, and reported', () => {
  const isAllowed = (effect: 'allow' | 'deny', fallback: Permit) =>
    judge(permitOf([policyRule('r', { effect, when: 'broken' })], fallback).decide(tool('t')), {
      scopes: [],
      test: (each) => each.evaluate({} as never)
    }).isAllowed
  assert.equal(isAllowed('allow', noServers), false)
  assert.equal(isAllowed('deny', allServers), false)
  const { faults } = compilePolicies([policyRule('r', { when: 'broken' })], context)
  assert.deepEqual(
    faults.map(({ policy }) => policy),
    ['r']
  )
})

test('the file of a skill is denied in every spelling that its server may read as the denied one', () => {
  const resource = (name: string): PolicyItem => ({ kind: 'resource', server: { name: 's' }, name, alias: name })
  const deny = policyRule('deny', { effect: 'deny', targets: { resources: ['skill://refunds/Secret.md'] } })
  const { decide } = permitOf([deny], allServers)
  for (const file of [
    'skill://refunds/Secret.md',
    'SKILL://refunds/secret.md',
    'skill://refunds/%53ecret.md',
    'skill://refunds/./Secret.md',
    'skill://refunds//Secret.md',
    'skill://refunds/Secret.md/',
    'skill://refunds/Secret.md?x'
  ])
    assert.equal(decide(resource(file)).verdict, 'no', file)
  for (const file of ['skill://refunds/SKILL.md', 'skill://refunds/other%20file.md'])
    assert.equal(decide(resource(file)).verdict, 'yes', file)
  const allow = permitOf([policyRule('allow', { targets: { resources: ['skill://refunds/*'] } })])
  assert.equal(allow.decide(resource('skill://refunds/Other.md')).verdict, 'yes')
  assert.equal(allow.decide(resource('skill://refunds/%2e%2e/other/SKILL.md')).verdict, 'no')
})

const unlisted = (name: string): PolicyItem => ({ kind: 'resource', server: { name: 's' }, name, alias: name })

test('a resource is denied in the spellings of its URI that parsers write alike, and allowed in the written one only', () => {
  const spellings: Readonly<Record<string, readonly string[]>> = {
    'demo://secret': ['DEMO://secret', 'demo://SECRET', 'demo://sec%72et', 'DeMo://s%65cret'],
    'https://x.test/key': ['https://X.test/key', 'HTTPS://x.test:443/key', 'https:x.test/key', 'https://x.test/%6bey'],
    'HTTPS://X.test:443/Key': ['https://x.test/Key', 'https://x.test/key'],
    'http://x.test': ['http://x.test/', 'http://X.test:80', 'http:/x.test'],
    'demo://secret/*': ['DEMO://secret/a', 'demo://Secret/a/b'],
    'https://x.test:443/a*': ['https://x.test/abc', 'https://X.TEST/a'],
    'https://x.test*': ['HTTPS://x.test:443/a', 'HTTPS://x.test.example/a', 'https://x.test'],
    'demo:*': ['DEMO://a', 'Demo:b']
  }
  for (const [glob, uris] of Object.entries(spellings)) {
    const targets = { resources: [glob] }
    const deny = permitOf([policyRule('deny', { effect: 'deny', targets })], allServers)
    const observed = permitOf([policyRule('deny', { effect: 'deny', mode: 'observe', targets })], allServers)
    const allow = permitOf([policyRule('allow', { targets })])
    for (const uri of uris) {
      assert.equal(deny.decide(unlisted(uri)).verdict, 'no', `${glob} ${uri}`)
      assert.equal(observed.decide(unlisted(uri)).observed.length, 1, `${glob} ${uri}`)
      const isWritten = glob.endsWith('*') ? uri.startsWith(glob.slice(0, -1)) : uri === glob
      assert.equal(allow.decide(unlisted(uri)).verdict, isWritten ? 'yes' : 'no', `${glob} ${uri}`)
    }
    for (const uri of ['demo2://secret', 'https://y.test/key', 'https://x.test:444/b', 'file:///a'])
      if (!(glob === 'https://x.test*' && uri.startsWith('https://x.test')))
        assert.equal(deny.decide(unlisted(uri)).verdict, 'yes', `${glob} ${uri}`)
  }
})

test('an escaped asterisk in a rule is no wildcard', () => {
  const deny = permitOf([policyRule('deny', { effect: 'deny', targets: { resources: ['demo://a%2A'] } })], allServers)
  assert.deepEqual(
    ['demo://a%2a', 'DEMO://a*', 'demo://abc'].map((uri) => deny.decide(unlisted(uri)).verdict),
    ['no', 'no', 'yes']
  )
})

test('a resource of a list is compared as it is written: its server tells it from others', () => {
  const deny = permitOf([policyRule('deny', { effect: 'deny', targets: { resources: ['file:///a'] } })], allServers)
  const listed = (name: string): PolicyItem => ({ ...unlisted(name), stored: { definition: '{}' } })
  assert.deepEqual(
    [deny.decide(listed('file:///a')), deny.decide(listed('file:///A')), deny.decide(unlisted('file:///A'))].map(
      ({ verdict }) => verdict
    ),
    ['no', 'yes', 'no']
  )
})
