import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConditionError, loadConditions, type ConditionValues } from '../../src/domain/policy/condition.ts'

const compile = await loadConditions()

const values = (args: Record<string, unknown>): ConditionValues => ({
  args,
  user: { name: 'ann', role: 'user' },
  client: { id: '', kind: '' },
  tool: { server: 'k8s', name: 'restart_pod' },
  now: new Date('2026-01-02T03:04:05Z')
})

const evaluate = (text: string, args: Record<string, unknown> = {}) => compile(text).evaluate(values(args))

test('PO-05 a condition is true or false, and fails for a missing member or another type', () => {
  const staging = 'args.namespace in ["staging", "dev"] && args.replicas <= 5'
  assert.equal(evaluate(staging, { namespace: 'dev', replicas: 5 }), true)
  assert.equal(evaluate(staging, { namespace: 'dev', replicas: 5.5 }), false)
  assert.equal(evaluate(staging, { namespace: 'production', replicas: 1 }), false)
  assert.throws(() => evaluate(staging, { namespace: 'dev' }))
  assert.throws(() => evaluate(staging, { namespace: 'dev', replicas: 'many' }))
  assert.throws(() => evaluate('args.namespace == "a"', {}))
  for (const name of ['__proto__', 'constructor', 'toString'])
    assert.throws(() => evaluate(`args.${name} == "a"`, {}), name)
})

test('a condition sees who calls which item, and when', () => {
  assert.ok(evaluate('user.name == "ann" && user.role == "user" && client.id == ""'))
  assert.ok(evaluate('tool.server == "k8s" && like(tool.name, "restart_*") && !like(tool.name, "get_*")'))
  assert.ok(evaluate('now.getHours() == 3 && now > timestamp("2026-01-01T00:00:00Z")'))
  assert.ok(evaluate('host(args.url) == "example.com"', { url: 'https://user@EXAMPLE.com:8443/@evil.test' }))
  assert.throws(() => evaluate('host(args.url) == "example.com"', { url: 'example.com' }))
  assert.ok(evaluate('args.list.exists(each, each == 2)', { list: [1, 2] }))
})

test('PO-07 a condition that could be wrong or slow is refused with its place', () => {
  const refused: [text: string, message: RegExp][] = [
    ['args.a.matches("(a+)+$")', /"matches" cannot be used.*at character 1/],
    ['foo == 1', /Unknown variable: foo \(at character 1\)/],
    ['args.a == 1 && user.groups == ["a"]', /groups.*at character/],
    ['args.a', /must be true or false/],
    ['1 + 1', /must be true or false, not int/],
    ['args.a ==', /at character/],
    ['args.a.all(x, args.b.all(y, x == y))', /"all" cannot be used inside of another loop \(at character/],
    ['cel.bind(a, args.a + args.a, a == "")', /"bind" cannot be used/],
    [Array.from({ length: 200 }, () => 'args.a == 1').join(' && '), /exceed|nodes|limit/i],
    ['', /./]
  ]
  for (const [text, message] of refused)
    assert.throws(
      () => compile(text),
      (error: unknown) => error instanceof ConditionError && message.test(error.message),
      text
    )
})

test('a loop is recognized, wherever it is', () => {
  assert.ok(compile('!args.a.exists(x, x == 1)').hasLoop)
  assert.ok(compile('args.a == 1 || args.b.filter(x, x == 1).map(x, x).size() > 0').hasLoop)
  assert.ok(!compile('args.a == "exists" && has(args.b)').hasLoop)
})
