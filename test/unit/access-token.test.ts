import assert from 'node:assert/strict'
import { createPublicKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type JWTHeaderParameters } from 'jose'
import { createAccessTokens } from '../../src/identity/access-token.ts'
import { presented } from './presented.ts'
import type { SigningKey } from '../../src/registry/model/model.ts'

const issuer = 'https://gateway.example'
/** Address of a client. */
const from = { address: '192.0.2.7' }
const gid = randomBytes(32).toString('base64url')
const claims = { iss: issuer, sub: 'a user', aud: `${issuer}/mcp`, client_id: 'a client', scope: 'mcp other', gid }

async function createSigner(kid = 'the key') {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const key = { kid, publicJwk: await exportJWK(publicKey), signsFrom: 0, verifiesUntil: Infinity } as SigningKey
  const sign = (changed: object = {}, header: Partial<JWTHeaderParameters> = {}, at = Math.floor(Date.now() / 1_000)) =>
    new SignJWT({ iat: at, exp: at + 600, ...claims, ...changed })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid, ...header })
      .sign(privateKey)
  return { key, publicKey, sign }
}

test('IA-24 an access token tells user, client, endpoint, scopes and grant', async () => {
  const { key, sign } = await createSigner()
  const tokens = createAccessTokens({ issuer, keys: () => [key] })
  const token = await sign()
  const checked = await tokens.check(presented(token), from)
  assert.ok(checked && checked !== 'busy')
  const { signIn, scopes, oauthClient, audience } = checked
  assert.deepEqual(
    [signIn.kind, signIn.principalId, oauthClient, audience],
    ['grant', 'a user', 'a client', [claims.aud]]
  )
  assert.deepEqual(scopes, ['mcp'], 'scopes that the gateway does not know give nothing')
  assert.equal(Buffer.from(signIn.credential).toString('base64url'), gid)
  assert.equal(tokens.check(presented(token), from), checked, 'a known token needs no promise')
})

test('a token of an MCP client itself names no user, and no user can be taken for a client', async () => {
  const { key, sign } = await createSigner()
  const tokens = createAccessTokens({ issuer, keys: () => [key] })
  const checked = await tokens.check(
    presented(await sign({ sub: 'robot', client_id: 'robot', mcp_client: 'the id' })),
    from
  )
  assert.ok(checked && checked !== 'busy')
  const { signIn, scopes, oauthClient } = checked
  assert.deepEqual([signIn.kind, signIn.principalId, scopes, oauthClient], ['client', 'the id', undefined, undefined])
  assert.equal(await tokens.check(presented(await sign({ mcp_client: 7 })), from), null)
})

test('IA-24 tokens of another issuer, type, algorithm, key or time are refused', async () => {
  const [{ key, publicKey, sign }, other] = [await createSigner(), await createSigner()]
  const tokens = createAccessTokens({ issuer, keys: () => [key] })
  const now = Math.floor(Date.now() / 1_000)
  const pem = new TextEncoder().encode(await exportSPKI(publicKey))
  assert.ok(createPublicKey(Buffer.from(pem)))
  const symmetric = new SignJWT({ iat: now, exp: now + 600, ...claims })
  const signed: Record<string, string> = {
    expired: await sign({}, {}, now - 700),
    'from the future': await sign({ nbf: now + 300 }),
    'other issuer': await sign({ iss: 'https://other.example' }),
    'issuer with a slash': await sign({ iss: `${issuer}/` }),
    'type of an ID token': await sign({}, { typ: 'JWT' }),
    'no type': await sign({}, { typ: undefined as never }),
    'unknown key': await sign({}, { kid: 'another key' }),
    'signed by another key': await other.sign(),
    'no key': await sign({}, { kid: undefined as never }),
    'no signature': new UnsecuredJWT({ iat: now, exp: now + 600, ...claims }).encode(),
    'HS256 with the public key': await symmetric
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: key.kid })
      .sign(pem),
    'no grant': await sign({ gid: undefined }),
    'a short grant': await sign({ gid: 'AAAA' }),
    'no client': await sign({ client_id: undefined }),
    'no audience': await sign({ aud: undefined }),
    'two audiences': await sign({ aud: [claims.aud, `${issuer}/sse`] }),
    'no expiry': await sign({ exp: undefined }),
    'a number as user': await sign({ sub: 7 }),
    'a changed signature': (await sign()).replace(/.{4}$/, 'AAAA')
  }
  for (const [name, token] of Object.entries(signed)) assert.ok(!(await tokens.check(presented(token), from)), name)
})

