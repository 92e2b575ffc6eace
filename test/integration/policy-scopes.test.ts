import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import {
  connectClient,
  createAuthorization,
  postToken,
  REDIRECT,
  registerClient,
  type Tokens
} from '../fixtures/identity-provider/gateway.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { legacyBody, modernBody, modernHeaders } from './mcp-messages.ts'
import { startPeopleGateway } from './people-helpers.ts'

/** A gateway where alice may use everything, and needs the scope `mcp:write` to delete. */
async function start(t: TestContext) {
  const people = await startPeopleGateway(t)
  const { api, policy } = people
  await policy('sre-all', { effect: 'allow', subjects: { groups: ['sre'] }, targets: { servers: ['k8s'] } })
  await policy('deletes', {
    effect: 'deny',
    targets: { tools: ['delete_*'], resources: ['*'] },
    require_scopes: ['mcp:write', 'mcp:ops'],
    reason: 'Deleting needs a program that you let write.'
  })
  const made = await api('POST', '/tool-groups', { name: 'team', included_servers: ['k8s'] })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return people
}

const toolCall = (name = 'k8s__delete_pod') => ({ name, arguments: {} })
const legacyCall = (name?: string, id: unknown = 7) => legacyBody('tools/call', toolCall(name), id)

const challengeFor = (url: string, path: string, scope = 'mcp mcp:write mcp:ops', policy = 'deletes') =>
  `Bearer error="insufficient_scope", error_description="the policy ${policy} requires these scopes", ` +
  `scope="${scope}", resource_metadata="${url}/.well-known/oauth-protected-resource${path}"`

test('PO-08 a call that lacks scopes is challenged with all of them at every endpoint, and works after step-up', async (t) => {
  const { gateway, url, post, recorder } = await start(t)
  for (const path of ['/mcp', '/v0/groups/team/mcp']) {
    const browser = createBrowser()
    const clientId = await registerClient(gateway)
    const request = { resource: url + path }
    const { tokens } = await connectClient(gateway, { browser, clientId, request })
    const modern = modernHeaders('tools/call', 'k8s__delete_pod')
    for (const [body, headers] of [
      [legacyCall(), {}],
      [modernBody('tools/call', toolCall()), modern]
    ] as const) {
      const answer = await post(tokens.access_token, path, body, headers)
      assert.equal(answer.status, 403, path)
      assert.equal(answer.headers.get('www-authenticate'), challengeFor(url, path))
      const { id, error } = (await answer.json()) as { id: number; error: { message: string; data: any } }
      assert.deepEqual([id, error.message], [7, 'Deleting needs a program that you let write.'])
      assert.deepEqual(
        [error.data.policy, error.data.error, error.data.scope],
        ['deletes', 'insufficient_scope', 'mcp mcp:write mcp:ops']
      )
    }
    const [scope] = /(?<= scope=")[^"]*/.exec(challengeFor(url, path))!
    const stepped = await connectClient(gateway, { browser, clientId, request: { ...request, scope } })
    assert.match(stepped.consent.text, /programs with “mcp:write”/)
    assert.match(stepped.consent.text, /programs with “mcp:ops”/)
    assert.equal(stepped.tokens.scope, scope)
    for (const [body, headers] of [
      [legacyCall(), {}],
      [modernBody('tools/call', toolCall()), modern]
    ] as const) {
      const answer = await post(stepped.tokens.access_token, path, body, headers)
      assert.equal(answer.status, 200, await answer.text())
    }
    const renewed = (await (await stepped.refresh()).json()) as { access_token: string; scope: string }
    assert.equal((await post(renewed.access_token, path, legacyCall())).status, 200)
  }
  assert.equal(recorder.calls('tools/call').length, 6)
})

