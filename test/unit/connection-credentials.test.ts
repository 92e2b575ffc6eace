import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCredentialReader } from '../../src/http/connection-credentials.ts'
import { hashToken } from '../../src/lib/tokens.ts'

type Request = Parameters<ReturnType<typeof createCredentialReader>>[0]

const requestOn = (socket: object, ...authorization: string[]) =>
  ({ socket, rawHeaders: authorization.flatMap((value) => ['Authorization', value]) }) as unknown as Request

test('each request of a connection has the credentials of its own header', () => {
  const read = createCredentialReader()
  const [one, other] = [{}, {}]
  const kindAndToken = (socket: object, ...values: string[]) => {
    const credentials = read(requestOn(socket, ...values))
    return credentials.kind === 'token' ? credentials.token : credentials.kind
  }
  for (let round = 0; round < 2; round++) {
    assert.equal(kindAndToken(one, 'Bearer a'), 'a')
    assert.equal(kindAndToken(one, 'Bearer b'), 'b')
    assert.equal(kindAndToken(other, 'bearer b'), 'b')
    assert.equal(kindAndToken(one), 'none')
    assert.equal(kindAndToken(one, 'Bearer a', 'Bearer a'), 'malformed')
    assert.equal(kindAndToken(one, 'Basic a'), 'malformed')
  }
})

test('a token is hashed once while its connection repeats it', () => {
  const read = createCredentialReader()
  const socket = {}
  const first = read(requestOn(socket, 'Bearer a'))
  assert.ok(first.kind === 'token' && first.hash.equals(hashToken('a')))
  assert.equal(read(requestOn(socket, 'Bearer a')), first)
  assert.notEqual(read(requestOn({}, 'Bearer a')), first)
})
