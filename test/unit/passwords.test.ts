import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswords, passwordProblem } from '../../src/identity/passwords.ts'

/** Address of a browser. */
const from = '192.0.2.7'

test('a password is recognised by its hash, in whatever normal form it was typed', async () => {
  const passwords = createPasswords()
  const [first, second] = await Promise.all([
    passwords.hash('pass\u00e9 compos\u00e9', from),
    passwords.hash('other password', from)
  ])
  assert.match(first, /^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(await passwords.hash('pass\u00e9 compos\u00e9', from), first, 'each hash has its own salt')
  assert.equal(await passwords.verify('passe\u0301 compose\u0301', first, from), true)
  assert.equal(await passwords.verify('pass\u00e9 compos\u00e9', second, from), false)
})

test('no password is right for a user who is unknown, or whose stored hash cannot be read', async () => {
  const passwords = createPasswords()
  for (const stored of [undefined, '', '$scrypt$ln=15,r=8,p=3$', '$scrypt$ln=1,r=1,p=1$AAAA$AAAA']) {
    assert.equal(await passwords.verify('', stored, from), false, String(stored))
  }
})

test('one network hashes one password at a time and waits in a short queue, beside which others go on', async () => {
  // a busy machine may need longer than ten seconds for a few hashes
  const passwords = createPasswords(120_000)
  const ended: string[] = []
  const check = async (address: string) => {
    try {
      await passwords.verify('a password', undefined, address)
      ended.push(address)
      return 200
    } catch (error) {
      return (error as { statusCode: number }).statusCode
    }
  }
  const flood = Array.from({ length: 20 }, (_, i) => check(`2001:db8::${i.toString(16)}`))
  assert.equal(await check('192.0.2.7'), 200)
  assert.ok(ended.length <= 3, `${ended.length} before it`)
  const statuses = await Promise.all(flood)
  assert.deepEqual([statuses.filter((each) => each === 200).length, statuses.at(-1)], [4, 503])
  assert.equal(await check('2001:db8::1'), 200, 'the network may go on')
})

test('a password has at least twelve characters, counted as people see them, and is not the name', () => {
  assert.match(passwordProblem('\u{1f511}'.repeat(11), 'carol')!, /at least 12/)
  assert.equal(passwordProblem('\u{1f511}'.repeat(12), 'carol'), undefined)
  assert.match(passwordProblem('x'.repeat(1_025), 'carol')!, /at most 1024/)
  assert.match(passwordProblem('Carol-Example', 'carol-example')!, /name/)
})
