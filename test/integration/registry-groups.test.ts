import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import type { GroupConfig } from '../../src/registry/model/model.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { engines, freshPlace, addCleanup, startRegistry } from '../store.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { limits, quiet } from '../templates.ts'
import { change, follow, httpServer, offerOf, tool } from './registry-helpers.ts'

const group = (name: string, more: Partial<GroupConfig> = {}): GroupConfig => ({
  name,
  description: null,
  included_tools: [],
  included_servers: [],
  excluded_tools: [],
  tool_names: 'qualified',
  tools: {},
  instructions: null,
  max_tokens: null,
  tool_list: 'full',
  always_listed: [],
  search_limit: 10,
  max_result_tokens: null,
  ...more
})
/** Members that are no part of the configuration. */
const unbound = { bindings: {}, sealed: null }
const full = group('full', {
  description: 'Ünïcode "quoted"',
  included_tools: ['a__x', 'a__y/z', 'gone__😀'],
  included_servers: ['b'],
  excluded_tools: ['b__c__d'],
  tool_names: 'bare',
  tool_list: 'search',
  always_listed: ['a__x'],
  search_limit: 5
})

const create = (registry: Registry, config: GroupConfig) =>
  registry.write(change('tool_group.create', config.name), (tx) => tx.groups.create(config))
const replace = (registry: Registry, config: GroupConfig) =>
  registry.write(change('tool_group.replace', config.name), (tx) => tx.groups.replace(config))
const remove = (registry: Registry, name: string) =>
  registry.write(change('tool_group.remove', name), (tx) => tx.groups.remove(name))
const missing = (name: string) => ({
  name: 'AppError',
  statusCode: 404,
  message: `tool group "${name}" does not exist`
})

for (const engine of engines) {
  test(`a group is stored whole, comes back after a restart, and groups are in order of name (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const first = await startRegistry(t, place)
    for (const config of [full, group('b'), group('B'), group('a__b_')]) await create(first, config)
    await first.close()

    const { latest } = await follow(await startRegistry(t, place))
    const { groups, version } = latest()
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['B', 'a__b_', 'b', 'full']
    )
    const { revision, createdAt, ...config } = groups[3]!
    assert.deepEqual(config, { ...full, ...unbound })
    assert.ok(BigInt(revision) > 0n && BigInt(revision) < BigInt(version))
    assert.equal(new Date(createdAt).toISOString(), createdAt)
  })

  test(`a group’s name is taken once: of 10 parallel creations one succeeds and 9 are 409 (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => create(registry, group('one'))))
    const failed = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []))
    assert.equal(failed.length, 9)
    for (const error of failed) {
      assert.deepEqual(
        { statusCode: (error as { statusCode?: number }).statusCode, message: error.message },
        { statusCode: 409, message: 'tool group "one" already exists' }
      )
    }
    const { version } = latest()
    await assert.rejects(create(registry, group('one', { description: 'other' })), { statusCode: 409 })
    assert.equal(latest().version, version)
    assert.equal(latest().groups[0]!.description, null)
  })

  test(`replacing changes everything but the name and the time of creation (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await create(registry, full)
    const before = latest().groups[0]!
    await replace(registry, group('full', { included_servers: ['c'] }))
    const { revision, ...after } = latest().groups[0]!
    assert.deepEqual(after, { ...group('full', { included_servers: ['c'] }), ...unbound, createdAt: before.createdAt })
    assert.equal(revision, latest().version)
  })

  test(`replacing by the same makes no new version and no audit row (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    const { latest } = await follow(registry)
    await create(registry, full)
    const before = latest()
    await replace(registry, { ...full })
    assert.equal(latest(), before)
    await registry.close()

    const store = await openStore({ ...limits, ...quiet, ...place })
    addCleanup(t, () => store.close())
    const rows = await store.db.selectFrom('audit_log').select(['actor', 'action', 'target', 'version']).execute()
    assert.deepEqual(rows, [
      { actor: 'development', action: 'tool_group.create', target: 'full', version: before.version }
    ])
  })

  test(`what does not exist is neither replaced nor removed (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await create(registry, group('one'))
    const before = latest()
    await assert.rejects(replace(registry, group('One')), missing('One'))
    await assert.rejects(remove(registry, 'One'), missing('One'))
    assert.equal(latest(), before)
    await remove(registry, 'one')
    assert.deepEqual(latest().groups, [])
    await assert.rejects(remove(registry, 'one'), missing('one'))
  })

  test(`what did not change stays the same object, and a group made anew is another (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await create(registry, group('a'))
    await create(registry, group('b'))
    const [a, b] = latest().groups
    await registry.write(change('server.create', 's'), (tx) => tx.servers.create(httpServer('s'), offerOf([tool('t')])))
    assert.deepEqual([latest().groups[0] === a, latest().groups[1] === b], [true, true])
    const [server] = latest().servers
    await replace(registry, group('a', { included_servers: ['s'] }))
    assert.deepEqual([latest().groups[0] === a, latest().groups[1] === b], [false, true])
    assert.equal(latest().servers[0], server)
    await registry.write(change('tool_group.create', 'b'), async (tx) => {
      await tx.groups.remove('b')
      await tx.groups.create(group('b'))
    })
    assert.notEqual(latest().groups[1], b)
    assert.notEqual(latest().groups[1]!.createdAt, b!.createdAt)
  })
}

test(
  'an answered write is served by its own process, however slowly that reads it',
  { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' },
  async (t) => {
    const place = await freshPlace(t, 'postgres')
    const registry = await startRegistry(t, place)
    const { latest } = await follow(registry)
    const other = new pg.Client({ connectionString: place.databaseUrl })
    await other.connect()
    addCleanup(t, () => other.end())
    // a group is stored without the server, and read with it
    await other.query('begin; lock table servers in access exclusive mode')
    let isAnswered = false
    const written = create(registry, group('slow')).finally(() => (isAnswered = true))
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    assert.equal(isAnswered, false)
    await other.query('commit')
    await written
    assert.equal(latest().groups[0]?.name, 'slow')
  }
)
