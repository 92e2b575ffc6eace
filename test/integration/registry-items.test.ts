import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { fingerprintOf } from '../../src/domain/definitions/canonical.ts'
import type { RegistryState, UpstreamOffer } from '../../src/registry/model/model.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { loadState } from '../../src/registry/state.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { addCleanup, engines, freshDatabase, freshPlace, startRegistry, tempDir } from '../store.ts'
import { administer, limits, quiet } from '../templates.ts'
import { change, follow, httpServer, offerOf, tool } from './registry-helpers.ts'

for (const engine of engines) {
  test(`definitions come back byte for byte (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const definitions = [
      '{"name":"n","z":1,"a":2,"big":12345678901234567890.000000000000000001,"tiny":1e-400}',
      '{"name":"n","name":"again","inputSchema":{"type":"object","type":"object"}}',
      '  {\n\t"name" : "n" , "text":"\\u0000 \\ud800 \\\\ \' \\" {} é 💡 \u2028"}  ',
      `{"long":"${'x'.repeat(200_000)}"}`
    ]
    const items = definitions.map((definition, index) => ({ kind: 'tool', name: `t${index}`, definition }) as const)
    const registry = await startRegistry(t, place)
    await createWith(registry, offerOf(items))
    await registry.close()

    const { latest } = await follow(await startRegistry(t, place))
    assert.deepEqual(
      latest().servers[0]!.items.map((item) => item.definition),
      definitions
    )
  })

  test(`items that stay as they are keep their objects when their server changes (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await createWith(registry, offerOf([tool('a'), tool('b'), tool('c')]))
    const before = latest().servers[0]!
    await registry.write(change('tool.disable', 'time'), (tx) => tx.items.setEnabled('time', 'tool', ['b'], false))
    const after = latest().servers[0]!
    assert.notEqual(after, before)
    assert.deepEqual(
      after.items.map((item, at) => item === before.items[at]),
      [true, false, true]
    )
    assert.equal(after.items[1]!.enabled, false)
    const moved = offerOf([tool('new'), tool('c'), tool('b', 'new'), tool('a')])
    await registry.write(change('server.refresh', 'time'), (tx) => tx.servers.refresh(before.id, moved))
    assert.deepEqual(
      latest().servers[0]!.items.map((item) => after.items.indexOf(item)),
      [-1, 2, -1, 0]
    )
  })

  test(`SR-H2 of a server that changes, only the items that were written since are read (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    await createWith(registry, offerOf(['a', 'b', 'c d'].map((name) => tool(name))))
    await registry.write(change('server.create', 'other'), (tx) =>
      tx.servers.create(httpServer('other'), offerOf([tool('a')]))
    )
    await registry.close()
    const store = await openStore({ ...limits, ...quiet, ...place })
    addCleanup(t, () => store.close())
    const { db } = store
    let read: unknown[] = []
    const spied = db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        read.push(...result.rows.flatMap((row) => ('definition' in row ? [row['name']] : [])))
        return result
      }
    })
    const load = async (previous?: RegistryState) => {
      read = []
      return loadState(spied, previous)
    }
    const touch = () =>
      db.transaction().execute(async (trx) => {
        await sql`update gateway set version = version + 1`.execute(trx)
        await sql`update servers set revision = (select version from gateway) where name = 'time'`.execute(trx)
      })
    const timeOf = (state: RegistryState) => state.servers.find(({ name }) => name === 'time')!
    const namesOf = (state: RegistryState) => timeOf(state).items.map(({ name }) => name)

    const first = await load()
    assert.deepEqual(read.map(String).sort(), ['a', 'a', 'b', 'c d', 'instructions', 'instructions'])
    await touch()
    const second = await load(first)
    assert.notEqual(timeOf(second), timeOf(first))
    assert.deepEqual(read, [])
    assert.deepEqual(timeOf(second).items, timeOf(first).items)
    assert.ok(timeOf(second).items.every((item, at) => item === timeOf(first).items[at]))
    assert.equal(timeOf(second).instructions, timeOf(first).instructions)

    await sql`update items set enabled = false where name = 'c d'`.execute(db)
    await sql`update items set position = null where name = 'b'`.execute(db)
    await touch()
    const third = await load(second)
    assert.deepEqual(read, ['c d'])
    assert.deepEqual(namesOf(third), ['a', 'c d'])
    assert.deepEqual(
      timeOf(third).items.map(({ enabled }) => enabled),
      [true, false]
    )
    await sql`update items set position = 0 where name = 'b'`.execute(db)
    await touch()
    assert.deepEqual(namesOf(await load(third)).sort(), ['a', 'b', 'c d'])
    assert.deepEqual(read, ['b'])
  })

  test(`names are kept exactly, also hostile ones (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const names = [
      `'; drop table items; --`,
      '{a,b}',
      '"q"',
      'back\\slash',
      'null',
      'NULL',
      '',
      ' ',
      'é',
      'e\u0301',
      '__proto__'
    ]
    await createWith(registry, offerOf(names.map((name) => tool(name))))
    const switched = (chosen: string[] | null) =>
      registry.write(change('tool.disable', 'time'), (tx) => tx.items.setEnabled('time', 'tool', chosen, false))

    assert.deepEqual(await switched(['NULL', '{a,b}']), ['{a,b}', 'NULL'])
    assert.deepEqual(
      latest()
        .servers[0]!.items.filter((item) => !item.enabled)
        .map((item) => item.name),
      ['{a,b}', 'NULL']
    )
    assert.deepEqual(await switched(null), names)
  })

  test(`text that cannot be stored is a 400 (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    for (const name of ['nul\u0000', 'lone \ud800 surrogate', randomBytes(5_000).toString('hex')]) {
      await assert.rejects(createWith(registry, offerOf([tool(name)])), { name: 'AppError', statusCode: 400 })
    }
    const { latest } = await follow(registry)
    assert.deepEqual(latest().servers, [])
  })

  test(`switching items answers all that exist in order and writes only what differs (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await createWith(registry, offerOf([tool('c'), tool('a'), tool('b'), { ...tool('a'), kind: 'prompt' }]))
    const set = (names: string[] | null, enabled: boolean) =>
      registry.write(change('tool.switch', 'time'), (tx) => tx.items.setEnabled('time', 'tool', names, enabled))

    assert.deepEqual(await set(['b', 'c', 'unknown'], false), ['c', 'b'])
    assert.deepEqual(enabledOf(latest().servers[0]!.items), ['prompt a', 'tool a'])
    const { version } = latest()
    assert.deepEqual(await set(['b'], false), ['b'])
    assert.deepEqual(await set([], false), [])
    assert.equal(latest().version, version)
    assert.deepEqual(await set(null, true), ['c', 'a', 'b'])
    assert.deepEqual(enabledOf(latest().servers[0]!.items), ['prompt a', 'tool c', 'tool a', 'tool b'])
  })

  test(`a re-read stores what differs and names it (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const id = await createWith(registry, offerOf([tool('stays'), tool('goes'), tool('alters')]))
    const before = latest().servers[0]!

    const offer = offerOf([tool('comes'), tool('alters', 'altered'), tool('stays')])
    assert.deepEqual(await registry.refresh(change('server.refresh', 'time'), id, offer), {
      added: [{ kind: 'tool', name: 'comes' }],
      removed: [{ kind: 'tool', name: 'goes' }],
      changed: [{ kind: 'tool', name: 'alters' }],
      unchanged: false
    })
    const after = latest().servers[0]!
    assert.deepEqual(
      after.items.map(({ name, definition }) => [name, definition]),
      offer.items.map(({ name, definition }) => [name, definition])
    )
    const time = (server: typeof before, name: string) => server.items.find((item) => item.name === name)!.changedAt
    assert.equal(time(after, 'stays'), time(before, 'stays'))
    assert.ok(time(after, 'alters') > time(before, 'alters'))
  })

  test(`of an item that changed the accepted definition is kept until the present one is accepted (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const id = await createWith(registry, offerOf([tool('a', 'first'), tool('b')]))
    const read = (...texts: string[]) =>
      Promise.all(
        texts.map((text) => registry.refresh(change('server.refresh', 'time'), id, offerOf([tool('a', text)])))
      )
    const accepted = () => latest().servers[0]!.items[0]!.accepted
    const first = latest().servers[0]!.items[0]!.definition
    assert.equal(accepted(), null)

    await read('second')
    assert.equal(accepted(), first)
    await read('third')
    assert.equal(accepted(), first)
    await read('first')
    assert.equal(accepted(), null)

    await read('second')
    const { version, servers } = latest()
    const accept = (name: string, fingerprint: string) =>
      registry.write(change('definition.accept', 'time'), (tx) =>
        tx.definitions.accept([{ server: 'time', kind: 'tool', name, fingerprint }])
      )
    const [item] = servers[0]!.items
    await assert.rejects(accept('nobody', item!.canonical), { statusCode: 409 })
    await assert.rejects(accept('a', item!.pinned!), { statusCode: 409 })
    assert.equal(latest().version, version)
    await accept('a', item!.canonical)
    assert.equal(accepted(), null)
    assert.ok(latest().servers[0]!.updatedAt > servers[0]!.updatedAt)
    const [row] = await registry.audit({ action: 'definition.accept', limit: 1 })
    assert.deepEqual(row?.changed, ['accepted'])
  })

  test(`an item that goes and comes back under other words has changed, up to 1,000 that are away (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const items = (text: string) => Array.from({ length: 1_002 }, (_, index) => tool(`t${index}`, text))
    const id = await createWith(registry, offerOf(items('first')))
    const read = (offered: UpstreamOffer['items']) =>
      registry.refresh(change('server.refresh', 'time'), id, offerOf(offered))
    const accepted = () => latest().servers[0]!.items.flatMap((item) => item.accepted ?? [])

    await read([])
    await read(items('first'))
    assert.deepEqual(accepted(), [])
    await read([])
    await read(items('second'))
    assert.equal(accepted().length, 1_000)
    assert.ok(accepted().every((definition) => definition.includes('first')))
    await read([])
    await read(items('third'))
    assert.ok(accepted().every((definition) => /first|second/.test(definition)))
  })

  test(`a re-read that finds the same writes nothing (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    const { latest, seen } = await follow(registry)
    const offer = offerOf([tool('a'), tool('b')])
    const id = await createWith(registry, offer)
    const { version } = latest()
    const states = seen.length

    const again = { ...offer, negotiation: { ...offer.negotiation, checkedAt: '2027-01-01T00:00:00.000Z' } }
    const nothing = { added: [], removed: [], changed: [], unchanged: true }
    assert.deepEqual(await registry.refresh(change('server.refresh', 'time'), id, again), nothing)
    assert.deepEqual([latest().version, seen.length], [version, states])
    if (place.databaseUrl) {
      const rows = await administer(place.databaseUrl, 'select action, target, version from audit_log')
      assert.deepEqual(rows, [{ action: 'server.create', target: 'time', version }])
    }

    const moved = await registry.refresh(change('server.refresh', 'time'), id, offerOf([tool('b'), tool('a')]))
    assert.deepEqual(moved, { ...nothing, unchanged: false })
    assert.notEqual(latest().version, version)
  })

  test(`lists that were read earlier are not stored over later ones, whether or not these differ (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const [earliest, first, early, late, last] = await Promise.all(
      [1, 2, 3, 4, 5].map(() => registry.beginRead())
    ).then((numbers) => numbers.toSorted((a, b) => Number(a) - Number(b)))
    const offer = (read: string | undefined, text: string) => ({ ...offerOf([tool('a', text)]), read: read! })
    const id = await createWith(registry, offer(first, 'old'))
    const read = (number: string | undefined, text: string) =>
      registry.refresh(change('server.refresh', 'time'), id, offer(number, text))
    const isStored = (text: string) => latest().servers[0]!.items[0]!.definition === tool('a', text).definition

    assert.equal((await read(earliest, 'before the registration')).unchanged, true)
    assert.ok(isStored('old'))
    const { version } = latest()
    assert.equal((await read(late, 'old')).unchanged, true)
    assert.equal((await read(early, 'between')).unchanged, true)
    assert.equal(latest().version, version)
    assert.ok(isStored('old'))
    assert.equal((await read(last, 'new')).unchanged, false)
    assert.ok(isStored('new'))
  })

  test(`a new negotiation is stored, also without new lists (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const { negotiation, items } = offerOf([tool('a')])
    const id = await createWith(registry, { negotiation, items })
    const modern = { ...negotiation, modern: '2026-07-28' }

    const difference = await registry.refresh(change('server.refresh', 'time'), id, { negotiation: modern, items })
    assert.equal(difference.unchanged, false)
    assert.deepEqual(latest().servers[0]!.negotiation, modern)
  })

  test(`a disabled item that vanishes comes back disabled, an enabled one as new (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const all = offerOf([tool('on'), tool('off'), tool('kept')])
    const id = await createWith(registry, all)
    const set = (names: string[] | null, enabled: boolean) =>
      registry.write(change('tool.switch', 'time'), (tx) => tx.items.setEnabled('time', 'tool', names, enabled))
    const refresh = (offer: UpstreamOffer) => registry.refresh(change('server.refresh', 'time'), id, offer)
    await set(['off'], false)

    const less = await refresh(offerOf([tool('kept')]))
    assert.deepEqual(less.removed.map((item) => item.name).toSorted(), ['off', 'on'])
    assert.deepEqual(
      latest().servers[0]!.items.map((item) => item.name),
      ['kept']
    )
    assert.deepEqual(await set(['off'], true), [])
    assert.equal((await refresh(offerOf([tool('kept')]))).unchanged, true)

    const more = await refresh(all)
    assert.deepEqual(more.added.map((item) => item.name).toSorted(), ['off', 'on'])
    assert.deepEqual(enabledOf(latest().servers[0]!.items), ['tool on', 'tool kept'])

    await refresh(offerOf([tool('kept')]))
    await set(null, true)
    await refresh(all)
    assert.deepEqual(enabledOf(latest().servers[0]!.items), ['tool on', 'tool off', 'tool kept'])
  })

  test(`a re-read made for a configuration that was replaced meanwhile is not stored (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const id = await createWith(registry, offerOf([tool('old')]))
    const seen = latest().servers[0]!
    const refresh = (configured: typeof seen) =>
      registry.refresh(change('server.refresh', 'time'), id, offerOf([tool('late')]), configured)

    const config = httpServer('time', { bearer_token: 'new' })
    await registry.write(change('server.replace', 'time'), (tx) =>
      tx.servers.replace('time', config, offerOf([tool('new')]))
    )
    assert.equal((await refresh(seen)).unchanged, true)
    assert.deepEqual(
      latest().servers[0]!.items.map((item) => item.name),
      ['new']
    )
    await registry.write(change('tool.disable', 'time__new'), (tx) =>
      tx.items.setEnabled('time', 'tool', ['new'], false)
    )
    assert.equal((await refresh(latest().servers[0]!)).unchanged, false)

    await registry.write(change('server.remove', 'time'), (tx) => tx.servers.remove('time'))
    assert.equal((await refresh(seen)).unchanged, true)
  })

  test(`of two items of one kind and name the first is stored (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await createWith(registry, offerOf([tool('twice', 'first'), tool('twice', 'second'), tool('once')]))
    assert.deepEqual(
      latest().servers[0]!.items.map((item) => item.definition),
      [tool('twice', 'first').definition, tool('once').definition]
    )
  })

  test(`a server with 20,000 items is stored and loaded (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await createWith(registry, offerOf(Array.from({ length: 20_000 }, (_, index) => tool(`tool${index}`))))
    assert.equal(latest().servers[0]!.items.length, 20_000)
  })
}

