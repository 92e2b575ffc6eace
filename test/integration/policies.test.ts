import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../until.ts'
import { legacyBody, openSession, openStream, readAnswer, type Answer, type Mcp } from './mcp-helpers.ts'
import { as, namesOf, startPolicyGateway, type PolicyGateway } from './policy-helpers.ts'

const getOnly = { effect: 'allow', targets: { servers: ['k8s'], tools: ['get_*'] } } as const
const staging = 'args.namespace in ["staging", "dev"] && args.replicas <= 5'
const reason = 'Restarts are for staging.'

type Send = (method: string, params?: Record<string, unknown>) => Promise<Answer>

/** Returns the ways in which an MCP client can send a request, by name. */
async function waysOf({ mcp, rest }: PolicyGateway, token: string): Promise<Map<string, Send>> {
  const headers = as(token)
  const origin = new URL(mcp.url).origin
  await rest('POST', '/tool-groups', { name: 'all', included_servers: ['k8s', 'crm'] })
  const group = `${origin}/v0/groups/all/mcp`
  const post = async (url: string, body: string, more: Record<string, string> = {}) => {
    const all = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
      ...more
    }
    return readAnswer(await fetch(url, { method: 'POST', headers: all, body }))
  }
  const session = await openSession((params) => mcp.legacy('initialize', params, headers))
  const inGroup = await openSession((params) => post(group, legacyBody('initialize', params)))
  return new Map<string, Send>([
    ['modern', (method, params = {}) => mcp.modern(method, params, headers)],
    ['legacy', (method, params) => mcp.legacy(method, params, { ...headers, ...session })],
    ['group', (method, params) => post(group, legacyBody(method, params), inGroup)],
    [
      'batch',
      async (method, params) => {
        const version = { 'mcp-protocol-version': '2025-03-26' }
        const old = await openSession((first) => mcp.legacy('initialize', first, headers), '2025-03-26')
        const body = `[${legacyBody('ping', {}, 'p')},${legacyBody(method, params, 'x')}]`
        const answers = await post(mcp.url, body, { ...old, ...version })
        const all = (answers.events.length > 0 ? answers.events : [answers.body]).flat() as unknown as Answer['body'][]
        return { ...answers, body: all.find(({ id }) => id === 'x')! }
      }
    ]
  ])
}

const toolNames = async (send: Send) => namesOf((await send('tools/list')).body.result.tools)

const sse = async (mcp: Mcp, token: string): Promise<Send> => {
  const { origin } = new URL(mcp.url)
  const messages: Answer['body'][] = []
  const response = await fetch(`${origin}/sse`, { headers: { accept: 'text/event-stream', ...as(token) } })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const endpoint = () => /event: endpoint\ndata: (.*)\n/.exec(text)?.[1]
  void (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value
      for (const [, data] of text.matchAll(/event: message\ndata: (.*)\n\n/g)) messages.push(JSON.parse(data!))
    }
  })().catch(() => {})
  await until('the endpoint is known', endpoint)
  let next = 0
  const send: Send = async (method, params) => {
    const id = `sse-${next++}`
    const headers = { 'content-type': 'application/json', ...as(token) }
    await fetch(`${origin}${endpoint()!}`, { method: 'POST', headers, body: legacyBody(method, params, id) })
    const body = await until('the answer', () => messages.find((each) => each.id === id))
    if (method === 'stop') await reader.cancel()
    return { status: 200, headers: response.headers, text: '', body: body as Answer['body'], events: [] }
  }
  await send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } })
  return send
}

