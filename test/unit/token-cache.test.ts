import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTokenCache, type Verified } from '../../src/identity/token-cache.ts'
import { AppError } from '../../src/lib/errors.ts'
import { sha256 } from './stored.ts'
import { presented } from './presented.ts'

const from = { address: '192.0.2.1' }

/** Returns the token with this name. */
const named = (name: string) => presented(`eyJh.${name.replaceAll(' ', '_')}.c2ln`)

/** Returns a cache whose clock and answers the test chooses. */
function createWorld() {
  const world = {
    now: 1_000,
    isCurrent: true,
    asked: 0,
    answer: async (): Promise<Verified | null> => ({
      signedIn: {
        signIn: { kind: 'grant', principalId: 'alice', credential: sha256('x'), validFrom: 0, expiresAt: 601_000 }
      },
      isCurrent: () => world.isCurrent
    })
  }
  const verify = async () => {
    world.asked++
    return world.answer()
  }
  return { world, tokens: createTokenCache({ maxLength: 100, verify, now: () => world.now }) }
}

test('a token is verified once, until it expires or does not count any more', async () => {
  const { world, tokens } = createWorld()
  const first = await tokens.check(named('one'), from)
  assert.ok(first && first !== 'busy')
  assert.equal(tokens.check(named('one'), from), first)
  await tokens.check(named('other'), from)
  assert.equal(world.asked, 2)
  world.isCurrent = false
  assert.equal(tokens.check(named('one'), from), null)
  world.isCurrent = true
  world.now = 601_000 + 30_000
  assert.equal(tokens.check(named('other'), from), null)
})

test('a refused token is not looked at again for 30 seconds, one that could not be judged is at once', async () => {
  const { world, tokens } = createWorld()
  const { answer } = world
  world.answer = async () => null
  assert.equal(await tokens.check(named('refused'), from), null)
  world.answer = () => Promise.reject(new AppError(403, 'the person may not sign in'))
  assert.equal(await tokens.check(named('not admitted'), from), null)
  world.answer = () => Promise.reject(new AppError(503, 'the keys cannot be read'))
  await assert.rejects(async () => tokens.check(named('unknown'), from), { statusCode: 503 })
  world.answer = answer
  assert.deepEqual([tokens.check(named('refused'), from), tokens.check(named('not admitted'), from)], [null, null])
  assert.ok(await tokens.check(named('unknown'), from))
  world.now += 30_000
  assert.ok(await tokens.check(named('refused'), from))
})

test('a text that cannot be a JWT, or is too long for one, is no access token of the authorization server', () => {
  const { world, tokens } = createWorld()
  for (const token of ['twp_abc', 'eyJh.b', 'eyJh.b.c d', `eyJh.${'b'.repeat(100)}.c`]) {
    assert.equal(tokens.check(presented(token), from), undefined)
  }
  assert.equal(world.asked, 0)
})
