import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OpenOptions, TransportClient } from '../../src/upstream/transport/connection.ts'
import { readUpstream } from '../../src/upstream/discovery/read-upstream.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { createHttpClient } from '../../src/upstream/http/streamable-http-client.ts'
import { connector } from '../egress.ts'
import { startFaulty } from '../fixtures/http/faulty.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { type Handler, sendJson, startHttp } from '../fixtures/http/server.ts'
import { startStdioClient } from '../stdio-client.ts'

const read = async (client: TransportClient, transport: 'stdio' | 'streamable_http', ms = 60_000) => {
  const warnings: string[] = []
  const options = { deadline: performance.now() + ms, warn: (text: string) => warnings.push(text) }
  const { negotiation, items } = await readUpstream(client, transport, options)
  return { negotiation, names: items.map(({ kind, name }) => `${kind} ${name}`), warnings }
}

const readHttp = async (t: TestContext, url: string, ms?: number, headers: Record<string, string> = {}) => {
  const client = createHttpClient({ url, headers, version: '1', connector, maxResponseBytes: 1_048_576 })
  t.after(() => client.close())
  return read(client, 'streamable_http', ms)
}

const recorderNames = ['tool echo', 'tool slow', 'tool whoami', 'tool fail', 'prompt greet', 'resource fixture://note']

async function startScripted(t: TestContext, handler: Handler) {
  const upstream = await startHttp(handler)
  t.after(upstream.close)
  return upstream
}

const rejectsWith = (reason: string, message?: string) => (error: unknown) => {
  assert.ok(error instanceof UpstreamFailure)
  assert.equal(error.reason, reason)
  if (message !== undefined) assert.equal(error.message, message)
  return true
}

test('a legacy upstream with sessions is told apart from one without', async (t) => {
  for (const legacy of ['sessions', 'sessionless'] as const) {
    const upstream = await startRecorder(t, { legacy })
    const { negotiation, names } = await readHttp(t, upstream.url)
    const { modern, legacy: version, hasSessions, serverInfo, instructions } = negotiation
    assert.deepEqual([modern, version, hasSessions], [null, '2025-11-25', legacy === 'sessions'])
    assert.deepEqual([serverInfo, instructions], [{ name: 'alpha', version: '1.0.0' }, 'Be kind'])
    assert.ok('tools' in negotiation.capabilities)
    assert.deepEqual(names, recorderNames)
    assert.equal(upstream.requests[0]!.message!.method, 'server/discover')
    assert.deepEqual(upstream.calls('initialize')[0]!.params!.capabilities, {
      sampling: {},
      elicitation: { form: {}, url: {} },
      roots: {},
      extensions: {
        'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] },
        'io.modelcontextprotocol/skills': {}
      }
    })
  }
})

test('a modern upstream is read over its own wire, a dual one too', async (t) => {
  for (const legacy of ['none', 'sessions'] as const) {
    const upstream = await startRecorder(t, { modern: true, legacy })
    const { negotiation, names } = await readHttp(t, upstream.url)
    assert.equal(negotiation.modern, '2026-07-28')
    assert.equal(negotiation.legacy, legacy === 'none' ? null : '2025-11-25')
    assert.equal(negotiation.hasSessions, legacy === 'sessions')
    assert.deepEqual(
      [negotiation.serverInfo, negotiation.instructions],
      [{ name: 'alpha', version: '1.0.0' }, 'Be kind']
    )
    assert.deepEqual(names, recorderNames)
    const lists = upstream.requests.filter(({ message }) => message?.method === 'tools/list')
    assert.deepEqual(
      lists.map(({ headers }) => headers['mcp-protocol-version']),
      ['2026-07-28']
    )
  }
})

