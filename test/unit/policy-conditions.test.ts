import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConditionError, loadConditions, type ConditionValues } from '../../src/domain/policy/condition.ts'

const compile = await loadConditions()

const values = (args: Record<string, unknown>): ConditionValues => ({
  args,
  user: { name: 'ann', role: 'user', groups: ['sre'], teams: ['platform'] },
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
  assert.ok(evaluate('host(args.url) == "example.com"', { url: 'https://EXAMPLE.com.:8443/@evil.test' }))
  assert.throws(() => evaluate('host(args.url) == "example.com"', { url: 'example.com' }))
  assert.ok(evaluate('args.list.exists(each, each == 2)', { list: [1, 2] }))
})

test('PO-07 a condition that could be wrong or slow is refused with its place', () => {
  const refused: [text: string, message: RegExp][] = [
    ['args.a.matches("(a+)+$")', /"matches" cannot be used.*at character 1/],
    ['foo == 1', /Unknown variable: foo \(at character 1\)/],
    ['args.a == 1 && user.email == "a"', /email.*at character/],
    ['args.a', /must be true or false/],
    ['1 + 1', /must be true or false, not int/],
    ['args.a ==', /at character/],
    ['args.a.all(x, args.b.all(y, x == y))', /"all" cannot be used inside of another loop \(at character/],
    ['args.a.all(x, args.t.contains(args.p))', /"contains" can only be used with a literal text inside of a loop/],
    ['args.a.exists(x, x.split(x).size() > 1)', /"split" can only be used with a literal text inside of a loop/],
    ['args.a.map(x, args.a + args.a).size() > 1', /"args" cannot be used inside of "map"/],
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

test('a condition whose time is not linear reads a limited number of characters, wherever its loop is', () => {
  const bound = (text: string) => compile(text).maxCharacters
  for (const linear of [
    'args.a == "exists" && has(args.b)',
    'args.a in args.b',
    'args.a.contains("x") || args.a.split(",").size() > 1'
  ])
    assert.equal(bound(linear), Infinity, linear)
  for (const quadratic of [
    '!args.a.exists(x, x == 1)',
    'args.a == 1 || args.b.filter(x, x == 1).map(x, x).size() > 0',
    'args.text.contains(args.word)',
    'args.a.indexOf(args.b) == 1 || args.a.lastIndexOf("x" + args.b) == 1',
    'args.a.split(args.b).size() > 1',
    'args.a.all(x, like(x.path, "/public/*") && x.text.contains("a") && size(x) > 0)'
  ])
    assert.equal(bound(quadratic), 65_536, quadratic)
  for (const slow of ['args.a.all(x, x in args.b)', 'args.a.exists(x, size(args.t) > 0)', 'args.a.join(args.b) == ""'])
    assert.equal(bound(slow), 8_192, slow)
})

test('the host of a URL is what every program finds in it, and fails for other texts', () => {
  const hosts: [url: string, host: string][] = [
    ['https://Good.COM:8443/a?b=@evil.com', 'good.com'],
    ['http://good.com.', 'good.com'],
    ['custom://Good.COM/x', 'good.com'],
    ['http://[::1]:80/', '[::1]']
  ]
  for (const [url, host] of hosts) assert.ok(evaluate(`host(args.url) == "${host}"`, { url }), url)
  for (const url of [
    'example.com',
    'http:good.com',
    'http:/good.com',
    'http:////good.com',
    'http://good.com\\@evil.com/',
    'ht\ttp://good.com',
    'http://good.com\n/',
    ' http://good.com',
    'http://good.com /',
    'http://good.com\u0000/',
    'http://good.com@evil.com/',
    'http://x%2egood.com/',
    'http://'
  ])
    assert.throws(() => evaluate('host(args.url) == "good.com"', { url }), JSON.stringify(url))
})

test('an expression that takes a cube of time, or looks up a time zone for each element, is no condition', () => {
  for (const text of ['duration(args.ttl) < duration("1h")', 'duration(tool.name) < duration("1h")'])
    assert.throws(() => compile(text), /"duration" can only be used with a literal text \(at character 1\)/, text)
  const zoned = 'args.hours.exists(each, now.getHours("Europe/Berlin") == each)'
  assert.throws(() => compile(zoned), /"getHours" cannot be used with a time zone inside of a loop/)
  assert.ok(evaluate('now - duration("1h") < now && now.getHours("Europe/Berlin") == 4'))
  assert.ok(evaluate('args.hours.exists(each, now.getHours() == each)', { hours: [3] }))
})
