import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LeftOutItem } from '../../src/schemas/left-out.ts'
import { register } from '../app.ts'
import { listedTransports, startListed, type ServerLists } from '../fixtures/listed/listed.ts'
import { startMcp, type Answer, type Mcp } from './mcp-helpers.ts'

const hostile = [
  '\u001b[31mred',
  '\u202eevil',
  'zero\u200bwidth',
  'аlpha',
  '<img src=x>',
  'new\nline',
  'two words',
  'l'.repeat(200)
]
const fine = ['plain', 'dots.and/slashes', 'x__y__z', 'n'.repeat(100)]
const unseen = ['\u001b[31mred', '\u202eevil', 'zero\u200bwidth', 'new\nline']

const texts = (key: string, names: readonly string[], more: object = {}) =>
  names.map((name) => JSON.stringify({ [key]: name, ...more }))
const offered: ServerLists = {
  tools: texts('name', [...hostile, ...fine], { inputSchema: { type: 'object' } }),
  prompts: texts('name', [...unseen, 'Отчёт', 'good']),
  resources: texts('uri', [...unseen.map((name) => `x://${name}`), 'x://good'], { name: 'r' }),
  templates: texts('uriTemplate', [...unseen.map((name) => `x://${name}/{a}`), 'x://good/{a}'], { name: 't' })
}

const listOf = { tools: 'name', prompts: 'name', resources: 'uri', 'resources/templates': 'uriTemplate' } as const
const members = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  'resources/templates': 'resourceTemplates'
}
type List = keyof typeof listOf
const eras = ['legacy', 'modern'] as const

/** Returns the names, or URIs, of an MCP list. */
async function listed(mcp: Mcp, list: List, era: (typeof eras)[number]): Promise<string[]> {
  const session = era === 'legacy' ? await mcp.initialize() : {}
  const { body } = await mcp[era](`${list}/list`, {}, session)
  return (body.result[members[list]] as Record<string, string>[]).map((item) => item[listOf[list]]!)
}

const errorOf = ({ body }: Answer) => body.error?.message ?? ''
const called = ({ body }: Answer) => (body.result as { content: { text: string }[] }).content[0]!.text
const call = async (mcp: Mcp, era: (typeof eras)[number], name: string) =>
  mcp[era]('tools/call', { name, arguments: {} }, era === 'legacy' ? await mcp.initialize() : {})

for (const transport of listedTransports) {
  test(`SR-M8 items whose names clients cannot use are left out, others are served: every kind and era, ${transport}`, async (t) => {
    const mcp = await startMcp(t)
    const upstream = await startListed(t, transport, offered)
    await register(mcp.app, { name: 'a', ...upstream.registration })
    for (const era of eras) {
      assert.deepEqual(
        await listed(mcp, 'tools', era),
        fine.map((name) => `a__${name}`)
      )
      assert.deepEqual(await listed(mcp, 'prompts', era), ['a__Отчёт', 'a__good'])
      assert.deepEqual(await listed(mcp, 'resources', era), ['x://good'])
      assert.deepEqual(await listed(mcp, 'resources/templates', era), ['x://good/{a}'])
      assert.match(errorOf(await call(mcp, era, 'a__two words')), /Unknown tool/)
      for (const name of fine) assert.equal(called(await call(mcp, era, `a__${name}`)), name)
    }
    const { left_out, left_out_count } = (await mcp.app.inject('/api/v0/servers/a')).json<{
      left_out: LeftOutItem[]
      left_out_count: number
    }>()
    assert.equal(left_out_count, hostile.length + 3 * unseen.length)
    for (const { name, reason } of left_out) assert.match(`${name} ${reason}`, /^[^\p{Cc}\p{Cf}]+$/u)
    const rest = await mcp.app.inject({
      method: 'POST',
      url: '/api/v0/tools/invoke',
      payload: { name: 'a__two words' }
    })
    assert.equal(rest.statusCode, 409, rest.body)
    const read = await mcp.app.inject({
      method: 'POST',
      url: '/api/v0/resources/read',
      payload: { uri: 'x://\u202eevil' }
    })
    assert.equal(read.statusCode, 409, read.body)
  })

  test(`SR-M8 with rename every tool has a name that LLM APIs take, and the upstream hears its own: every era, ${transport}`, async (t) => {
    const mcp = await startMcp(t, { TOWPATH_TOOL_NAMES: 'rename' })
    const upstream = await startListed(t, transport, offered)
    await register(mcp.app, { name: 'a', ...upstream.registration })
    const own = [...hostile, ...fine]
    const first = await listed(mcp, 'tools', 'legacy')
    assert.equal(new Set(first).size, own.length)
    for (const era of eras) {
      const names = await listed(mcp, 'tools', era)
      assert.deepEqual(names, first)
      for (const [at, name] of names.entries()) {
        assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
        assert.equal(called(await call(mcp, era, name)), own[at])
      }
      for (const [at, name] of (await listed(mcp, 'prompts', era)).entries()) {
        const mcpName = `=?base64?${Buffer.from(name).toString('base64')}?=`
        const session = era === 'legacy' ? await mcp.initialize() : { 'mcp-name': mcpName }
        const { body } = await mcp[era]('prompts/get', { name }, session)
        assert.equal(body.result.messages[0].content.text, [...unseen, 'Отчёт', 'good'][at])
      }
      assert.deepEqual(await listed(mcp, 'resources', era), ['x://good'])
    }
    for (const [at, name] of first.entries()) {
      const answer = await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name } })
      assert.equal(answer.json<{ content: { text: string }[] }>().content[0]!.text, own[at], answer.body)
    }
    upstream.set({ ...offered, tools: offered.tools.toReversed() })
    await mcp.app.inject({ method: 'POST', url: '/api/v0/servers/a/refresh' })
    assert.deepEqual(await listed(mcp, 'tools', 'modern'), first.toReversed())
  })

  test(`SR-M8 with keep every name is served as it is: ${transport}`, async (t) => {
    const mcp = await startMcp(t, { TOWPATH_TOOL_NAMES: 'keep' })
    const upstream = await startListed(t, transport, offered)
    await register(mcp.app, { name: 'a', ...upstream.registration })
    assert.deepEqual(
      await listed(mcp, 'tools', 'legacy'),
      [...hostile, ...fine].map((name) => `a__${name}`)
    )
    assert.equal((await listed(mcp, 'resources', 'legacy')).length, unseen.length + 1)
    assert.equal(called(await call(mcp, 'legacy', 'a__two words')), 'two words')
  })
}

