import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient, listTools, registerClient } from '../fixtures/identity-provider/gateway.ts'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import { until } from '../until.ts'
import { both, modernBody, modernHeaders } from './mcp-messages.ts'
import { startPeopleGateway as start } from './people-helpers.ts'
import { startPolicyGateway } from './policy-helpers.ts'

test('PO-02 a rule for a group gives its people its tools, at MCP endpoints and over REST', async (t) => {
  const { gateway, policy, toolsOf, call, url, recorder } = await start(t)
  await policy('sre-reads', { effect: 'allow', subjects: { groups: ['sre'] }, targets: { tools: ['get_*'] } })
  const [alice, bob] = [await connectClient(gateway), await connectClient(gateway, { person: 'bob' })]
  assert.deepEqual(await toolsOf(alice.tokens.access_token), ['get_pods'])
  assert.deepEqual(await toolsOf(bob.tokens.access_token), [])
  const sse = await connectClient(gateway, { request: { resource: `${url}/v0/groups/none/mcp` } })
  assert.equal((await listTools(gateway, sse.tokens.access_token, '/v0/groups/none/mcp')).status, 404)
  assert.ok((await call(alice.tokens.access_token, 'get_pods')).result)
  const before = recorder.calls('tools/call').length
  assert.ok((await call(bob.tokens.access_token, 'get_pods')).error)
  assert.ok((await call(alice.tokens.access_token, 'delete_pod')).error)
  assert.equal(recorder.calls('tools/call').length, before, 'nothing reached the server')
  for (const [person, tools] of [
    ['alice', ['k8s__get_pods']],
    ['bob', []]
  ] as const) {
    const request = { resource: `${url}/api`, scope: 'towpath:read towpath:call' }
    const { tokens } = await connectClient(gateway, { person, request })
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    const listed = (await (await fetch(`${url}/api/v0/tools`, { headers })).json()) as { name: string }[]
    assert.deepEqual(
      listed.map(({ name }) => name),
      tools,
      person
    )
  }
})

test('a rule can name the program through which people call, and conditions see groups and program', async (t) => {
  const { gateway, policy, toolsOf, call } = await start(t)
  const clientId = await registerClient(gateway)
  await policy('this-program', {
    effect: 'allow',
    subjects: { groups: ['sre', 'sales'], oauth_clients: [clientId] },
    targets: { tools: ['get_*', 'echo'] }
  })
  await policy('sales-only', {
    effect: 'deny',
    targets: { tools: ['echo'] },
    when: `!("sales" in user.groups) || client.id != "${clientId}" || client.kind != "oauth"`,
    reason: 'Only sales may echo.'
  })
  const through = await connectClient(gateway, { clientId })
  const other = await connectClient(gateway)
  assert.deepEqual(await toolsOf(through.tokens.access_token), ['echo', 'get_pods'])
  assert.deepEqual(await toolsOf(other.tokens.access_token), [])
  const refused = await call(through.tokens.access_token, 'echo', { text: 'hi' })
  assert.match(JSON.stringify(refused.result), /Only sales may echo/)
  const bob = await connectClient(gateway, { clientId, person: 'bob' })
  const answered = await call(bob.tokens.access_token, 'echo', { text: 'hi' })
  assert.ok(answered.result && !answered.result.isError, JSON.stringify(answered))
})

test('new groups of a person count at the next sign-in, on tokens and streams that are open', async (t) => {
  const { gateway, policy, toolsOf, idp, url } = await start(t)
  await policy('sre-reads', { effect: 'allow', subjects: { groups: ['sre'] }, targets: { tools: ['get_*'] } })
  const { tokens } = await connectClient(gateway)
  const stream = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: both,
      authorization: `Bearer ${tokens.access_token}`,
      ...modernHeaders('subscriptions/listen')
    },
    body: modernBody('subscriptions/listen', { notifications: { toolsListChanged: true } })
  })
  let told = ''
  void (async () => {
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) told += chunk
  })().catch(() => undefined)
  assert.deepEqual(await toolsOf(tokens.access_token), ['get_pods'])
  idp.people.set('alice', { ...idp.people.get('alice')!, groups: ['dev'] })
  await connectClient(gateway, { browser: createBrowser() })
  assert.deepEqual(await toolsOf(tokens.access_token), [])
  await until('the stream hears of it', () => told.includes('tools/list_changed'))
})

