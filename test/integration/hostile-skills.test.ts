import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { register } from '../app.ts'
import { twoSkills } from '../fixtures/skills/files.ts'
import { startSkillServer } from '../fixtures/skills/official.ts'
import { digestOf, entryOf, startRawSkills, type Json, type RawSkillOptions } from '../fixtures/skills/raw.ts'
import { addCleanup } from '../store.ts'
import { routesTo, type Route } from './app-helpers.ts'
import { startMcp, type Mcp } from './mcp-helpers.ts'

const good = 'skill://ok/SKILL.md'
const guideAt = 'skill://guide/refunds/SKILL.md'

/** Registers a server whose answers the test decides, as `evil`. */
async function addEvil(t: TestContext, { app }: Mcp, options: RawSkillOptions) {
  const evil = await startRawSkills(options)
  addCleanup(t, evil.close)
  await register(app, { name: 'evil', transport: 'streamable_http', url: evil.url })
  return evil
}

/** Starts a gateway with a hostile server and a well-behaved one, `guide`. */
async function startBoth(t: TestContext, options: RawSkillOptions) {
  const mcp = await startMcp(t)
  const evil = await addEvil(t, mcp, options)
  const guide = await startSkillServer('guide', twoSkills('guide'))
  addCleanup(t, guide.close)
  await register(mcp.app, { name: 'guide', transport: 'streamable_http', url: guide.url })
  return { mcp, evil, routes: await routesTo(t, mcp) }
}

const urisAt = async (route: Route): Promise<string[]> =>
  ((await route.request('skills/list')).result.skills as { uri: string }[]).map(({ uri }) => uri)

async function textAt(route: Route, uri: string): Promise<string | undefined> {
  return (await route.request('resources/read', { uri })).result?.contents[0].text as string | undefined
}

async function leftOutOf({ app }: Mcp): Promise<readonly (readonly unknown[])[]> {
  const { left_out = [] } = (await app.inject({ url: '/api/v0/servers/evil' })).json<{ left_out?: Json[] }>()
  return left_out.map(({ kind, name, code }) => [kind, name, code])
}

const others: readonly unknown[] = [
  undefined,
  null,
  true,
  5,
  -1,
  1.5,
  '',
  'x',
  'A',
  '..',
  [],
  [null],
  {},
  { a: 1 },
  'a b'
]

/** Yields the value with one place replaced at a time. */
function* mutants(value: unknown): Generator<unknown> {
  yield* others
  if (typeof value !== 'object' || value === null) return
  for (const [key, part] of Object.entries(value)) {
    for (const other of mutants(part)) {
      if (!Array.isArray(value)) yield { ...value, [key]: other }
      else if (other !== undefined) yield value.with(Number(key), other)
    }
  }
}

test('a skill is listed if and only if the official client takes the list that it stands in', async (t) => {
  const mcp = await startMcp(t)
  const sample = (i: number): Json => {
    const uri = `skill://n${i}/deep/SKILL.md`
    const more = { compatibility: 'c', metadata: { v: '1' } }
    const files = [uri, `skill://n${i}/deep/a%20b.md`].map((file) => ({ uri: file, digest: digestOf(''), size: 0 }))
    return entryOf(uri, '', { frontmatter: { name: 'deep', description: 'd', ...more }, resources: files, _meta: {} })
  }
  const count = [...mutants(sample(0))].length
  const list = Array.from({ length: count }, (_, i) => [...mutants(sample(i))][i])
  // servers in Go and Python send null for absent members, which the gateway removes
  const evil = await addEvil(t, mcp, { list: list.filter((each) => (each as Json | null)?._meta !== null) })
  const clientAt = async (url: string) => {
    const pin = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
    const client = new Client({ name: 'test', version: '1' }, pin)
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    addCleanup(t, () => client.close())
    return client
  }
  const direct = await new SkillsClient(await clientAt(evil.url), { skipInvalid: true }).list()
  const through = await new SkillsClient(await clientAt(mcp.url)).list()
  assert.deepEqual(
    through.skills.map(({ uri }) => uri),
    direct.skills.map(({ uri }) => uri.replace('skill://', 'skill://evil/'))
  )
  assert.ok(
    direct.skills.length > 20 && direct.invalid.length > 100,
    `${direct.skills.length} ${direct.invalid.length}`
  )
})