test('SR-M8 switches, groups and their exclusions hold for a renamed tool under both of its names', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_TOOL_NAMES: 'rename' })
  const tools = texts('name', ['two words', 'plain'], { inputSchema: { type: 'object' } })
  const upstream = await startListed(t, 'streamable_http', { tools })
  await register(mcp.app, { name: 'a', ...upstream.registration })
  const [renamed, plain] = (await listed(mcp, 'tools', 'legacy')) as [string, string]
  assert.match(renamed, /^a__two_words_[0-9a-f]{8}$/)
  const rest = async (method: 'POST' | 'GET', url: string, payload?: object) => {
    const answer = await mcp.app.inject({ method, url: `/api/v0${url}`, ...(payload ? { payload } : {}) })
    assert.ok(answer.statusCode < 300, answer.body)
    return answer.json<unknown>()
  }
  const effective = async (name: string, group: object) => {
    await rest('POST', '/tool-groups', { name, ...group })
    return ((await rest('GET', `/tool-groups/${name}/effective-tools`)) as { tools: string[] }).tools
  }
  const original = 'a__two words'
  assert.deepEqual(await effective('g1', { included_tools: [renamed] }), [renamed])
  assert.deepEqual(await effective('g2', { included_tools: [original] }), [renamed])
  assert.deepEqual(await effective('g3', { included_servers: ['a'], excluded_tools: [renamed] }), [plain])
  assert.deepEqual(await effective('g4', { included_servers: ['a'], excluded_tools: [original] }), [plain])
  assert.deepEqual(await effective('g5', { included_tools: [renamed, plain], excluded_tools: [original] }), [plain])
  assert.deepEqual(await effective('g6', { included_tools: [original, plain], excluded_tools: [renamed] }), [plain])
  await rest('POST', '/tool-groups', { name: 'bare', included_servers: ['a'], tool_names: 'bare' })
  const bare = await fetch(mcp.url.replace('/mcp', '/v0/groups/bare/mcp'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
  })
  assert.deepEqual(
    ((await bare.json()) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name),
    [renamed, plain].map((name) => name.slice(3))
  )

  assert.deepEqual(await rest('POST', `/tools/disable?entity=${renamed}`), [renamed])
  assert.deepEqual(await listed(mcp, 'tools', 'modern'), [plain])
  assert.deepEqual(await rest('POST', '/servers/a/disable'), {
    name: 'a',
    tools_affected: [plain],
    prompts_affected: []
  })
  await rest('POST', '/servers/a/enable')
  assert.deepEqual(await rest('POST', `/tools/enable?entity=${renamed}`), [renamed])
  const records = (await rest('GET', '/tools')) as { name: string; enabled: boolean }[]
  assert.deepEqual(
    records.map(({ name, enabled }) => [name, enabled]),
    [
      [renamed, true],
      [plain, true]
    ]
  )
})