test('PO-02 what a rule allows is all that an MCP client sees and calls, on every endpoint and in both eras', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, agent, policy, k8s } = gateway
  assert.deepEqual(await toolNames((method) => mcp.modern(method, {}, as(agent))), [])
  await policy('agent-reads', { ...getOnly, subjects: { clients: ['agent'] } })
  const ways = await waysOf(gateway, agent)
  ways.set('sse', await sse(mcp, agent))
  for (const [way, send] of ways) {
    assert.deepEqual(await toolNames(send), ['k8s__get_pods'], way)
    const called = await send('tools/call', { name: 'k8s__get_pods', arguments: { way } })
    assert.match(called.body.result.content[0].text, new RegExp(`"way":"${way}"`))
    const before = k8s.calls('tools/call').length
    for (const name of ['k8s__delete_pod', 'k8s__nothing', 'crm__echo']) {
      const { error } = (await send('tools/call', { name, arguments: {} })).body
      assert.deepEqual([error?.code, error?.message, error?.data], [-32602, `Unknown tool: ${name}`, undefined], way)
    }
    assert.equal(k8s.calls('tools/call').length, before)
    assert.deepEqual((await send('prompts/list')).body.result.prompts, [], way)
    assert.deepEqual((await send('resources/list')).body.result.resources, [], way)
    for (const uri of ['fixture://note', 'towpath://k8s/fixture://note', 'fixture://other'])
      assert.ok((await send('resources/read', { uri })).body.error, `${way} ${uri}`)
    const ref = { type: 'ref/prompt', name: 'k8s__greet' }
    const completed = await send('completion/complete', { ref, argument: { name: 'who', value: 'A' } })
    assert.equal(completed.body.error?.message, 'Unknown prompt: k8s__greet', way)
  }
  await ways.get('sse')!('stop').catch(() => {})
})

test('PO-01 PO-02 a user sees and calls over REST what rules allow, and nothing else if the default is deny', async (t) => {
  const { rest, alice, policy } = await startPolicyGateway(t, { TOWPATH_POLICY_DEFAULT: 'deny' })
  const get = (path: string) => rest('GET', path, undefined, alice)
  const post = (path: string, body: object) => rest('POST', path, body, alice)
  for (const path of ['/tools', '/tools?server=k8s', '/prompts', '/resources', '/resource_templates'])
    assert.deepEqual((await get(path)).body, [], path)
  await policy('alice-reads', { ...getOnly, subjects: { users: ['ali*'] } })
  assert.deepEqual(namesOf((await get('/tools')).body), ['k8s__get_pods'])
  assert.equal((await get('/tool?name=k8s__get_pods')).status, 200)
  assert.equal((await post('/tools/invoke', { name: 'k8s__get_pods' })).status, 200)
  for (const name of ['k8s__delete_pod', 'k8s__nothing']) {
    const answers = [await get(`/tool?name=${name}`), await post('/tools/invoke', { name, x: 1 })]
    for (const { status, body } of answers)
      assert.deepEqual([status, body], [404, { error: `tool "${name}" does not exist` }])
  }
  assert.equal((await post('/prompts/render', { name: 'k8s__greet', arguments: { who: 'A' } })).status, 404)
  for (const uri of ['fixture://note', 'towpath://k8s/fixture://note', 'fixture://else']) {
    assert.equal((await post('/resources/read', { uri })).status, 404, uri)
    assert.equal((await get(`/resource?uri=${encodeURIComponent(uri)}`)).status, 404, uri)
  }
  assert.equal((await rest('GET', '/tools')).body.length, 11)
})

