import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { freshConfig, openApp } from '../app.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'
import { enterprise, rest as restOf } from './definition-helpers.ts'
import { addRecorder, openSession, openStream, startMcp, type Answer, type RpcAnswer } from './mcp-helpers.ts'
import { modernBody, modernHeaders } from './mcp-messages.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { startHttp } from '../fixtures/http/server.ts'
import { impatient, startOwnPostgres } from '../own-postgres.ts'
import { admin, as, startPolicyGateway, type PolicyGateway } from './policy-helpers.ts'

const HOLD_MS = 700
const rule = { effect: 'approve', targets: { servers: ['k8s'], tools: ['restart_pod'] }, hold_ms: HOLD_MS } as const
const tool = 'k8s__restart_pod'
const META = 'towpath/approval'

type Call = (args?: object, meta?: object) => Promise<Answer>

/** Ways in which the MCP client `worker` can call the tool. */
async function waysOf({ mcp, worker, rest }: PolicyGateway): Promise<Map<string, Call>> {
  const headers = as(worker)
  const { origin } = new URL(mcp.url)
  await rest('POST', '/tool-groups', { name: 'all', included_servers: ['k8s'] })
  const session = await openSession((params) => mcp.legacy('initialize', params, headers))
  const params = (args: object = {}, meta?: object) => ({
    name: tool,
    arguments: args,
    ...(meta && { _meta: meta })
  })
  const post = async (url: string, body: string, more: Record<string, string>) => {
    const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
    const response = await fetch(url, { method: 'POST', headers: { ...all, ...more }, body })
    const text = await response.text()
    const events = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!))
    const messages = (events.length > 0 ? events : [JSON.parse(text)]).flat()
    const body_ = messages.find(({ id }) => id === 'x')
    return { status: response.status, headers: response.headers, text, body: body_, events } as Answer
  }
  const message = (args?: object, meta?: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: params(args, meta) })
  return new Map<string, Call>([
    ['session', (args, meta) => mcp.legacy('tools/call', params(args, meta), { ...headers, ...session })],
    ['stateless', (args, meta) => mcp.modern('tools/call', params(args, meta), headers)],
    ['group', (args, meta) => post(`${origin}/v0/groups/all/mcp`, message(args, meta), {})],
    [
      'batch',
      async (args, meta) => {
        const old = await openSession((first) => mcp.legacy('initialize', first, headers), '2025-03-26')
        return post(mcp.url, `[${message(args, meta)}]`, old)
      }
    ]
  ])
}

const resultOf = ({ body, text }: Answer) => {
  assert.ok(body.result, text)
  return body.result as {
    isError?: boolean
    content: { text: string }[]
    _meta?: Record<string, { id: string; status: string }>
  }
}
const sent = ({ k8s }: PolicyGateway) =>
  k8s.calls('tools/call').filter(({ params }) => (params as { name: string }).name === 'restart_pod').length
const pendingOf = async ({ rest }: PolicyGateway) => (await rest('GET', '/approvals?status=pending')).body as Entry[]
interface Entry {
  readonly id: string
  readonly fingerprint: string
  readonly arguments: unknown
  readonly status: string
}

async function decide(
  { rest }: PolicyGateway,
  verb: 'approve' | 'deny',
  entry: Entry,
  reason?: string,
  token?: string
) {
  return rest(
    'POST',
    `/approvals/${entry.id}/${verb}`,
    { fingerprint: entry.fingerprint, ...(reason && { reason }) },
    token
  )
}

/** Waits for the only pending request. */
const nextPending = async (gateway: PolicyGateway): Promise<Entry> => {
  const found = await until('a call waits for a decision', async () => (await pendingOf(gateway))[0])
  return found!
}

