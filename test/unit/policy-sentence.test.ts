import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RuleInput } from '../../src/domain/policy/input.ts'
import { policySentence } from '../../src/domain/policy/sentence.ts'
import { readSimpleCondition, writeSimpleCondition } from '../../src/domain/policy/simple-condition.ts'

const allow = (rest: Partial<RuleInput>): string => policySentence({ effect: 'allow', ...rest })
const deny = (rest: Partial<RuleInput>): string => policySentence({ effect: 'deny', ...rest })

test('a policy reads as one sentence of who, what and when', () => {
  assert.equal(
    allow({
      subjects: { groups: ['sre'] },
      targets: { servers: ['k8s'], tools: ['get_*', 'restart_*'] },
      when: 'args.namespace in ["staging", "dev"]'
    }),
    'Group sre may use get_* and restart_* of k8s when namespace is staging or dev'
  )
})

const subjects: readonly (readonly [RuleInput['subjects'], string])[] = [
  [{}, 'Everyone'],
  [{ users: ['alice'] }, 'User alice'],
  [{ users: ['alice', 'bob'] }, 'User alice or bob'],
  [{ groups: ['sre-*'] }, 'Group sre-*'],
  [{ groups: ['Site Reliability'] }, 'Group "Site Reliability"'],
  [{ teams: ['platform'] }, 'Team platform'],
  [{ roles: ['admin', 'auditor'] }, 'Role admin or auditor'],
  [{ users: ['alice'], groups: ['sre'], teams: ['platform'] }, 'User alice, group sre or team platform'],
  [{ clients: ['deploy-bot'] }, 'MCP client deploy-bot'],
  [{ clients: ['*'] }, 'Any MCP client'],
  [{ oauth_clients: ['coder'] }, 'Anyone through OAuth client coder'],
  [{ oauth_clients: ['*'] }, 'Anyone through any OAuth client'],
  [{ clients: ['bot'], oauth_clients: ['coder'] }, 'MCP client bot or OAuth client coder'],
  [{ groups: ['sre'], oauth_clients: ['coder'] }, 'Group sre through OAuth client coder']
]
for (const [who, text] of subjects) {
  test(`the subjects ${JSON.stringify(who)} read "${text}"`, () => {
    assert.equal(allow({ subjects: who }), `${text} may use everything`)
  })
}

const targets: readonly (readonly [RuleInput['targets'], string])[] = [
  [{}, 'everything'],
  [{ servers: ['k8s'] }, 'everything of k8s'],
  [{ servers: ['k8s', 'github', 'jira'] }, 'everything of k8s, github and jira'],
  [{ servers: ['*'] }, 'everything of any server'],
  [{ tools: ['delete_*'] }, 'delete_*'],
  [{ tools: ['*'], servers: ['k8s'] }, 'all tools of k8s'],
  [{ prompts: ['review'] }, 'the prompts review'],
  [{ resources: ['docs://*'] }, 'the resources docs://*'],
  [{ tools: ['get_*'], prompts: ['*'], resources: ['a://b'] }, 'get_*, all prompts and the resources a://b'],
  [{ groups: ['dev', 'ops'] }, 'everything in the tool group dev or ops'],
  [{ servers: ['k8s'], groups: ['dev'] }, 'everything of k8s in the tool group dev'],
  [{ annotations: { destructive: true } }, 'all tools that are destructive'],
  [
    { servers: ['k8s'], annotations: { readOnly: false, openWorld: true, idempotent: false } },
    'all tools of k8s that are not read-only, not idempotent and open-world'
  ]
]
for (const [what, text] of targets) {
  test(`the targets ${JSON.stringify(what)} read "${text}"`, () => {
    assert.equal(deny({ targets: what }), `Everyone may not use ${text}`)
  })
}

const conditions: readonly (readonly [string, string])[] = [
  ['args.namespace == "dev"', 'namespace is dev'],
  ['args.meta.namespace != "production"', 'meta.namespace is not production'],
  ['!(args.namespace in ["a", "b c"])', 'namespace is not a or "b c"'],
  ['like(args.path, "/public/*")', 'path is like /public/*'],
  ['args.replicas <= 5 && args.replicas >= 1', 'replicas is at most 5 and replicas is at least 1'],
  ['args.query == "a && b"', 'query is "a && b"'],
  // what the form cannot express reads as it is written
  ['args.count == 5', 'args.count == 5'],
  ['args.a == "x" || args.b == "y"', 'args.a == "x" || args.b == "y"'],
  ['has(args.namespace)', 'has(args.namespace)'],
  ['args.a == "x" &&', 'args.a == "x" &&'],
  [String.raw`args.a == "\x41"`, String.raw`args.a == "\x41"`]
]
for (const [when, text] of conditions) {
  test(`the condition ${when} reads "${text}"`, () => {
    assert.equal(allow({ when }), `Everyone may use everything when ${text}`)
  })
}

test('required scopes read as an exception of a denial, and as a demand of an allowance', () => {
  assert.equal(
    deny({ require_scopes: ['mcp:write'] }),
    'Everyone may not use everything, unless the token has the scope mcp:write'
  )
  assert.equal(
    allow({ when: 'args.a == "b"', require_scopes: ['mcp:a', 'mcp:b'] }),
    'Everyone may use everything when a is b, if the token has the scopes mcp:a and mcp:b'
  )
})

test('names that look like words of the sentence are quoted', () => {
  assert.equal(
    allow({ subjects: { groups: ['sre may use everything'] }, targets: { servers: ['k8s'] } }),
    'Group "sre may use everything" may use everything of k8s'
  )
})

test('a condition that is written from its parts is read as the same parts', () => {
  const tests = [
    { argument: 'namespace', comparison: 'is', values: ['a"b\\', 'c && d'] },
    { argument: 'a.b', comparison: 'is_not', values: ['x', 'y'] },
    { argument: 'c', comparison: 'is', values: [''] },
    { argument: 'path', comparison: 'like', values: ['/x/*'] },
    { argument: 'n', comparison: 'at_most', values: ['-2.5'] }
  ] as const
  assert.deepEqual(readSimpleCondition(writeSimpleCondition(tests)), tests)
})
