import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCredentials } from '../../src/domain/credentials.ts'
import { isToken } from '../../src/domain/tokens.ts'

test('AN-03 the scheme is read in any letter case, with any number of spaces behind it', () => {
  for (const value of ['Bearer abc', 'bearer abc', 'BEARER  abc'])
    assert.deepEqual(parseCredentials(['Host', 'h', 'AUTHORIZATION', value]), { kind: 'token', token: 'abc' }, value)
})

test('AN-05 no other header is a credential', () => {
  const others = ['Cookie', 'access_token=abc', 'X-Access-Token', 'abc', 'Proxy-Authorization', 'Bearer abc']
  for (const raw of [[], others, ['X-Forwarded-Authorization', 'Bearer abc'], ['Authorizations', 'Bearer abc']])
    assert.deepEqual(parseCredentials(raw), { kind: 'none' })
})

test('AN-17 two headers are none that counts, whatever they hold and however they are written', () => {
  const one = ['Authorization', 'Bearer abc']
  for (const other of [one, ['authorization', 'Bearer x'], ['AUTHORIZATION', ''], ['Authorization', 'Basic x']]) {
    assert.deepEqual(parseCredentials([...one, 'Host', 'h', ...other]), { kind: 'malformed' })
    assert.deepEqual(parseCredentials([...other, ...one]), { kind: 'malformed' })
  }
})

test('AN-17 what is not one token behind the one scheme is malformed', () => {
  const bad = [
    '',
    'abc',
    'Bearer',
    'Bearer ',
    'Bearerabc',
    'Bearer a b',
    'Bearer a, Bearer b',
    'Basic abc',
    'Token abc'
  ]
  for (const value of [...bad, 'Bearer\tabc', 'Bearer a\tb', 'Bearer ü', 'xBearer abc', ' Bearer abc'])
    assert.deepEqual(parseCredentials(['Authorization', value]), { kind: 'malformed' }, value)
})

test('every token that may be chosen can be sent', () => {
  const token = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i)).join('')
  assert.ok(isToken(token))
  assert.deepEqual(parseCredentials(['Authorization', `Bearer ${token}`]), { kind: 'token', token })
})

test('a token is long enough, not too long, and holds no white space', () => {
  const ok = 'x'.repeat(16)
  for (const token of [ok, 'x'.repeat(1_024)]) assert.ok(isToken(token))
  for (const token of ['', 'x'.repeat(15), 'x'.repeat(1_025), `${ok} `, `${ok}\n`, `\t${ok}`, `${ok} ${ok}`, `${ok}ü`])
    assert.ok(!isToken(token), JSON.stringify(token))
})
