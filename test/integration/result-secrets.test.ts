import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { register } from '../app.ts'
import { spellings } from '../fixtures/leaky/answers.ts'
import { startLeaky, startLeakySse } from '../fixtures/leaky/http.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import {
  legacyBody,
  META,
  modernBody,
  modernHeaders,
  openStream,
  startMcp,
  type Answer,
  type Mcp
} from './mcp-helpers.ts'
import { setUp, signIn } from './oauth-helpers.ts'

/** Every character that an encoder of JSON, URLs or base64 may write in a different way. */
const SECRET = 'k3y&/"<v>=+\\-97\'31?xyz~'

const stdioMain = fileURLToPath(new URL('../fixtures/leaky/stdio.ts', import.meta.url))
const tsx = ['--import', import.meta.resolve('tsx')]

type Add = (t: TestContext, mcp: Mcp) => Promise<void>

const http =
  (answers: 'json' | 'events', era: 'legacy' | 'modern'): Add =>
  async (t, { app }) => {
    const { url, close } = await startLeaky(null, { answers, era })
    addCleanup(t, close)
    await register(app, { name: 'leaky', transport: 'streamable_http', url, headers: { 'X-Api-Key': SECRET } })
  }

const upstreams: Readonly<Record<string, Add>> = {
  'HTTP with JSON, legacy': http('json', 'legacy'),
  'HTTP with events, legacy': http('events', 'legacy'),
  'HTTP with JSON, modern': http('json', 'modern'),
  'HTTP with events, modern': http('events', 'modern'),
  async SSE(t, { app }) {
    const { url, close } = await startLeakySse(null)
    addCleanup(t, close)
    await register(app, { name: 'leaky', transport: 'sse', url, headers: { 'X-Api-Key': SECRET } })
  },
  async stdio(_t, { app }) {
    const command = { transport: 'stdio', command: process.execPath, args: [...tsx, stdioMain] }
    await register(app, { name: 'leaky', session_mode: 'stateful', ...command, env: { API_TOKEN: SECRET } })
  }
}

const REVISION = { 'mcp-protocol-version': '2025-03-26' }

/** Asserts that no encoding of the secret is left; the decoded parts of the text are searched too. */
function assertNoSecret(text: string, about: string): void {
  const strings: string[] = []
  const collect = (value: unknown): void => {
    if (typeof value === 'string') strings.push(value)
    else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) {
        strings.push(key)
        collect(member)
      }
    }
  }
  for (const part of text.startsWith('{') || text.startsWith('[') ? [text] : text.split(/^data: /m).slice(1)) {
    collect(JSON.parse(part))
  }
  const forms = [SECRET, JSON.stringify(SECRET).slice(1, -1), encodeURIComponent(SECRET), 'MzF4eXp', "97'31", '3%3F']
  for (const shown of strings) {
    for (const form of forms) assert.ok(!shown.includes(form), `${about}: ${shown.slice(0, 300)}`)
    assert.ok(!Buffer.from(shown.replaceAll('***', ''), 'base64').toString('latin1').includes("-97'31"), about)
  }
}

/** Returns a function per interface that makes one request and returns the raw response text. */
function askAll(mcp: Mcp): Readonly<Record<string, (kind: Kind, args: object) => Promise<string>>> {
  const rest = async ({ rest: [url, body] }: Kind, args: object) =>
    (await mcp.app.inject({ method: 'POST', url, payload: { ...body, ...(url.endsWith('read') ? {} : args) } })).body
  const text = async (answer: Promise<Answer>) => (await answer).text
  const withArguments = ({ params }: Kind, args: object) => ('uri' in params ? params : { ...params, arguments: args })
  return {
    REST: (kind, args) => (kind.rest[0] === '' ? Promise.resolve('{}') : rest(kind, args)),
    'MCP, legacy': (kind, args) => text(mcp.legacy(kind.method, withArguments(kind, args))),
    'MCP, modern': (kind, args) => text(mcp.modern(kind.method, withArguments(kind, args))),
    'MCP, a batch': (kind, args) =>
      text(mcp.send(`[${legacyBody(kind.method, withArguments(kind, args))},${legacyBody('ping', {}, 8)}]`, REVISION))
  }
}

interface Kind {
  readonly method: string
  readonly params: Record<string, unknown>
  /** Path and body; none if REST has no equivalent. */
  readonly rest: readonly [url: string, body: object]
}

