import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChangedCalls } from '../../src/schemas/policy.ts'
import { connectClient } from '../fixtures/identity-provider/gateway.ts'
import { until } from '../until.ts'
import type { RpcAnswer } from './mcp-helpers.ts'
import { modernBody, modernHeaders } from './mcp-messages.ts'
import { startPeopleGateway } from './people-helpers.ts'
import { as, startPolicyGateway, type PolicyGateway } from './policy-helpers.ts'

const contents = { TOWPATH_CALL_LOG_CONTENTS: 'on', TOWPATH_POLICY_DEFAULT: 'deny' }

interface LoggedCall {
  readonly caller: string
  readonly token: string
  readonly via: 'mcp' | 'group' | 'rest'
  readonly kind: 'tool' | 'prompt' | 'resource'
  readonly name: string
  readonly args: object
}

/** Makes a call, and returns if it is allowed; undefined if there is no endpoint for the caller. */
async function isAllowed({ rest, mcp }: PolicyGateway, call: LoggedCall): Promise<boolean | undefined> {
  const { token, via, kind, name, args } = call
  if (via === 'rest') {
    if (kind === 'tool') return (await rest('POST', '/tools/invoke', { name, ...args }, token)).status === 200
    return (await rest('POST', '/resources/read', { uri: name }, token)).status === 200
  }
  const methods = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const
  const params = kind === 'resource' ? { uri: name } : { name, arguments: args }
  const url = via === 'group' ? mcp.url.replace('/mcp', '/v0/groups/pods/mcp') : mcp.url
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...modernHeaders(methods[kind], name), ...as(token) },
    body: modernBody(methods[kind], params)
  })
  // at the endpoint of a group with nothing for the caller the call does not arrive, and is not logged
  if (answer.status === 404) return undefined
  const { result, error } = (await answer.json()) as RpcAnswer
  return result !== undefined && error === undefined && result._meta?.['dev.towpath/denied'] === undefined
}

function callsOf({ alice, agent, worker }: PolicyGateway): LoggedCall[] {
  const callers = { alice, agent, worker }
  const args = [{ namespace: 'dev' }, { namespace: 'live' }, {}]
  return Object.entries(callers).flatMap(([caller, token]) => {
    const vias = caller === 'alice' ? (['rest'] as const) : (['mcp', 'group'] as const)
    return vias.flatMap((via) => [
      ...['k8s__get_pods', 'k8s__restart_pod', 'k8s__delete_pod', 'crm__echo', 'k8s__gone', 'nothing'].flatMap((name) =>
        args.map((each) => ({ caller, token, via, kind: 'tool' as const, name, args: each }))
      ),
      { caller, token, via, kind: 'resource' as const, name: 'fixture://note', args: {} }
    ])
  })
}

const storedCalls = async ({ rest }: PolicyGateway) =>
  (await rest('GET', '/calls?limit=500')).body.calls.length as number
const sum = (changes: readonly ChangedCalls[]) => changes.reduce((all, { calls }) => all + calls, 0)