test('no address of one server gives the text of another, whatever a server calls its files', async (t) => {
  const claimed = [guideAt, 'SKILL://guide/refunds/SKILL.md', 'skill://guide%2frefunds/refunds/SKILL.md']
  const more = [
    'skill://../guide/refunds/SKILL.md',
    'skill://Guide/refunds/SKILL.md',
    'skill://%67uide/refunds/SKILL.md'
  ]
  const { mcp, evil, routes } = await startBoth(t, {
    list: [...claimed, ...more].map((uri) => entryOf(uri, 'evil')),
    resources: [guideAt, 'SKILL://guide/refunds/SKILL.md'],
    templates: ['skill://{+path}', 'SKILL://{+path}', '{+any}'],
    files: () => 'evil'
  })
  const path = 'refunds/SKILL.md'
  const spellings = [
    'guide',
    'Guide',
    'GUIDE',
    '%67uide',
    '%2567uide',
    'guide%2f..',
    'x@guide',
    'guide:80',
    ' guide',
    './guide'
  ]
  for (const route of routes) {
    for (const uri of await urisAt(route)) {
      const isGuide = /^skill:\/\/guide\//.test(uri)
      const text = (await textAt(route, uri))!
      assert.equal(text === 'evil', !isGuide, `${route.name} ${uri}`)
    }
    const addresses = ['skill', 'SKILL', 'Skill'].flatMap((scheme) =>
      spellings.map((spelling) => `${scheme}://${spelling}/${path}`)
    )
    for (const uri of [...addresses, 'skill:guide/x', 'skill:/guide/x', 'skill:\\\\guide\\x', '\tskill://guide/x']) {
      const text = await textAt(route, uri)
      assert.notEqual(text, 'evil', `${route.name} ${uri}`)
      const { result } = await route.request('skills/get', { uri })
      assert.match((result?.skill.frontmatter.description as string | undefined) ?? 'guide', /guide/, uri)
    }
    assert.match((await textAt(route, guideAt))!, /How guide does refunds/)
  }
  assert.ok((await leftOutOf(mcp)).length > 0)
  for (const { uri } of evil.asked('resources/read')) assert.doesNotMatch(uri as string, /^skill:\/\/refunds/)
})

test('a skill that a server does not list is asked of the server that its address names', async (t) => {
  const hidden = 'skill://hidden/SKILL.md'
  const { evil, routes } = await startBoth(t, {
    list: [],
    get: (uri) =>
      uri === hidden
        ? { result: { skill: entryOf(uri, 'h'), ttlMs: 5, cacheScope: 'public' } }
        : { error: { code: -32602, message: 'None' } }
  })
  for (const route of routes) {
    const { result } = await route.request('skills/get', { uri: 'skill://evil/hidden/SKILL.md' })
    assert.equal(result.skill.uri, 'skill://evil/hidden/SKILL.md')
    assert.equal(result.skill.resources[0].uri, 'skill://evil/hidden/SKILL.md')
    assert.equal(result.cacheScope, route.name.startsWith('modern') ? 'private' : undefined)
    const refused = await route.request('skills/get', { uri: 'skill://evil/gone/SKILL.md' })
    assert.equal(refused.error?.code, -32602)
  }
  assert.ok(
    evil
      .asked('skills/get')
      .every(({ uri }) => (uri as string).startsWith('skill://hidden') || uri === 'skill://gone/SKILL.md')
  )
})

test('an answer to skills/get that is no entry, or that of another skill, is a failure of the server', async (t) => {
  const answers: readonly unknown[] = [
    entryOf('skill://other/SKILL.md', ''),
    entryOf(guideAt, ''),
    entryOf('skill://x/SKILL.md', '', { resources: undefined }),
    entryOf('skill://x/SKILL.md', '', { frontmatter: { name: 'y', description: 'd' } }),
    5,
    null,
    undefined
  ]
  let answer: unknown
  const { routes } = await startBoth(t, {
    list: [],
    get: () => ({ result: { skill: answer, ttlMs: 0, cacheScope: 'public' } })
  })
  for (answer of answers) {
    for (const route of routes) {
      const { error, result } = await route.request('skills/get', { uri: 'skill://evil/x/SKILL.md' })
      assert.equal(error?.code, -32603, `${JSON.stringify(answer)} ${JSON.stringify(result)}`)
    }
  }
})

test('children of a directory have addresses of their server, and unusable ones are dropped', async (t) => {
  const children = [
    { uri: 'skill://x/a.md', name: 'a.md', size: 1 },
    { uri: guideAt, name: 'guide' },
    { uri: 'file:///etc/passwd', name: 'p' },
    { uri: 'skill://x/b.md' },
    { name: 'no uri' },
    5
  ]
  const { evil, routes } = await startBoth(t, {
    list: [entryOf('skill://x/SKILL.md', '')],
    directory: ({ cursor }) => ({
      result: { resources: cursor ? [] : children, ...(cursor ? {} : { nextCursor: 'n' }) }
    })
  })
  for (const route of routes) {
    const uri = 'skill://evil/x'
    const { result } = await route.request('resources/directory/read', { uri })
    assert.deepEqual(result.resources, [
      { uri: 'skill://evil/x/a.md', name: 'a.md', size: 1 },
      { uri: 'skill://evil/guide/refunds/SKILL.md', name: 'guide' },
      { uri: 'towpath://evil/file:///etc/passwd', name: 'p' }
    ])
    const next = await route.request('resources/directory/read', { uri, cursor: result.nextCursor as string })
    assert.deepEqual(next.result.resources, [])
  }
  assert.deepEqual(
    evil
      .asked('resources/directory/read')
      .map(({ uri, cursor }) => [uri, cursor])
      .slice(0, 2),
    [
      ['skill://x', undefined],
      ['skill://x', 'n']
    ]
  )
})