test('IA-24 a token ends with its key, and with its time', async () => {
  const { key, sign } = await createSigner()
  let now = Date.now()
  let keys: readonly SigningKey[] = [key]
  const tokens = createAccessTokens({ issuer, keys: () => keys, now: () => now })
  const [kept, second] = [await sign(), await sign({ jti: 'second' })]
  assert.ok(await tokens.check(presented(kept), from))
  keys = []
  assert.equal(await tokens.check(presented(second), from), null)
  assert.equal(await tokens.check(presented(kept), from), null, 'a verified token ends with its key too')
  keys = [key]
  const third = await sign({ jti: 'third' })
  assert.ok(await tokens.check(presented(third), from))
  now += 700_000
  assert.equal(await tokens.check(presented(third), from), null)
})

test('IA-24 a thousand tokens with unknown keys are refused without a search anywhere', async () => {
  const { key, sign } = await createSigner()
  let reads = 0
  const tokens = createAccessTokens({
    issuer,
    keys: () => {
      reads++
      return [key]
    }
  })
  const token = await sign()
  const [, payload, signature] = token.split('.')
  for (let i = 0; i < 1_000; i++) {
    const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: `key ${i}` })).toString('base64url')
    assert.equal(await tokens.check(presented(`${header}.${payload}.${signature}`), from), null)
  }
  assert.ok(reads <= 1_000)
  assert.ok(await tokens.check(presented(token), from), 'others are verified as before')
})

test('many tokens from one network never make a good token wrong, nor those of other networks wait', async () => {
  const { key, sign } = await createSigner()
  const tokens = createAccessTokens({ issuer, keys: () => [key] })
  const good = await sign()
  const known = await sign({ jti: 'known' })
  const verified = await tokens.check(presented(known), { address: '192.0.2.1' })
  assert.ok(verified)
  const [head, payload] = good.split('.')
  const wrong = (i: number) => `${head}.${payload}.${Buffer.alloc(64, i).toString('base64url')}`
  const flood = Array.from({ length: 200 }, (_, i) => tokens.check(presented(wrong(i)), { address: '192.0.2.1' }))
  assert.ok(flood.includes('busy'))
  assert.equal(tokens.check(presented(good), { address: '192.0.2.1' }), 'busy', 'the network has used up its share')
  assert.equal(tokens.check(presented(known), { address: '192.0.2.1' }), verified, 'a known token costs nothing')
  const elsewhere = tokens.check(presented(good), { address: '2001:db8::1' })
  assert.ok(elsewhere instanceof Promise)
  assert.ok(await elsewhere)
  for (const each of await Promise.all(flood.map(async (one) => one))) assert.ok(each === null || each === 'busy')
  assert.ok(
    await tokens.check(presented(await sign({ jti: 'later' })), { address: '192.0.2.1' }),
    'the share is free again'
  )
})

test('addresses of one IPv6 network share a part, and all networks a whole', async () => {
  const { key, sign } = await createSigner()
  const tokens = createAccessTokens({ issuer, keys: () => [key] })
  const [head, payload] = (await sign()).split('.')
  const wrong = (i: number) => `${head}.${payload}.${Buffer.alloc(64, `${i} `).toString('base64url')}`
  const count = (addressOf: (i: number) => string, from: number) => {
    const all = Array.from({ length: 1_000 }, (_, i) =>
      tokens.check(presented(wrong(from + i)), { address: addressOf(i) })
    )
    return { begun: all.filter((each) => each instanceof Promise).length, all }
  }
  const one = count((i) => `2001:db8::${i.toString(16)}`, 0)
  const many = count((i) => `10.0.${i >> 8}.${i & 255}`, 1_000)
  assert.ok(one.begun > 0 && one.begun < 64, `${one.begun} of one network`)
  assert.ok(many.begun + one.begun <= 256, `${many.begun} of many networks`)
  await Promise.all([...one.all, ...many.all].map(async (each) => each))
})

test('only three parts of base64url that begin like a header are taken for such a token', () => {
  const tokens = createAccessTokens({ issuer, keys: () => [] })
  for (const text of ['twp_abc', 'a.b.c', 'eyJ.e30', 'eyJh.e30.', `eyJh.e30.${'a'.repeat(9_000)}`, 'eyJh.e 0.a']) {
    assert.equal(tokens.check(presented(text), { address: '192.0.2.1' }), undefined, text.slice(0, 20))
  }
})