test('AP-01 AP-02 AP-03 AP-04 a call runs once after a yes to exactly this call, on every way', async (t) => {
  const gateway = await startPolicyGateway(t)
  for (const [way, call] of await waysOf(gateway)) {
    await gateway.policy('ask', { ...rule, hold_ms: 100 })
    const before = sent(gateway)
    const args = { way, password: 'hunter2' }
    const late = resultOf(await call(args))
    assert.deepEqual([way, late.isError, late._meta?.[META]?.status], [way, true, 'pending'])
    assert.equal(sent(gateway), before)
    const [entry] = await pendingOf(gateway)
    assert.equal(entry!.id, late._meta![META]!.id)
    assert.deepEqual(entry!.arguments, { way, password: '***' })

    const wrong = await decide(gateway, 'approve', { ...entry!, fingerprint: '0'.repeat(64) })
    assert.equal(wrong.status, 409)
    assert.equal((await decide(gateway, 'approve', entry!)).status, 200)
    assert.equal((await decide(gateway, 'deny', entry!)).status, 409)
    const other = resultOf(await call({ ...args, more: 1 }))
    assert.equal(other._meta?.[META]?.status, 'pending')
    await decide(gateway, 'deny', (await pendingOf(gateway))[0]!)
    // the order of members does not matter
    const done = resultOf(await call({ password: 'hunter2', way }))
    assert.deepEqual([way, done.isError ?? false, sent(gateway)], [way, false, before + 1])
    assert.equal(resultOf(await call(args))._meta?.[META]?.status, 'pending', 'a yes counts once')
    await decide(gateway, 'deny', (await pendingOf(gateway))[0]!, 'Not on Fridays.')
    const denied = resultOf(await call(args))
    assert.match(denied.content[0]!.text, /Not on Fridays/)
    assert.equal(sent(gateway), before + 1)

    await gateway.policy('ask', { ...rule, hold_ms: 60_000 })
    const held = call({ way, held: true })
    await decide(gateway, 'approve', await nextPending(gateway))
    assert.equal(resultOf(await held).isError ?? false, false)
    assert.equal(sent(gateway), before + 2)
    const refused = call({ way, held: 'no' })
    await decide(gateway, 'deny', await nextPending(gateway), 'Because.')
    assert.match(resultOf(await refused).content[0]!.text, /Because\./)
    assert.equal(sent(gateway), before + 2)
  }
})

test('over REST a call is a 409 with its request at once, and succeeds after the yes', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { rest, alice } = gateway
  await gateway.policy('ask', { ...rule, approvers: { users: ['alice'] } })
  const invoke = (token?: string) => rest('POST', '/tools/invoke', { name: tool, a: 1 }, token)
  const first = await invoke(alice)
  assert.deepEqual([first.status, first.body.code, first.body.approval.status], [409, 'needs_approval', 'pending'])
  const [entry] = await pendingOf(gateway)
  assert.equal(first.body.approval.id, entry!.id)
  assert.equal((await decide(gateway, 'approve', entry!, undefined, alice)).status, 403, 'not with the own token')
  assert.equal((await rest('POST', '/users', { name: 'bob' })).status, 201)
  const own = await invoke()
  assert.equal(own.status, 409)
  assert.equal((await decide(gateway, 'approve', (await pendingOf(gateway))[0]!)).status, 403)
  assert.equal((await decide(gateway, 'approve', (await pendingOf(gateway))[0]!, undefined, alice)).status, 200)
  assert.equal((await decide(gateway, 'approve', entry!)).status, 200)
  assert.deepEqual([(await invoke(alice)).status, (await invoke()).status, sent(gateway)], [200, 200, 2])
  assert.equal((await invoke(alice)).status, 409)
})

test('callers see the requests of their own calls and of those that they decide on', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { rest, alice, mcp, worker } = gateway
  const bob = (await rest('POST', '/users', { name: 'bob' })).body.access_token as string
  await gateway.policy('ask', { ...rule, hold_ms: 0, approvers: { users: ['bob'] } })
  await mcp.modern('tools/call', { name: tool, arguments: {} }, as(worker))
  const [entry] = await pendingOf(gateway)
  const seen = async (token: string) => ((await rest('GET', '/approvals', undefined, token)).body as Entry[]).length
  assert.deepEqual([await seen(alice), await seen(bob)], [0, 1])
  assert.equal((await rest('GET', `/approvals/${entry!.id}`, undefined, alice)).status, 404)
  assert.equal((await decide(gateway, 'approve', entry!, undefined, alice)).status, 404)
  assert.equal((await rest('GET', '/approvals', undefined, worker)).status, 403)
  assert.equal((await decide(gateway, 'approve', entry!, undefined, worker)).status, 403)
  assert.equal((await decide(gateway, 'approve', entry!, 'fine', bob)).status, 200)
  const audited = async (verb: string) => (await rest('GET', `/audit?action=approval.${verb}`)).body.entries[0]
  assert.equal((await audited('approve')).actor, 'bob')
  assert.equal((await audited('request')).decision, entry!.id)
  await mcp.modern('tools/call', { name: tool, arguments: {} }, as(worker))
  assert.equal(sent(gateway), 1)
  assert.equal((await audited('use')).policy, 'ask')
})

