import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { createHttpClient } from '../../src/upstream/http/streamable-http-client.ts'
import { readLists } from '../../src/upstream/discovery/list-items.ts'
import { connector } from '../egress.ts'
import { type RpcMessage, openEvents, sendEvent, sendJson, startHttp } from '../fixtures/http/server.ts'

const everything = { tools: {}, prompts: {}, resources: {} }

/**
 * Registers a server and lists its items over the modern era. `answer` returns JSON text (or bytes) of `result`, or an
 * error object.
 */
async function read(
  t: TestContext,
  answer: (message: RpcMessage) => string | Buffer | object,
  capabilities: object = everything
) {
  const upstream = await startHttp((request, response) => {
    const { id } = request.message!
    const given = answer(request.message!)
    const isText = typeof given === 'string' || Buffer.isBuffer(given)
    if (!isText) return sendJson(response, 200, { jsonrpc: '2.0', id, error: given })
    response.writeHead(200, { 'content-type': 'application/json' }).write(`{"jsonrpc":"2.0","id":${id},"result":`)
    response.write(given)
    response.end('}')
  })
  const client = createHttpClient({
    url: upstream.origin,
    headers: {},
    version: '1',
    connector,
    maxResponseBytes: 16_777_216
  })
  t.after(async () => {
    client.close()
    await upstream.close()
  })
  const deadline = performance.now() + 60_000
  const connection = await client.open({ era: 'modern', capabilities: '{}', deadline })
  const warnings: string[] = []
  const options = { deadline, warn: (text: string) => warnings.push(text) }
  const { items, ttlMs } = await readLists(connection, capabilities as Record<string, unknown>, options)
  return { items, ttlMs, warnings, requests: upstream.requests }
}

const nothing = (method: string | undefined) =>
  `{"${{ 'prompts/list': 'prompts', 'resources/list': 'resources' }[method!] ?? 'resourceTemplates'}":[]}`
const tools =
  (...definitions: string[]) =>
  ({ method }: RpcMessage) =>
    method === 'tools/list' ? `{"tools":[${definitions.join(',')}]}` : nothing(method)
const tool = (name: string, more = '') => `{"name":${JSON.stringify(name)},"inputSchema":{"type":"object"}${more}}`

test('all four lists are read, definitions as the text that was sent', async (t) => {
  const echo = '{ "name":"echo", "inputSchema":{"type":"object","maximum":12345678901234567890.0},"x":"\\u00e4ü😀" }'
  const { items, requests } = await read(t, ({ method }) => {
    if (method === 'tools/list') return `{"nextCursor":null,"tools":[${echo} , ${tool('two')}]}`
    if (method === 'prompts/list') return '{"prompts":[{"name":"greet"}]}'
    if (method === 'resources/list') return '{"resources":[{"uri":"a://b","name":"b"}]}'
    return '{"resourceTemplates":[{"uriTemplate":"a://{x}","name":"x"}]}'
  })
  assert.deepEqual(items, [
    { kind: 'tool', name: 'echo', definition: echo },
    { kind: 'tool', name: 'two', definition: tool('two') },
    { kind: 'prompt', name: 'greet', definition: '{"name":"greet"}' },
    { kind: 'resource', name: 'a://b', definition: '{"uri":"a://b","name":"b"}' },
    { kind: 'template', name: 'a://{x}', definition: '{"uriTemplate":"a://{x}","name":"x"}' }
  ])
  const declared = requests[0]!.message!.params!._meta as Record<string, unknown>
  assert.deepEqual(declared['io.modelcontextprotocol/clientCapabilities'], {
    sampling: {},
    elicitation: { form: {}, url: {} },
    roots: {},
    extensions: {
      'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] },
      'io.modelcontextprotocol/skills': {}
    }
  })
})

test('only lists of declared capabilities are asked for, and a method that is missing is an empty list', async (t) => {
  const { items, requests } = await read(
    t,
    ({ method }) => (method === 'tools/list' ? { code: -32601, message: 'no' } : nothing(method)),
    { tools: {} }
  )
  assert.deepEqual(items, [])
  assert.deepEqual(
    requests.map(({ message }) => message!.method),
    ['tools/list']
  )
})

