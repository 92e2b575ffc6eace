import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createTrustedIssuer } from '../../src/identity/trusted-issuer.ts'

const issuer = 'https://idp.example/realms/company'
const openId = `${issuer}/.well-known/openid-configuration`
const oauth = 'https://idp.example/.well-known/oauth-authorization-server/realms/company'
const jwks_uri = 'https://idp.example/keys'

/** Returns an issuer whose answers and clock the test chooses. */
function createWorld(answers: Readonly<Record<string, () => Response>>) {
  const asked: string[] = []
  const world = { asked, answers: { ...answers }, now: 0 }
  const trusted = createTrustedIssuer({
    issuer,
    now: () => world.now,
    async request(url) {
      asked.push(url)
      return world.answers[url]?.() ?? new Response('', { status: 404 })
    }
  })
  return { ...trusted, world }
}

const metadata = (more: object = {}) => Response.json({ issuer, jwks_uri, ...more })

test('keys are read again for unknown ids, however many, at most once in 30 seconds', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000_000_000 })
  const pairs = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  const jwks = await Promise.all(
    pairs.map(async ({ publicKey }, i) => ({ ...(await exportJWK(publicKey)), kid: `k${i}` }))
  )
  const sign = (i: number, kid = `k${i}`) =>
    new SignJWT({ iss: issuer, sub: 'alice', exp: 2_000_000_000 })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(pairs[i]!.privateKey)
  let published = [jwks[0]]
  const { verify, world } = createWorld({
    [openId]: () => metadata(),
    [jwks_uri]: () => Response.json({ keys: published })
  })
  const reads = () => world.asked.filter((url) => url === jwks_uri).length
  const check = async (token: Promise<string>) => verify(await token, { requiredClaims: ['sub'], now: Date.now() })
  const unknown = { name: 'AppError', statusCode: 400 }
  await check(sign(0))
  published = jwks
  for (let i = 0; i < 1_000; i++) await assert.rejects(check(sign(0, `x${i}`)), unknown)
  assert.equal(reads(), 1)
  t.mock.timers.setTime(1_000_000_000_000 + 30_001)
  await check(sign(1))
  for (let i = 0; i < 1_000; i++) await assert.rejects(check(sign(0, `y${i}`)), unknown)
  assert.equal(reads(), 2)
})

test('metadata is read once an hour, at either address, and a failure counts for 30 seconds', async () => {
  const { metadata: read, world } = createWorld({})
  await assert.rejects(read(), /has no metadata/)
  await assert.rejects(read(), /has no metadata/)
  assert.deepEqual(world.asked, [openId, oauth])
  world.answers = { [oauth]: () => metadata() }
  world.now = 30_001
  assert.equal((await read())['issuer'], issuer)
  world.now += 3_599_999
  await read()
  assert.equal(world.asked.length, 4)
  world.now += 2
  await read()
  assert.equal(world.asked.length, 6)
})

test('metadata of another issuer, and keys from an address that anybody could answer for, are refused', async () => {
  const wrong: Readonly<Record<string, () => Response>> = {
    'another issuer': () => metadata({ issuer: `${issuer}/` }),
    'no issuer': () => metadata({ issuer: undefined }),
    'no object': () => Response.json([]),
    'no JSON': () => new Response('<html>'),
    'plain http': () => metadata({ jwks_uri: 'http://idp.example/keys' }),
    'no address': () => metadata({ jwks_uri: 'keys' }),
    'no keys': () => metadata({ jwks_uri: undefined })
  }
  for (const [what, answer] of Object.entries(wrong)) {
    const { verify, world } = createWorld({ [openId]: answer })
    await assert.rejects(verify('a.b.c', { requiredClaims: [], now: 0 }), { statusCode: 503 }, what)
    assert.ok(!world.asked.some((url) => url.endsWith('/keys')), what)
  }
})