test('a changed rule or definition needs a new yes', async (t) => {
  const gateway = await startPolicyGateway(t, { TOWPATH_DEFINITIONS: 'follow' })
  const { mcp, worker, k8s, rest } = gateway
  const call = () => mcp.modern('tools/call', { name: tool, arguments: {} }, as(worker))
  await gateway.policy('ask', { ...rule, hold_ms: 0 })
  await call()
  const [first] = await pendingOf(gateway)
  await decide(gateway, 'approve', first!)
  await gateway.policy('ask', { ...rule, hold_ms: 1, reason: 'other' })
  assert.equal(resultOf(await call())._meta?.[META]?.status, 'pending')
  const [second] = await pendingOf(gateway)
  assert.notEqual(second!.id, first!.id)
  await decide(gateway, 'approve', second!)
  k8s.setExtraTools([{ name: 'restart_pod', description: 'Does something else.', inputSchema: { type: 'object' } }])
  await rest('POST', '/servers/k8s/refresh')
  await until('the definition has changed', async () => {
    const tools = (await rest('GET', '/tools?server=k8s')).body as { name: string; description?: string }[]
    return tools.some(({ description }) => description === 'Does something else.')
  })
  assert.equal(resultOf(await call())._meta?.[META]?.status, 'pending')
  assert.equal(sent(gateway), 0)
})

test('AP-09 the 21st pending call of one caller is refused, and others are still asked about', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker, rest, alice } = gateway
  await gateway.policy('ask', { ...rule, hold_ms: 0 })
  const call = (n: number) => mcp.modern('tools/call', { name: tool, arguments: { n } }, as(worker))
  for (let n = 0; n < 20; n++) assert.equal(resultOf(await call(n))._meta?.[META]?.status, 'pending')
  assert.match(resultOf(await call(20)).content[0]!.text, /too many are waiting/)
  assert.equal(resultOf(await call(3))._meta?.[META]?.status, 'pending')
  assert.equal((await rest('POST', '/tools/invoke', { name: tool }, alice)).body.approval.status, 'pending')
  const huge = await mcp.modern('tools/call', { name: tool, arguments: { text: 'x'.repeat(262_144) } }, as(worker))
  assert.match(resultOf(huge).content[0]!.text, /too long/)
  assert.equal(sent(gateway), 0)
})

test('development mode has policies: what no rule matches is allowed, and whoever opens it decides', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'alpha')
  const { app } = mcp
  const inject = async (method: 'GET' | 'POST', url: string, payload?: object) =>
    (await app.inject({ method, url: `/api/v0${url}`, ...(payload && { payload }) })).json()
  await inject('POST', '/policies', { name: 'ask', effect: 'approve', targets: { tools: ['echo'] }, hold_ms: 0 })
  await inject('POST', '/policies', { name: 'no', effect: 'deny', targets: { tools: ['slow'] } })
  const call = (name: string) => mcp.modern('tools/call', { name: `alpha__${name}`, arguments: { text: 'a' } })
  assert.equal(resultOf(await call('echo'))._meta?.[META]?.status, 'pending')
  assert.match((await call('slow')).body.error!.message, /Unknown tool/)
  const [entry] = (await inject('GET', '/approvals?status=pending')) as Entry[]
  await inject('POST', `/approvals/${entry!.id}/approve`, { fingerprint: entry!.fingerprint })
  assert.equal(resultOf(await call('echo')).isError ?? false, false)
  assert.equal(recorder.calls('tools/call').length, 1)
})

test('AP-07 a confirm does over REST what it does for clients that cannot ask their user', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { rest, policy } = gateway
  const invoke = () => rest('POST', '/tools/invoke', { name: tool })
  const confirm = { ...rule, effect: 'confirm', hold_ms: 0 }
  await policy('ask', confirm)
  assert.equal((await invoke()).body.approval.status, 'pending')
  await policy('ask', { ...confirm, without_elicitation: 'deny' })
  const denied = await invoke()
  assert.deepEqual([denied.status, denied.body.approval, sent(gateway)], [409, undefined, 0])
  await policy('ask', { ...confirm, without_elicitation: 'allow' })
  assert.deepEqual([(await invoke()).status, sent(gateway)], [200, 1])
})

