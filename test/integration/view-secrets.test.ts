import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { GroupConfig } from '../../src/registry/model/model.ts'
import { someFor } from '../matrix.ts'
import { engines, freshPlace, startRegistry } from '../store.ts'
import { until } from '../until.ts'
import { change, follow } from './registry-helpers.ts'
import { eras, received, startViews, toolsOf, type ViewGateway } from './view-helpers.ts'

const secret = 'hunter2-and-more'
const short = 'xy'
const keyTool = {
  name: 'query',
  description: 'Queries',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string' }, key: { type: 'string' }, pin: { type: 'string' } },
    required: ['text', 'key', 'pin']
  }
}
const query = 'demo__query'
const locks = (key: string, pin: string) => ({
  [query]: { arguments: { key: { lock: { secret: key } }, pin: { lock: { secret: pin } } } }
})
const masked = locks('***', '***')

/** Returns the arguments of the last call that reached the server. */
const lastSent = ({ demo }: ViewGateway) =>
  (demo.calls('tools/call').at(-1)!.params as { arguments: unknown }).arguments

test('a secret in a lock reaches the server alone: no answer, log, audit row, error or list has it', async (t) => {
  const lines: string[] = []
  const gateway = await startViews(t, {
    env: { TOWPATH_CALL_LOG_CONTENTS: 'on' },
    tools: [keyTool],
    log: { write: (line) => void lines.push(line) }
  })
  const { app } = gateway.mcp
  const told: string[] = []
  const send = async (...request: Parameters<ViewGateway['rest']>) => {
    const answer = await gateway.rest(...request)
    told.push(JSON.stringify(answer.body))
    return answer
  }
  const group = { name: 'g', included_servers: ['demo'] }
  const created = await send('POST', '/tool-groups', { ...group, tools: locks(secret, short) })
  assert.deepEqual([created.status, created.body.tools], [201, masked])
  assert.deepEqual((await send('GET', '/tool-groups/g')).body.tools, masked)
  for (const path of ['/tool-groups', '/tool-groups/g/effective-tools?detail=definitions']) await send('GET', path)
  const same = await send('POST', '/tool-groups/preview', { ...group, tools: masked })
  assert.equal(same.body.changes_secrets, false)
  const other = await send('POST', '/tool-groups/preview', { ...group, tools: locks('***', 'other') })
  assert.equal(other.body.changes_secrets, true)
  const kept = await send('PUT', '/tool-groups/g', { ...group, description: 'kept', tools: masked })
  assert.deepEqual([kept.status, kept.body.tools], [200, masked])

  let calls = 0
  for (const way of eras) {
    const ask = await gateway.way(way, 'g')
    told.push(JSON.stringify(toolsOf(await ask('tools/list'))))
    const answer = await ask('tools/call', { name: query, arguments: { text: `echo ${way}` } })
    assert.deepEqual(lastSent(gateway), { text: `echo ${way}`, key: secret, pin: short })
    // the server tells its arguments back
    assert.deepEqual((received(answer) as { key: string }).key, '***')
    told.push(JSON.stringify(answer).replaceAll(`\\"${short}\\"`, ''))
    const { error } = await ask('tools/call', { name: query, arguments: { text: 'x', key: secret } })
    assert.match(error!.message, /argument "key" is set by this endpoint/)
    told.push(JSON.stringify(error))
    calls += 2
  }
  const ids = await until('the calls are in the log', async () => {
    const found = (await send('GET', '/calls')).body.calls as { id: string }[]
    return found.length >= calls ? found.map(({ id }) => id) : undefined
  })
  for (const id of ids!) {
    const { outcome, arguments: args } = (await send('GET', `/calls/${id}`)).body
    if (outcome === 'ok') assert.match(args, /"key":"\*\*\*","pin":"\*\*\*"/)
  }
  await send('GET', '/audit')
  for (const path of ['tool-groups', 'tool-groups/g', 'overview', 'tools']) {
    told.push((await app.inject(`/api/dashboard/${path}`)).body)
  }
  for (const text of [...told, ...lines]) {
    assert.ok(!text.includes(secret), text)
    assert.ok(!text.includes(`"${short}"`), text)
  }
})

test('an error of the server does not tell a caller a locked secret', async (t) => {
  const gateway = await startViews(t, { tools: [keyTool] })
  assert.equal((await gateway.group({ tools: locks(`demo ${secret}`, 'Unknown tool') })).status, 201)
  gateway.demo.setExtraTools([])
  const ask = await gateway.way('stateless', 'g')
  const { error } = await ask('tools/call', { name: query, arguments: { text: 'x' } })
  assert.equal(error?.message, '***: query')
})

for (const engine of someFor('locks', engines)) {
  test(`secrets of locks are encrypted, follow a change of the key, and withhold their tool without it (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const [old, current] = [randomBytes(32), randomBytes(32)]
    const config: GroupConfig = {
      name: 'g',
      description: null,
      included_tools: [],
      included_servers: [],
      excluded_tools: [],
      tool_names: 'qualified',
      tools: locks(secret, short),
      instructions: 'x',
      max_tokens: 7,
      tool_list: 'full',
      always_listed: [],
      search_limit: 10,
      max_result_tokens: null
    }
    const first = await startRegistry(t, place, { encryptionKey: old })
    await first.write(change('tool_group.create', 'g'), (tx) => tx.groups.create(config))
    await first.close()
    const both = await startRegistry(t, place, { encryptionKey: current, previousKey: old })
    const { rewrapped } = await both.rotateKeys(change('keys.rotate', '*'))
    assert.equal(rewrapped, 1)
    await both.close()
    const last = await startRegistry(t, place, { encryptionKey: current })
    const { latest } = await follow(last)
    const group = latest().groups[0]!
    assert.deepEqual(group.tools, masked)
    assert.ok(!Buffer.from(group.sealed!).includes(secret))
    assert.deepEqual(last.decryptLocks(group), { [query]: { key: secret, pin: short } })
    assert.throws(() => last.decryptLocks({ ...group, name: 'other' }), /cannot be decrypted/)
    // the same secrets are no change
    const before = latest()
    await last.write(change('tool_group.replace', 'g'), (tx) => tx.groups.replace(config))
    assert.equal(latest(), before)
    await last.write(change('tool_group.replace', 'g'), (tx) =>
      tx.groups.replace({ ...config, tools: locks(secret, 'new') })
    )
    const [row] = await last.audit({ action: 'tool_group.replace', limit: 1 })
    assert.deepEqual(
      [row!.changed, row!.before, row!.after],
      [['locks'], { locks: { [`${query} pin`]: '***' } }, { locks: { [`${query} pin`]: '***' } }]
    )
    const [created] = await last.audit({ action: 'tool_group.create', limit: 1 })
    assert.ok(!JSON.stringify(created).includes(secret))
  })
}
