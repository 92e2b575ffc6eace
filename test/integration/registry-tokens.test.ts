import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Registry, Transaction } from '../../src/registry/registry.ts'
import type { PersonalToken } from '../../src/registry/repositories/access-tokens.ts'
import { engines, freshPlace, startRegistry } from '../store.ts'
import { change, follow } from './registry-helpers.ts'

const mode = { mode: 'enterprise' } as const
const hash = (token: string) => createHash('sha256').update(token).digest()
const write = <T>(registry: Registry, work: (tx: Transaction) => Promise<T>, tokenHash?: Uint8Array): Promise<T> =>
  registry.write({ ...change('tokens.test', 'x'), actor: { kind: 'admin', name: 'root' }, tokenHash }, work)
const refusal = (statusCode: number, message: string) => ({ name: 'AppError', statusCode, message })
const personal = (name: string, more: Partial<PersonalToken> = {}): PersonalToken => ({
  name,
  hash: hash(name),
  scopes: ['mcp'],
  expiresAt: null,
  ...more
})
const inAnHour = () => new Date(Date.now() + 3_600_000)

async function startWith(registry: Registry, role: 'admin' | 'user' = 'user') {
  const { latest } = await follow(registry)
  await write(registry, (tx) => tx.principals.createUser({ name: 'root', role: 'admin' }, hash('root')))
  await write(registry, (tx) => tx.principals.createUser({ name: 'ann', role }, hash('ann')))
  const userNamed = (name: string) => {
    const found = latest().principals.find((each) => each.name === name)
    assert.ok(found)
    return found
  }
  return { latest, userNamed, id: userNamed('ann').id }
}

