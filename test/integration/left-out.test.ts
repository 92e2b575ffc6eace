import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Check } from '../../src/schemas/dashboard/diagnostics.ts'
import type { LeftOutItem } from '../../src/schemas/left-out.ts'
import { freshConfig, openApp, register, startApp } from '../app.ts'
import { listedTransports, startListed, type Offered } from '../fixtures/listed/listed.ts'
import { engines, later } from '../store.ts'
import { until } from '../until.ts'

const token = 'twp_an-administrator-of-tests'
const modes = {
  development: {},
  enterprise: {
    SERVER_MODE: 'enterprise',
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOWPATH_ADMIN_TOKEN: token
  }
}

const long = (key: string) => JSON.stringify({ [key]: 'l'.repeat(3_000) })
const large = (key: string) => JSON.stringify({ [key]: 'large', description: 'd'.repeat(70_000) })
const both = (key: string) => [`{"${key}":"good"}`, long(key), '{"title":"nameless"}', large(key), `{"${key}":"good"}`]

/** Each list holds one good item and four that cannot be taken. */
const mixed: Offered = {
  tools: both('name').map((text) => text.replace('{', '{"inputSchema":{"type":"object"},')),
  prompts: both('name'),
  resources: both('uri'),
  templates: both('uriTemplate')
}

const kinds = ['tool', 'prompt', 'resource', 'template'] as const
const expected = kinds.flatMap((kind) => [
  [kind, 'l'.repeat(200) + '…', 'name_too_long'],
  [kind, undefined, 'no_name'],
  [kind, 'large', 'too_large'],
  [kind, 'good', 'listed_twice']
])

interface Shown {
  readonly left_out_count?: number
  readonly left_out?: readonly LeftOutItem[]
}

const headers = { authorization: `Bearer ${token}` }
const get = async <T>(app: FastifyInstance, url: string): Promise<T> => {
  const answer = await app.inject({ url, headers })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json<T>()
}
const send = (app: FastifyInstance, url: string, payload?: object) =>
  app.inject({ method: 'POST', url, headers, ...(payload ? { payload } : {}) })

const brief = ({ left_out = [] }: Shown) => left_out.map(({ kind, name, code }) => [kind, name, code])

for (const [mode, env] of Object.entries(modes)) {
  for (const transport of listedTransports) {
    test(`SR-C1 what a server lists and the gateway leaves out is told with its reason: every kind, ${transport}, ${mode}`, async (t) => {
      const app = await startApp(t, { env })
      const listed = await startListed(t, transport, mixed)
      const registered = await send(app, '/api/v0/servers', { name: 'a', ...listed.registration })
      assert.equal(registered.statusCode, 201, registered.body)
      for (const shown of [registered.json<Shown>(), await get<Shown>(app, '/api/v0/servers/a')]) {
        assert.equal(shown.left_out_count, 16)
        assert.deepEqual(brief(shown), expected)
        for (const { kind, code, reason } of shown.left_out!) {
          assert.match(reason, /^\S.* .*\S$/)
          const called = kind === 'resource' || kind === 'template' ? 'URI' : 'name'
          if (['name_too_long', 'listed_twice'].includes(code)) assert.match(reason, new RegExp(`^its ${called} is`))
        }
      }
      const [inList] = await get<Shown[]>(app, '/api/v0/servers')
      assert.deepEqual([inList!.left_out_count, inList!.left_out], [16, undefined])

      listed.set({ ...mixed, tools: mixed.tools.slice(0, 1), prompts: [] })
      const refreshed = (await send(app, '/api/v0/servers/a/refresh')).json<Shown>()
      assert.equal(refreshed.left_out_count, 8)
      assert.deepEqual(brief(refreshed), expected.slice(8))

      listed.set({})
      assert.equal((await send(app, '/api/v0/servers/a/refresh')).json<Shown>().left_out, undefined)
      assert.ok(!('left_out_count' in (await get<object>(app, '/api/v0/servers/a'))))
    })
  }
}