const tool: Kind = {
  method: 'tools/call',
  params: { name: 'leaky__tell' },
  rest: ['/api/v0/tools/invoke', { name: 'leaky__tell' }]
}
const kinds: Readonly<Record<string, Kind>> = {
  tool,
  prompt: {
    method: 'prompts/get',
    params: { name: 'leaky__tell' },
    rest: ['/api/v0/prompts/render', { name: 'leaky__tell' }]
  },
  resource: {
    method: 'resources/read',
    params: { uri: 'leak://one' },
    rest: ['/api/v0/resources/read', { uri: 'leak://one' }]
  },
  completion: {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'leaky__tell' }, argument: { name: 'x', value: '' } },
    rest: ['', {}]
  }
}

for (const [upstream, add] of Object.entries(upstreams)) {
  test(`SR-M10 over ${upstream}: every kind of result comes without the secret, by every way in`, async (t) => {
    const mcp = await startMcp(t)
    await add(t, mcp)
    for (const [way, ask] of Object.entries(askAll(mcp))) {
      for (const [name, kind] of Object.entries(kinds)) {
        if (way === 'REST' && name === 'completion') continue
        const text = await ask(kind, {})
        assert.match(text, /\*\*\*/, `${way}, ${name}: ${text}`)
        assertNoSecret(text, `${way}, ${name}`)
      }
    }
  })

  test(`SR-M10 over ${upstream}: every spelling of the secret, in every member of a result or error`, async (t) => {
    const mcp = await startMcp(t)
    await add(t, mcp)
    for (const spelling of Object.keys(spellings)) {
      for (const member of ['text', 'structured', 'key', 'meta', 'error', 'log']) {
        const { text } = await mcp.modern('tools/call', { name: 'leaky__tell', arguments: { spelling, member } })
        assertNoSecret(text, `${spelling}, ${member}`)
      }
    }
  })

  test(`SR-M10 over ${upstream}: definitions and instructions come without the secret`, async (t) => {
    const mcp = await startMcp(t)
    await add(t, mcp)
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'initialize']) {
      const params = method === 'initialize' ? { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} } : {}
      assertNoSecret((await mcp.legacy(method, params)).text, method)
    }
    for (const path of ['servers', 'tools', 'prompts', 'resources', 'resource_templates']) {
      const { body } = await mcp.app.inject(`/api/v0/${path}`)
      if (path !== 'servers') assertNoSecret(body, path)
    }
  })

  test(`SR-M10 over ${upstream}: questions to a client come without the secret, and over HTTP+SSE too`, async (t) => {
    const mcp = await startMcp(t)
    await add(t, mcp)
    const isModern = upstream.includes('modern')
    const session = await mcp.initialize('2025-11-25', { sampling: {}, elicitation: {} })
    const args = { spelling: 'plain', member: isModern ? 'ask' : 'push' }
    const asked = await mcp.modern('tools/call', {
      name: 'leaky__tell',
      arguments: args,
      _meta: { [`${META}clientCapabilities`]: { sampling: {}, elicitation: {} } }
    })
    assert.match(asked.text, isModern ? /input_required[^]*\*\*\*|\*\*\*[^]*input_required/ : /\*\*\*/, asked.text)
    assertNoSecret(asked.text, 'a modern client')

    const url = mcp.url.replace(/\/mcp$/, '/sse')
    const stream = await openStream(t, url, { headers: { accept: 'text/event-stream' } })
    await until('the endpoint is told', () => stream.messagePath() !== undefined)
    const post = (body: string) => {
      const headers = { 'content-type': 'application/json' }
      return fetch(new URL(stream.messagePath()!, url), { method: 'POST', headers, body })
    }
    const clientInfo = { name: 'test', version: '1' }
    const hello = { protocolVersion: '2025-06-18', capabilities: { sampling: {}, elicitation: {} }, clientInfo }
    await post(legacyBody('initialize', hello, 1))
    await until('the session is open', () => stream.messages.some(({ id }) => id === 1))
    for (const [i, kind] of Object.values(kinds).entries()) {
      const params = 'uri' in kind.params ? kind.params : { ...kind.params, arguments: {} }
      await post(legacyBody(kind.method, params, 10 + i))
      await until(kind.method, () => stream.messages.some(({ id }) => id === 10 + i))
    }
    if (!isModern) {
      const { events } = await mcp.legacy('tools/call', { name: 'leaky__tell', arguments: args }, session)
      const methods = events.flatMap((event) => ('method' in event ? [event.method] : []))
      assert.deepEqual(methods.slice(0, 2), ['sampling/createMessage', 'elicitation/create'], 'the client is asked')
      assertNoSecret(JSON.stringify(events), 'a client over Streamable HTTP')
      await post(legacyBody('tools/call', { name: 'leaky__tell', arguments: args }, 20))
      const isAsked = (method: string) => stream.messages.some((each) => 'method' in each && each.method === method)
      await until('both questions', () => isAsked('sampling/createMessage') && isAsked('elicitation/create'))
    }
    const heard = JSON.stringify(stream.messages)
    assert.match(heard, /\*\*\*/, 'the secret was masked')
    assertNoSecret(heard, 'a client over HTTP+SSE')
  })

  test(`SR-M10 over ${upstream}: "block" fails the call, and the lists stay usable`, async (t) => {
    const mcp = await startMcp(t, { TOWPATH_RESULT_SECRETS: 'block' })
    await add(t, mcp)
    for (const kind of Object.values(kinds)) {
      const params = 'uri' in kind.params ? kind.params : { ...kind.params, arguments: {} }
      const answer = await mcp.modern(kind.method, params)
      assert.match(answer.body.error?.message ?? answer.text, /withheld \(TOWPATH_RESULT_SECRETS\)/)
      assertNoSecret(answer.text, kind.method)
      if (kind.rest[0] === '') continue
      const told = await mcp.app.inject({ method: 'POST', url: kind.rest[0], payload: kind.rest[1] })
      assert.equal(told.statusCode, 502)
      assert.match(told.json().error, /withheld/)
    }
    const log = { spelling: 'plain', member: 'log' }
    assertNoSecret((await mcp.modern('tools/call', { name: 'leaky__tell', arguments: log })).text, 'log')
    const { tools } = (await mcp.legacy('tools/list')).body.result
    assert.deepEqual(
      tools.map(({ name }: { name: string }) => name),
      ['leaky__tell']
    )
  })

  test(`SR-M10 over ${upstream}: "off" passes everything on as it came`, async (t) => {
    const mcp = await startMcp(t, { TOWPATH_RESULT_SECRETS: 'off' })
    await add(t, mcp)
    const { text } = await mcp.modern('tools/call', { name: 'leaky__tell', arguments: {} })
    assert.ok(text.includes(JSON.stringify(SECRET).slice(1, -1)), text)
  })

  test(`SR-M10 over ${upstream}: a large result is searched whole, and stays whole beside the secret`, async (t) => {
    const mcp = await startMcp(t)
    await add(t, mcp)
    // near the chunk sizes of sockets and pipes
    for (const bytes of [65_500, 65_536, 131_072, 262_100, 1_000_000]) {
      const args = { spelling: 'plain', member: 'large', bytes }
      const { body, text } = await mcp.modern('tools/call', { name: 'leaky__tell', arguments: args })
      const texts = body.result.content.map((block: { text: string }) => block.text)
      assert.deepEqual([texts[0].length, texts[1], texts[2].length], [bytes, 'before *** after', bytes])
      assertNoSecret(text, String(bytes))
    }
  })
}