test('lists are good for as long as the shortest-lived of them says; zero and nonsense say nothing', async (t) => {
  const hints: Record<string, string> = { 'prompts/list': '20000', 'resources/list': '0' }
  const answer = ({ method }: RpcMessage) => nothing(method).replace('{', `{"ttlMs":${hints[method!] ?? '-1'},`)
  const listed = (message: RpcMessage) =>
    message.method === 'tools/list' ? '{"ttlMs":30000,"tools":[]}' : answer(message)
  assert.equal((await read(t, listed, everything)).ttlMs, 20_000)
  for (const ttl of ['0', '"5"', '1.5', 'null']) {
    assert.equal((await read(t, () => `{"ttlMs":${ttl},"tools":[]}`, { tools: {} })).ttlMs, undefined, ttl)
  }
})

test('every page is read, an empty cursor included', async (t) => {
  const pages = new Map<unknown, string>([
    [undefined, `{"tools":[${tool('a')}],"nextCursor":""}`],
    ['', `{"tools":[],"nextCursor":"ü\\n"}`],
    ['ü\n', `{"tools":[${tool('b')}]}`]
  ])
  const { items } = await read(t, ({ params }) => pages.get(params!.cursor)!, { tools: {} })
  assert.deepEqual(
    items.map(({ name }) => name),
    ['a', 'b']
  )
})

test('a cursor that comes again ends the reading with an error', async (t) => {
  const endless = read(t, () => `{"tools":[],"nextCursor":"x"}`, { tools: {} })
  await assert.rejects(endless, new UpstreamFailure('bad_response', 'repeats a page of tools/list'))
})

test('more than a thousand pages are an error', async (t) => {
  let page = 0
  const endless = read(t, () => `{"tools":[],"nextCursor":"${page++}"}`, { tools: {} })
  await assert.rejects(endless, new UpstreamFailure('bad_response', 'has more than 1000 pages of tools/list'))
})

test('a refusal and a list that is none fail the reading', async (t) => {
  const refused = read(t, () => ({ code: -32000, message: '<b>not</b>\nnow' }), { tools: {} })
  await assert.rejects(refused, new UpstreamFailure('bad_response', 'refused tools/list: not now'))
  const odd = read(t, () => '{"tools":{}}', { tools: {} })
  await assert.rejects(odd, new UpstreamFailure('bad_response', 'answered tools/list without "tools"'))
})

test('items that break a bound are left out with a warning, the others stay', async (t) => {
  const deep = `,"x":${'['.repeat(80)}${']'.repeat(80)}`
  const { items, warnings } = await read(
    t,
    tools(
      tool('good'),
      tool('n'.repeat(257)),
      tool('described', `,"description":"${'d'.repeat(65_536)}"`),
      tool('schema', `,"outputSchema":{"x":"${'s'.repeat(262_144)}"}`),
      tool('deep', deep),
      tool('good', ',"second":true'),
      '{"title":"nameless"}',
      '{"name":7}',
      '"text"',
      tool('last')
    )
  )
  assert.deepEqual(
    items.map(({ name, definition }) => [name, definition]),
    [
      ['good', tool('good')],
      ['last', tool('last')]
    ]
  )
  assert.deepEqual(
    warnings.map((text) => text.replace(/n{50,}…?/, 'n')),
    [
      'tool "n" of the upstream is left out: its name is longer than 256 bytes',
      'tool "described" of the upstream is left out: its description is larger than 65536 bytes',
      'tool "schema" of the upstream is left out: its outputSchema is larger than 262144 bytes',
      'tool "deep" of the upstream is left out: it is nested deeper than 64 levels',
      'tool "good" of the upstream is left out: its name is listed twice',
      'tool of the upstream is left out: it has no usable "name"',
      'tool of the upstream is left out: it has no usable "name"',
      'tool of the upstream is left out: it has no usable "name"'
    ]
  )
})

