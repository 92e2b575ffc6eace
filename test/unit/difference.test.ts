import assert from 'node:assert/strict'
import test from 'node:test'
import { difference } from '../../src/domain/secrets/difference.ts'

test('only what differs is told, and absent is the same as null', () => {
  assert.deepEqual(
    difference({ url: 'a', mode: 'x', gone: 1, none: null }, { url: 'b', mode: 'x', none: undefined, added: [1] }),
    { changed: ['url', 'gone', 'added'], before: { url: 'a', gone: 1 }, after: { url: 'b', added: [1] } }
  )
  assert.deepEqual(difference(), { changed: [], before: {}, after: {} })
})

test('a secret that changed is named and not shown', () => {
  const { changed, before, after } = difference(
    { bearer_token: 'SENT1', oauth_client_secret: 'SENT2', access_token: 'SENT3' },
    { bearer_token: 'SENT4', oauth_client_secret: 'SENT2' }
  )
  assert.deepEqual(changed, ['bearer_token', 'access_token'])
  assert.deepEqual([before, after], [{ bearer_token: '***', access_token: '***' }, { bearer_token: '***' }])
})

test('of headers and env the names that differ are told', () => {
  assert.deepEqual(
    difference(
      { headers: { same: 'SENT', changed: 'SENT', gone: 'SENT' }, env: { A: 'SENT' } },
      { headers: { same: 'SENT', changed: 'SENT2', added: 'SENT' }, env: { A: 'SENT' } }
    ),
    {
      changed: ['headers'],
      before: { headers: { changed: '***', gone: '***' } },
      after: { headers: { changed: '***', added: '***' } }
    }
  )
})

test('an argument whose flag calls it secret is not shown', () => {
  const { after } = difference({}, { args: ['run', '--token', 'SENT', '--api-key=SENT', '--port=80'] })
  assert.deepEqual(after, { args: ['run', '--token', '***', '--api-key=***', '--port=80'] })
})

test('a query may hold a key: that it changed is told, it is not', () => {
  assert.deepEqual(difference({ url: 'http://h/p?key=SENT' }, { url: 'http://h/p?key=SENT2&a=1' }), {
    changed: ['url'],
    before: { url: 'http://h/p?key=***' },
    after: { url: 'http://h/p?key=***&a=***' }
  })
})

test('long texts, lists and maps are cut', () => {
  const items = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`tool ${index}`, 'f']))
  const { after } = difference({}, { description: 'x'.repeat(300), args: Array(250).fill('a'), items })
  assert.equal(after.description, `${'x'.repeat(200)}…`)
  assert.deepEqual((after.args as string[]).slice(199), ['a', '50 more'])
  const shown = after.items as Record<string, string>
  assert.equal(Object.keys(shown).length, 201)
  assert.equal(shown['…'], '100 more')
})

test('names that objects inherit are names like others', () => {
  const { changed, after } = difference(
    { env: {} },
    { env: JSON.parse('{"__proto__":"SENT","constructor":"SENT"}') as object }
  )
  assert.deepEqual(changed, ['env'])
  assert.equal(JSON.stringify(after), '{"env":{"__proto__":"***","constructor":"***"}}')
})
