import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInputRequiredStore } from '../../src/mcp/input/input-required-store.ts'
import { as, startPolicyGateway, type PolicyGateway } from './policy-helpers.ts'
import { shownArguments } from '../../src/mcp/approvals/shown-arguments.ts'
import { openSession, openStream, readAnswer, type Answer } from './mcp-helpers.ts'
import { both, legacyBody } from './mcp-messages.ts'
import { until } from '../until.ts'

const rule = { effect: 'approve', targets: { servers: ['k8s'], tools: ['restart_pod'] }, hold_ms: 0 } as const
const name = 'k8s__restart_pod'

const sent = ({ k8s }: PolicyGateway) => k8s.calls('tools/call')

/** Returns a state that begins like those of this gateway. */
function forgedState({ app }: PolicyGateway): string {
  const store = createInputRequiredStore(app.registry.deriveKey('request states'))
  const parked = { questions: [], server: 'k8s', round: 0, pendingCall: { abandon() {} } }
  const context = {
    caller: { kind: 'development', key: 'x' },
    endpoint: '/mcp',
    message: { method: 'tools/call', text: '', paramMembers: [] }
  }
  return store.add(context as never, parked as never)!
}

test('a request state is no yes: not for sessions, not without one, and not in a batch', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker } = gateway
  await gateway.policy('ask', rule)
  const headers = as(worker)
  const initialize = (params: object) => mcp.legacy('initialize', params, headers)
  const session = await openSession(initialize)
  const old = await openSession(initialize, '2025-03-26')
  for (const requestState of [forgedState(gateway), 'twy1.e30.x', 'state of a server']) {
    const params = { name, arguments: {}, requestState, inputResponses: {} }
    const body = JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'tools/call', params }])
    await mcp.legacy('tools/call', params, { ...headers, ...session })
    await mcp.legacy('tools/call', params, headers)
    await mcp.modern('tools/call', params, headers)
    await mcp.send(body, { ...headers, ...old })
    assert.equal(sent(gateway).length, 0, requestState)
  }
})

const META = 'towpath/approval'
const statusOf = ({ body, text }: Answer) => {
  const { result, error } = body
  assert.ok(result ?? error, text)
  if (error) return 'error'
  return result.isError ? ((result._meta?.[META]?.status as string | undefined) ?? 'refused') : 'ran'
}

interface Entry {
  readonly id: string
  readonly fingerprint: string
  readonly arguments?: unknown
}

async function approveAll({ rest }: PolicyGateway): Promise<Entry[]> {
  const { body } = await rest('GET', '/approvals?status=pending')
  for (const { id, fingerprint } of body as Entry[]) await rest('POST', `/approvals/${id}/approve`, { fingerprint })
  return body as Entry[]
}

