import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedactor, secretsIn } from '../../src/domain/secrets/redaction.ts'
import { secretArguments } from '../../src/domain/secrets/secret-parts.ts'

test('secrets are taken out of text in plain, JSON and URL form, the longest first', () => {
  const redact = createRedactor(['tok"en-1', 'tok"en-1-longer', 'a b&c/d'])
  assert.equal(redact('x tok"en-1-longer y tok"en-1 z'), 'x *** y *** z')
  assert.equal(redact(JSON.stringify({ m: 'tok"en-1' })), '{"m":"***"}')
  assert.equal(redact('/?k=a%20b%26c%2Fd'), '/?k=***')
})

test('a secret is found in base64 too, wherever in it it stands, and in JSON that is quoted as JSON', () => {
  const redact = createRedactor(['pass"word-1'])
  for (const before of ['', 'user:', 'a:', 'ab:']) {
    const shown = redact(Buffer.from(`${before}pass"word-1`).toString('base64'))
    assert.ok(shown.includes('***'), shown)
    assert.ok(!Buffer.from(shown.replace('***', ''), 'base64').toString().includes('word'), shown)
  }
  assert.equal(redact(JSON.stringify(JSON.stringify({ m: 'pass"word-1' }))), String.raw`"{\"m\":\"***\"}"`)
})

test('values under six characters stay: they would be found by chance', () => {
  assert.equal(createRedactor(['', 'true', '12345'])('true 12345'), 'true 12345')
})

test('all that a configuration holds counts, header values also without their scheme, and query values of the URL', () => {
  const config = { bearer_token: 'token-1', headers: { 'X-Key': 'Basic header-2' }, env: { A: 'value-3' } }
  const secrets = secretsIn({ ...config, oauth_client_secret: 'client-4' }, { url: 'https://host/p?key=query-5' })
  for (const secret of ['token-1', 'Basic header-2', 'header-2', 'value-3', 'client-4', 'query-5']) {
    assert.ok(secrets.includes(secret), secret)
  }
})

test('arguments are secret where their flag or variable says so', () => {
  const args = ['--token', 'value-1', '--api-key=value-2', 'DB_PASSWORD=value-3', '-y', 'package', '--port=80', 'x']
  assert.deepEqual(secretArguments(args), ['value-1', 'value-2', 'value-3'])
})
