import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { freshConfig, openApp, register } from '../app.ts'
import { skillFolder, twoSkills } from '../fixtures/skills/files.ts'
import { startSkillServer, type SkillServer } from '../fixtures/skills/official.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'
import { routesTo, type Route } from './app-helpers.ts'
import { startMcp, type Mcp } from './mcp-helpers.ts'

const skip = engines.includes('postgres') ? false : 'needs PostgreSQL'

const paths = ['refunds/SKILL.md', 'team/billing/disputes/SKILL.md']
const at = (server: string, path = paths[0]!) => `skill://${server}/${path}`
const bare = (path: string) => `skill://${path}`

interface Entry {
  readonly uri: string
  readonly frontmatter: { readonly name: string }
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[]
}

const rest = async (mcp: Mcp, method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
  const answer = await mcp.app.inject({ method, url: `/api/v0${path}`, ...(payload ? { payload } : {}) })
  assert.ok(answer.statusCode < 300, answer.body)
  return answer.body === '' ? undefined : answer.json<unknown>()
}

/** Registers a server of skills under a name; its files show the name. */
async function addSkills(t: TestContext, { app }: Mcp, name: string, files = twoSkills(name)): Promise<SkillServer> {
  const server = await startSkillServer(name, files)
  addCleanup(t, server.close)
  await register(app, { name, transport: 'streamable_http', url: server.url })
  return server
}

/** Starts a gateway with two servers that have skills of the same names. */
async function startTwo(t: TestContext) {
  const mcp = await startMcp(t)
  const guide = await addSkills(t, mcp, 'guide')
  await addSkills(t, mcp, 'other')
  return { mcp, guide }
}

const listed = async (route: Route): Promise<Entry[]> => (await route.request('skills/list')).result.skills as Entry[]
const urisAt = async (route: Route) => (await listed(route)).map(({ uri }) => uri)

async function textAt(route: Route, uri: string): Promise<string | undefined> {
  const { result } = await route.request('resources/read', { uri })
  return result?.contents[0].text as string | undefined
}

test('EX-06 skills of the same name in two servers are told apart, and every file is the one that its entry describes', async (t) => {
  const { mcp } = await startTwo(t)
  for (const route of await routesTo(t, mcp)) {
    const entries = await listed(route)
    assert.deepEqual(
      entries.map(({ uri }) => uri),
      ['guide', 'other'].flatMap((server) => paths.map((path) => at(server, path))),
      route.name
    )
    for (const { uri, resources } of entries) {
      const [, , server] = uri.split('/')
      const { result } = await route.request('skills/get', { uri })
      assert.deepEqual(
        result.skill,
        entries.find((entry) => entry.uri === uri)
      )
      assert.equal(resources.length, 3)
      for (const file of resources) {
        const text = (await textAt(route, file.uri))!
        assert.match(text, new RegExp(`\\b${server}\\b`), 'the text of this server')
        assert.equal(file.digest, `sha256:${createHash('sha256').update(text).digest('hex')}`)
        assert.equal(file.size, Buffer.byteLength(text))
      }
    }
  }
})

for (const era of ['2025-11-25', '2026-07-28']) {
  test(`the official client of ${era} lists, gets, reads and verifies the skills of all servers`, async (t) => {
    const { mcp } = await startTwo(t)
    const pin = era === '2026-07-28' ? { versionNegotiation: { mode: { pin: era } } } : {}
    const client = new Client({ name: 'test', version: '1' }, pin)
    await client.connect(new StreamableHTTPClientTransport(new URL(mcp.url)))
    addCleanup(t, () => client.close())
    const skills = new SkillsClient(client)
    assert.deepEqual([skills.supported, skills.directoryRead], [true, true])
    const found = await skills.list()
    assert.equal(found.skills.length, 4)
    for (const skill of found.skills) {
      assert.equal((await skills.read(skill)).verified, true)
      assert.equal((await skills.read(skill, 'references/GUIDE.md')).verified, true)
      assert.deepEqual((await skills.get(skill.uri)).skill, skill)
      const root = skill.uri.replace(/\/SKILL.md$/, '')
      const children = (await skills.readDirectory(root)).resources.map(({ uri, mimeType }) => `${uri} ${mimeType}`)
      assert.deepEqual(children.toSorted(), [
        `${skill.uri} text/markdown`,
        `${root}/references inode/directory`,
        `${root}/templates inode/directory`
      ])
    }
    await assert.rejects(skills.get(at('guide', 'gone/SKILL.md')), { code: -32602 })
    await assert.rejects(skills.readDirectory(at('guide')), { code: -32602 })
  })
}

