import assert from 'node:assert/strict'
import { test } from 'node:test'
import { twoSkills } from '../fixtures/skills/files.ts'
import { startSkillServer } from '../fixtures/skills/official.ts'
import { addCleanup } from '../store.ts'
import { modernBody, modernHeaders, readAnswer } from './mcp-helpers.ts'
import { as, startPolicyGateway } from './policy-helpers.ts'

interface Entry {
  readonly uri: string
  readonly resources: readonly { readonly uri: string }[]
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const at = (path: string) => `skill://guide/refunds/${path}`
const urisOf = (list: readonly { readonly uri: string }[]) => list.map(({ uri }) => uri)

test('PO-02 files of a skill that a policy denies are missing in its entry, over REST and among the children of a directory', async (t) => {
  const { mcp, rest, policy, alice } = await startPolicyGateway(t)
  const guide = await startSkillServer('guide', twoSkills('guide'))
  addCleanup(t, guide.close)
  await rest('POST', '/servers', { name: 'guide', transport: 'streamable_http', url: guide.url })
  const token = (await rest('POST', '/clients', { name: 'reader', allowed_servers: ['guide'] })).body.access_token
  await rest('POST', '/tool-groups', { name: 'bare', included_servers: ['guide'], tool_names: 'bare' })
  await policy('reading', { effect: 'allow', targets: { servers: ['guide'] } })
  await policy('no-letters', { effect: 'deny', targets: { resources: ['skill://refunds/templates/*'] } })
  const ask = async (method: string, params: object = {}) =>
    (await mcp.modern(method, params as Record<string, unknown>, as(token))).body.result
  const entries = (await ask('skills/list')).skills as Entry[]
  const refunds = entries.find(({ uri }) => uri === at('SKILL.md'))!
  assert.deepEqual(urisOf(refunds.resources).toSorted(), [at('SKILL.md'), at('references/GUIDE.md')])
  assert.deepEqual((await ask('skills/get', { uri: refunds.uri })).skill, refunds)
  const inDirectory = async (path: string) =>
    urisOf((await ask('resources/directory/read', { uri: at(path).replace(/\/$/, '') })).resources)
  assert.deepEqual(await inDirectory('references'), [at('references/GUIDE.md')])
  assert.deepEqual(await inDirectory('templates'), [])
  const inBareGroup = async (uri: string) => {
    const headers = { ...json, ...modernHeaders('resources/directory/read', uri), ...as(token) }
    const body = modernBody('resources/directory/read', { uri })
    const url = new URL('/v0/groups/bare/mcp', mcp.url)
    const { result } = (await readAnswer(await fetch(url, { method: 'POST', headers, body }))).body
    return urisOf(result.resources)
  }
  assert.deepEqual(await inBareGroup('skill://refunds/references'), ['skill://refunds/references/GUIDE.md'])
  assert.deepEqual(await inBareGroup('skill://refunds/templates'), [])
  const records = (await rest('GET', '/skills?server=guide', undefined, alice)).body as Entry[]
  const record = records.find(({ uri }) => uri === at('SKILL.md'))!
  assert.deepEqual(urisOf(record.resources), urisOf(refunds.resources))
  const whole = ((await rest('GET', '/skills?server=guide')).body as Entry[]).find(({ uri }) => uri === at('SKILL.md'))!
  assert.equal(whole.resources.length, 3, 'an administrator sees all files')
})
