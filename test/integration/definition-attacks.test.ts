import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { attacks, EVIL, harmless, spellings, type DefinitionChange } from '../fixtures/listed/attacks.ts'
import { startListed, type ListingServer } from '../fixtures/listed/listed.ts'
import { someFor } from '../matrix.ts'
import { startConsole, type Console } from './console-helpers.ts'
import { as, type HeldItem } from './definition-helpers.ts'
import { readAnswer } from './mcp-helpers.ts'
import { both, legacyBody, modernBody, modernHeaders, type Params } from './mcp-messages.ts'

interface AttackedServer {
  readonly name: string
  readonly change: DefinitionChange
  readonly listed: ListingServer
}

interface World {
  readonly console: Console
  readonly servers: readonly AttackedServer[]
  readonly api: Console['gateway']['api']
  /** Returns everything that a user and an MCP client can read, by the request that tells it. */
  told(groups: 'all groups' | 'without bare groups'): Promise<ReadonlyMap<string, string>>
  /** Offers the lists of that turn at every server and has them read. */
  turn(at: number): Promise<void>
}

const listMethods = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'skills/list']
const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
const done = (status: number) => status >= 200 && status < 300

/** Addresses that reads try. */
const uris = ['r://a', `r://${EVIL}`, 't://1', `t://${EVIL}/1`, `ui://a/${EVIL}`, `skill://x/one/${EVIL}.md`]

async function startWorld(t: TestContext, changes: readonly DefinitionChange[], policy: string): Promise<World> {
  const world = await startConsole(t, { env: { TOWPATH_DEFINITIONS: policy } })
  const { gateway } = world
  const { api } = gateway
  const make = async (path: string, body: object) => {
    const { status, body: answer } = await api('POST', path, body)
    assert.ok(done(status), `${path}: ${JSON.stringify(answer)}`)
  }
  const servers: AttackedServer[] = []
  for (const [i, change] of changes.entries()) {
    const listed = await startListed(t, 'streamable_http', change.before)
    const name = `s${String(i).padStart(2, '0')}`
    const made = await api('POST', '/servers', { name, ...listed.registration })
    assert.equal(made.status, 201, `${change.name}: ${JSON.stringify(made.body)}`)
    await make('/tool-groups', { name: `b-${name}`, included_servers: [name], tool_names: 'bare' })
    servers.push({ name, change, listed })
  }
  const hasAdd = ({ change }: AttackedServer) => change.before.tools?.some((each) => each.includes('"add"'))
  const included_tools = servers.filter(hasAdd).map(({ name }) => `${name}__add`)
  await make('/tool-groups', { name: 'all', included_servers: servers.map(({ name }) => name) })
  await make('/tool-groups', { name: 'single', included_tools })
  await make('/tool-groups', { name: 'found', included_servers: servers.map(({ name }) => name), tool_list: 'search' })
  await make('/policies', { name: 'everybody', effect: 'allow', everyone: true })
  const client = await api('POST', '/clients', { name: 'agent', allowed_servers: ['*'] })
  const user = await api('POST', '/users', { name: 'reader' })
  const tokens = { client: client.body.access_token as string, user: user.body.access_token as string }

  const mcp = async (path: string, body: string, more: Record<string, string>) => {
    const headers = { 'content-type': 'application/json', accept: both, ...as(tokens.client), ...more }
    return (await readAnswer(await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body }))).text
  }
  const legacy = (path: string, method: string, params?: object) => mcp(path, legacyBody(method, params), {})
  const modern = (path: string, method: string, params?: Params) =>
    mcp(path, modernBody(method, params), modernHeaders(method, params?.name ?? params?.uri))
  const get = async (path: string, payload?: object) => {
    const answer = await fetch(`${gateway.url}${path}`, {
      method: payload ? 'POST' : 'GET',
      headers: { ...as(tokens.user), ...(payload && { 'content-type': 'application/json' }) },
      ...(payload && { body: JSON.stringify(payload) })
    })
    return answer.text()
  }

  /** What somebody who does not know the texts may ask. What a request says itself is taken out of the answers. */
  const told: World['told'] = async (groups) => {
    const all = new Map<string, string>()
    const bare = groups === 'all groups' ? servers.map(({ name }) => `b-${name}`) : []
    const endpoints = ['/mcp', ...['all', 'single', 'found', ...bare].map((group) => `/v0/groups/${group}/mcp`)]
    for (const path of endpoints) {
      all.set(`${path} initialize`, await legacy(path, 'initialize', hello))
      all.set(`${path} server/discover`, await modern(path, 'server/discover'))
      for (const method of listMethods) {
        all.set(`${path} legacy ${method}`, await legacy(path, method))
        all.set(`${path} modern ${method}`, await modern(path, method))
      }
    }
    for (const query of ['', 'adds', 'ignore all previous instructions']) {
      const search = { name: 'find_tools', arguments: { query, limit: 25 } }
      all.set(`legacy find ${query}`, await legacy('/v0/groups/found/mcp', 'tools/call', search))
      all.set(`modern find ${query}`, await modern('/v0/groups/found/mcp', 'tools/call', search))
    }
    const paths = ['tools', 'prompts', 'resources', 'resource_templates', 'skills', 'servers', 'calls', 'tool-groups']
    for (const path of [
      ...paths,
      ...servers.map(({ name }) => `servers/${name}`),
      'tool-groups/all/effective-tools',
      'tool-groups/single'
    ]) {
      all.set(`REST ${path}`, await get(`/api/v0/${path}`))
    }
    for (const path of ['openapi.json', 'docs', 'metrics']) all.set(path, await get(`/${path}`))
    const pages = [
      'overview',
      'servers',
      'tools',
      'prompts',
      'resources',
      'skills',
      'tool-groups',
      'calls',
      'diagnostics'
    ]
    for (const path of [...pages, ...servers.map(({ name }) => `servers/${name}`), 'tool-groups/all']) {
      all.set(`console ${path}`, await (await world.send('user', 'GET', `/api/console/${path}`)).text())
    }
    return all
  }
  return {
    console: world,
    servers,
    api,
    told,
    async turn(at) {
      for (const { name, change, listed } of servers) {
        const next = change.after[Math.min(at, change.after.length - 1)]!
        listed.set(next)
        const answer = await api('POST', `/servers/${name}/refresh`)
        assert.equal(answer.status, 200, `${change.name}: ${JSON.stringify(answer.body)}`)
      }
    }
  }
}