test('SR-M10 the access token of an upstream comes back to nobody, in no result or error, before and after it is renewed', async (t) => {
  const setup = await setUp(t)
  await signIn(setup)
  const { app, as, upstream } = setup
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const ask = {
    REST: () =>
      app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name: 'guarded__echo', text: 'x' } }),
    'MCP, legacy': () =>
      app.inject({
        method: 'POST',
        url: '/mcp',
        headers,
        payload: legacyBody('tools/call', { name: 'guarded__echo', arguments: { text: 'x' } })
      }),
    'MCP, modern': () =>
      app.inject({
        method: 'POST',
        url: '/mcp',
        headers: modernHeaders('tools/call', 'guarded__echo'),
        payload: modernBody('tools/call', { name: 'guarded__echo', arguments: { text: 'x' } })
      })
  }
  for (const renewed of [false, true]) {
    if (renewed) as.revoke()
    for (const quotes of [true, 'result'] as const) {
      upstream.quotes = quotes
      for (const [way, call] of Object.entries(ask)) {
        const { body } = await call()
        assert.match(body, /you sent/, `${way}: ${body}`)
        assert.match(body, /\*\*\*/, `${way}: ${body}`)
        assert.doesNotMatch(body, /access-/, `${way}: ${body}`)
      }
    }
  }
  assert.ok(as.tokenRequests('refresh_token').length > 0, 'it was renewed')
})
