import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Registry, Transaction } from '../../src/registry/registry.ts'
import { engines, freshPlace, startRegistry } from '../store.ts'
import { change, follow } from './registry-helpers.ts'

const mode = { mode: 'enterprise' } as const
const hash = (token: string) => createHash('sha256').update(token).digest()
const write = <T>(registry: Registry, work: (tx: Transaction['principals']) => Promise<T>): Promise<T> =>
  registry.write(change('principals.test', 'x'), (tx) => work(tx.principals))
const user = (name: string, role: 'admin' | 'user' = 'user') => ({ name, role })
const client = (name: string, allowed_servers: readonly string[] = []) => ({
  name,
  description: null,
  allowed_servers,
  jwks: null,
  jwks_uri: null
})
const refusal = (statusCode: number, message: string) => ({ name: 'AppError', statusCode, message })
const taken = refusal(409, 'the access token belongs to another user or client')

for (const engine of engines) {
  test(`of ten who initialise at once one does, and its administrator is all there is (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { latest } = await follow(registry)
    assert.deepEqual([latest().initialized, latest().principals], [false, []])
    const tries = Array.from({ length: 10 }, (_, i) => write(registry, (tx) => tx.initialize(hash(`token ${i}`))))
    const results = await Promise.allSettled(tries)
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const result of results) {
      if (result.status === 'rejected') {
        const { statusCode, message } = result.reason as { statusCode: number; message: string }
        assert.deepEqual([statusCode, message], [409, 'the server is already initialized'])
      }
    }
    const { initialized, principals } = latest()
    assert.equal(initialized, true)
    assert.deepEqual(
      principals.map(({ kind, name }) => [kind, name]),
      [['admin', 'admin']]
    )
  })

  test(`users come before clients, each in order of name, and come back after a restart (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const first = await startRegistry(t, place, mode)
    await write(first, (tx) => tx.createClient(client('a', ['x', '*', 'gone__😀']), hash('1')))
    await write(first, (tx) => tx.createUser(user('b'), hash('2')))
    await write(first, (tx) => tx.createClient(client('B'), hash('3')))
    await write(first, (tx) => tx.createUser(user('a', 'admin'), hash('4')))
    await first.close()

    const { latest } = await follow(await startRegistry(t, place, mode))
    const { principals } = latest()
    assert.deepEqual(
      principals.map(({ kind, name }) => `${kind} ${name}`),
      ['admin a', 'user b', 'client B', 'client a']
    )
    assert.deepEqual(
      principals.map(({ tokens }) => Buffer.from(tokens[0]!.hash)),
      ['4', '2', '3', '1'].map(hash)
    )
    const last = principals.at(-1)!
    assert.deepEqual(last.kind === 'client' && last.allowed_servers, ['x', '*', 'gone__😀'])
    assert.equal(new Set(principals.map(({ id }) => id)).size, 4)
  })

  test(`AN-16 names are taken once of their kind, a token once of all, and a refusal changes nothing (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { latest } = await follow(registry)
    await write(registry, (tx) => tx.createUser(user('same'), hash('1')))
    await write(registry, (tx) => tx.createClient(client('same'), hash('2')))
    const before = latest()
    const refused: [work: (tx: Transaction['principals']) => Promise<unknown>, expected: object][] = [
      [(tx) => tx.createUser(user('same'), hash('3')), refusal(409, 'user "same" already exists')],
      [(tx) => tx.createClient(client('same'), hash('3')), refusal(409, 'client "same" already exists')],
      [(tx) => tx.createUser(user('other'), hash('2')), taken],
      [(tx) => tx.createClient(client('other'), hash('1')), taken],
      [(tx) => tx.replaceUserToken('same', hash('2')), taken],
      [(tx) => tx.updateClient('same', { tokenHash: hash('1'), allowed_servers: ['x'] }), taken],
      [(tx) => tx.replaceUserToken('nobody', hash('3')), refusal(404, 'user "nobody" does not exist')],
      [(tx) => tx.removeUser('nobody'), refusal(404, 'user "nobody" does not exist')],
      [(tx) => tx.updateClient('nobody', {}), refusal(404, 'client "nobody" does not exist')],
      [(tx) => tx.removeClient('nobody'), refusal(404, 'client "nobody" does not exist')]
    ]
    for (const [work, expected] of refused) await assert.rejects(write(registry, work), expected)
    assert.equal(latest(), before)
  })

  test(`only who has changed is another object, and nothing is written where nothing differs (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { latest } = await follow(registry)
    await write(registry, (tx) => tx.createUser(user('ann'), hash('1')))
    await write(registry, (tx) => tx.createClient(client('app', ['a']), hash('2')))
    const before = latest()
    await write(registry, (tx) => tx.updateClient('app', { allowed_servers: ['a'], tokenHash: hash('2') }))
    await write(registry, (tx) => tx.updateClient('app', {}))
    assert.equal(latest(), before)

    const changed = await write(registry, (tx) => tx.updateClient('app', { description: 'd' }))
    assert.deepEqual(changed, { ...client('app', ['a']), description: 'd' })
    const [ann, app] = latest().principals
    assert.equal(ann, before.principals[0])
    assert.notEqual(app, before.principals[1])
    assert.equal(app?.id, before.principals[1]?.id)
    assert.equal(await write(registry, (tx) => tx.replaceUserToken('ann', hash('3'))), 'user')
    const [rotated, same] = latest().principals
    assert.deepEqual([rotated?.id, Buffer.from(rotated!.tokens[0]!.hash)], [ann?.id, hash('3')])
    assert.equal(same, app)
  })

  test(`a token is free again with its principal, whose successor of the same name is another (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { latest } = await follow(registry)
    await write(registry, (tx) => tx.createClient(client('app'), hash('1')))
    const [before] = latest().principals
    await write(registry, (tx) => tx.removeClient('app'))
    assert.deepEqual(latest().principals, [])
    await write(registry, (tx) => tx.createClient(client('app'), hash('1')))
    assert.notEqual(latest().principals[0]?.id, before?.id)
  })

  test(`the last administrator stays, however many are removed at once (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine), mode)
    const { latest } = await follow(registry)
    const names = ['a', 'b', 'c', 'd']
    for (const name of names) await write(registry, (tx) => tx.createUser(user(name, 'admin'), hash(name)))
    await write(registry, (tx) => tx.createUser(user('u'), hash('u')))
    const results = await Promise.allSettled(names.map((name) => write(registry, (tx) => tx.removeUser(name))))
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))
    assert.deepEqual(reasons, ['AppError: the last administrator cannot be removed'])
    await write(registry, (tx) => tx.removeUser('u'))
    assert.deepEqual(
      latest().principals.map(({ kind }) => kind),
      ['admin']
    )
  })
}