test('PO-11 a replay names exactly the calls that change once the change is stored', async (t) => {
  const gateway = await startPolicyGateway(t, contents)
  const { rest, policy } = gateway
  await rest('POST', '/tool-groups', { name: 'pods', included_tools: ['k8s__get_pods', 'k8s__restart_pod'] })
  const when = 'args.namespace == "dev"'
  await policy('all-read', { effect: 'allow', targets: { tools: ['get_*', 'echo'], resources: ['*'] } })
  await policy('agent-restarts', {
    effect: 'allow',
    subjects: { clients: ['agent'] },
    targets: { tools: ['restart_*'] },
    when
  })
  await policy('old', { effect: 'deny', subjects: { clients: ['worker'] }, targets: { tools: ['delete_*'] } })
  const calls: { call: LoggedCall; before: boolean }[] = []
  for (const call of callsOf(gateway)) {
    const before = await isAllowed(gateway, call)
    if (before !== undefined) calls.push({ call, before })
  }
  await until('all calls are logged', async () => (await storedCalls(gateway)) === calls.length)

  const added = [
    { name: 'all-read', effect: 'allow', targets: { tools: ['get_*'] } },
    { name: 'live-restarts', effect: 'allow', targets: { tools: ['restart_*'] }, when: 'args.namespace == "live"' },
    { name: 'agent-restarts', effect: 'deny', subjects: { clients: ['agent'] }, targets: { tools: ['get_*'] }, when }
  ]
  const change = { with: added, without: ['old'] }
  const replayed = await rest('POST', '/policies/replay', change)
  assert.equal(replayed.status, 200, JSON.stringify(replayed.body))
  const { changes, denied, allowed, unknown, complete, calls: examined } = replayed.body
  assert.deepEqual([complete, examined, unknown], [true, calls.length, 0], JSON.stringify(changes))
  assert.equal(await storedCalls(gateway), calls.length, 'a replay makes no call')

  for (const { name, ...rule } of added) await policy(name, rule)
  assert.equal((await rest('DELETE', '/policies/old')).status, 204)
  const expected = new Map<string, number>()
  for (const { call, before } of calls) {
    const is = (await isAllowed(gateway, call)) ?? false
    if (is === before) continue
    const endpoint = { mcp: '/mcp', group: '/v0/groups/pods/mcp', rest: '/api/v0' }[call.via]
    const key = `${is ? 'allowed' : 'denied'} ${call.caller} ${endpoint} ${call.name}`
    expected.set(key, (expected.get(key) ?? 0) + 1)
  }
  const keyOf = ({ change, caller, endpoint, kind, server, item }: ChangedCalls) =>
    `${change} ${caller} ${endpoint} ${kind === 'tool' && server ? `${server}__${item}` : item}`
  const named = new Map((changes as ChangedCalls[]).map((each) => [keyOf(each), each.calls]))
  assert.deepEqual(named, expected)
  assert.ok(expected.size >= 10, [...expected.keys()].join('\n'))
  assert.deepEqual(
    [denied + allowed, sum(changes)],
    [[...expected.values()].reduce((a, b) => a + b, 0), denied + allowed]
  )
  const again = await rest('POST', '/policies/replay', { with: added })
  assert.equal(sum(again.body.changes), 0, 'nothing changes any more')
})

test('without recorded arguments a replay says which calls it cannot decide, and decides all others', async (t) => {
  const gateway = await startPolicyGateway(t, { TOWPATH_CALL_LOG_CONTENTS: 'off' })
  const { rest, worker } = gateway
  const calls = callsOf(gateway).filter(({ token, via, kind }) => token === worker && via === 'mcp' && kind === 'tool')
  for (const call of calls) await isAllowed(gateway, call)
  await until('all calls are logged', async () => (await storedCalls(gateway)) === calls.length)
  const replay = async (...rules: object[]) =>
    (await rest('POST', '/policies/replay', { with: rules.map((rule, i) => ({ name: `p${i}`, ...rule })) })).body
  const shown = ({ changes }: { changes: ChangedCalls[] }) =>
    changes.map(({ change, item, calls: count, policy }) => [change, item, count, policy])
  const deny = { effect: 'deny', targets: { tools: ['restart_*'] } }
  assert.deepEqual(shown(await replay({ ...deny, when: 'args.namespace == "dev"' })), [
    ['unknown', 'restart_pod', 3, 'p0']
  ])
  assert.deepEqual(shown(await replay({ ...deny, when: 'args.namespace == "dev"' }, deny)), [
    ['denied', 'restart_pod', 3, 'p1']
  ])
  assert.deepEqual(shown(await replay({ ...deny, effect: 'allow', when: 'args.namespace == "dev"' })), [])
  const { body } = await rest('POST', '/policies/replay', { with: [{ name: 'p', ...deny }], from: '2999-01-01' })
  assert.deepEqual([body.calls, body.changes], [0, []])
})

