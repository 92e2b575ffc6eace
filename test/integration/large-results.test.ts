import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { buildApp } from '../../src/app.ts'
import { deleteExpired } from '../../src/registry/logs/expiry.ts'
import { createResultStore, resultExpiry } from '../../src/registry/results.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { migrateToLatest } from '../../src/registry/store/migrate.ts'
import { freshConfig } from '../app.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { anyEngine, addCleanup, engines, freshPlace } from '../store.ts'
import { until } from '../until.ts'
import { limits, quiet } from '../templates.ts'
import { as, enterprise, rest } from './definition-helpers.ts'
import type { Item } from '../../src/catalog/catalog.ts'
import { Payload } from '../../src/json/payload.ts'
import { LargeResults } from '../../src/mcp/results/large-results.ts'
import type { RequestContext } from '../../src/mcp/sessions/request-context.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { startMcp, type RpcAnswer } from './mcp-helpers.ts'
import { callTool, textOf } from './search-helpers.ts'
import { eras, startViews, type Ask } from './view-helpers.ts'

const long = 'aé東😀 '.repeat(20_000)
const limited = { max_result_tokens: 500 }

/** Reads a text in parts. */
async function readAll(ask: Ask, uri: string): Promise<string> {
  let text = ''
  for (let next = 0, size = 1; next < size;) {
    const { result, error } = await ask('resources/read', { uri: `${uri}?from=${next}&bytes=60000` })
    assert.ok(result, JSON.stringify(error))
    const [part] = result.contents as { text: string; _meta: Record<string, number> }[]
    text += part!.text
    next = part!._meta['dev.towpath/next']!
    size = part!._meta['dev.towpath/size']!
  }
  return text
}

const linkOf = ({ result }: RpcAnswer) =>
  (result.content as { type: string; uri?: string }[]).find(({ type }) => type === 'resource_link')?.uri