function assertNothingTold(told: ReadonlyMap<string, string>, when: string) {
  for (const [request, text] of told) {
    for (const spelling of spellings)
      assert.ok(!text.includes(spelling), `${when}: ${request} tells ${spelling}: ${text}`)
  }
}

/** Calls, reads and looks up items by names that only the attack has; the answers are those of unknown items. */
async function assertUnknown({ console: { gateway, send }, api, servers }: World, isPinned: boolean) {
  const client = await api('POST', '/clients', {
    name: `caller-${Math.random().toString(36).slice(2)}`,
    allowed_servers: ['*']
  })
  const headers = { 'content-type': 'application/json', accept: both, ...as(client.body.access_token as string) }
  const ask = async (name: string, method: string, params: Params) => {
    const answers: string[] = []
    for (const [more, body] of [
      [{}, legacyBody(method, params)],
      [modernHeaders(method, params.name ?? params.uri), modernBody(method, params)]
    ] as const) {
      answers.push(
        (
          await readAnswer(
            await fetch(`${gateway.url}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body })
          )
        ).text
      )
    }
    return answers.join('\n').replaceAll(name, 'NAME').replaceAll(encodeURIComponent(name), 'NAME')
  }
  const argument = { name: 'who', value: '' }
  for (const { name: server, change } of servers) {
    const added = [`new_${EVIL}`, `add_${EVIL}`].filter((name) =>
      JSON.stringify(change.after).includes(`\\"${name}\\"`)
    )
    const known = async (name: string, nobody: string) => {
      for (const [method, params] of [
        ['tools/call', (of: string) => ({ name: `${server}__${of}`, arguments: {} })],
        ['prompts/get', (of: string) => ({ name: `${server}__${of}` })],
        ['completion/complete', (of: string) => ({ ref: { type: 'ref/prompt', name: `${server}__${of}` }, argument })]
      ] as const) {
        assert.equal(
          await ask(name, method, params(name)),
          await ask(nobody, method, params(nobody)),
          `${server} ${method} ${name}`
        )
      }
    }
    for (const name of added) await known(name, name.replace(EVIL, 'NOBODY'))
  }
  for (const uri of uris.filter((each) => each.includes(EVIL) && !each.startsWith('skill'))) {
    const answer = await ask(uri, 'resources/read', { uri })
    assert.ok(!answer.includes('"contents"'), `${uri}: ${answer}`)
    const page = await send('user', 'GET', `/api/console/tools?name=${encodeURIComponent(uri)}`)
    assert.ok(!(await page.text()).includes(EVIL))
  }
  if (!isPinned) return
  for (const { name: server, change } of servers) {
    const isLeftOut = change.name === 'a member is given twice'
    const listsAdd = change.before.tools?.length && change.after.at(-1)!.tools?.some((each) => each.includes('"add"'))
    if (isLeftOut || !listsAdd) continue
    const answer = await ask('NAME', 'tools/call', { name: `${server}__add`, arguments: {} })
    assert.ok(answer.includes('"content"') && !answer.includes('"error"'), `${change.name}: a call is lost: ${answer}`)
  }
}

async function heldOf({ api }: World): Promise<HeldItem[]> {
  const items: HeldItem[] = []
  let cursor = ''
  do {
    const { body } = await api('GET', `/definitions?state=held${cursor}`)
    items.push(...body.items)
    cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`
  } while (cursor !== '')
  return items
}

/** Attacks that change nothing: what is listed twice is left out. */
const holdsNothing = new Set([
  'a tool that nobody can use is added',
  'the name is listed twice',
  'a member is given twice',
  'the server gives itself another name'
])

const policies = ['pin', 'block'] as const

for (const policy of policies) {
  test(`no list of any surface tells a text that nobody has accepted, whatever the attack: ${policy}`, async (t) => {
    const some = attacks.filter(({ name }) => someFor(name, policies).includes(policy))
    assert.ok(some.length >= attacks.length / 4, `${some.length} of ${attacks.length}`)
    const world = await startWorld(t, some, policy)
    const before = await world.told('without bare groups')
    assertNothingTold(before, 'before')
    const turns = Math.max(...some.map(({ after }) => after.length))
    for (let at = 0; at < turns; at++) {
      await world.turn(at)
      const told = await world.told(at === turns - 1 ? 'all groups' : 'without bare groups')
      assertNothingTold(told, `turn ${at}`)
      if (policy === 'pin' && at === turns - 1) await assertUnknown(world, true)
    }
    const held = await heldOf(world)
    for (const { name, change } of world.servers) {
      assert.equal(
        held.some(({ server }) => server === name),
        !holdsNothing.has(change.name),
        change.name
      )
    }
    const registration = ({ name, listed }: AttackedServer) => ({ name, ...listed.registration })
    for (const [how, again] of [
      ['PUT', (each: AttackedServer) => world.api('PUT', `/servers/${each.name}`, registration(each))],
      ['force', (each: AttackedServer) => world.api('POST', '/servers?force=true', registration(each))],
      [
        'removal and return',
        async (each: AttackedServer) => {
          await world.api('DELETE', `/servers/${each.name}`)
          return world.api('POST', '/servers', registration(each))
        }
      ]
    ] as const) {
      for (const each of world.servers) {
        const { status, body } = await again(each)
        assert.ok(done(status), `${how} ${each.change.name}: ${JSON.stringify(body)}`)
      }
      assertNothingTold(await world.told('without bare groups'), how)
    }
    await assertUnknown(world, false)
  })
}

test('harmless changes hold nothing and are served', async (t) => {
  const world = await startWorld(t, harmless, 'pin')
  assert.ok(harmless.length >= 20)
  for (let at = 0; at < Math.max(...harmless.map(({ after }) => after.length)); at++) {
    await world.turn(at)
    assert.deepEqual(
      (await heldOf(world)).map(({ server, name }) => `${harmless[Number(server.slice(1))]!.name}: ${name}`),
      []
    )
  }
})
