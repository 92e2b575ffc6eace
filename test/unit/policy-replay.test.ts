import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCatalog, createCatalogCache } from '../../src/catalog/catalog.ts'
import { createPolicyReplays, type PolicyReplayOptions } from '../../src/control/policies/replay.ts'
import type { DecidedCall } from '../../src/registry/logs/calls.ts'
import { policyRule } from './policies.ts'
import { storedServer, storedUser, stateOf, tool } from './stored.ts'

const TOOLS = 2_000
const limits = { calls: 20_000, ms: Infinity, groups: 1_000 }
const names = Array.from({ length: TOOLS }, (_, i) => `tool${i}`)
const state = stateOf('1', {
  servers: [
    storedServer(
      'k8s',
      names.map((name) => tool(name))
    )
  ],
  principals: [storedUser('alice')]
})
const catalog = buildCatalog(state, createCatalogCache())

/** Creates replays over an endless log. */
function createReplays(decided: PolicyReplayOptions['calls']['decided']) {
  return createPolicyReplays({
    catalog: () => catalog,
    calls: { decided },
    load: () => assert.fail('there is no condition'),
    check: async () => {},
    limits
  })
}

const endless = (counter = { read: 0 }) => ({
  counter,
  decided: async (_before: string | undefined, limit: number) =>
    Array.from({ length: limit }, (): DecidedCall => {
      counter.read++
      return {
        id: String(1_000_000 - counter.read),
        at: new Date(Date.now() - 1_000),
        kind: 'tool',
        caller_kind: 'user',
        caller: 'alice',
        endpoint: '/api/v0',
        server: 'k8s',
        item: names[counter.read % TOOLS]!,
        oauth_client: null,
        scopes: null,
        arguments: null
      }
    })
})

const deny = policyRule('p', { effect: 'deny' })

test('a replay ends at its limit of calls and lists a limited number of changes', async () => {
  const log = endless()
  const result = await createReplays(log.decided).replay({ with: [deny] })
  assert.deepEqual(
    [result.complete, result.calls, result.denied, result.changes.length, result.changes_cut],
    [false, limits.calls, limits.calls, limits.groups, true]
  )
  assert.equal(log.counter.read, limits.calls)
})

test('while a replay runs, other work has its turns and a second replay is refused', async () => {
  const replays = createReplays(endless().decided)
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  count()
  const running = replays.replay({ with: [deny] })
  await assert.rejects(replays.replay({ with: [deny] }), { statusCode: 429 })
  await running
  isOver = true
  assert.ok(turns > 10, `${turns} turns`)
  const failing = createReplays(() => Promise.reject(new Error('the database is gone')))
  for (let attempt = 0; attempt < 2; attempt++)
    await assert.rejects(failing.replay({ with: [deny] }), /the database is gone/)
})