test('AP-08 without the database no call runs that needs a yes, and all others are served', async (t) => {
  const postgres = await startOwnPostgres(t)
  const gateway = await startPolicyGateway(t, { DATABASE_URL: postgres.url, ...impatient })
  const { mcp, worker, policy, rest } = gateway
  await policy('ask', { ...rule, hold_ms: 0 })
  const call = (name: string) => mcp.modern('tools/call', { name, arguments: {} }, as(worker))
  await call(tool)
  await decide(gateway, 'approve', (await pendingOf(gateway))[0]!)
  postgres.freeze()
  const result = resultOf(await call(tool))
  assert.match(result.content[0]!.text, /cannot be approved now/)
  assert.equal(result.isError, true)
  // a 409 would tell that somebody is asked
  const overRest = await rest('POST', '/tools/invoke', { name: tool })
  assert.deepEqual([overRest.status, overRest.body.approval], [503, undefined])
  assert.equal(resultOf(await call('k8s__get_pods')).isError ?? false, false)
  assert.equal(sent(gateway), 0)
  postgres.thaw()
  assert.equal(resultOf(await call(tool)).isError ?? false, false)
})

test('AP-09 a webhook is told of new requests with a signature, secrets masked, and delays nothing', async (t) => {
  const received: { headers: Record<string, string | string[] | undefined>; body: string }[] = []
  const http = await startHttp((request) => {
    // the answer never comes
    received.push({ headers: request.headers, body: request.body })
  })
  addCleanup(t, http.close)
  const secret = 'secret-of-the-webhook-of-these-tests'
  const gateway = await startPolicyGateway(t, {
    TOWPATH_APPROVAL_WEBHOOK_URL: `${http.origin}/told`,
    TOWPATH_APPROVAL_WEBHOOK_SECRET: secret
  })
  const { mcp, worker } = gateway
  await gateway.policy('ask', { ...rule, hold_ms: 0 })
  const params = { name: tool, arguments: { password: 'hunter2', pod: 'a' } }
  const result = resultOf(await mcp.modern('tools/call', params, as(worker)))
  assert.equal(result._meta?.[META]?.status, 'pending')
  const told = await until('the webhook is told', () => received[0])
  const expected = createHmac('sha256', secret).update(told!.body).digest('hex')
  assert.equal(told!.headers['x-towpath-signature'], `sha256=${expected}`)
  assert.ok(Date.parse(String(told!.headers['x-towpath-timestamp'])) > 0)
  const { id, caller, tool: name, arguments: shown } = JSON.parse(told!.body)
  assert.deepEqual(
    [id, caller, name, shown],
    [result._meta![META]!.id, 'worker', 'restart_pod', { password: '***', pod: 'a' }]
  )
  await mcp.modern('tools/call', params, as(worker))
  assert.equal(received.length, 1, 'an equal call is no new request')
})

const confirm = { ...rule, effect: 'confirm', without_elicitation: 'deny' } as const

test('AP-05 a confirm asks the person at a legacy client on the stream of the call', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker } = gateway
  await gateway.policy('ask', confirm)
  const capabilities = { elicitation: {} }
  const session = await openSession(
    (params) => mcp.legacy('initialize', params, as(worker)),
    '2025-11-25',
    capabilities
  )
  const headers = {
    ...as(worker),
    ...session,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream'
  }
  const message = {
    jsonrpc: '2.0',
    id: 'x',
    method: 'tools/call',
    params: { name: tool, arguments: { password: 'hunter2' } }
  }
  const open = () => openStream(t, mcp.url, { method: 'POST', headers, body: JSON.stringify(message) })
  type Asked = { id?: unknown; method?: string; params: { message: string } }
  const askedOn = async (messages: readonly unknown[]) => {
    const found = await until('the question', () =>
      (messages as Asked[]).find(({ method }) => method === 'elicitation/create')
    )
    return found!
  }
  const answer = async (stream: Awaited<ReturnType<typeof open>>, result: object) => {
    const asked = await askedOn(stream.messages)
    assert.match(asked.params.message, /\[k8s\].*restart_pod/)
    assert.doesNotMatch(asked.params.message, /hunter2/)
    await mcp.send(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result }), headers)
    const last = await until('the result', () => stream.messages.find(({ id, result: done }) => id === 'x' && done))
    return last!.result as { isError?: boolean; content: { text: string }[] }
  }
  const yes = await answer(await open(), { action: 'accept', content: { confirm: true } })
  assert.deepEqual([yes.isError ?? false, sent(gateway)], [false, 1])
  for (const no of [{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { confirm: false } }]) {
    const declined = await answer(await open(), no)
    assert.deepEqual([declined.isError, declined.content[0]!.text], [true, 'not run: declined'])
  }
  const closed = await open()
  const asked = await askedOn(closed.messages)
  closed.close()
  await delay(200)
  await mcp.send(
    JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: { confirm: true } } }),
    headers
  )
  await delay(200)
  assert.equal(sent(gateway), 1)
})