test('a server that does not declare directories is not asked for one', async (t) => {
  const { evil, routes } = await startBoth(t, { list: [entryOf(good, '')], declared: {} })
  for (const route of routes) {
    const { error } = await route.request('resources/directory/read', { uri: 'skill://evil/ok' })
    assert.equal(error?.code, -32602)
  }
  assert.deepEqual(evil.asked('resources/directory/read'), [])
})

test('a list of skills that is too long, repeats itself or is refused costs the server no tool', async (t) => {
  const huge = entryOf('skill://huge/SKILL.md', '', { _meta: { text: 'x'.repeat(2_000_000) } })
  const twice = entryOf(good, 'other')
  const lists: readonly (readonly [RawSkillOptions['list'], readonly string[], readonly (readonly unknown[])[]])[] = [
    [
      [huge, entryOf(good, ''), twice],
      [good],
      [
        ['skill', 'skill://huge/SKILL.md', 'too_large'],
        ['skill', good, 'listed_twice']
      ]
    ],
    [
      [entryOf(good, ''), entryOf('SKILL://ok/SKILL.md', '')],
      [good],
      [['skill', 'SKILL://ok/SKILL.md', 'listed_twice']]
    ],
    [() => ({ error: { code: -32601, message: 'Method not found' } }), [], []],
    [() => ({ error: { code: -32603, message: 'secret' } }), [], [['skill', undefined, 'malformed']]],
    [() => ({ result: { skills: 5 } }), [], [['skill', undefined, 'malformed']]],
    [() => ({ result: { skills: [], nextCursor: 'again' } }), [], [['skill', undefined, 'malformed']]]
  ]
  const mcp = await startMcp(t)
  const evil = await addEvil(t, mcp, { list: [] })
  const [route] = await routesTo(t, mcp)
  for (const [list, uris, leftOut] of lists) {
    evil.become({ list })
    const refreshed = await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/evil/refresh' })
    assert.equal(refreshed.statusCode, 200, refreshed.body)
    assert.deepEqual(
      await urisAt(route!),
      uris.map((uri) => uri.replace('skill://', 'skill://evil/'))
    )
    assert.deepEqual(await leftOutOf(mcp), leftOut)
    const { tools } = (await route!.request('tools/list')).result as { tools: { name: string }[] }
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['evil__echo']
    )
  }
})

test('a wrong digest passes, because only the client has the file, and long lists come in pages', async (t) => {
  const wrong = entryOf(good, 'what the entry describes')
  const many = Array.from({ length: 1_200 }, (_, i) => entryOf(`skill://s${i}/SKILL.md`, ''))
  const { routes } = await startBoth(t, { list: [wrong, ...many], files: { [good]: 'something else' } })
  for (const route of routes) {
    const found: string[] = []
    let cursor: unknown
    do {
      const { result } = await route.request('skills/list', cursor === undefined ? {} : { cursor })
      found.push(...(result.skills as { uri: string }[]).map(({ uri }) => uri))
      cursor = result.nextCursor
    } while (cursor !== undefined)
    assert.equal(new Set(found).size, 1_203)
    assert.equal(await textAt(route, 'skill://evil/ok/SKILL.md'), 'something else')
    const foreign = await route.request('skills/list', { cursor: 'x' })
    assert.equal(foreign.error?.code, -32602)
  }
})

test('a group that picks tools of a server has none of its skills', async (t) => {
  const { mcp } = await startBoth(t, { list: [entryOf(good, '')], files: () => 'evil', templates: ['skill://{+path}'] })
  const payload = { name: 'picked', included_tools: ['evil__echo'] }
  assert.equal((await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload })).statusCode, 201)
  for (const route of await routesTo(t, mcp, 'picked')) {
    assert.deepEqual(await urisAt(route), [])
    for (const uri of ['skill://evil/ok/SKILL.md', good, guideAt]) {
      assert.equal((await route.request('skills/get', { uri })).error?.code, -32602)
      assert.equal(await textAt(route, uri), undefined)
    }
  }
})