test('a bare group shows the addresses of its server, and a group only the skills of its servers', async (t) => {
  const { mcp } = await startTwo(t)
  await rest(mcp, 'POST', '/tool-groups', { name: 'plain', included_servers: ['guide'], tool_names: 'bare' })
  await rest(mcp, 'POST', '/tool-groups', { name: 'whole', included_servers: ['guide'] })
  for (const route of await routesTo(t, mcp, 'plain')) {
    assert.deepEqual(await urisAt(route), paths.map(bare), route.name)
    assert.match((await textAt(route, bare(paths[0]!)))!, /How guide does refunds/)
    assert.equal((await route.request('skills/get', { uri: at('other') })).error?.code, -32602)
  }
  for (const route of await routesTo(t, mcp, 'whole')) {
    assert.deepEqual(
      await urisAt(route),
      paths.map((path) => at('guide', path))
    )
    for (const uri of [at('other'), at('other', 'refunds/references/GUIDE.md')]) {
      assert.equal((await route.request('skills/get', { uri })).error?.code, -32602)
      assert.equal((await route.request('resources/directory/read', { uri })).error?.code, -32602)
      assert.equal(await textAt(route, uri), undefined)
    }
  }
})

test('a disabled skill is neither listed nor read, until it is enabled', async (t) => {
  const { mcp } = await startTwo(t)
  const routes = await routesTo(t, mcp)
  const entity = encodeURIComponent(at('guide'))
  assert.deepEqual(await rest(mcp, 'POST', `/skills/disable?entity=${entity}`), [at('guide')])
  for (const route of routes) {
    assert.deepEqual(await urisAt(route), [at('guide', paths[1]), at('other'), at('other', paths[1])], route.name)
    assert.equal((await route.request('skills/get', { uri: at('guide') })).error?.code, -32602)
    for (const path of ['refunds/SKILL.md', 'refunds/references/GUIDE.md', 'x/../refunds/SKILL.md'])
      assert.equal(await textAt(route, at('guide', path)), undefined, path)
    assert.match((await textAt(route, at('other')))!, /How other does refunds/)
  }
  assert.deepEqual(await rest(mcp, 'POST', '/skills/disable?entity=other'), [at('other'), at('other', paths[1])])
  for (const route of routes) assert.deepEqual(await urisAt(route), [at('guide', paths[1])])
  await rest(mcp, 'POST', `/skills/enable?entity=${entity}`)
  for (const route of routes) assert.match((await textAt(route, at('guide')))!, /How guide does refunds/)
})

test('skills are switched in one request with the other items of a server', async (t) => {
  const { mcp } = await startTwo(t)
  const before = (await rest(mcp, 'GET', '/servers/guide/switches')) as { skills: Record<string, boolean> }
  assert.deepEqual(before.skills, { [bare(paths[0]!)]: true, [bare(paths[1]!)]: true })
  await rest(mcp, 'PATCH', '/servers/guide/switches', { skills: { [bare(paths[0]!)]: false } })
  const records = (await rest(mcp, 'GET', '/skills?server=guide')) as { uri: string; enabled: boolean }[]
  assert.deepEqual(
    records.map(({ uri, enabled }) => [uri, enabled]),
    [
      [at('guide'), false],
      [at('guide', paths[1]), true]
    ]
  )
})

test('a record of a skill holds the addresses of its files, which REST reads', async (t) => {
  const { mcp } = await startTwo(t)
  const record = (await rest(mcp, 'GET', `/skill?uri=${encodeURIComponent(at('guide'))}`)) as Entry & object
  assert.deepEqual(
    { ...record, resources: record.resources.map(({ uri }) => uri) },
    {
      uri: at('guide'),
      name: 'refunds',
      enabled: true,
      description: 'How guide does refunds',
      frontmatter: {
        name: 'refunds',
        description: 'How guide does refunds',
        license: 'Apache-2.0',
        metadata: { version: '1.10' }
      },
      resources: ['SKILL.md', 'references/GUIDE.md', 'templates/letter.md'].map((path) =>
        at('guide', `refunds/${path}`)
      )
    }
  )
  for (const { uri } of record.resources) {
    const { contents } = (await rest(mcp, 'POST', '/resources/read', { uri })) as { contents: { uri: string }[] }
    assert.equal(contents[0]!.uri, uri)
  }
  const missing = await mcp.app.inject({ url: '/api/v0/skill?uri=skill://gone/x/SKILL.md' })
  assert.equal(missing.statusCode, 404)
})