/** Texts that must not reach a client, and the reported problem. */
const unusable: [string, string, string][] = [
  ['an escape that JSON does not have', '"\\q"', 'it is malformed JSON at position #'],
  ['an escape without its digits', '"\\uZZZZ"', 'it is malformed JSON at position #'],
  ['a line break in a string', '"a\nb"', 'it is malformed JSON at position #'],
  ['a NUL in a string', '"\0"', 'it is malformed JSON at position #'],
  ['an annotation and an escape', '"x-mcp-header \\q"', 'it is malformed JSON at position #'],
  ['a byte that is not UTF-8', '"\xff"', 'it is not valid UTF-8'],
  ['half of a pair in UTF-8', '"\xed\xa0\x80"', 'it is not valid UTF-8'],
  ['a number that begins with zero', '01', 'it is malformed JSON at position #'],
  ['a number that is none', 'NaN', 'it is malformed JSON at position #'],
  ['a literal of another language', 'None', 'it is malformed JSON at position #'],
  ['a comma too many', '[1,]', 'it is malformed JSON at position #'],
  ['a comma too many in an object', '{"a":1,}', 'it is malformed JSON at position #'],
  ['a key without quotes', '{a:1}', 'it is malformed JSON at position #'],
  ['a member without a value', '{"a"}', 'it is malformed JSON at position #'],
  ['no value', '', 'it is malformed JSON at position #'],
  ['too many levels', `${'['.repeat(70)}${']'.repeat(70)}`, 'it is nested deeper than 64 levels'],
  ['far too many levels', `${'['.repeat(9000)}${']'.repeat(9000)}`, 'it is nested deeper than 64 levels'],
  ['a member twice', '{"a":1,"a":2}', 'it repeats the member "a"'],
  ['a member twice, once escaped', '[{"ab":1,"a\\u0062":2}]', 'it repeats the member "ab"']
]
const listOf = { tool: 'tools', prompt: 'prompts', resource: 'resources', template: 'resourceTemplates' } as const
const listMethods: Record<string, string> = {
  tool: 'tools/list',
  prompt: 'prompts/list',
  resource: 'resources/list',
  template: 'resources/templates/list'
}
const keyOf = { tool: 'name', prompt: 'name', resource: 'uri', template: 'uriTemplate' } as const
const demanded = {
  tool: ',"inputSchema":{"type":"object"}',
  prompt: '',
  resource: ',"name":"n"',
  template: ',"name":"n"'
} as const
const kinds = ['tool', 'prompt', 'resource', 'template'] as const

for (const [what, value, reason] of unusable) {
  test(`SR-C1 of each list only the item with ${what} is left out, in any member`, async (t) => {
    const good = (kind: (typeof kinds)[number], name: string, more = '') =>
      `{"${keyOf[kind]}":"${name}"${demanded[kind]}${more}}`
    const { items, warnings } = await read(t, ({ method }) => {
      const kind = kinds.find((each) => listMethods[each] === method)!
      const bad = good(kind, 'b', `,"description":${value}`)
      const deep = good(kind, 'c', `,"x":[{"y":${value}}]`)
      const page = [good(kind, 'a'), bad, deep, good(kind, 'd')].join(',')
      return Buffer.from(`{"${listOf[kind]}":[${page}]}`, 'latin1')
    })
    const expected = kinds.flatMap((kind) => [
      { kind, name: 'a', definition: good(kind, 'a') },
      { kind, name: 'd', definition: good(kind, 'd') }
    ])
    assert.deepEqual(items, expected)
    assert.deepEqual(
      warnings.map((text) => text.replace(/position \d+/, 'position #')),
      kinds.flatMap((kind) => ['b', 'c'].map((name) => `${kind} "${name}" of the upstream is left out: ${reason}`))
    )
  })
}