test('AP-05 AP-07 a confirm asks a modern client with a state that is good once, for exactly this call', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker } = gateway
  await gateway.policy('ask', confirm)
  const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  const call = (args: object, more: object = {}) =>
    mcp.modern('tools/call', { name: tool, arguments: args, _meta: meta, ...more }, as(worker))
  const ask = async (args: object) => {
    const { body, text } = await call(args)
    assert.equal(body.result?.resultType, 'input_required', text)
    assert.match(body.result.inputRequests['towpath-confirm'].params.message, /restart_pod/)
    return body.result.requestState as string
  }
  const responses = (result: object) => ({ 'towpath-confirm': result })
  const accept = responses({ action: 'accept', content: { confirm: true } })
  const requestState = await ask({ n: 1 })
  assert.equal(sent(gateway), 0)
  const other = await call({ n: 2 }, { requestState, inputResponses: accept })
  assert.match(other.body.error!.message, /request state is not valid/)
  const done = await call({ n: 1 }, { requestState, inputResponses: accept })
  assert.deepEqual([resultOf(done).isError ?? false, sent(gateway)], [false, 1])
  const again = await call({ n: 1 }, { requestState, inputResponses: accept })
  assert.match(again.body.error!.message, /request state is not valid/)
  const declined = await call(
    { n: 1 },
    { requestState: await ask({ n: 1 }), inputResponses: responses({ action: 'decline' }) }
  )
  assert.equal(resultOf(declined).content[0]!.text, 'not run: declined')
  const unable = await mcp.modern('tools/call', { name: tool, arguments: {} }, as(worker))
  assert.match(resultOf(unable).content[0]!.text, /cannot ask its user/)
  assert.equal(sent(gateway), 1)
})

test('programs decide on nothing: personal tokens with few rights, and MCP clients', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { rest, mcp, worker, policy } = gateway
  const bob = (await rest('POST', '/users', { name: 'bob' })).body.access_token as string
  const boss = (await rest('POST', '/users', { name: 'boss', role: 'admin' })).body.access_token as string
  await policy('ask', { ...rule, hold_ms: 0, approvers: { users: ['bob'] } })
  const tokenOf = async (token: string, scopes: readonly string[]) => {
    const { status, body } = await rest('POST', '/me/tokens', { name: `t${scopes.length}`, scopes }, token)
    assert.equal(status, 201, JSON.stringify(body))
    return body.access_token as string
  }
  const weak = [
    await tokenOf(bob, ['mcp']),
    await tokenOf(bob, ['mcp', 'towpath:call']),
    await tokenOf(boss, ['mcp', 'towpath:call'])
  ]
  await mcp.modern('tools/call', { name: tool, arguments: {} }, as(worker))
  const [entry] = await pendingOf(gateway)
  for (const token of [...weak, worker])
    assert.notEqual((await decide(gateway, 'approve', entry!, 'x', token)).status, 200)
  assert.equal((await decide(gateway, 'approve', entry!, 'x', await tokenOf(boss, ['towpath:admin']))).status, 200)
  assert.equal(sent(gateway), 0)
})

