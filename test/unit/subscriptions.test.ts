import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { parseUpdate } from '../../src/protocol/notifications.ts'
import { createSubscriptions } from '../../src/mcp/subscriptions/resource-subscriptions.ts'

const nothing = { members: '', meta: '' }

function open(t: TestContext) {
  const told: string[] = []
  const subscriptions = createSubscriptions(async (server) => void told.push(server))
  t.after(() => subscriptions.close())
  const subscriber = () => {
    const heard: string[] = []
    const one = { heard, lost: false, onUpdated: (uri: string) => void heard.push(uri), isRevoked: () => one.lost }
    return one
  }
  return { subscriptions, told, subscriber }
}

test('each subscriber of a resource hears of it and of its parts, and of no other', async (t) => {
  const { subscriptions, subscriber } = open(t)
  const [one, two, other] = [subscriber(), subscriber(), subscriber()]
  await subscriptions.add('a', 'x://dir', one)
  await subscriptions.add('a', 'x://dir', two)
  await subscriptions.add('b', 'x://dir', other)
  for (const uri of ['x://dir', 'x://dir/file', 'x://dir#part', 'x://directory', 'x://'])
    subscriptions.notifyUpdated('a', uri, nothing)
  assert.deepEqual(one.heard, ['x://dir', 'x://dir/file', 'x://dir#part'])
  assert.deepEqual(two.heard, one.heard)
  assert.deepEqual(other.heard, [])
})

test('what the last subscriber left is followed for five seconds more, unless somebody comes back', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { subscriptions, told, subscriber } = open(t)
  const [one, two] = [subscriber(), subscriber()]
  void subscriptions.add('a', 'x://1', one)
  void subscriptions.add('a', 'x://1', two)
  void subscriptions.add('a', 'x://2', two)
  subscriptions.delete('a', 'x://1', one)
  subscriptions.delete('a', 'x://1', two)
  subscriptions.delete('a', 'x://1', two)
  t.mock.timers.tick(4_000)
  void subscriptions.add('a', 'x://1', one)
  t.mock.timers.tick(10_000)
  assert.deepEqual([...subscriptions.subscribedUris('a')], ['x://1', 'x://2'])
  subscriptions.delete('a', 'x://1', one)
  told.length = 0
  t.mock.timers.tick(4_999)
  assert.deepEqual(told, [])
  t.mock.timers.tick(1)
  assert.deepEqual([told, [...subscriptions.subscribedUris('a')]], [['a'], ['x://2']])
})

test('who may not hear of a resource any more is let go, the others stay', async (t) => {
  const { subscriptions, subscriber } = open(t)
  const [one, two] = [subscriber(), subscriber()]
  for (const uri of ['x://1', 'x://2']) await subscriptions.add('a', uri, one)
  await subscriptions.add('a', 'x://1', two)
  one.lost = true
  subscriptions.removeRevoked()
  for (const uri of ['x://1', 'x://2']) subscriptions.notifyUpdated('a', uri, nothing)
  assert.deepEqual([one.heard, two.heard], [[], ['x://1']])
})

test('what only they followed the upstream is not asked to tell of any more', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { subscriptions, subscriber } = open(t)
  const one = subscriber()
  void subscriptions.add('a', 'x://1', one)
  one.lost = true
  subscriptions.removeRevoked()
  t.mock.timers.tick(5_000)
  assert.deepEqual([...subscriptions.subscribedUris('a')], [])
})

test('a malformed notification names no resource', () => {
  assert.deepEqual(parseUpdate('{"uri":"x://1"}'), { uri: 'x://1', extra: nothing })
  for (const params of ['{}', '{"uri":1}', '{"uri"', 'null']) assert.equal(parseUpdate(params), undefined, params)
})

test('SR-H3 a notification of a URI that is longer than a request may name tells of no resource', () => {
  const long = (characters: number) => `x://${'u'.repeat(characters - 4)}`
  assert.equal(parseUpdate(JSON.stringify({ uri: long(8_192) }))?.uri, long(8_192), 'as long as it may be')
  assert.equal(parseUpdate(JSON.stringify({ uri: long(8_193) })), undefined, 'longer')
})
