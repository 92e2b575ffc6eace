import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Registry } from '../../src/registry/registry.ts'
import { engines, freshPlace, startRegistry } from '../store.ts'
import { change, follow, httpServer, offerOf, tool } from './registry-helpers.ts'

for (const engine of engines) {
  test(`a server is stored with its items, and comes back after a restart (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const first = await startRegistry(t, place)
    const config = httpServer('time', { description: 'the time', bearer_token: 'b', headers: { 'x-a': '1' } })
    const id = await first.write(change('server.create', 'time'), (tx) =>
      tx.servers.create(config, offerOf([tool('now'), tool('zones'), { ...tool('ask'), kind: 'prompt' }]))
    )
    await first.close()

    const second = await startRegistry(t, place)
    const { latest } = await follow(second)
    const [server, ...others] = latest().servers
    assert.equal(others.length, 0)
    assert.equal(server!.id, id)
    assert.equal(server!.name, 'time')
    assert.equal(server!.description, 'the time')
    assert.equal(server!.enabled, true)
    assert.deepEqual(server!.settings, { url: config.url })
    assert.equal(server!.revision, latest().version)
    assert.deepEqual(server!.negotiation, offerOf([]).negotiation)
    assert.equal(new Date(server!.registeredAt).toISOString(), server!.registeredAt)
    assert.deepEqual(
      server!.items.map(({ kind, name, enabled }) => [kind, name, enabled]),
      [
        ['prompt', 'ask', true],
        ['tool', 'now', true],
        ['tool', 'zones', true]
      ]
    )
    assert.deepEqual(second.decryptSecrets(server!), { bearer_token: 'b', headers: { 'x-a': '1' } })
  })

  test(`a name that is taken is a 409 and changes nothing (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await create(registry, 'time')
    const { version } = latest()

    await assert.rejects(create(registry, 'time'), {
      name: 'AppError',
      statusCode: 409,
      message: 'server "time" already exists'
    })
    assert.equal(latest().version, version)
    await create(registry, 'Time')
    assert.deepEqual(
      latest().servers.map((server) => server.name),
      ['Time', 'time']
    )
  })

  test(`of those who would refresh a server at a time one does, and nothing is written down (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const id = await create(registry, 'time')
    const { version } = latest()
    const claims = await Promise.all(Array.from({ length: 5 }, () => registry.tryStartRefresh(id, 60_000)))
    assert.equal(claims.filter(Boolean).length, 1)
    assert.equal(await registry.tryStartRefresh(id, 0), true)
    assert.equal(await registry.tryStartRefresh(id, 60_000.5), false)
    assert.equal(await registry.tryStartRefresh('00000000-0000-4000-8000-000000000000', 0), false)
    assert.deepEqual([latest().version, (await registry.audit({ limit: 10 })).length], [version, 1])
  })

  test(`LC-09: of 20 parallel creations of one name one succeeds and 19 are 409 (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registries = [await startRegistry(t, place)]
    if (engine === 'postgres') registries.push(await startRegistry(t, place))
    const { latest } = await follow(registries[0]!)

    const attempts = Array.from({ length: 20 }, (_, index) =>
      create(registries[index % registries.length]!, 'time', 20)
    )
    const outcomes = await Promise.allSettled(attempts)
    const statuses = outcomes.map((one) =>
      one.status === 'fulfilled' ? 201 : (one.reason as { statusCode: number }).statusCode
    )
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [201, ...Array(19).fill(409)]
    )
    assert.equal(latest().servers.length, 1)
    assert.equal(latest().servers[0]!.items.length, 20)
  })

  test(`a server that is removed is gone with its items, and unknown ones are 404 (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await create(registry, 'time', 3)
    await registry.write(change('server.remove', 'time'), (tx) => tx.servers.remove('time'))
    assert.deepEqual(latest().servers, [])

    const missing = { name: 'AppError', statusCode: 404, message: 'server "time" does not exist' }
    const attempts: ((tx: Parameters<Parameters<Registry['write']>[1]>[0]) => Promise<unknown>)[] = [
      (tx) => tx.servers.remove('time'),
      (tx) => tx.servers.replace('time', httpServer('time'), offerOf([])),
      (tx) => tx.servers.setEnabled('time', false),
      (tx) => tx.items.setEnabled('time', 'tool', null, false)
    ]
    for (const attempt of attempts) await assert.rejects(registry.write(change('x', 'time'), attempt), missing)
  })

  test(`force swaps a server for a new one of the same name in one version (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    await create(registry, 'time', 3)
    const before = latest()

    const force = (name: string) =>
      registry.write(change('server.create', name), (tx) =>
        tx.servers.recreate(httpServer(name), offerOf([tool('other')]))
      )
    await force('time')
    assert.equal(BigInt(latest().version), BigInt(before.version) + 1n)
    assert.notEqual(latest().servers[0]!.id, before.servers[0]!.id)
    await force('new')
    assert.deepEqual(
      latest().servers.map(({ name }) => name),
      ['new', 'time']
    )
  })

  test(`a replaced server keeps its row, its switch and those of the items that stay (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const id = await create(registry, 'time', 3)
    await registry.write(change('server.disable', 'time'), (tx) => tx.servers.setEnabled('time', false))
    await registry.write(change('tool.disable', 'time__tool1'), (tx) =>
      tx.items.setEnabled('time', 'tool', ['tool1'], false)
    )

    const config = httpServer('time', { url: 'http://127.0.0.1:9/new', env: { A: 'b' }, session_mode: 'stateful' })
    await registry.write(change('server.replace', 'time'), (tx) =>
      tx.servers.replace('time', config, offerOf([tool('tool2'), tool('tool1', 'new text'), tool('added')]))
    )
    const server = latest().servers[0]!
    assert.deepEqual([server.id, server.enabled, server.session_mode], [id, false, 'stateful'])
    assert.deepEqual(server.settings, { url: 'http://127.0.0.1:9/new' })
    assert.deepEqual(registry.decryptSecrets(server), { env: { A: 'b' } })
    assert.deepEqual(
      server.items.map(({ name, enabled }) => [name, enabled]),
      [
        ['tool2', true],
        ['tool1', false],
        ['added', true]
      ]
    )
  })

  test(`switching a server names the enabled tools and prompts that appear or vanish (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    await registry.write(change('server.create', 'time'), (tx) =>
      tx.servers.create(
        httpServer('time'),
        offerOf([tool('b'), tool('a'), tool('off'), { ...tool('ask'), kind: 'prompt' }])
      )
    )
    await registry.write(change('tool.disable', 'time__off'), (tx) =>
      tx.items.setEnabled('time', 'tool', ['off'], false)
    )
    const set = (enabled: boolean) =>
      registry.write(change('server.switch', 'time'), (tx) => tx.servers.setEnabled('time', enabled))

    assert.deepEqual(await set(false), { changed: true, tools: ['b', 'a'], prompts: ['ask'] })
    assert.deepEqual(await set(false), { changed: false, tools: ['b', 'a'], prompts: ['ask'] })
    assert.deepEqual(await set(true), { changed: true, tools: ['b', 'a'], prompts: ['ask'] })
  })

  test(`configurations come back complete and by name, and reading them can be recorded (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const configs = [
      httpServer('b', {
        headers: { h: 'v' },
        bearer_token: 't',
        oauth_client_id: 'i',
        oauth_client_secret: 's',
        oauth_scopes: ['x']
      }),
      {
        name: 'a',
        transport: 'stdio',
        session_mode: 'stateful',
        command: 'node',
        args: ['-e', ''],
        env: { K: 'V' }
      } as const,
      httpServer('B', { description: 'upper case sorts first' })
    ]
    for (const config of configs) {
      await registry.write(change('server.create', config.name), (tx) => tx.servers.create(config, offerOf([])))
    }
    const expected = [configs[2], configs[1], configs[0]]
    assert.deepEqual(await registry.configs(), expected)
    assert.deepEqual(await registry.configs(change('server_configs.read', '*')), expected)
  })
}

const create = (registry: Registry, name: string, tools = 1) =>
  registry.write(change('server.create', name), (tx) =>
    tx.servers.create(httpServer(name), offerOf(Array.from({ length: tools }, (_, index) => tool(`tool${index}`))))
  )