test('a held call hears at once that its request ended, and progress only grows', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker, policy, rest } = gateway
  const call = (args: object) =>
    mcp.modern('tools/call', { name: tool, arguments: args, _meta: { progressToken: 'p' } }, as(worker))
  await policy('ask', { ...rule, hold_ms: 60_000, valid_ms: 500 })
  const late = await call({ n: 1 })
  assert.match(resultOf(late).content[0]!.text, /expired/)
  assert.equal(resultOf(late)._meta?.[META]?.status, 'expired')
  // the second yes is needed because another call used the first
  await policy('ask', { ...rule, hold_ms: 60_000 })
  const both = [call({ n: 2 }), call({ n: 2 })]
  await until('both calls wait', async () => {
    const text = await (await fetch(new URL('/metrics', mcp.url), { headers: as(admin) })).text()
    return /queue_length\{[^}]*queue="approval"[^}]*\} 2/.test(text)
  })
  await decide(gateway, 'approve', await nextPending(gateway))
  await until('one has run', () => sent(gateway) === 1)
  await decide(gateway, 'approve', await nextPending(gateway))
  for (const { events } of await Promise.all(both)) {
    const steps = (events as { method?: string; params?: { progress: number } }[])
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => params!.progress)
    assert.deepEqual(
      steps,
      steps.toSorted((a, b) => a - b)
    )
    assert.equal(new Set(steps).size, steps.length)
  }
  assert.equal(sent(gateway), 2)
  const ended = call({ n: 3 })
  await nextPending(gateway)
  await rest('DELETE', '/policies/ask')
  assert.match(resultOf(await ended).content[0]!.text, /policy has changed/)
  assert.equal(sent(gateway), 2)
})

test(
  'of decisions at the same time on two replicas one counts, and the call runs once after a yes',
  { skip: engines.length < 2 },
  async (t) => {
    const config = await freshConfig(t, enterprise, 'postgres')
    const replicas = [await openApp(config), await openApp(config)] as const
    for (const each of replicas) addCleanup(t, () => each.close())
    const [app] = replicas
    const recorder = await startRecorder(null, { name: 'k8s', modern: true })
    addCleanup(t, recorder.close)
    const api = (path: string, payload: object) => restOf(app, 'POST', path, payload)
    await api('/servers', { name: 'k8s', transport: 'streamable_http', url: recorder.url })
    const client = await api('/clients', { name: 'worker', allowed_servers: ['k8s'] })
    const ask = { name: 'ask', effect: 'approve', targets: { servers: ['k8s'] }, hold_ms: 0 }
    assert.equal((await api('/policies', ask)).status, 201)
    const headers = { ...modernHeaders('tools/call', 'k8s__echo'), ...as(client.body.access_token as string) }
    const call = async (each: typeof app, text: string) => {
      const payload = modernBody('tools/call', { name: 'k8s__echo', arguments: { text } })
      return (await each.inject({ method: 'POST', url: '/mcp', headers, payload })).json<RpcAnswer>().result
    }
    const waiting = (result: RpcAnswer['result']) => result?._meta?.[META]?.status === 'pending'
    await until('both replicas know the rule', async () => waiting(await call(replicas[1], 'known?')))
    for (let n = 0; n < 8; n++) {
      const text = `call ${n}`
      const asked = await Promise.all(replicas.map((each) => call(each, text)))
      assert.ok(asked.every(waiting))
      const [id, same] = asked.map((result) => result._meta[META].id as string)
      assert.equal(id, same, 'equal calls have one request')
      const { fingerprint } = (await restOf(app, 'GET', `/approvals/${id}`)).body as { fingerprint: string }
      const verbs = n % 2 === 0 ? (['approve', 'deny'] as const) : (['deny', 'approve'] as const)
      const decisions = [...verbs, ...verbs].map((verb, index) =>
        restOf(replicas[index % 2]!, 'POST', `/approvals/${id}/${verb}`, { fingerprint })
      )
      const decided = await Promise.all(decisions)
      assert.deepEqual(
        decided.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409, 409, 409]
      )
      const { status } = decided.find((each) => each.status === 200)!.body as { status: string }
      const repeated = await Promise.all([...replicas, ...replicas].map((each) => call(each, text)))
      const ran = repeated.filter((result) => !result.isError)
      assert.equal(ran.length, status === 'approved' ? 1 : 0)
      const sent = recorder.calls('tools/call').filter(({ params }) => JSON.stringify(params).includes(text))
      assert.equal(sent.length, ran.length)
    }
  }
)