/** Sends a call with this text as its arguments. */
const sender = ({ mcp, worker }: PolicyGateway) => {
  return (args: string, more = '', token = worker) =>
    mcp.send(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}${more}}}`,
      as(token)
    )
}

test('a yes counts for these arguments only: other spellings of a text differ, those of a number do not', async (t) => {
  const gateway = await startPolicyGateway(t)
  await gateway.policy('ask', { ...rule, uses: 2 })
  const send = sender(gateway)
  const approved = '{"text":"caf\u00e9","n":100,"list":[1,2],"constructor":{"admin":false},"empty":{}}'
  assert.equal(statusOf(await send(approved.replace('constructor', '__proto__'))), 'refused')
  assert.equal(statusOf(await send(approved)), 'pending')
  const [shown] = await approveAll(gateway)
  assert.match(JSON.stringify(shown!.arguments), /"constructor":\{"admin":false\}/)
  const others = [
    approved.replace('caf\u00e9', 'cafe\u0301'),
    approved.replace('100', '"100"'),
    approved.replace('100', '100.5'),
    approved.replace('[1,2]', '[2,1]'),
    approved.replace('false', 'true'),
    approved.replace('"constructor":{"admin":false},', ''),
    approved.replace('{}', '[]'),
    approved.replace('{}', 'null'),
    approved.replace('"n"', '"N"'),
    approved.replace('caf', 'caf\u200b')
  ]
  for (const args of others) assert.equal(statusOf(await send(args)), 'pending', args)
  const ambiguous = [
    approved.replace('"n":100', '"n":100,"n":1'),
    approved.replace('"n":100', '"n":100,"\\u006e":1'),
    approved.replace('"n":100', '"n":100,"N":1'),
    approved.replace('100', '100000000000000000001'),
    approved.replace('"n":100', '"n":100,"n\\u0000x":1')
  ]
  for (const args of ambiguous) assert.equal(statusOf(await send(args)), 'refused', args)
  assert.equal(sent(gateway).length, 0)
  for (const number of ['1e2', '100.0'])
    assert.equal(statusOf(await send(approved.replace('100', number))), 'ran', number)
  assert.equal(statusOf(await send(approved)), 'pending')
})

test('the server gets the arguments that were shown, and nothing else of the request', async (t) => {
  const gateway = await startPolicyGateway(t)
  await gateway.policy('ask', rule)
  const { mcp, worker } = gateway
  const more = ',"extra":"do it twice","task":{"ttl":1},"_meta":{"evil":1,"progressToken":"p","traceparent":"x"}'
  const send = sender(gateway)
  const modern = () =>
    mcp.modern('tools/call', { name, arguments: { a: 2 }, extra: 'x', _meta: { evil: 1 } } as never, {
      ...as(worker),
      'mcp-param-region': 'elsewhere'
    })
  await Promise.all([send('{"a":1}', more), modern()])
  await approveAll(gateway)
  assert.equal(statusOf(await send('{"a":1}', more)), 'ran')
  assert.equal(statusOf(await modern()), 'ran')
  for (const { params } of sent(gateway)) {
    assert.deepEqual(
      Object.keys(params!)
        .filter((key) => key !== '_meta')
        .toSorted(),
      ['arguments', 'name']
    )
    assert.equal(JSON.stringify(params).includes('evil'), false, JSON.stringify(params))
  }
  const headers = gateway.k8s.requests.flatMap((each) => Object.keys(each.headers))
  assert.deepEqual(
    headers.filter((header) => header.startsWith('mcp-param')),
    []
  )
})

test('calls at the same time share the uses of a yes, and others do not get them', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { rest } = gateway
  const send = sender(gateway)
  const other = (await rest('POST', '/clients', { name: 'other', allowed_servers: ['*'] })).body.access_token as string
  for (const uses of [1, 3]) {
    await gateway.policy('ask', { ...rule, uses })
    const before = sent(gateway).length
    const args = `{"uses":${uses}}`
    await send(args)
    await approveAll(gateway)
    assert.equal(statusOf(await send(args, '', other)), 'pending')
    const statuses = (await Promise.all(Array.from({ length: 8 }, () => send(args)))).map(statusOf)
    assert.equal(statuses.filter((status) => status === 'ran').length, uses, statuses.join())
    assert.equal(sent(gateway).length, before + uses)
  }
})

test('a yes ends with its time, and with the token that made the call', async (t) => {
  const gateway = await startPolicyGateway(t)
  await gateway.policy('ask', { ...rule, valid_ms: 700 })
  const send = sender(gateway)
  await send('{"a":1}')
  await approveAll(gateway)
  await new Promise((resolve) => setTimeout(resolve, 900))
  assert.equal(statusOf(await send('{"a":1}')), 'pending')
  await gateway.policy('ask', rule)
  await send('{"a":2}')
  await approveAll(gateway)
  const access_token = 'another-token-of-the-same-client'
  assert.equal((await gateway.rest('PUT', '/clients/worker', { access_token })).status, 200)
  assert.equal(statusOf(await send('{"a":2}', '', access_token)), 'pending')
  assert.equal(sent(gateway).length, 0)
})

test('AP-05 a yes from another session, to another question or of another form runs nothing', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker, rest } = gateway
  await gateway.policy('ask', { ...rule, effect: 'confirm', without_elicitation: 'deny' })
  const other = (await rest('POST', '/clients', { name: 'other', allowed_servers: ['*'] })).body.access_token as string
  const headersOf = async (token: string) => ({
    ...as(token),
    ...(await openSession((params) => mcp.legacy('initialize', params, as(token)), '2025-11-25', { elicitation: {} })),
    'content-type': 'application/json',
    accept: both
  })
  const [own, second, foreign] = [await headersOf(worker), await headersOf(worker), await headersOf(other)]
  const body = legacyBody('tools/call', { name, arguments: { a: 1 } }, 'x')
  const stream = await openStream(t, mcp.url, { method: 'POST', headers: own, body })
  type Message = { id?: unknown; method?: string; result?: { content: { text: string }[] } }
  const messages = stream.messages as Message[]
  const asked = await until('the question', () => messages.find(({ method }) => method === 'elicitation/create'))
  const yes = { action: 'accept', content: { confirm: true } }
  const answer = (id: unknown, result: object, headers: Record<string, string>) =>
    mcp.send(JSON.stringify({ jsonrpc: '2.0', id, result }), headers)
  for (const headers of [second, foreign, as(worker)]) await answer(asked!.id, yes, headers)
  for (const id of ['x', 'towpath-confirm', String(asked!.id), null]) {
    if (id !== asked!.id) await answer(id, yes, own)
  }
  assert.equal(sent(gateway).length, 0)
  await answer(asked!.id, { action: 'accept', content: { confirm: 'true', Confirm: true } }, own)
  const done = await until('the result', () => messages.find(({ id, result }) => id === 'x' && result))
  assert.equal(done!.result!.content[0]!.text, 'not run: declined')
  await answer(asked!.id, yes, own)
  assert.equal(sent(gateway).length, 0)
})

test('AP-02 a yes at one endpoint counts at no other, and for no other server of the same name', async (t) => {
  const gateway = await startPolicyGateway(t)
  const { mcp, worker, rest, k8s } = gateway
  await rest('POST', '/tool-groups', { name: 'all', included_servers: ['k8s'] })
  await gateway.policy('ask', rule)
  const at = async (path: string) => {
    const headers = { 'content-type': 'application/json', accept: both, ...as(worker) }
    const body = legacyBody('tools/call', { name, arguments: { a: 1 } })
    return readAnswer(await fetch(new URL(path, mcp.url), { method: 'POST', headers, body }))
  }
  assert.equal(statusOf(await at('/mcp')), 'pending')
  await approveAll(gateway)
  assert.equal(statusOf(await at('/v0/groups/all/mcp')), 'pending')
  // a server that goes and comes back under its name is another one
  const { url } = k8s
  assert.equal((await rest('DELETE', '/servers/k8s')).status, 204)
  assert.equal((await rest('POST', '/servers', { name: 'k8s', transport: 'streamable_http', url })).status, 201)
  assert.equal(statusOf(await at('/mcp')), 'pending')
  assert.equal(sent(gateway).length, 0)
})

test('no argument hides another one from whoever is asked', () => {
  const secret = 'swordfish-of-the-server'
  const redact = (text: string) => text.replaceAll(secret, '***')
  const token = (letter: string) => `ghp_${letter.repeat(36)}`
  const show = (args: object) => JSON.stringify(shownArguments(JSON.stringify(args), redact))
  const two = { [token('a')]: 'first', [token('b')]: 'second', '***': 'third', '*** (2)': 'fourth', '***_': 'fifth' }
  for (const text of ['first', 'second', 'third', 'fourth', 'fifth']) assert.ok(show(two).includes(text), text)
  assert.ok(!show(two).includes('ghp_'))
  const shown = show({ [secret]: 'rm -rf', '***': 'ls' })
  assert.ok(shown.includes('rm -rf') && shown.includes('ls') && !shown.includes(secret), shown)
})

test('long lists of requests are read within a budget, and the last ones come without their arguments', async (t) => {
  const gateway = await startPolicyGateway(t)
  await gateway.policy('ask', rule)
  const send = sender(gateway)
  for (let n = 0; n < 20; n++) await send(`{"n":${n},"text":"${'x'.repeat(250_000)}"}`)
  const { body } = await gateway.rest('GET', '/approvals?status=pending')
  const list = body as (Entry & { readonly caller: string })[]
  assert.equal(list.length, 20)
  const withArguments = list.filter((each) => each.arguments !== undefined)
  assert.ok(withArguments.length >= 1 && withArguments.length < 20, String(withArguments.length))
  assert.ok(JSON.stringify(list).length < 2_000_000)
  const { body: single } = await gateway.rest('GET', `/approvals/${list.at(-1)!.id}`)
  assert.ok((single as Entry).arguments)
})