test('PO-08 the answer to a posted message over HTTP+SSE is the challenge, and the stream stays usable', async (t) => {
  const { gateway, url, post } = await start(t)
  const { tokens } = await connectClient(gateway, { request: { resource: `${url}/sse` } })
  const stop = new AbortController()
  addCleanup(t, () => stop.abort())
  const stream = await fetch(`${url}/sse`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${tokens.access_token}` },
    signal: stop.signal
  })
  let heard = ''
  void (async () => {
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) heard += chunk
  })().catch(() => undefined)
  await until('the endpoint is told', () => /data: (\S+)/.test(heard))
  const [, path] = /data: (\S+)/.exec(heard)!
  const hello = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  assert.equal((await post(tokens.access_token, path!, legacyBody('initialize', hello, 1))).status, 202)
  const refused = await post(tokens.access_token, path!, legacyCall())
  assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [403, challengeFor(url, '/sse')])
  assert.equal((await post(tokens.access_token, path!, legacyCall('k8s__echo', 8))).status, 202)
  await until('the next call is answered', () => heard.includes('"id":8'))
  assert.ok(!heard.includes('"id":7'), heard)
  const batch = `[${legacyCall()},${legacyCall('k8s__echo', 9)}]`
  assert.equal((await post(tokens.access_token, path!, batch)).status, 202)
  await until('both are answered', () => heard.includes('"id":7') && heard.includes('"id":9'))
  assert.match(heard, /"id":7,"error".*insufficient_scope/)
})

test('PO-08 in a batch the other calls are answered, and the error of the refused one names the scopes', async (t) => {
  const { gateway, url, post, recorder } = await start(t)
  const { tokens } = await connectClient(gateway)
  const answer = await post(tokens.access_token, '/mcp', `[${legacyCall()},${legacyCall('k8s__echo', 8)}]`)
  assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [200, null])
  const answers = (await answer.json()) as { id: number; error?: { data: object }; result?: object }[]
  const { decision, ...data } = answers.find(({ id }) => id === 7)!.error!.data as { decision: string }
  assert.ok(decision)
  assert.deepEqual(data, {
    policy: 'deletes',
    error: 'insufficient_scope',
    scope: 'mcp mcp:write mcp:ops',
    resource_metadata: `${url}/.well-known/oauth-protected-resource/mcp`
  })
  assert.ok(answers.find(({ id }) => id === 8)!.result)
  assert.equal(recorder.calls('tools/call').length, 1)
})

test('PO-08 resources are challenged as well; a call that more scopes would not help is refused as without them', async (t) => {
  const { gateway, url, policy, post, call } = await start(t)
  const { tokens } = await connectClient(gateway)
  const read = await post(tokens.access_token, '/mcp', legacyBody('resources/read', { uri: 'fixture://note' }))
  assert.deepEqual([read.status, read.headers.get('www-authenticate')], [403, challengeFor(url, '/mcp')])
  await policy('never', {
    effect: 'deny',
    targets: { tools: ['delete_*'] },
    when: 'args.force == true',
    reason: 'Not by force.'
  })
  const forced = await call(tokens.access_token, 'delete_pod', { force: true })
  assert.deepEqual([forced.error, forced.result?.isError], [undefined, true])
  assert.match(JSON.stringify(forced.result), /Not by force/)
  assert.equal(
    (await call(tokens.access_token, 'delete_pod', { force: false })).error?.data.error,
    'insufficient_scope'
  )
})

test('PO-08 an allow rule with scopes opens what no other rule allows, and the nearest rule names the scopes', async (t) => {
  const { gateway, url, policy, post, toolsOf } = await startPeopleGateway(t)
  const targets = { tools: ['get_pods'] }
  await policy('two', { effect: 'allow', targets, require_scopes: ['mcp:a', 'mcp:b'] })
  await policy('one', { effect: 'allow', targets, require_scopes: ['mcp:c'] })
  const { tokens } = await connectClient(gateway, { person: 'bob' })
  assert.deepEqual(await toolsOf(tokens.access_token), ['get_pods'], 'it is listed, so that a program can ask for it')
  const refused = await post(tokens.access_token, '/mcp', legacyCall('k8s__get_pods'))
  assert.equal(refused.headers.get('www-authenticate'), challengeFor(url, '/mcp', 'mcp mcp:c', 'one'))
  const stepped = await connectClient(gateway, { person: 'bob', request: { scope: 'mcp mcp:c' } })
  assert.equal((await post(stepped.tokens.access_token, '/mcp', legacyCall('k8s__get_pods'))).status, 200)
})

test('PO-08 a static MCP client and callers over REST are refused with the reason', async (t) => {
  const { api, gateway, url, post } = await start(t)
  const client = await api('POST', '/clients', { name: 'agent', allowed_servers: ['k8s'] })
  const answer = await post(client.body.access_token as string, '/mcp', legacyCall())
  assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [200, null])
  const { result } = (await answer.json()) as { result: { isError: boolean; content: { text: string }[] } }
  assert.deepEqual([result.isError, result.content[0]!.text], [true, 'Deleting needs a program that you let write.'])
  const request = { resource: `${url}/api`, scope: 'towpath:call' }
  const invoke = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'k8s__delete_pod' })
    const invoked = await fetch(`${url}/api/v0/tools/invoke`, { method: 'POST', headers, body })
    return { status: invoked.status, body: (await invoked.json()) as Record<string, unknown> }
  }
  const { tokens } = await connectClient(gateway, { request })
  const refused = await invoke(tokens.access_token)
  assert.deepEqual(
    [refused.status, refused.body['code'], refused.body['policy'], refused.body['scopes']],
    [403, 'denied_by_policy', 'deletes', ['mcp:write', 'mcp:ops']]
  )
  const own = await connectClient(gateway, { request: { ...request, scope: 'towpath:call mcp:write mcp:ops' } })
  assert.equal((await invoke(own.tokens.access_token)).status, 200, 'over REST scopes come from the token as well')
})

test('a personal access token can have scopes of policies, at MCP endpoints and over REST', async (t) => {
  const { api, policy, post, url } = await startPeopleGateway(t)
  await policy('writes', { effect: 'allow', targets: { tools: ['delete_*'] }, require_scopes: ['mcp:write'] })
  const user = await api('POST', '/users', { name: 'carol' })
  const create = async (scopes: readonly string[]) => {
    const headers = { authorization: `Bearer ${user.body.access_token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: `t${scopes.length}`, scopes })
    const made = await fetch(`${url}/api/v0/me/tokens`, { method: 'POST', headers, body })
    return {
      status: made.status,
      body: (await made.json()) as { access_token: string; scopes: string[]; error: string }
    }
  }
  for (const scope of ['mcp:', 'mcp:Write', 'mcp:a b', `mcp:${'a'.repeat(61)}`, 'other'])
    assert.equal((await create([scope])).status, 400, scope)
  const plain = await create(['mcp'])
  const able = await create(['mcp', 'mcp:write', 'towpath:call'])
  assert.deepEqual(able.body.scopes, ['mcp', 'mcp:write', 'towpath:call'])
  const refused = await post(plain.body.access_token, '/mcp', legacyCall())
  assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [200, null])
  assert.match(await refused.text(), /The policy \\"writes\\" requires an access token with: mcp:write\./)
  const done = await post(able.body.access_token, '/mcp', legacyCall())
  assert.doesNotMatch(await done.text(), /denied/)
})