test('PO-04 an enforced deny wins; a disabled or observed one does not, and what is observed is counted', async (t) => {
  const { rest, worker, alice, policy, mcp } = await startPolicyGateway(t, {
    TOWPATH_METRICS: 'on',
    OTEL_ENABLED: 'true'
  })
  const call = (name: string) => mcp.modern('tools/call', { name, arguments: {} }, as(worker))
  const isAllowed = async () => [
    (await call('k8s__delete_pod')).body.error === undefined,
    (await rest('POST', '/tools/invoke', { name: 'k8s__delete_pod' }, alice)).status === 200
  ]
  const deny = { effect: 'deny', targets: { tools: ['delete_*'] }, reason: 'Never.' } as const
  await policy('all', { effect: 'allow', everyone: true })
  for (const off of [{ mode: 'observe' }, { enabled: false }]) {
    await policy('never-delete', { ...deny, ...off })
    assert.deepEqual(await isAllowed(), [true, true])
  }
  await policy('never-delete', deny)
  assert.deepEqual(await isAllowed(), [false, false])
  const asAdmin = await rest('POST', '/tools/invoke', { name: 'k8s__delete_pod' })
  assert.deepEqual([asAdmin.status, asAdmin.body.code, asAdmin.body.policy], [403, 'denied_by_policy', 'never-delete'])
  const rows = await until('the rows of the refusals', async () => {
    const { entries } = (await rest('GET', '/audit?outcome=refused&action=tool.refused')).body
    return entries.length === 3 && entries
  })
  for (const { policy: name, decision, target } of rows)
    assert.deepEqual([name, typeof decision, target], ['never-delete', 'string', 'k8s__delete_pod'])
  const metrics = await (await fetch(`${new URL(mcp.url).origin}/metrics`)).text()
  const counts = [...metrics.matchAll(/towpath_policy_decisions(?:_total)?\{(.*)\} (\d+)/g)].map(([, labels, n]) => [
    labels,
    n
  ])
  assert.deepEqual(Object.fromEntries(counts), {
    'effect="allow",mode="enforce"': '4',
    'effect="allow",mode="observe"': '0',
    'effect="approve",mode="enforce"': '0',
    'effect="approve",mode="observe"': '0',
    'effect="confirm",mode="enforce"': '0',
    'effect="confirm",mode="observe"': '0',
    'effect="deny",mode="enforce"': '3',
    'effect="deny",mode="observe"': '2'
  })
})

test('PO-05 a condition decides on the arguments: over MCP the caller of the tool is told, over REST it is a 403', async (t) => {
  const gateway = await startPolicyGateway(t, { TOWPATH_POLICY_DEFAULT: 'deny' })
  const { rest, agent, alice, policy, k8s } = gateway
  const rule = { effect: 'allow', targets: { servers: ['k8s'], tools: ['restart_*'] }, when: staging, reason } as const
  await policy('agent-restarts', { ...rule, subjects: { clients: ['agent'] } })
  await policy('alice-restarts', { ...rule, subjects: { users: ['alice'] } })
  const name = 'k8s__restart_pod'
  const refused: object[] = [
    { namespace: 'production', replicas: 1 },
    { namespace: 'dev' },
    { namespace: 'dev', replicas: 'many' },
    {}
  ]
  for (const [way, send] of await waysOf(gateway, agent)) {
    assert.deepEqual(await toolNames(send), [name])
    const good = await send('tools/call', { name, arguments: { namespace: 'dev', replicas: 5 } })
    assert.equal(good.body.result.isError, undefined, way)
    const before = k8s.calls('tools/call').length
    for (const args of refused) {
      const { result } = (await send('tools/call', { name, arguments: args })).body
      assert.deepEqual([result.isError, result.content], [true, [{ type: 'text', text: reason }]], way)
      assert.equal(result._meta['dev.towpath/denied'].policy, 'agent-restarts')
    }
    assert.equal(k8s.calls('tools/call').length, before)
  }
  for (const args of refused) {
    const { status, body } = await rest('POST', '/tools/invoke', { name, ...args }, alice)
    assert.deepEqual([status, body.error, body.code, body.policy], [403, reason, 'denied_by_policy', 'alice-restarts'])
  }
  const good = await rest('POST', '/tools/invoke', { name, namespace: 'dev', replicas: 1 }, alice)
  assert.equal(good.status, 200)
})