test('PO-11 trials and replays name the calls that will need a yes', async (t) => {
  const { rest, policy, worker, mcp, k8s } = await startPolicyGateway(t, { TOWPATH_CALL_LOG_CONTENTS: 'on' })
  const call = (namespace: string) =>
    mcp.modern('tools/call', { name: 'k8s__restart_pod', arguments: { namespace } }, as(worker))
  for (const namespace of ['dev', 'live', 'live']) await call(namespace)
  await until('the calls are logged', async () => (await rest('GET', '/calls')).body.calls.length === 3)
  const rule = { targets: { tools: ['restart_*'] }, when: 'args.namespace == "live"', hold_ms: 0 }
  const replay = async (effect: string) =>
    (await rest('POST', '/policies/replay', { with: [{ name: 'ask', effect, ...rule }] })).body
  const simulate = async (effect: string, namespace: string) => {
    const asked = { client: 'worker', kind: 'tool', name: 'k8s__restart_pod', args: { namespace } }
    return (await rest('POST', '/policies/simulate', { ...asked, with: [{ name: 'ask', effect, ...rule }] })).body
  }
  for (const effect of ['approve', 'confirm'] as const) {
    const { changes, denied, allowed } = await replay(effect)
    assert.deepEqual([denied, allowed], [0, 0], JSON.stringify(changes))
    assert.deepEqual(
      (changes as ChangedCalls[]).map((each) => [each.change, each.item, each.calls]),
      [[effect, 'restart_pod', 2]]
    )
    assert.equal((await simulate(effect, 'live')).decision, effect)
    assert.equal((await simulate(effect, 'dev')).decision, 'allow')
  }
  await policy('ask', { effect: 'approve', ...rule })
  const made = k8s.calls('tools/call').length
  await call('live')
  assert.equal(k8s.calls('tools/call').length, made)
  assert.equal((await rest('GET', '/approvals?status=pending')).body.length, 1, 'trials and replays ask nobody')
})

test('PO-11 a replay decides by the OAuth client and the scopes that the caller had', async (t) => {
  const { gateway, api, policy, call } = await startPeopleGateway(t)
  await policy('all', { effect: 'allow', subjects: { groups: ['sre'] }, everyone: true })
  await policy('known', { effect: 'deny', targets: { tools: ['echo'] }, require_scopes: ['mcp:write'] })
  const plain = await connectClient(gateway)
  const able = await connectClient(gateway, { request: { scope: 'mcp mcp:write' } })
  for (const { tokens } of [plain, able]) await call(tokens.access_token, 'get_pods')
  const logged = async () => (await api('GET', '/calls')).body.calls as { oauth_client: string; scopes?: string }[]
  await until('both calls are logged', async () => (await logged()).length === 2)
  assert.deepEqual(
    (await logged()).map(({ oauth_client, scopes }) => [oauth_client, scopes]),
    [
      [able.clientId, 'mcp:write'],
      [plain.clientId, undefined]
    ]
  )
  const replay = async (rule: object) => {
    const { body } = await api('POST', '/policies/replay', { with: [{ name: 'p', effect: 'deny', ...rule }] })
    return (body.changes as ChangedCalls[]).map(({ change, oauth_client }) => [change, oauth_client])
  }
  const targets = { tools: ['get_*'] }
  assert.deepEqual(await replay({ targets, require_scopes: ['mcp:write'] }), [['denied', plain.clientId]])
  assert.deepEqual(await replay({ targets, subjects: { oauth_clients: [able.clientId] } }), [['denied', able.clientId]])
})

test('a replay is for administrators, runs alone, and refuses what could not be stored', async (t) => {
  const { rest, alice } = await startPolicyGateway(t)
  const change = { with: [{ name: 'p', effect: 'deny', everyone: true }] }
  const auditor = (await rest('POST', '/users', { name: 'eve', role: 'auditor' })).body.access_token as string
  for (const token of [alice, auditor])
    assert.equal((await rest('POST', '/policies/replay', change, token)).status, 403)
  const cases: [body: object, status: number][] = [
    [{ with: [{ name: 'p', effect: 'deny' }] }, 400],
    [{ without: ['gone'] }, 404],
    [{ with: [], from: 'yesterday' }, 400],
    [{ replay: '24h' }, 400]
  ]
  for (const [body, status] of cases)
    assert.equal((await rest('POST', '/policies/replay', body)).status, status, JSON.stringify(body))
  const answers = await Promise.all(Array.from({ length: 4 }, () => rest('POST', '/policies/replay', change)))
  assert.ok(answers.every(({ status }) => [200, 429].includes(status)))
  assert.ok(answers.some(({ status }) => status === 200))
})
