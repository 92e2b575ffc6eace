import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { hostileTransports, startHostile, type HostileTransport } from '../fixtures/hostile/hostile.ts'
import { until } from '../until.ts'
import { poisons } from '../fixtures/hostile/messages.mjs'
import {
  legacyBody,
  modernBody,
  modernHeaders,
  openSession,
  readAnswer,
  startMcp,
  type RpcAnswer
} from './mcp-helpers.ts'
import { cellsOf } from '../matrix.ts'

const token = 'twp_an-administrator-of-tests'
const modes = {
  development: {},
  enterprise: {
    SERVER_MODE: 'enterprise',
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOWPATH_ADMIN_TOKEN: token
  }
}

type Headers = Record<string, string>

/** Starts a gateway with one hostile server in a group, and returns every way to call it. */
async function start(t: TestContext, mode: keyof typeof modes, transport: HostileTransport) {
  const lines: string[] = []
  const mcp = await startMcp(t, modes[mode], { log: { write: (line) => void lines.push(line) } })
  const origin = new URL(mcp.url).origin
  const admin: Headers = mode === 'enterprise' ? { authorization: `Bearer ${token}` } : {}
  const rest = async (path: string, payload: object) => {
    const headers = { ...admin, 'content-type': 'application/json' }
    const answer = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(payload) })
    return { status: answer.status, body: JSON.parse(await answer.text()) as { error?: string; access_token?: string } }
  }
  const hostile = await startHostile(t, transport)
  const registered = await rest('/api/v0/servers', { name: 'h', session_mode: 'stateful', ...hostile.registration })
  assert.equal(registered.status, 201, JSON.stringify(registered.body))
  await rest('/api/v0/tool-groups', { name: 'g', included_servers: ['h'] })
  const client =
    mode === 'enterprise' ? await rest('/api/v0/clients', { name: 'c', allowed_servers: ['*'] }) : undefined
  const own: Headers = client ? { authorization: `Bearer ${client.body.access_token}` } : {}
  const post = async (path: string, body: string, headers: Headers = {}) => {
    const all = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
      ...own
    }
    return readAnswer(await fetch(origin + path, { method: 'POST', headers: all, body }))
  }
  const open = (path: string, version?: string, capabilities: object = {}) =>
    openSession((params) => post(path, legacyBody('initialize', params)), version, capabilities)
  return { lines, hostile, rest, post, open }
}

interface UpstreamRequest {
  readonly method: string
  readonly params: { readonly name?: string; readonly uri?: string; readonly [member: string]: unknown }
}

const requestsFor = (order: string): UpstreamRequest[] => [
  { method: 'tools/call', params: { name: 'h__t', arguments: { order } } },
  { method: 'prompts/get', params: { name: 'h__p', arguments: { order } } },
  { method: 'resources/read', params: { uri: `x://${encodeURIComponent(order)}` } },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'h__p' }, argument: { name: 'a', value: order } }
  }
]

/** Returns the equivalent REST request; undefined if there is none. */
const restOf = ({ method, params }: UpstreamRequest, order: string): [string, object] | undefined => {
  if (method === 'tools/call') return ['/api/v0/tools/invoke', { name: params.name, order }]
  if (method === 'prompts/get') return ['/api/v0/prompts/render', { name: params.name, arguments: { order } }]
  return method === 'resources/read' ? ['/api/v0/resources/read', { uri: params.uri }] : undefined
}

const orders = [
  ...Object.keys(poisons).flatMap((poison) => [`result ${poison}`, `error ${poison}`]),
  ...['escape', 'control', 'utf8', 'tab'].map((poison) => `large ${poison}`),
  'twice'
]

function assertFailed(answer: RpcAnswer, what: string) {
  assert.equal(answer.error?.code, -32603, `${what}: ${JSON.stringify(answer)}`)
  assert.equal(answer.error.data?.reason, 'bad_response', what)
  assert.match(answer.error.message, /^(?:server "h"|answered|sent)/, what)
}

for (const [mode, transport] of cellsOf(['development', 'enterprise'] as const, hostileTransports)) {
  test(`SR-C1 SR-L5 a malformed answer fails its own call alone, as bad_response: ${transport}, ${mode}`, async (t) => {
    const { rest, post, open } = await start(t, mode, transport)
    const sessions = { '/mcp': await open('/mcp'), '/v0/groups/g/mcp': await open('/v0/groups/g/mcp') }
    const batching = await open('/mcp', '2025-03-26')
    for (const order of orders) {
      for (const asked of requestsFor(order)) {
        const { method, params } = asked
        const what = `${method} ${order}`
        for (const [path, session] of Object.entries(sessions)) {
          assertFailed((await post(path, legacyBody(method, params), session)).body, `legacy ${what}`)
        }
        const name = params.name ?? params.uri
        assertFailed(
          (await post('/mcp', modernBody(method, params), modernHeaders(method, name))).body,
          `modern ${what}`
        )
        const overRest = restOf(asked, order)
        if (overRest) {
          const answer = await rest(...overRest)
          assert.equal(answer.status, 502, `REST ${what}: ${JSON.stringify(answer.body)}`)
          assert.match(answer.body.error!, /h/)
        }
        const good = requestsFor('good')[0]!
        const batch = [legacyBody(method, params, 1), legacyBody(good.method, good.params, 2)].join(',')
        const { body } = await post('/mcp', `[${batch}]`, batching)
        const [failed, kept] = (body as unknown as RpcAnswer[]).toSorted((a, b) => Number(a.id) - Number(b.id))
        assertFailed(failed!, `batch ${what}`)
        assert.equal(kept!.result.content[0].text, 'good', what)
      }
    }
  })
}

for (const transport of hostileTransports) {
  test(`SR-C1 halves of surrogate pairs in a result are replaced, pairs stay: ${transport}`, async (t) => {
    const { post, rest, open } = await start(t, 'development', transport)
    const session = await open('/mcp')
    for (const asked of requestsFor('half')) {
      const { text } = await post('/mcp', legacyBody(asked.method, asked.params), session)
      assert.ok(text.includes('goo\\ufffdd \\ud83d\\ude00'), text)
      const overRest = restOf(asked, 'half')
      if (overRest) assert.equal((await rest(...overRest)).status, 200, asked.method)
    }
  })
}

for (const transport of ['stdio', 'stream', 'sse'] as const) {
  test(`SR-C1 a malformed notification or request of a server is dropped and costs no call: ${transport}`, async (t) => {
    const { post, open, hostile, lines } = await start(t, 'development', transport)
    const session = await open('/mcp', undefined, { sampling: {} })
    for (const poison of Object.keys(poisons).filter((each) => each !== 'unclosed')) {
      for (const place of ['notice', 'push']) {
        const order = `${place} ${poison}`
        const { method, params } = requestsFor(order)[0]!
        const answer = await post('/mcp', legacyBody(method, params), session)
        assert.equal(answer.body.result?.content[0].text, 'good', `${order}: ${answer.text}`)
        const told = answer.events.filter((event) => 'method' in event)
        assert.ok(!JSON.stringify(told).includes('sampling'), order)
      }
    }
    assert.ok(lines.some((line) => line.includes('malformed') || line.includes('no JSON-RPC message')))
    if (transport === 'stdio') return
    await until('each request to be refused', () => hostile.answers.length >= Object.keys(poisons).length - 1)
    for (const { id, error } of hostile.answers) assert.deepEqual([id, error?.code], ['s1', -32600])
  })
}