test('the dashboard lists the skills of a server, and switches one', async (t) => {
  const { mcp } = await startTwo(t)
  const view = async () => {
    const { skills } = (await mcp.app.inject({ url: '/api/dashboard/skills' })).json<{ skills: object[] }>()
    return skills.map((skill) => Object.fromEntries(Object.entries(skill)))
  }
  const [first] = await view()
  const { uri, name, server, description, files, enabled } = first!
  assert.deepEqual(
    { uri, name, server, description, files, enabled },
    {
      ...{ uri: at('guide'), name: 'refunds', server: 'guide' },
      ...{ description: 'How guide does refunds', files: 3, enabled: true }
    }
  )
  const url = `/api/dashboard/skills/${encodeURIComponent(at('guide'))}/enabled`
  const switched = await mcp.app.inject({ method: 'PATCH', url, payload: { enabled: false } })
  assert.equal(switched.statusCode, 200, switched.body)
  assert.deepEqual(
    (await view()).map((skill) => skill['enabled']),
    [false, true, true, true]
  )
})

test('the extension is declared while a whole server of the scope has it', async (t) => {
  const mcp = await startMcp(t)
  const id = 'io.modelcontextprotocol/skills'
  const declared = async () => {
    const answers = [await mcp.legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {} })]
    answers.push(await mcp.modern('server/discover'))
    return answers.map(({ body }) => body.result.capabilities.extensions as unknown)
  }
  assert.deepEqual(await declared(), [undefined, undefined])
  await addSkills(t, mcp, 'guide')
  assert.deepEqual(
    await declared(),
    Array.from({ length: 2 }, () => ({ [id]: { directoryRead: true } }))
  )
  await rest(mcp, 'DELETE', '/servers/guide')
  assert.deepEqual(await declared(), [undefined, undefined])
})

test('a server that announces its resources as changed gets its skills read again, and clients are told', async (t) => {
  const { mcp, guide } = await startTwo(t)
  const client = new Client({ name: 'test', version: '1' })
  let changes = 0
  client.setNotificationHandler('notifications/resources/list_changed', () => void changes++)
  await client.connect(new StreamableHTTPClientTransport(new URL(mcp.url)))
  addCleanup(t, () => client.close())
  const [route] = await routesTo(t, mcp)
  const added = Object.entries(skillFolder('guide', 'returns')).map(([path, text]) => [`returns/${path}`, text])
  await until('the watch session to announce the new skill', async () => {
    await guide.setFiles({ ...twoSkills('guide'), ...(Object.fromEntries(added) as Record<string, string>) })
    return (await urisAt(route!)).includes(at('guide', 'returns/SKILL.md'))
  })
  await until('the client to be told', () => changes > 0)
  const told = changes
  await rest(mcp, 'POST', `/skills/disable?entity=${encodeURIComponent(at('other'))}`)
  await until('the client to be told of the disabled skill', () => changes > told)
})

test('skills and their switches are the same after a restart and at a second replica', { skip }, async (t) => {
  const config = await freshConfig(t, {}, 'postgres')
  const first = await openApp(config)
  addCleanup(t, () => first.close())
  const mcpOf = async (app: typeof first): Promise<Mcp> => {
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp`
    return { app, url } as Mcp
  }
  const one = await mcpOf(first)
  await addSkills(t, one, 'guide')
  const second = await openApp(config)
  addCleanup(t, () => second.close())
  const two = await mcpOf(second)
  const [route] = await routesTo(t, two)
  assert.deepEqual(
    await urisAt(route!),
    paths.map((path) => at('guide', path))
  )
  await rest(one, 'POST', `/skills/disable?entity=${encodeURIComponent(at('guide'))}`)
  await until('the other replica to follow', async () => (await urisAt(route!)).length === 1)
  assert.equal(await textAt(route!, at('guide')), undefined)
  await first.close()
  const third = await openApp(config)
  addCleanup(t, () => third.close())
  const [again] = await routesTo(t, await mcpOf(third))
  assert.deepEqual(await urisAt(again!), [at('guide', paths[1])])
  assert.match((await textAt(again!, at('guide', paths[1])))!, /How guide does disputes/)
})
