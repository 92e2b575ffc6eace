import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResultStore } from '../../src/registry/results.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { migrateToLatest } from '../../src/registry/store/migrate.ts'
import { anyEngine, addCleanup, freshPlace } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { as, enterprise, rest } from './definition-helpers.ts'
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