test('a trial decides for a user with the current groups, for groups of nobody, and for a program', async (t) => {
  const { gateway, policy, api } = await start(t)
  await policy('sre-reads', {
    effect: 'allow',
    subjects: { groups: ['sre'], oauth_clients: ['https://claude.example/*'] },
    targets: { tools: ['get_*'] }
  })
  await connectClient(gateway)
  const decide = async (caller: object) => {
    const { status, body } = await api('POST', '/policies/simulate', { kind: 'tool', name: 'k8s__get_pods', ...caller })
    return status === 200 ? body.decision : status
  }
  const oauth_client = 'https://claude.example/client'
  assert.equal(await decide({ user: 'alice', oauth_client }), 'allow')
  assert.equal(await decide({ user: 'alice' }), 'deny')
  assert.equal(await decide({ groups: ['sre'], oauth_client }), 'allow')
  assert.equal(await decide({ groups: ['sales'], oauth_client }), 'deny')
  assert.equal(await decide({ groups: [] }), 'deny')
  assert.equal(await decide({ user: 'alice', groups: ['sre'] }), 400)
  assert.equal(await decide({}), 400)
  const answer = await api('GET', `/policies/effective?user=alice&oauth_client=${encodeURIComponent(oauth_client)}`)
  const allowed = (answer.body as { name: string; decision: string }[]).filter(({ decision }) => decision === 'allow')
  assert.deepEqual(
    allowed.map(({ name }) => name),
    ['k8s__get_pods']
  )
})

test('a person who signs in for the first time does not get a name that a policy mentions', async (t) => {
  const { gateway, policy, toolsOf, idp, api } = await start(t)
  await policy('boss', { effect: 'allow', subjects: { users: ['boss', 'alice'] }, targets: { tools: ['get_*'] } })
  idp.people.set('bob', { ...idp.people.get('bob')!, preferred_username: 'boss' })
  for (const person of ['bob', 'alice']) {
    const { tokens } = await connectClient(gateway, { person })
    assert.deepEqual(await toolsOf(tokens.access_token), [], person)
  }
  const names = (await api('GET', '/users')).body.map(({ name }: { name: string }) => name)
  assert.deepEqual(names.filter((name: string) => /boss|alice/.test(name)).toSorted(), ['alice-2', 'boss-2'])
  await policy('boss', { effect: 'allow', subjects: { users: ['boss-2'] }, targets: { tools: ['get_*'] } })
  const { tokens } = await connectClient(gateway, { person: 'bob' })
  assert.deepEqual(await toolsOf(tokens.access_token), ['get_pods'], 'the user keeps the name')
})

test('a tool group or team that an enabled deny policy names cannot be deleted', async (t) => {
  const { rest, policy } = await startPolicyGateway(t)
  await rest('POST', '/tool-groups', { name: 'dangerous', included_servers: ['k8s'] })
  await rest('POST', '/teams', { name: 'interns', groups: ['interns'] })
  const rule = { effect: 'deny', targets: { groups: ['dangerous'] }, subjects: { teams: ['intern*'] } }
  await policy('p', rule)
  const problem = 'is named by policies that deny: "p"; change or disable them first'
  for (const [path, label] of [
    ['/tool-groups/dangerous', 'tool group "dangerous"'],
    ['/teams/interns', 'team "interns"']
  ] as const) {
    await policy('p', rule)
    assert.deepEqual(await rest('DELETE', path), { status: 409, body: { error: `${label} ${problem}` } })
    assert.equal((await rest('GET', path)).status, 200)
    await policy('p', { ...rule, enabled: false })
    assert.equal((await rest('DELETE', path)).status, 204)
    assert.equal((await rest('DELETE', path)).status, 404)
  }
})