test('a long result is cut in every way, and can be read as a whole by its caller', async (t) => {
  const gateway = await startViews(t)
  assert.equal((await gateway.group({ ...limited, tool_list: 'search' })).status, 201)
  for (const way of eras.filter((each) => each !== 'modern')) {
    const ask = await gateway.way(way, 'g')
    for (const [name, args] of [
      ['demo__echo', { text: long }],
      ['call_tool', { name: 'demo__echo', arguments: { text: long } }]
    ] as const) {
      const answer = await callTool(ask, name, args)
      assert.ok(textOf(answer).length < 3_000, way)
      assert.match(textOf(answer), /bytes of \d+ are left out; read them at towpath:\/\/results\//)
      const whole = JSON.parse(await readAll(ask, linkOf(answer)!)) as { arguments: { text: string } }
      assert.equal(whole.arguments.text, long)
    }
    const short = await callTool(ask, 'demo__echo', { text: 'short' })
    assert.equal(linkOf(short), undefined)
  }
})

test('a text of many parts is read whole, from any position', async (t) => {
  const gateway = await startViews(t)
  assert.equal((await gateway.group(limited)).status, 201)
  const ask = await gateway.way('session', 'g')
  const text = '😀é'.repeat(100_000)
  const uri = linkOf(await callTool(ask, 'demo__echo', { text }))!
  const read = async (from: number, bytes: number) => {
    const { result } = await ask('resources/read', { uri: `${uri}?from=${from}&bytes=${bytes}` })
    const [part] = result.contents as { text: string; _meta: Record<string, number> }[]
    return { text: part!.text, next: part!._meta['dev.towpath/next']!, size: part!._meta['dev.towpath/size']! }
  }
  const { size } = await read(0, 1)
  assert.ok(size > 2 * 262_144)
  let whole = ''
  for (let next = 0; next < size;) {
    const part = await read(next, 50_001)
    assert.ok(part.next > next)
    whole += part.text
    next = part.next
  }
  assert.equal((JSON.parse(whole) as { arguments: { text: string } }).arguments.text, text)
  const bytes = Buffer.from(whole)
  // around the border of two parts every position begins with the next character
  for (let from = 262_138; from < 262_150; from++) {
    const part = await read(from, 20)
    assert.equal(bytes.subarray(part.next - Buffer.byteLength(part.text), part.next).toString(), part.text, `${from}`)
    assert.ok(part.next - Buffer.byteLength(part.text) - from < 4, `${from}`)
  }
  assert.deepEqual(await read(size, 10), { text: '', next: size, size })
  assert.deepEqual(await read(size + 1_000_000, 10), { text: '', next: size, size })
})

test('a modern caller reads with the header of the address', async (t) => {
  const gateway = await startViews(t)
  assert.equal((await gateway.group(limited)).status, 201)
  const headers = (uri: string) => ({ 'mcp-name': uri })
  const answer = await callTool(await gateway.way('modern', 'g'), 'demo__echo', { text: long })
  const uri = `${linkOf(answer)!}?from=0&bytes=100`
  const ask = await gateway.way('modern', 'g', headers(uri))
  const { result, error } = await ask('resources/read', { uri })
  assert.ok(result, JSON.stringify(error))
  assert.equal(Buffer.byteLength(result.contents[0].text as string) >= 100, true)
})

test('tools with an output schema are never cut, nor results at other endpoints', async (t) => {
  const schema = { type: 'object', properties: {} }
  const shaped = { name: 'shaped', inputSchema: { type: 'object' }, outputSchema: schema }
  const gateway = await startViews(t, { tools: [shaped] })
  assert.equal((await gateway.group(limited)).status, 201)
  const ask = await gateway.way('session', 'g')
  assert.equal(linkOf(await callTool(ask, 'demo__shaped', { text: long })), undefined)
  const other = await gateway.way('session', undefined)
  assert.equal(linkOf(await callTool(other, 'demo__echo', { text: long })), undefined)
  const uri = linkOf(await callTool(ask, 'demo__echo', { text: long }))!
  assert.equal((await other('resources/read', { uri })).error?.code, -32002)
  for (const bad of [
    `${uri}?bytes=65537`,
    `${uri}?from=-1`,
    `${uri}?from=x`,
    uri.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
  ]) {
    assert.equal((await ask('resources/read', { uri: bad })).error?.code, -32002)
  }
  assert.equal((await gateway.rest('POST', '/tools/disable?entity=demo__echo')).status, 200)
  assert.equal((await ask('resources/read', { uri })).error?.code, -32002, 'the tool is not served any more')
})

test('a result is read by the client that called, and by no other', async (t) => {
  const mcp = await startMcp(t, enterprise)
  const demo = await startRecorder(t, { name: 'demo' })
  assert.equal(
    (await rest(mcp.app, 'POST', '/servers', { name: 'demo', transport: 'streamable_http', url: demo.url })).status,
    201
  )
  assert.equal(
    (await rest(mcp.app, 'POST', '/tool-groups', { name: 'g', included_servers: ['demo'], ...limited })).status,
    201
  )
  const tokens: string[] = []
  for (const name of ['one', 'two']) {
    const made = await rest(mcp.app, 'POST', '/clients', { name, allowed_servers: ['demo'] })
    tokens.push(made.body.access_token as string)
  }
  const ask = async (token: string, method: string, params: object) => {
    const payload = { jsonrpc: '2.0', id: 1, method, params }
    const headers = { accept: 'application/json, text/event-stream', ...as(token) }
    return JSON.parse(
      (await mcp.app.inject({ method: 'POST', url: '/v0/groups/g/mcp', headers, payload })).body
    ) as RpcAnswer
  }
  const uri = linkOf(await ask(tokens[0]!, 'tools/call', { name: 'demo__echo', arguments: { text: long } }))!
  assert.ok((await ask(tokens[0]!, 'resources/read', { uri })).result)
  assert.equal((await ask(tokens[1]!, 'resources/read', { uri })).error?.code, -32002)
})

test('of what is kept for a caller the oldest goes, and others keep theirs', async (t) => {
  const store = await openStore({ ...(await freshPlace(t, anyEngine)), ...limits, ...quiet })
  addCleanup(t, () => store.close())
  await migrateToLatest(store)
  const results = createResultStore(store.db, 250)
  const hash = (name: string) => Buffer.alloc(32, name)
  for (const name of ['a', 'b', 'c']) {
    await results.add([{ hash: hash(name), caller: 'one', sealed: Buffer.alloc(100, name) }])
    if (name === 'a') await results.add([{ hash: hash('x'), caller: 'two', sealed: Buffer.alloc(200) }])
  }
  const isKept = async (name: string, caller: string) => (await results.find(hash(name), caller)) !== undefined
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map((name) => isKept(name, 'one'))), [false, true, true])
  assert.deepEqual([await isKept('x', 'two'), await isKept('x', 'one'), await isKept('b', 'two')], [true, false, false])
})

