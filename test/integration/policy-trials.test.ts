import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../until.ts'
import { openSession } from './mcp-helpers.ts'
import { as, namesOf, startPolicyGateway } from './policy-helpers.ts'

const when = 'args.namespace == "dev"'

test('PO-10 a trial decides on every cell of callers, tools and arguments as the call does', async (t) => {
  const { rest, mcp, alice, agent, worker, policy } = await startPolicyGateway(t, { TOWPATH_POLICY_DEFAULT: 'deny' })
  await policy('all-read', { effect: 'allow', targets: { tools: ['get_*', 'echo'] } })
  await policy('agent-restarts', {
    effect: 'allow',
    subjects: { clients: ['agent'] },
    targets: { tools: ['restart_*'] },
    when
  })
  await policy('alice-restarts', {
    effect: 'allow',
    subjects: { users: ['alice'] },
    targets: { tools: ['restart_*'] },
    when
  })
  await policy('no-delete', { effect: 'deny', targets: { tools: ['delete_*'] } })
  await policy('no-dev', { effect: 'deny', subjects: { clients: ['worker'] }, targets: { servers: ['k8s'] }, when })
  await policy('observed', { effect: 'deny', everyone: true, mode: 'observe' })
  const tools = [...namesOf((await rest('GET', '/tools')).body), 'k8s__nothing', 'nothing']
  assert.equal(tools.length, 13)
  const callers = [
    { subject: { user: 'alice' }, token: alice },
    { subject: { client: 'agent' }, token: agent },
    { subject: { client: 'worker' }, token: worker }
  ]
  const cells = callers.flatMap((caller) =>
    tools.flatMap((name) =>
      [{ namespace: 'dev' }, { namespace: 'live' }, { ms: 1 }].map((args) => ({ caller, name, args }))
    )
  )
  const outcomes = new Map<string, number>()
  for (const { caller, name, args } of cells) {
    const { subject, token } = caller
    const trial = { ...subject, kind: 'tool', name, args }
    const { decision, hidden_by } = (await rest('POST', '/policies/simulate', trial)).body
    const isAllowed = async () => {
      if ('user' in subject) return (await rest('POST', '/tools/invoke', { name, ...args }, token)).status === 200
      const { result, error } = (await mcp.modern('tools/call', { name, arguments: args }, as(token))).body
      return error === undefined && result._meta?.['dev.towpath/denied'] === undefined
    }
    assert.equal(decision === 'allow', await isAllowed(), `${JSON.stringify(trial)} ${hidden_by}`)
    const outcome = String(hidden_by ?? decision)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  assert.deepEqual(
    [...outcomes.keys()].toSorted((a, b) => (a < b ? -1 : 1)),
    ['allow', 'default', 'policy', 'server']
  )
})

test('PO-08 a trial names the scopes that a token lacks, and those with which the call would be allowed', async (t) => {
  const { rest, policy } = await startPolicyGateway(t)
  const rule = { effect: 'deny', targets: { tools: ['delete_*'] }, require_scopes: ['mcp:write', 'mcp:ops'] }
  await policy('deletes', rule)
  const stored = { ...rule, name: 'deletes', mode: 'enforce', enabled: true, subjects: {} }
  assert.deepEqual((await rest('GET', '/policies/deletes')).body, stored)
  const simulate = async (scopes?: readonly string[]) => {
    const call = { client: 'worker', kind: 'tool', name: 'k8s__delete_pod', ...(scopes && { scopes }) }
    const { decision, policy, matched, scopes: needed } = (await rest('POST', '/policies/simulate', call)).body
    return [decision, policy, matched[0].missing_scopes, needed]
  }
  const needed = ['mcp:write', 'mcp:ops']
  assert.deepEqual(await simulate(), ['deny', 'deletes', needed, needed])
  assert.deepEqual(await simulate(['mcp', 'mcp:ops']), ['deny', 'deletes', ['mcp:write'], needed])
  assert.deepEqual(await simulate(['mcp:ops', 'mcp:write']), ['allow', undefined, [], undefined])
  const check = async (more: object) =>
    (await rest('POST', '/policies/validate', { name: 'p', effect: 'deny', everyone: true, ...more })).body
  assert.deepEqual(await check({ require_scopes: ['mcp:write'] }), { valid: true, problems: [] })
  assert.match((await check({ require_scopes: ['Write'] })).problems[0], /^require_scopes: "Write" is no scope/)
  const eight = (from: number) => Array.from({ length: 8 }, (_, i) => `mcp:${from + i}`)
  for (const from of [0, 8, 16])
    await policy(`p${from}`, { effect: 'deny', everyone: true, require_scopes: eight(from) })
  assert.deepEqual(await check({ require_scopes: eight(24).slice(0, 6) }), { valid: true, problems: [] })
  assert.match((await check({ require_scopes: eight(24) })).problems[0], /all policies together can require 32 scopes/)
})

test('a trial names the policies that match, with their conditions, also for policies that are not stored', async (t) => {
  const { rest, policy } = await startPolicyGateway(t)
  await policy('restarts', { effect: 'deny', targets: { tools: ['restart_*'] }, when })
  await rest('POST', '/tool-groups', { name: 'pods', included_tools: ['k8s__get_pods'] })
  const simulate = async (more: object) =>
    (await rest('POST', '/policies/simulate', { client: 'worker', kind: 'tool', name: 'k8s__restart_pod', ...more }))
      .body
  const match = (policy: string, condition?: string) => ({
    policy,
    effect: 'deny',
    mode: 'enforce',
    ...(condition && { condition })
  })
  assert.deepEqual(await simulate({ args: { namespace: 'live' } }), {
    ...{ decision: 'allow', default: 'allow' },
    matched: [match('restarts', 'false')]
  })
  assert.deepEqual(await simulate({ args: {} }), {
    ...{ decision: 'deny', default: 'allow', hidden_by: 'policy', policy: 'restarts' },
    matched: [match('restarts', 'error')]
  })
  assert.equal((await simulate({ args: { namespace: 'live' }, endpoint: 'pods' })).hidden_by, 'group')
  const stricter = [{ name: 'restarts', effect: 'deny', targets: { tools: ['restart_*'] } }]
  assert.deepEqual((await simulate({ args: { namespace: 'live' }, with: stricter })).matched, [match('restarts')])
  assert.equal((await simulate({ args: { namespace: 'live' } })).decision, 'allow')
  for (const [body, status] of [
    [{ kind: 'tool', name: 'x' }, 400],
    [{ user: 'gone', kind: 'tool', name: 'x' }, 404],
    [{ client: 'worker', endpoint: 'gone', kind: 'tool', name: 'x' }, 404],
    [{ client: 'worker', kind: 'tool', name: 'x', with: [{ name: 'p', effect: 'allow' }] }, 400]
  ] as const)
    assert.equal((await rest('POST', '/policies/simulate', body)).status, status)
  const effective = (await rest('GET', '/policies/effective?client=worker')).body as {
    name: string
    decision: string
  }[]
  const decisions = new Map(effective.map(({ name, decision }) => [name, decision]))
  assert.deepEqual(
    ['k8s__restart_pod', 'k8s__get_pods', 'towpath://crm/fixture://note'].map((name) => decisions.get(name)),
    ['conditional', 'allow', 'allow']
  )
  const ofAgent = (await rest('GET', '/policies/effective?client=agent&endpoint=pods')).body
  assert.deepEqual(ofAgent, [{ kind: 'tool', name: 'k8s__get_pods', decision: 'deny' }])
})

test('PO-10 a trial and a replay refuse the arguments that a call is refused for, whatever the condition says', async (t) => {
  const { rest, mcp, agent, policy } = await startPolicyGateway(t, { TOWPATH_CALL_LOG_CONTENTS: 'on' })
  const rule = { effect: 'allow', subjects: { clients: ['agent'] }, targets: { servers: ['k8s'] } }
  await policy('restarts', { ...rule, when: 'args.a == "ok"' })
  const headers = { 'content-type': 'application/json', ...as('administrator-token-of-these-tests') }
  const simulate = async (args: string) => {
    const payload = `{"client":"agent","kind":"tool","name":"k8s__restart_pod","args":${args}}`
    const answer = await mcp.app.inject({ method: 'POST', url: '/api/v0/policies/simulate', headers, payload })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json<{ decision: string; hidden_by?: string; policy?: string; arguments_refused?: string }>()
  }
  const call = async (args: string) => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"k8s__restart_pod","arguments":${args}}}`
    return (await mcp.send(body, { ...as(agent), ...(await session) })).body.result
  }
  const session = openSession((params) => mcp.legacy('initialize', params, as(agent)))
  for (const args of ['{"a":"ok"}', ' { "a" : "ok", "n": 5 } ']) {
    const { decision, policy: decided, arguments_refused } = await simulate(args)
    assert.deepEqual([decision, decided, arguments_refused], ['allow', 'restarts', undefined], args)
    assert.equal((await call(args)).isError, undefined)
  }
  for (const args of ['{"a":"bad","a":"ok"}', '{"a":"ok","A":"x"}', '{"a":"ok","n":9007199254740993}']) {
    const { isError, content } = await call(args)
    const { decision, hidden_by, policy: decided, arguments_refused } = await simulate(args)
    assert.deepEqual([decision, hidden_by, decided, isError], ['deny', 'policy', 'restarts', true], args)
    assert.equal(arguments_refused, content[0].text)
  }
  const twice = `{"client":"agent","kind":"tool","name":"k8s__restart_pod","args":{},"args":{"a":"ok"}}`
  const refused = await mcp.app.inject({ method: 'POST', url: '/api/v0/policies/simulate', headers, payload: twice })
  assert.deepEqual(
    [refused.statusCode, refused.json<{ error: string }>().error],
    [400, '"args" is given more than once']
  )
  // the calls that were refused stay refused if the condition goes, those that were allowed as well
  const replay = async () =>
    (await rest('POST', '/policies/replay', { with: [{ name: 'restarts', ...rule, when: 'args.a != "bad"' }] })).body
  await until('the calls are logged', async () => (await replay()).calls >= 5)
  const { allowed, denied } = await replay()
  assert.deepEqual([allowed, denied], [0, 0])
})