test('scopes that no policy requires are neither shown nor granted, and the form is for the scopes that it shows', async (t) => {
  const { gateway, policy, post, api } = await start(t)
  const browser = createBrowser()
  const asked = { scope: 'mcp mcp:write mcp:other other <b>' }
  const { consent, tokens, clientId, refresh } = await connectClient(gateway, { browser, request: asked })
  assert.doesNotMatch(consent.text, /other|&lt;b&gt;/)
  assert.equal(tokens.scope, 'mcp mcp:write')
  await policy('others', { effect: 'deny', targets: { tools: ['echo'] }, require_scopes: ['mcp:other'] })
  const renewed = (await (await refresh()).json()) as Tokens
  assert.equal(renewed.scope, 'mcp mcp:write', 'what was not shown is not granted later')
  assert.equal((await post(renewed.access_token, '/mcp', legacyCall('k8s__echo'))).status, 403)
  const opened = await browser.open(
    createAuthorization(gateway, await registerClient(gateway), { scope: 'mcp:new' }).url
  )
  await policy('news', { effect: 'deny', targets: { tools: ['echo'] }, require_scopes: ['mcp:new'] })
  assert.equal((await browser.submit(opened, { answer: 'allow' })).status, 403)
  // a policy that is gone takes its scopes along, and the client can still renew its tokens
  await api('DELETE', '/policies/deletes')
  const last = await postToken(gateway, {
    ...{ client_id: clientId, grant_type: 'refresh_token', refresh_token: renewed.refresh_token }
  })
  assert.deepEqual([last.status, ((await last.json()) as { scope: string }).scope], [200, 'mcp'])
})