for (const engine of engines) {
  test(`SR-C1 what is left out is known after a restart, and a reading that finds the same writes nothing (${engine})`, async (t) => {
    const config = await freshConfig(t, {}, engine)
    const listed = await startListed(t, 'streamable_http', mixed)
    const first = await openApp(config)
    later(t, () => first.close())
    await register(first, { name: 'a', ...listed.registration })
    const version = first.gateway.stats().catalogVersion
    assert.equal((await send(first, '/api/v0/servers/a/refresh')).statusCode, 200)
    assert.equal(first.gateway.stats().catalogVersion, version)
    await first.close()

    const second = await openApp(config)
    later(t, () => second.close())
    assert.deepEqual(brief(await get<Shown>(second, '/api/v0/servers/a')), expected)
  })
}

test('SR-C1 every replica knows what one of them has read and left out', { skip: engines.length < 2 }, async (t) => {
  const config = await freshConfig(t, {}, 'postgres')
  const replicas = [await openApp(config), await openApp(config)]
  for (const app of replicas) later(t, () => app.close())
  const listed = await startListed(t, 'streamable_http', {})
  await register(replicas[0]!, { name: 'a', ...listed.registration })
  listed.set(mixed)
  assert.equal((await send(replicas[0]!, '/api/v0/servers/a/refresh')).statusCode, 200)
  await until(
    'the other replica knows',
    async () => (await get<Shown>(replicas[1]!, '/api/v0/servers/a')).left_out_count === 16
  )
  assert.deepEqual(brief(await get<Shown>(replicas[1]!, '/api/v0/servers/a')), expected)
})

test('SR-C1 what is kept of left-out items is bounded in number and bytes, and the rest is counted', async (t) => {
  const app = await startApp(t)
  const nasty = Array.from({ length: 500 }, (_, i) => `{"name":${JSON.stringify('\u202e'.repeat(300) + i)}}`)
  const plain = Array.from({ length: 300 }, () => '{"title":"nameless"}')
  const listed = await startListed(t, 'streamable_http', { tools: plain })
  await register(app, { name: 'a', ...listed.registration })
  const counted = await get<Shown>(app, '/api/v0/servers/a')
  assert.deepEqual([counted.left_out_count, counted.left_out!.length], [300, 100])
  listed.set({ tools: nasty })
  await send(app, '/api/v0/servers/a/refresh')
  const shown = await get<Shown>(app, '/api/v0/servers/a')
  assert.equal(shown.left_out_count, 500)
  assert.ok(shown.left_out!.length > 0 && JSON.stringify(shown.left_out).length < 66_000)
  for (const { name } of shown.left_out!) assert.match(name!, /^[ -~]+…?$/)
})

test('SR-C1 the dashboard shows left-out items on the page of their server, in attention and in diagnostics', async (t) => {
  const app = await startApp(t)
  const listed = await startListed(t, 'streamable_http', mixed)
  await register(app, { name: 'a', ...listed.registration })
  const details = await get<Shown>(app, '/api/dashboard/servers/a')
  assert.equal(details.left_out_count, 16)
  assert.deepEqual(brief(details), expected)
  const { attention } = await get<{ attention: { kind: string; name: string; title: string }[] }>(
    app,
    '/api/dashboard/overview'
  )
  assert.deepEqual(
    attention.map(({ kind, name, title }) => [kind, name, title]),
    [['items_left_out', 'a', '16 items of the server a are not served']]
  )
  const check = async () => {
    const { checks } = await get<{ checks: Check[] }>(app, '/api/dashboard/diagnostics')
    const found = checks.find(({ id }) => id === 'left_out:a')
    return [found?.status, found?.title]
  }
  assert.deepEqual(await check(), ['warn', 'The server a lists 16 items that are not served'])
  listed.set({ tools: mixed.tools.slice(0, 2) })
  await send(app, '/api/v0/servers/a/refresh')
  assert.deepEqual(await check(), ['warn', 'The server a lists 1 item that is not served'])
})