test('parts of a text that made room for later ones cannot be read, its other parts can', async (t) => {
  const store = await openStore({ ...(await freshPlace(t, anyEngine)), ...limits, ...quiet })
  addCleanup(t, () => store.close())
  await migrateToLatest(store)
  const results = new LargeResults({
    store: createResultStore(store.db, 600_000),
    key: Buffer.alloc(32, 1),
    log: { warn: (details) => assert.fail(JSON.stringify(details)) }
  })
  const item = { name: 'tool', server: { name: 'demo' } } as Item
  const server = { name: 'demo', find: () => item }
  const context = {
    caller: { key: 'one' },
    endpoint: '/mcp',
    scope: { servers: [server], includes: () => true }
  } as unknown as RequestContext
  const text = 'x'.repeat(3 * 262_144 + 10)
  const whole = Payload.of(JSON.stringify({ content: [{ type: 'text', text }] }))
  const short = (await results.shorten(context, item, 500, whole))!.toString()
  const [uri] = /towpath:\/\/results\/[\w-]+/.exec(short)!
  const read = (from: number, bytes: number) => results.read(context, `${uri}?from=${from}&bytes=${bytes}`)
  assert.equal(await read(0, 10), undefined)
  assert.equal(await read(262_144 - 5, 10), undefined)
  assert.deepEqual(await read(2 * 262_144, 10), { text: 'xxxxxxxxxx', next: 2 * 262_144 + 10, size: text.length })
  assert.equal((await read(3 * 262_144 - 5, 65_536))?.text.length, 15)
})

test('a text can be read for an hour by the clock of the database, and its row then goes', async (t) => {
  const store = await openStore({ ...(await freshPlace(t, anyEngine)), ...limits, ...quiet })
  addCleanup(t, () => store.close())
  await migrateToLatest(store)
  const results = createResultStore(store.db)
  const [old, fresh] = [Buffer.alloc(32, 'old'), Buffer.alloc(32, 'fresh')]
  for (const hash of [old, fresh]) await results.add([{ hash, caller: 'one', sealed: Buffer.from('x') }])
  const { rows } = await sql<{ seconds: number }>`
    select distinct extract(epoch from expires_at - created_at)::int as seconds from results`.execute(store.db)
  assert.deepEqual(rows, [{ seconds: 3_600 }])
  const age = (by: string) =>
    sql`update results set expires_at = expires_at - ${by}::interval where hash = ${old}`.execute(store.db)
  await age('59 minutes')
  assert.ok(await results.find(old, 'one'))
  assert.equal(await deleteExpired(store.db, resultExpiry), 0)
  await age('1 minute 1 second')
  assert.equal(await results.find(old, 'one'), undefined)
  assert.equal(await deleteExpired(store.db, resultExpiry), 1)
  assert.ok(await results.find(fresh, 'one'))
})

test('parts that begin or end within a character have whole characters, and follow each other', async (t) => {
  const gateway = await startViews(t)
  assert.equal((await gateway.group(limited)).status, 201)
  const ask = await gateway.way('session', 'g')
  const answer = await callTool(ask, 'demo__echo', { text: long })
  const uri = linkOf(answer)!
  const part = async (query: string) => {
    const { result, error } = await ask('resources/read', { uri: `${uri}?${query}` })
    assert.ok(result, JSON.stringify(error))
    const [{ text, _meta }] = result.contents as [{ text: string; _meta: Record<string, number> }]
    return { text, next: _meta['dev.towpath/next']!, size: _meta['dev.towpath/size']! }
  }
  const { size } = await part('bytes=1')
  const whole = Buffer.from(await readAll(ask, uri))
  assert.equal(whole.length, size)
  for (let bytes = 1; bytes <= 5; bytes++) {
    let read = ''
    let next = 2_000
    while (whole[next]! >= 0x80) next++
    const from = next
    for (let i = 0; i < 8; i++) {
      const found = await part(`from=${next}&bytes=${bytes}`)
      assert.ok(found.next > next)
      read += found.text
      next = found.next
    }
    assert.equal(read, whole.subarray(from, next).toString())
  }
  for (let from = 2_000; from < 2_012; from++) assert.doesNotMatch((await part(`from=${from}&bytes=3`)).text, /\uFFFD/)
  for (const from of [size, size + 1, 9_999_999_999]) {
    assert.deepEqual(await part(`from=${from}`), { text: '', next: size, size })
  }
})