test('PO-05 arguments that can be read in two ways, or are nested too deep, are refused where a condition decides', async (t) => {
  const { mcp, agent, policy, k8s } = await startPolicyGateway(t)
  await policy('restarts', {
    effect: 'allow',
    subjects: { clients: ['agent'] },
    targets: { servers: ['k8s'] },
    when: 'args.a == "ok"'
  })
  const session = await openSession((params) => mcp.legacy('initialize', params, as(agent)))
  const call = (args: string) =>
    mcp.send(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"k8s__restart_pod","arguments":${args}}}`,
      { ...as(agent), ...session }
    )
  assert.equal((await call('{"a":"ok","b":{"a":1}}')).body.result.isError, undefined)
  for (const args of [
    '{"a":"ok","a":"bad"}',
    '{"a":"ok","A":"bad"}',
    '{"a":"ok","a\\u0000b":"bad"}',
    '{"a":"ok","b":{"c":1,"\\u0063":2}}'
  ]) {
    const { result } = (await call(args)).body
    assert.deepEqual(
      [result?.isError, result?.content[0].text],
      [true, 'A member of the arguments is given more than once.']
    )
  }
  for (const args of ['{"a":"ok","__proto__":{"b":1}}', '{"a":"ok","b":[{"\\u005f_proto__":{}}]}']) {
    const { result } = (await call(args)).body
    assert.deepEqual(
      [result?.isError, result?.content[0].text],
      [true, 'A member of the arguments is named "__proto__".']
    )
  }
  for (const number of ['9007199254740993', '5.00000000000000001']) {
    const { result } = (await call(`{"a":"ok","n":${number}}`)).body
    const text = 'A number of the arguments is too large, or has too many digits.'
    assert.deepEqual([result?.isError, result?.content[0].text], [true, text])
  }
  const deep = await call(`{"a":"ok","b":${'['.repeat(63)}${']'.repeat(63)}}`)
  assert.equal(deep.status, 400)
  assert.equal(k8s.calls('tools/call').length, 1)
})

test('a new policy reaches open streams, subscriptions and running calls', async (t) => {
  const { mcp, worker, policy, rest, k8s, crm } = await startPolicyGateway(t)
  const session = await openSession((params) => mcp.legacy('initialize', params, as(worker)))
  const headers = { ...as(worker), ...session }
  const stream = await openStream(t, mcp.url, { headers: { accept: 'text/event-stream', ...headers } })
  const running = mcp.legacy('tools/call', { name: 'k8s__slow', arguments: { ms: 60_000 } }, headers)
  await until('the call runs', () => k8s.calls('tools/call').length === 1)
  await policy('no-slow', { effect: 'deny', targets: { servers: ['k8s'], tools: ['slow'] } })
  const { error } = (await running).body
  assert.match(error!.message, /no longer allowed/)
  const heard = (method: string) => stream.messages.filter((each) => (each as { method?: string }).method === method)
  await until('the change is told', () => heard('notifications/tools/list_changed').length === 1)
  const conditional = mcp.legacy('tools/call', { name: 'crm__slow', arguments: { ms: 60_000 } }, headers)
  await until('the call runs', () => crm.calls('tools/call').length === 1)
  await policy('no-long', { effect: 'deny', targets: { servers: ['crm'] }, when: 'args.ms > 1000' })
  assert.match((await conditional).body.error!.message, /no longer allowed/)
  await rest('DELETE', '/policies/no-slow')
  await until('the change is told', () => heard('notifications/tools/list_changed').length === 2)
  assert.equal(heard('notifications/prompts/list_changed').length, 0)
})

test('PO-07 a policy that could be wrong is refused with its place, stored ones are listed, changed and audited', async (t) => {
  const { rest } = await startPolicyGateway(t)
  const bad: [rule: object, error: RegExp][] = [
    [{ effect: 'allow' }, /everyone/],
    [
      { effect: 'allow', everyone: true, when: 'args.a.matches("(a+)+$")' },
      /when: "matches" cannot be used.*character 1/
    ],
    [{ effect: 'allow', everyone: true, when: 'foo == 1' }, /when: Unknown variable: foo \(at character 1\)/],
    [{ effect: 'allow', everyone: true, when: 'args.a' }, /when: the value must be true or false/],
    [{ effect: 'allow', everyone: true, when: 'a'.repeat(3_072) }, /when/],
    [{ effect: 'ask', everyone: true }, /effect/],
    [{ effect: 'allow', everyone: true, hold_ms: 1 }, /hold_ms: only a rule that confirms or approves/],
    [{ effect: 'approve', everyone: true, hold_ms: 240_001 }, /hold_ms/],
    [{ effect: 'approve', everyone: true, uses: 0 }, /uses/],
    [{ effect: 'approve', everyone: true, approvers: { users: [] } }, /approvers\.users: the list is empty/],
    [
      { effect: 'approve', everyone: true, without_elicitation: 'deny' },
      /without_elicitation: only a rule that confirms/
    ],
    [{ effect: 'approve', everyone: true, require_scopes: ['mcp:a'] }, /require_scopes/],
    [{ effect: 'confirm', targets: { prompts: ['a'] } }, /targets\.prompts: only calls of tools/],
    [{ effect: 'allow', subjects: { users: [] }, targets: { servers: ['crm'] } }, /subjects\.users: the list is empty/],
    [{ effect: 'allow', subjects: { users: ['a'] }, targets: { tools: [] } }, /targets\.tools: the list is empty/],
    [{ effect: 'allow', subjects: { oauth_client: ['a'] } }, /oauth_client/],
    [{ effect: 'allow', targets: { prompts: ['a'], annotations: { readOnly: true } } }, /annotations/]
  ]
  for (const [rule, error] of bad) {
    for (const path of ['/policies', '/policies/validate']) {
      const { status, body } = await rest('POST', path, { name: 'p', ...rule })
      if (status === 200) assert.match(body.problems.join(), error)
      else assert.deepEqual([status, error.test(body.error)], [400, true], body.error)
    }
  }
  const rule = { name: 'p', effect: 'deny', targets: { tools: ['x'] }, when: 'args.a == 1', reason: 'No.' }
  const stored = { ...rule, mode: 'enforce', enabled: true, subjects: {} }
  assert.deepEqual((await rest('POST', '/policies', rule)).body, stored)
  assert.equal((await rest('POST', '/policies', rule)).status, 409)
  assert.deepEqual((await rest('GET', '/policies')).body, [stored])
  const changed = await rest('PUT', '/policies/p', { effect: 'deny', targets: { tools: ['y'] } })
  assert.deepEqual(changed.body.targets, { tools: ['y'] })
  assert.deepEqual((await rest('GET', '/policies/p')).body, changed.body)
  assert.equal((await rest('DELETE', '/policies/p')).status, 204)
  for (const method of ['GET', 'DELETE'] as const) assert.equal((await rest(method, '/policies/p')).status, 404)
  assert.equal((await rest('PUT', '/policies/p', { effect: 'deny', targets: { tools: ['y'] } })).status, 404)
  const { entries } = (await rest('GET', '/audit?target=p')).body
  assert.deepEqual(
    entries.map(({ action }: { action: string }) => action),
    ['policy.remove', 'policy.replace', 'policy.create']
  )
  assert.deepEqual(entries[1].before.tools, ['x'])
  assert.deepEqual(entries[1].after.tools, ['y'])
})

test('PO-02 a resource is decided by its server and URI, however it is reached', async (t) => {
  const { mcp, worker, policy, k8s, crm } = await startPolicyGateway(t)
  const session = await openSession((params) => mcp.legacy('initialize', params, as(worker)))
  const legacy: Send = (method, params) => mcp.legacy(method, params, { ...as(worker), ...session })
  const modern: Send = (method, params = {}) => mcp.modern(method, params, as(worker))
  const uris = async (send: Send) =>
    ((await send('resources/list')).body.result.resources as { uri: string }[]).map(({ uri }) => uri)
  await policy('no-notes', { effect: 'deny', targets: { servers: ['k8s'], resources: ['fixture://*'] } })
  await policy('no-greeting', { effect: 'deny', targets: { servers: ['k8s'], prompts: ['greet'] } })
  for (const send of [legacy, modern]) {
    assert.deepEqual(await uris(send), ['fixture://note'])
    assert.equal((await send('resources/read', { uri: 'fixture://note' })).body.error, undefined)
    for (const uri of ['towpath://k8s/fixture://note', 'towpath://k8s/fixture://other'])
      assert.match((await send('resources/read', { uri })).body.error!.message, /^Resource not found/)
    assert.deepEqual(namesOf((await send('prompts/list')).body.result.prompts), ['crm__greet'])
    assert.equal((await send('prompts/get', { name: 'k8s__greet' })).body.error?.message, 'Unknown prompt: k8s__greet')
  }
  assert.ok((await legacy('resources/subscribe', { uri: 'towpath://k8s/fixture://note' })).body.error)
  await policy('no-notes', { effect: 'deny', targets: { resources: ['fixture://*'] } })
  for (const send of [legacy, modern]) assert.deepEqual(await uris(send), [])
  assert.deepEqual([k8s.calls('resources/read').length, crm.calls('resources/read').length], [0, 2])
})

test('a prompt or a resource that a condition refuses is an error with the policy and the reason', async (t) => {
  const { mcp, worker, policy, rest, alice } = await startPolicyGateway(t)
  await policy('ann-only', {
    effect: 'deny',
    targets: { prompts: ['greet'] },
    when: 'args.who != "Ann"',
    reason: 'Only Ann.'
  })
  await policy('not-now', { effect: 'deny', targets: { resources: ['*'] }, when: 'now.getFullYear() > 2000' })
  const greet = (who: string) => mcp.modern('prompts/get', { name: 'k8s__greet', arguments: { who } }, as(worker))
  assert.equal((await greet('Ann')).body.error, undefined)
  const { error } = (await greet('Bob')).body
  assert.deepEqual([error!.code, error!.message, error!.data!['policy']], [-32602, 'Only Ann.', 'ann-only'])
  const read = await mcp.modern('resources/read', { uri: 'fixture://note' }, as(worker))
  assert.equal(read.body.error!.data!['policy'], 'not-now')
  const rendered = await rest('POST', '/prompts/render', { name: 'k8s__greet', arguments: { who: 'Bob' } }, alice)
  assert.deepEqual([rendered.status, rendered.body.error], [403, 'Only Ann.'])
  assert.equal((await rest('POST', '/resources/read', { uri: 'fixture://note' }, alice)).status, 403)
})

test('PO-01 PO-02 a user with a personal token sees and calls over MCP what rules allow', async (t) => {
  const { mcp, rest, alice, policy } = await startPolicyGateway(t, { TOWPATH_POLICY_DEFAULT: 'deny' })
  const { status, body } = await rest('POST', '/me/tokens', { name: 'mcp', scopes: ['mcp'] }, alice)
  assert.equal(status, 201, JSON.stringify(body))
  const headers = as(body.access_token)
  const modern: Send = (method, params = {}) => mcp.modern(method, params, headers)
  for (const [method, list] of [
    ['tools/list', 'tools'],
    ['prompts/list', 'prompts'],
    ['resources/list', 'resources']
  ] as const)
    assert.deepEqual((await modern(method)).body.result[list], [])
  const call = () => modern('tools/call', { name: 'k8s__get_pods', arguments: {} })
  assert.equal((await call()).body.error?.message, 'Unknown tool: k8s__get_pods')
  await policy('alice-reads', { ...getOnly, subjects: { users: ['alice'] } })
  assert.deepEqual(await toolNames(modern), ['k8s__get_pods'])
  assert.equal((await call()).body.error, undefined)
})

test('a tool group in which policies leave a caller nothing answers like one that does not exist', async (t) => {
  const { mcp, rest, agent, policy } = await startPolicyGateway(t)
  await rest('POST', '/tool-groups', { name: 'mixed', included_tools: ['k8s__restart_pod'] })
  const list = async (group: string) => {
    const url = `${new URL(mcp.url).origin}/v0/groups/${group}/mcp`
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...as(agent) }
    const answer = await fetch(url, { method: 'POST', headers, body: legacyBody('initialize', {}) })
    return [answer.status, (await answer.text()).replace(group, 'GROUP')]
  }
  const unknown = await list('nothing')
  assert.equal(unknown[0], 404)
  await policy('some', { effect: 'allow', subjects: { clients: ['agent'] }, targets: { tools: ['get_pods'] } })
  assert.deepEqual(await list('mixed'), unknown)
  await policy('some', { effect: 'allow', subjects: { clients: ['agent'] }, targets: { tools: ['restart_pod'] } })
  assert.notEqual((await list('mixed'))[0], 404)
})