test('SR-C1 an item whose name cannot be read is left out, and a half of a pair elsewhere is replaced', async (t) => {
  const lone = `{"name":"lone","description":"\\ud83d \\uDE00 \\\\ud83d \\ud83d\\uDE00","inputSchema":{"type":"object"}}`
  const given = tools(
    '{"name":"\\q"}',
    '{"name":"\\ud800"}',
    '{"name":"\\u0000"}',
    '{"name":""}',
    '{"na\\qme":"x"}',
    lone
  )
  const { items, warnings } = await read(t, given, { tools: {} })
  const definition = lone.replace('\\ud83d \\uDE00 ', '\\ufffd \\ufffd ')
  assert.deepEqual(items, [{ kind: 'tool', name: 'lone', definition }])
  assert.equal(warnings.length, 5)
})

test('SR-C1 a page whose cursor cannot be read fails the reading, and does not pass for the last', async (t) => {
  const broken = read(t, () => `{"tools":[],"nextCursor":"\\q"}`, { tools: {} })
  await assert.rejects(broken, new UpstreamFailure('bad_response', 'answered tools/list with a malformed "nextCursor"'))
})

test('of more than ten thousand items the first are kept', async (t) => {
  const many = Array.from({ length: 10_020 }, (_, i) => tool(`t${i}`))
  const { items, warnings } = await read(t, tools(...many), { tools: {} })
  assert.equal(items.length, 10_000)
  assert.equal(warnings.length, 11)
  assert.equal(warnings.at(-1), '10 more tools of the upstream are left out')
})

test('SR-H3 of more than a thousand URI templates the first are kept', async (t) => {
  const templates = Array.from({ length: 1_010 }, (_, i) => `{"uriTemplate":"x://${i}/{y}","name":"x"}`)
  const answer = ({ method }: RpcMessage) =>
    method === 'resources/templates/list' ? `{"resourceTemplates":[${templates.join()}]}` : nothing(method)
  const { items } = await read(t, answer, { resources: {} })
  assert.deepEqual([items.length, items.at(-1)?.name], [1_000, 'x://999/{y}'], 'what is kept')
})

test('SR-H3 no more than twenty thousand elements of a list are looked at, items or not', async (t) => {
  const page = `{"tools":[${tool('first')}${',1'.repeat(30_000)},${tool('last')}]}`
  const { items, warnings } = await read(t, () => page, { tools: {} })
  assert.deepEqual(
    items.map(({ name }) => name),
    ['first']
  )
  assert.equal(warnings.at(-1), '19990 more tools of the upstream are left out')
})

test('a push while lists are read is answered without anybody being asked', async (t) => {
  const pushes = ['roots/list', 'elicitation/create', 'sampling/createMessage', 'other/method']
  const upstream = await startHttp((request, response) => {
    const { id, method } = request.message!
    if (method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} } }
      return sendJson(response, 200, { jsonrpc: '2.0', id, result })
    }
    if (method !== 'tools/list') return response.writeHead(202).end(answered())
    openEvents(response)
    pushes.forEach((push, at) => sendEvent(response, { jsonrpc: '2.0', id: at, method: push, params: {} }))
    finish = () => response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"tools":[]}}\n\n`)
  })
  let finish = () => {}
  const answers = () => upstream.requests.flatMap(({ message }) => (message?.result || message?.error ? [message] : []))
  const answered = () => void (answers().length === pushes.length && finish())
  const client = createHttpClient({
    url: upstream.origin,
    headers: {},
    version: '1',
    connector,
    maxResponseBytes: 1_048_576
  })
  t.after(async () => {
    client.close()
    await upstream.close()
  })
  const deadline = performance.now() + 60_000
  const connection = await client.open({ era: 'legacy', capabilities: '{}', deadline })
  assert.deepEqual((await readLists(connection, { tools: {} }, { deadline, warn: () => {} })).items, [])
  const byId = answers().sort((a, b) => Number(a.id) - Number(b.id))
  assert.deepEqual(
    byId.map(({ result, error }) => result ?? error!.code),
    [{ roots: [] }, { action: 'cancel' }, -32603, -32601]
  )
})