test('a text is not read at another endpoint, nor once its tool is out of the scope', async (t) => {
  const mcp = await startMcp(t, enterprise)
  const demo = await startRecorder(t, { name: 'demo' })
  const server = { name: 'demo', transport: 'streamable_http', url: demo.url }
  assert.equal((await rest(mcp.app, 'POST', '/servers', server)).status, 201)
  for (const name of ['g', 'h']) {
    const group = { name, included_servers: ['demo'], ...limited }
    assert.equal((await rest(mcp.app, 'POST', '/tool-groups', group)).status, 201)
  }
  const made = await rest(mcp.app, 'POST', '/clients', { name: 'one', allowed_servers: ['demo'] })
  const ask = async (endpoint: string, method: string, params: object) => {
    const payload = { jsonrpc: '2.0', id: 1, method, params }
    const headers = {
      accept: 'application/json, text/event-stream',
      ...as(made.body.access_token as string)
    }
    return JSON.parse((await mcp.app.inject({ method: 'POST', url: endpoint, headers, payload })).body) as RpcAnswer
  }
  const g = '/v0/groups/g/mcp'
  const call = { name: 'demo__echo', arguments: { text: long } }
  const uri = linkOf(await ask(g, 'tools/call', call))!
  const isRead = async (endpoint = g) => {
    const { result, error } = await ask(endpoint, 'resources/read', { uri: `${uri}?bytes=10` })
    // a group of which a client may use nothing does not exist for it
    const { code } = error ?? {}
    if (!result) assert.ok(code === -32002 || /does not exist/.test(JSON.stringify(error)), JSON.stringify(error))
    return result !== undefined
  }
  assert.deepEqual([await isRead(), await isRead('/v0/groups/h/mcp'), await isRead('/mcp')], [true, false, false])
  const whole = { included_servers: ['demo'], ...limited }
  const change = async (method: 'PUT' | 'PATCH', path: string, body: object) => {
    const { status, body: answer } = await rest(mcp.app, method as 'PUT', path, body)
    assert.ok(status < 300, JSON.stringify(answer))
  }
  await change('PUT', '/tool-groups/g', { ...whole, excluded_tools: ['demo__echo'] })
  assert.equal(await isRead(), false)
  await change('PUT', '/tool-groups/g', whole)
  assert.equal(await isRead(), true)
  await change('PUT', '/clients/one', { allowed_servers: [] })
  assert.equal(await isRead(), false)
  await change('PUT', '/clients/one', { allowed_servers: ['demo'] })
  assert.equal(await isRead(), true)
  assert.equal((await rest(mcp.app, 'DELETE', '/servers/demo')).status, 204)
  assert.equal(await isRead(), false)
})

test(
  'while the database is away results are sent whole, and what was cut before can be read afterwards',
  { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' },
  async (t) => {
    const env = { TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '1000', TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '2000' }
    const direct = await freshConfig(t, env, 'postgres')
    const proxy = await startFaultProxy(direct.databaseUrl!)
    addCleanup(t, proxy.close)
    const databaseUrl = proxy.urlOf(direct.databaseUrl!)
    const lines: string[] = []
    const log = { write: (line: string) => void lines.push(line) }
    const app = await buildApp({ ...direct, databaseUrl, directDatabaseUrl: databaseUrl }, { log })
    addCleanup(t, () => app.close())
    await app.ready()
    await until('the gateway is ready', async () => (await app.inject('/ready')).statusCode === 200)
    const demo = await startRecorder(t, { name: 'demo' })
    const server = { name: 'demo', transport: 'streamable_http', url: demo.url }
    assert.equal((await rest(app, 'POST', '/servers', server)).status, 201)
    const group = { name: 'g', included_servers: ['demo'], ...limited }
    assert.equal((await rest(app, 'POST', '/tool-groups', group)).status, 201)
    const ask: Ask = async (method, params = {}) => {
      const payload = { jsonrpc: '2.0', id: 1, method, params }
      const headers = { accept: 'application/json, text/event-stream' }
      return JSON.parse(
        (await app.inject({ method: 'POST', url: '/v0/groups/g/mcp', headers, payload })).body
      ) as RpcAnswer
    }
    const cut = await callTool(ask, 'demo__echo', { text: long })
    await proxy.cut()
    const whole = await callTool(ask, 'demo__echo', { text: long })
    assert.equal(linkOf(whole), undefined)
    assert.equal((JSON.parse(textOf(whole)) as { arguments: { text: string } }).arguments.text, long)
    const { error } = await ask('resources/read', { uri: linkOf(cut)! })
    assert.equal(error?.code, -32603)
    assert.match(JSON.stringify(error), /"reason":"overloaded"/)
    await until('the log says so', () => /a long result cannot be stored, and is sent whole/.test(lines.join('')))
    await proxy.mend()
    await until('the text can be read', async () => (await ask('resources/read', { uri: linkOf(cut)! })).result)
  }
)
