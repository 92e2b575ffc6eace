import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { FastifyInstance } from 'fastify'
import type { Check } from '../../src/schemas/check.ts'
import type { LeftOutItem } from '../../src/schemas/left-out.ts'
import { freshConfig, openApp, register, startApp } from '../app.ts'
import { listedTransports, startListed, type ServerLists } from '../fixtures/listed/listed.ts'
import { engines, addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { startPolicyGateway } from './policy-helpers.ts'
import { cellsOf } from '../matrix.ts'

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

const named = (text: string) => (text.includes('nameless') ? text : text.replace('{', '{"name":"n",'))

/** Lists with one good item and four invalid ones each. */
const mixed: ServerLists = {
  tools: both('name').map((text) => text.replace('{', '{"inputSchema":{"type":"object"},')),
  prompts: both('name'),
  resources: both('uri').map(named),
  templates: both('uriTemplate').map(named)
}

const kinds = ['tool', 'prompt', 'resource', 'template'] as const
const expected = kinds.flatMap((kind) => [
  [kind, 'l'.repeat(200) + '…', 'name_too_long'],
  [kind, undefined, 'no_name'],
  [kind, 'large', 'too_large'],
  [kind, 'good', 'listed_twice']
])

interface LeftOutView {
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

const brief = ({ left_out = [] }: LeftOutView) => left_out.map(({ kind, name, code }) => [kind, name, code])

for (const [[mode, env], transport] of cellsOf(Object.entries(modes), listedTransports)) {
  test(`SR-C1 what a server lists and the gateway leaves out is told with its reason: every kind, ${transport}, ${mode}`, async (t) => {
    const app = await startApp(t, { env })
    const listed = await startListed(t, transport, mixed)
    const registered = await send(app, '/api/v0/servers', { name: 'a', ...listed.registration })
    assert.equal(registered.statusCode, 201, registered.body)
    for (const shown of [registered.json<LeftOutView>(), await get<LeftOutView>(app, '/api/v0/servers/a')]) {
      assert.equal(shown.left_out_count, 16)
      assert.deepEqual(brief(shown), expected)
      for (const { kind, code, reason } of shown.left_out!) {
        assert.match(reason, /^\S.* .*\S$/)
        const called = kind === 'resource' || kind === 'template' ? 'URI' : 'name'
        if (['name_too_long', 'listed_twice'].includes(code)) assert.match(reason, new RegExp(`^its ${called} is`))
      }
    }
    const [inList] = await get<LeftOutView[]>(app, '/api/v0/servers')
    assert.deepEqual([inList!.left_out_count, inList!.left_out], [16, undefined])

    listed.set({ ...mixed, tools: mixed.tools.slice(0, 1), prompts: [] })
    const refreshed = (await send(app, '/api/v0/servers/a/refresh')).json<LeftOutView>()
    assert.equal(refreshed.left_out_count, 8)
    assert.deepEqual(brief(refreshed), expected.slice(8))

    listed.set({})
    assert.equal((await send(app, '/api/v0/servers/a/refresh')).json<LeftOutView>().left_out, undefined)
    assert.ok(!('left_out_count' in (await get<object>(app, '/api/v0/servers/a'))))
  })
}

for (const engine of engines) {
  test(`SR-C1 what is left out is known after a restart, and a reading that finds the same writes nothing (${engine})`, async (t) => {
    const config = await freshConfig(t, {}, engine)
    const listed = await startListed(t, 'streamable_http', mixed)
    const first = await openApp(config)
    addCleanup(t, () => first.close())
    await register(first, { name: 'a', ...listed.registration })
    const version = first.gateway.stats().catalogVersion
    assert.equal((await send(first, '/api/v0/servers/a/refresh')).statusCode, 200)
    assert.equal(first.gateway.stats().catalogVersion, version)
    await first.close()

    const second = await openApp(config)
    addCleanup(t, () => second.close())
    assert.deepEqual(brief(await get<LeftOutView>(second, '/api/v0/servers/a')), expected)
  })
}

test('SR-C1 every replica knows what one of them has read and left out', { skip: engines.length < 2 }, async (t) => {
  const config = await freshConfig(t, {}, 'postgres')
  const replicas = [await openApp(config), await openApp(config)]
  for (const app of replicas) addCleanup(t, () => app.close())
  const listed = await startListed(t, 'streamable_http', {})
  await register(replicas[0]!, { name: 'a', ...listed.registration })
  listed.set(mixed)
  assert.equal((await send(replicas[0]!, '/api/v0/servers/a/refresh')).statusCode, 200)
  await until(
    'the other replica knows',
    async () => (await get<LeftOutView>(replicas[1]!, '/api/v0/servers/a')).left_out_count === 16
  )
  assert.deepEqual(brief(await get<LeftOutView>(replicas[1]!, '/api/v0/servers/a')), expected)
})

test('SR-C1 what is kept of left-out items is bounded in number and bytes, and the rest is counted', async (t) => {
  const app = await startApp(t)
  const nasty = Array.from({ length: 500 }, (_, i) => `{"name":${JSON.stringify('\u202e'.repeat(300) + i)}}`)
  const plain = Array.from({ length: 300 }, () => '{"title":"nameless"}')
  const listed = await startListed(t, 'streamable_http', { tools: plain })
  await register(app, { name: 'a', ...listed.registration })
  const counted = await get<LeftOutView>(app, '/api/v0/servers/a')
  assert.deepEqual([counted.left_out_count, counted.left_out!.length], [300, 100])
  listed.set({ tools: nasty })
  await send(app, '/api/v0/servers/a/refresh')
  const shown = await get<LeftOutView>(app, '/api/v0/servers/a')
  assert.equal(shown.left_out_count, 500)
  assert.ok(shown.left_out!.length > 0 && JSON.stringify(shown.left_out).length < 66_000)
  for (const { name } of shown.left_out!) assert.match(name!, /^[ -~]+…?$/)
})

test('SR-C1 the dashboard shows left-out items on the page of their server, in attention and in diagnostics', async (t) => {
  const app = await startApp(t)
  const listed = await startListed(t, 'streamable_http', mixed)
  await register(app, { name: 'a', ...listed.registration })
  const details = await get<LeftOutView>(app, '/api/dashboard/servers/a')
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

const schema = '"inputSchema":{"type":"object"}'
/** Valid JSON with items of the wrong shape, and the reported reason of each. */
const misshapen: Readonly<Record<(typeof kinds)[number], readonly (readonly [definition: string, reason: string])[]>> =
  {
    tool: [
      ['{"name":"t1"}', 'it has no "inputSchema"'],
      ['{"name":"t2","inputSchema":{}}', 'it has no "inputSchema.type"'],
      ['{"name":"t3","inputSchema":{"type":"array"}}', 'its "inputSchema.type"'],
      ['{"name":"t4","inputSchema":{"type":"object","properties":{"a":true}}}', 'its "inputSchema.properties.a"'],
      [`{"name":"t5",${schema},"description":5}`, 'its "description"'],
      [`{"name":"t6",${schema},"annotations":{"title":{}}}`, 'its "annotations.title"'],
      [`{"name":"t7",${schema},"icons":[{}]}`, 'it has no "icons.0.src"'],
      [`{"name":"t8",${schema},"_meta":"x"}`, 'its "_meta"']
    ],
    prompt: [
      ['{"name":"p1","arguments":[{}]}', 'it has no "arguments.0.name"'],
      ['{"name":"p2","arguments":{}}', 'its "arguments"'],
      ['{"name":"p3","title":[]}', 'its "title"']
    ],
    resource: [
      ['{"uri":"x://1"}', 'it has no "name"'],
      ['{"uri":"x://2","name":"n","size":"5"}', 'its "size"'],
      ['{"uri":"x://3","name":"n","annotations":{"lastModified":"yesterday"}}', 'its "annotations.lastModified"']
    ],
    template: [
      ['{"uriTemplate":"x://{a}"}', 'it has no "name"'],
      ['{"uriTemplate":"x://{b}","name":"n","mimeType":1}', 'its "mimeType"']
    ]
  }
const shaped: ServerLists = {
  tools: [`{"name":"good",${schema},"title":null,"outputSchema":{"type":"array"}}`],
  prompts: ['{"name":"good","arguments":null}'],
  resources: ['{"uri":"x://good","name":"n","mimeType":null}'],
  templates: ['{"uriTemplate":"x://{good}","name":"n","annotations":null}']
}

for (const transport of listedTransports) {
  test(`SR-C1 items that no client takes are left out, and the SDKs' clients list all others: ${transport}`, async (t) => {
    const app = await startApp(t)
    const url = new URL(`${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp`)
    const texts = (kind: (typeof kinds)[number]) => misshapen[kind].map(([text]) => text)
    const listed = await startListed(t, transport, {
      tools: [...texts('tool'), ...shaped.tools],
      prompts: [...texts('prompt'), ...shaped.prompts],
      resources: [...texts('resource'), ...shaped.resources],
      templates: [...texts('template'), ...shaped.templates]
    })
    await register(app, { name: 'a', ...listed.registration })
    await register(app, { name: 'b', ...(await startListed(t, 'streamable_http', shaped)).registration })

    const [v1, legacy, modern] = [
      new ClientV1({ name: 'test', version: '1' }),
      new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } }),
      new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    ]
    // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
    await v1.connect(new TransportV1(url) as Transport)
    await legacy.connect(new TransportV2(url))
    await modern.connect(new TransportV2(url))
    for (const client of [v1, legacy, modern]) {
      addCleanup(t, () => client.close())
      const { tools } = await client.listTools()
      const { prompts } = await client.listPrompts()
      const { resources } = await client.listResources()
      const { resourceTemplates } = await client.listResourceTemplates()
      assert.deepEqual(
        [tools, prompts].map((items) => items.map(({ name }) => name)),
        [
          ['a__good', 'b__good'],
          ['a__good', 'b__good']
        ],
        'tools and prompts'
      )
      assert.equal(resources[0]?.uri, 'x://good', 'resources')
      assert.equal(resourceTemplates[0]?.uriTemplate, 'x://{good}', 'templates')
    }

    const { left_out = [] } = await get<LeftOutView>(app, '/api/v0/servers/a')
    const told = kinds.flatMap((kind) => misshapen[kind].map(([, reason]) => [kind, 'shape', reason] as const))
    assert.deepEqual(
      left_out.map(({ kind, code, reason }, i) => [kind, code, reason.slice(0, told[i]?.[2].length)]),
      told,
      'each with its reason'
    )
    const b = await get<LeftOutView>(app, '/api/v0/servers/b')
    assert.equal(b.left_out, undefined, 'the other server lost nothing')
  })
}

test('users are told how many items are left out, administrators and auditors which', async (t) => {
  const { rest, k8s, alice } = await startPolicyGateway(t)
  const auditor = (await rest('POST', '/users', { name: 'ida', role: 'auditor' })).body.access_token as string
  k8s.setExtraTools([{ name: 'half_a_tool' }])
  await rest('POST', '/servers/k8s/refresh')
  const shownTo = async (token?: string) => (await rest('GET', '/servers/k8s', undefined, token)).body as LeftOutView
  for (const token of [undefined, auditor]) {
    assert.deepEqual(brief(await shownTo(token)), [['tool', 'half_a_tool', 'shape']])
    assert.equal((await shownTo(token)).left_out_count, 1)
  }
  const { left_out, left_out_count } = await shownTo(alice)
  assert.deepEqual([left_out, left_out_count], [undefined, 1])
})