const createWith = (registry: Registry, offer: UpstreamOffer) =>
  registry.write(change('server.create', 'time'), (tx) => tx.servers.create(httpServer('time'), offer))

const enabledOf = (items: readonly { kind: string; name: string; enabled: boolean }[]) =>
  items.filter((item) => item.enabled).map(({ kind, name }) => `${kind} ${name}`)

test('lists of megabytes are compared without holding the event loop', async (t) => {
  const registry = await startRegistry(t, await freshPlace(t, engines.at(-1)!))
  await follow(registry)
  const items = Array.from({ length: 1_000 }, (_, i) => {
    const name = `t${i}`
    return {
      kind: 'tool',
      name,
      definition: JSON.stringify({ name, inputSchema: { x: Array(3_000).fill(i) } })
    } as const
  })
  const startedAt = performance.now()
  for (const { kind, definition } of items) fingerprintOf(kind, definition)
  const wholeMs = performance.now() - startedAt
  let longestMs = 0
  let last = performance.now()
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - last)
    last = performance.now()
  }, 5)
  await createWith(registry, offerOf(items))
  clearInterval(timer)
  assert.ok(longestMs < wholeMs / 2, `held for ${longestMs} ms, of ${wholeMs} ms`)
})

test(
  'a re-read of lists that another replica has just stored ends when this replica serves them',
  { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' },
  async (t) => {
    const databaseUrl = await freshDatabase(t)
    const dataDir = await tempDir(t)
    const start = () => startRegistry(t, { databaseUrl, dataDir })
    const [here, there] = [await start(), await start()]
    const { latest } = await follow(here)
    await follow(there)
    const id = await createWith(here, offerOf([tool('a', '0')]))
    for (let round = 1; round <= 20; round++) {
      const offer = offerOf([tool('a', `${round}`)])
      const refresh = (registry: Registry) => registry.refresh(change('server.refresh', 'time'), id, offer)
      await refresh(there)
      assert.equal((await refresh(here)).unchanged, true)
      assert.equal(latest().servers[0]!.items[0]!.definition, offer.items[0]!.definition)
    }
  }
)