for (const engine of engines) {
  test(`a user has several tokens, and stays without any (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place, mode)
    const { userNamed, id } = await startWith(registry)
    const expiresAt = inAnHour()
    const created = await write(registry, (tx) =>
      tx.accessTokens.create(id, personal('ci', { scopes: ['mcp', 'towpath:read'], expiresAt }))
    )
    assert.deepEqual([created.name, created.kind, created.expires_at], ['ci', 'personal', expiresAt.toISOString()])
    await write(registry, (tx) => tx.accessTokens.create(id, personal('laptop')))
    const tokens = await registry.accessTokens.list(id)
    assert.deepEqual(
      tokens.map(({ name, kind, scopes }) => [name, kind, scopes]),
      [
        [undefined, 'static', undefined],
        ['ci', 'personal', ['mcp', 'towpath:read']],
        ['laptop', 'personal', ['mcp']]
      ]
    )
    assert.deepEqual(userNamed('ann').tokens.find((token) => token.id === created.id)?.expiresAt, expiresAt.getTime())

    const before = userNamed('root')
    for (const token of tokens) await write(registry, (tx) => tx.accessTokens.revoke(id, token.id))
    assert.deepEqual(userNamed('ann').tokens, [])
    assert.equal(userNamed('root'), before)
    await registry.close()
    const again = await follow(await startRegistry(t, place, mode))
    assert.deepEqual(
      again.latest().principals.map(({ name, tokens: { length } }) => [name, length]),
      [
        ['ann', 0],
        ['root', 1]
      ]
    )
  })

  test(`a token name is taken once of a user, and a token once of all; nothing changes then (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { latest, userNamed, id } = await startWith(registry)
    await write(registry, (tx) => tx.accessTokens.create(id, personal('ci')))
    await write(registry, (tx) => tx.accessTokens.create(userNamed('root').id, personal('ci', { hash: hash('other') })))
    const before = latest()
    const create = (token: PersonalToken) => write(registry, (tx) => tx.accessTokens.create(id, token))
    await assert.rejects(create(personal('ci', { hash: hash('x') })), refusal(409, 'access token "ci" already exists'))
    const taken = refusal(409, 'the access token belongs to another user or client')
    await assert.rejects(create(personal('new', { hash: hash('root') })), taken)
    for (const wrong of ['gone', userNamed('root').tokens[0]!.id]) {
      const revoked = write(registry, (tx) => tx.accessTokens.revoke(id, wrong))
      await assert.rejects(revoked, refusal(404, `access token "${wrong}" does not exist`))
    }
    assert.equal(latest(), before)
  })

  test(`a rotation replaces the static token only, and makes one where there was none (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { userNamed, id } = await startWith(registry)
    await write(registry, (tx) => tx.accessTokens.create(id, personal('ci')))
    const own = userNamed('ann').tokens.find(({ kind }) => kind === 'static')!
    await write(registry, (tx) => tx.accessTokens.revoke(id, own.id))
    for (const token of ['first', 'second']) {
      await write(registry, (tx) => tx.principals.replaceUserToken('ann', hash(token)))
      const hashes = userNamed('ann').tokens.map((each) => Buffer.from(each.hash).toString('hex'))
      assert.deepEqual(hashes.toSorted(), ['ci', token].map((each) => hash(each).toString('hex')).toSorted())
    }
  })

  test(`the days of use are stored without a new version of the registry (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place, mode)
    const { latest, userNamed, id } = await startWith(registry)
    const { version } = latest()
    for (let i = 0; i < 3; i++) registry.accessTokens.recordUse(userNamed('ann').tokens[0]!.id)
    registry.accessTokens.recordUse('00000000-0000-0000-0000-000000000000')
    await registry.close()
    const again = await startRegistry(t, place, mode)
    const [token] = await again.accessTokens.list(id)
    assert.match(token?.last_used_on ?? '', /^\d{4}-\d\d-\d\d$/)
    assert.equal((await follow(again)).latest().version, version)
  })

  test(`IA-42 an administrator who can get in always stays (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { userNamed, id } = await startWith(registry, 'admin')
    const own = userNamed('root').tokens[0]!.id
    const root = userNamed('root').id
    const waysOut: [message: string, work: (tx: Transaction) => Promise<unknown>][] = [
      ['the last administrator cannot be removed', (tx) => tx.principals.removeUser('root')],
      ['the last administrator cannot be suspended', (tx) => tx.principals.setActive('root', false)],
      ['the role of the last administrator cannot be changed', (tx) => tx.principals.changeRole('root', 'auditor')],
      ['the last access token of the last administrator cannot be revoked', (tx) => tx.accessTokens.revoke(root, own)]
    ]
    const refuseAll = async (why: string) => {
      for (const [message, work] of waysOut) await assert.rejects(write(registry, work), refusal(409, message), why)
    }
    await write(registry, (tx) => tx.principals.setActive('ann', false))
    await refuseAll('the other administrator is suspended')
    await write(registry, (tx) => tx.principals.setActive('ann', true))
    for (const { id: token } of userNamed('ann').tokens)
      await write(registry, (tx) => tx.accessTokens.revoke(id, token))
    await refuseAll('the other administrator has no token')
    await write(registry, (tx) =>
      tx.accessTokens.create(id, personal('soon over', { scopes: ['towpath:admin'], expiresAt: inAnHour() }))
    )
    await write(registry, (tx) => tx.accessTokens.create(id, personal('narrow', { scopes: ['towpath:call'] })))
    await refuseAll('the tokens of the other administrator expire or lack the scope')
    await write(registry, (tx) => tx.accessTokens.create(id, personal('wide', { scopes: ['mcp', 'towpath:admin'] })))
    for (const [, work] of waysOut.slice(1)) await write(registry, work)
    assert.deepEqual([userNamed('root').kind, userNamed('root').tokens], ['auditor', []])
  })

  test(`IA-42 of several changes at once that would leave no administrator one is refused (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { latest } = await startWith(registry, 'admin')
    const results = await Promise.allSettled([
      write(registry, (tx) => tx.principals.setActive('root', false)),
      write(registry, (tx) => tx.principals.changeRole('ann', 'user'))
    ])
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const admins = latest().principals.filter((each) => each.kind === 'admin' && each.active)
    assert.equal(admins.length, 1)
  })

  test(`a write needs a token that is still good, and the role that it was begun with (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { id } = await startWith(registry, 'admin')
    const past = new Date(Date.now() - 1_000)
    await write(registry, (tx) => tx.accessTokens.create(id, personal('over', { expiresAt: past })))
    const act = (token: string) =>
      write(registry, (tx) => tx.principals.replaceUserToken('root', hash(`of ${token}`)), hash(token))
    const invalid = refusal(401, 'the access token is no longer valid')
    await act('ann')
    await assert.rejects(act('over'), invalid)
    await assert.rejects(act('unknown'), invalid)
    await write(registry, (tx) => tx.principals.setActive('ann', false))
    await assert.rejects(act('ann'), invalid)
    await write(registry, (tx) => tx.principals.setActive('ann', true))
    await write(registry, (tx) => tx.principals.changeRole('ann', 'user'))
    await assert.rejects(act('ann'), invalid)
  })

  test(`a user has at most fifty tokens (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { id } = await startWith(registry)
    await write(registry, async (tx) => {
      for (let i = 1; i < 50; i++) await tx.accessTokens.create(id, personal(`t${i}`))
    })
    const one = write(registry, (tx) => tx.accessTokens.create(id, personal('one-more')))
    await assert.rejects(one, refusal(409, 'a user can have 50 access tokens'))
  })
}