test('an error that only modern servers give shows one, unless it speaks other revisions', async (t) => {
  for (const [code, data, isModern] of [
    [-32020, {}, true],
    [-32022, { supported: ['2026-07-28'] }, true],
    [-32022, { supported: ['2027-01-01'] }, false],
    [-32602, {}, false]
  ] as const) {
    const upstream = await startScripted(t, (request, response) => {
      const { id, method } = request.message!
      if (method === 'server/discover') {
        return sendJson(response, 400, { jsonrpc: '2.0', id, error: { code, message: 'm', data } })
      }
      if (id === undefined) return response.writeHead(202).end()
      sendJson(response, 200, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', capabilities: {} } })
    })
    const { negotiation } = await readHttp(t, upstream.origin)
    assert.deepEqual([negotiation.modern !== null, negotiation.legacy], [isModern, '2025-06-18'])
  }
})

test('an upstream that never answers the probe is asked to initialize in what time is left', async (t) => {
  const upstream = await startScripted(t, (request, response) => {
    const { id, method } = request.message!
    if (method === 'server/discover') return
    if (id === undefined) return response.writeHead(202).end()
    sendJson(response, 200, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', capabilities: {} } })
  })
  const { negotiation } = await readHttp(t, upstream.origin, 4_000)
  assert.deepEqual([negotiation.modern, negotiation.legacy], [null, '2025-06-18'])
})

test('UP-01 an upstream that answers nothing fails with a timeout at the deadline', async (t) => {
  const upstream = await startFaulty(t, { mode: 'silent', everything: true })
  await assert.rejects(readHttp(t, upstream.url, 400), rejectsWith('timeout'))
})

test('a refused credential ends the discovery, without asking twice', async (t) => {
  const upstream = await startRecorder(t, { modern: true, authorization: 'Bearer good' })
  const bad = readHttp(t, upstream.url, undefined, { Authorization: 'Bearer bad' })
  await assert.rejects(bad, rejectsWith('auth', 'rejected the configured token (HTTP 401)'))
  assert.equal(upstream.requests.length, 1)
})

test('what speaks neither era, or is not there, is said in the words of the second try', async (t) => {
  const web = await startScripted(t, (_request, response) =>
    response.writeHead(404, { 'content-type': 'text/html' }).end()
  )
  await assert.rejects(readHttp(t, web.origin), rejectsWith('bad_response', 'answered HTTP 404'))
  const gone = await startRecorder(null)
  await gone.close()
  await assert.rejects(readHttp(t, gone.url), rejectsWith('unreachable', 'connection refused'))
})

const stdioFixtures = new URL('../fixtures/stdio/', import.meta.url).pathname

/** Returns a stdio client that counts its concurrent processes. */
function startStdio(t: TestContext, args: string[], env: Record<string, string> = {}) {
  const client = startStdioClient(t, args, { env })
  const seen = { opened: [] as string[], running: 0, most: 0 }
  const open = async (options: OpenOptions) => {
    const connection = await client.open(options)
    seen.opened.push(options.era)
    seen.most = Math.max(seen.most, ++seen.running)
    void connection.ended.then(() => seen.running--)
    return connection
  }
  return { client: { open, close: () => client.close() }, seen }
}

test('a legacy stdio server is found, also one that exits when it is probed', async (t) => {
  for (const file of ['good.mjs', 'strict.mjs']) {
    const { client } = startStdio(t, [stdioFixtures + file])
    const { negotiation, names } = await read(client, 'stdio')
    assert.deepEqual([negotiation.modern, negotiation.legacy, negotiation.hasSessions], [null, '2025-11-25', true])
    assert.ok(names.includes('tool echo'), names.join())
  }
})

test('each era of a stdio server has a process of its own, one after the other', async (t) => {
  for (const [eras, opened] of [
    ['modern', ['modern']],
    ['legacy,modern', ['modern', 'legacy']]
  ] as const) {
    const { client, seen } = startStdio(t, [`${stdioFixtures}good.mjs`], { ERAS: eras })
    const { negotiation, names } = await read(client, 'stdio')
    assert.deepEqual(seen.opened, opened)
    assert.deepEqual([seen.most, seen.running], [1, 0])
    assert.equal(negotiation.modern, '2026-07-28')
    assert.equal(negotiation.legacy, opened.length === 2 ? '2025-11-25' : null)
    assert.ok(names.includes('tool echo'), names.join())
  }
})

test('tools that need sampling, elicitation or roots are listed too', async (t) => {
  const main = new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url)
  const { client } = startStdio(t, [main.pathname, 'stdio'])
  const { negotiation, names } = await read(client, 'stdio')
  assert.deepEqual([negotiation.modern, negotiation.legacy], [null, '2025-11-25'])
  assert.ok(names.filter((name) => name.startsWith('tool ')).length >= 16, names.join())
})