test('a client can register with scopes of policies, and with others, which are left out', async (t) => {
  const { gateway, policy } = await startPeopleGateway(t)
  await policy('writes', { effect: 'allow', everyone: true, require_scopes: ['mcp:write'] })
  const clientId = await registerClient(gateway, { scope: 'mcp mcp:write openid profile' })
  const { tokens } = await connectClient(gateway, { clientId, request: { scope: 'mcp mcp:write' } })
  assert.equal(tokens.scope, 'mcp mcp:write')
  await registerClient(gateway, { scope: 'mcp:write' })
})

/** Keeps everything that an SDK client stores, and the address to which it sends its user. */
function createOAuthProvider() {
  const kept = new Map<string, any>()
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'An SDK client', redirect_uris: [REDIRECT] },
    clientInformation: () => kept.get('client'),
    saveClientInformation: (client) => void kept.set('client', client),
    tokens: () => kept.get('tokens'),
    saveTokens: (tokens) => void kept.set('tokens', tokens),
    redirectToAuthorization: (to) => void kept.set('page', to),
    saveCodeVerifier: (verifier) => void kept.set('verifier', verifier),
    codeVerifier: () => kept.get('verifier') as string
  }
  return { provider, pageOf: () => kept.get('page') as URL }
}

test('PO-08 the step-up of the official client asks for the scopes of the challenge, and its call then works', async (t) => {
  const { url } = await start(t)
  const browser = createBrowser()
  const { provider, pageOf } = createOAuthProvider()
  const open = () => {
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: provider })
    const client = new Client({ name: 'sdk', version: '1' })
    addCleanup(t, () => client.close())
    return { client, transport }
  }
  const consent = async ({ transport }: ReturnType<typeof open>) => {
    const opened = await browser.open(pageOf())
    const page = opened.url.pathname.startsWith('/oauth/')
      ? opened
      : await browser.submit(opened, { login: 'alice', password: 'any' })
    const { url: back } = await browser.submit(
      page,
      { answer: 'allow' },
      { stopsAt: (to) => to.href.startsWith(REDIRECT) }
    )
    await transport.finishAuth(back.searchParams)
  }
  const first = open()
  await assert.rejects(first.client.connect(first.transport), UnauthorizedError)
  await consent(first)
  const second = open()
  await second.client.connect(second.transport)
  await second.client.callTool({ name: 'k8s__echo', arguments: {} })
  await assert.rejects(second.client.callTool(toolCall()), UnauthorizedError)
  assert.equal(pageOf().searchParams.get('scope'), 'mcp mcp:write mcp:ops')
  await consent(second)
  const deleted = await second.client.callTool(toolCall())
  assert.notEqual(deleted.isError, true, JSON.stringify(deleted))
})
