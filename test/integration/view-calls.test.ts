import assert from 'node:assert/strict'
import { test } from 'node:test'
import { legacyBody, modernBody, modernHeaders, readAnswer, type RpcAnswer } from './mcp-helpers.ts'
import { eras, namesOf, received, startViews, toolsOf, type Ask, type ViewGateway } from './view-helpers.ts'

const add = 'demo__add'
const META = 'towpath/approval'
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const regionTool = {
  name: 'scan',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      size: { type: 'integer', 'x-mcp-header': 'Size' },
      free: { type: 'string' }
    },
    required: ['region', 'size']
  }
}

/** Returns the parameter headers of the last call that reached the server. */
const sentHeaders = ({ demo }: ViewGateway) => {
  const last = demo.requests.findLast(({ message }) => message?.method === 'tools/call')!
  return Object.fromEntries(Object.entries(last.headers).filter(([name]) => name.startsWith('mcp-param-')))
}

test('a locked argument and a default yield their headers at the server, and no caller can send them', async (t) => {
  const gateway = await startViews(t, { modern: 'only', tools: [regionTool] })
  const overrides = { region: { lock: 'eu west' }, size: { default: 5 } }
  assert.equal((await gateway.group({ tools: { demo__scan: { arguments: overrides } } })).status, 201)
  const call = { name: 'demo__scan', arguments: { free: 'x' } }
  for (const way of eras) {
    const ask = await gateway.way(way, 'g')
    const [tool] = toolsOf(await ask('tools/list')).filter(({ name }) => name === 'demo__scan')
    assert.deepEqual(Object.keys((tool!.inputSchema as { properties: object }).properties), ['size', 'free'])
    assert.deepEqual(received(await ask('tools/call', call)), { free: 'x', region: 'eu west', size: 5 })
    assert.deepEqual(sentHeaders(gateway), { 'mcp-param-region': 'eu west', 'mcp-param-size': '5' }, way)
  }
  const { origin } = new URL(gateway.mcp.url)
  const post = async (args: object, more: Record<string, string>) => {
    const headers = { ...json, ...modernHeaders('tools/call', call.name), ...more }
    const body = modernBody('tools/call', { name: call.name, arguments: args })
    return readAnswer(await fetch(`${origin}/v0/groups/g/mcp`, { method: 'POST', headers, body }))
  }
  const sent = gateway.demo.calls('tools/call').length
  const refused = await post({ free: 'x' }, { 'mcp-param-region': 'us' })
  assert.deepEqual([refused.status, refused.body.error?.code], [400, -32020])
  assert.ok(!refused.text.includes('eu west'))
  assert.equal((await post({ region: 'us' }, { 'mcp-param-region': 'us' })).body.error?.code, -32602)
  assert.equal(gateway.demo.calls('tools/call').length, sent)
  const own = await post({ size: 7 }, { 'mcp-param-size': '7' })
  assert.deepEqual(received(own.body), { size: 7, region: 'eu west' })
  assert.deepEqual(sentHeaders(gateway), { 'mcp-param-region': 'eu west', 'mcp-param-size': '7' })
})

test('an enum takes its values alone, on every way', async (t) => {
  const gateway = await startViews(t)
  assert.equal(
    (await gateway.group({ tools: { [add]: { arguments: { b: { enum: [1, 0], default: 1 } } } } })).status,
    201
  )
  for (const way of eras) {
    const ask = await gateway.way(way, 'g')
    assert.deepEqual(received(await ask('tools/call', { name: add, arguments: { a: 2, b: 0 } })), { a: 2, b: 0 })
    for (const b of [2, '1', null, [1]]) {
      const { error } = await ask('tools/call', { name: add, arguments: { a: 2, b } })
      assert.equal(error?.message, 'Invalid params: argument "b" must be one of [1,0]')
      assert.deepEqual(error.data, { argument: 'b' })
    }
  }
  const { origin } = new URL(gateway.mcp.url)
  for (const args of [
    '{"b":-0}',
    '{"b":1,"b":2}',
    '{"b":1,"B":2}',
    '{"b":1.000000000000000000001}',
    '{"__proto__":{"b":2}}'
  ]) {
    const body = legacyBody('tools/call', { name: add, arguments: 'ARGS' }).replace('"ARGS"', args)
    const answer = await readAnswer(await fetch(`${origin}/v0/groups/g/mcp`, { method: 'POST', headers: json, body }))
    assert.equal(answer.body.error?.code, -32602, args)
  }
})

/** Returns the error of a call, or the text that it could not run with. */
const outcome = ({ result, error }: RpcAnswer) => error?.message ?? (result.isError ? result.content[0].text : 'done')

test('policies judge the tool at its server and the arguments that will be sent', async (t) => {
  const gateway = await startViews(t)
  const policy = async (name: string, rule: object) => {
    const { status, body } = await gateway.rest('POST', '/policies', { name, ...rule })
    assert.equal(status, 201, JSON.stringify(body))
  }
  await policy('no-forty', {
    effect: 'deny',
    targets: { tools: ['add'] },
    when: 'args.b == 40.0',
    reason: 'Not forty.'
  })
  await policy('no-words', { effect: 'deny', targets: { servers: ['demo'], tools: ['word_count'] } })
  const tools = { [add]: { name: 'word_count', arguments: { b: { lock: 40 } } }, demo__word_count: { name: 'free' } }
  assert.equal((await gateway.group({ tools })).status, 201)
  for (const way of eras) {
    const ask = await gateway.way(way, 'g')
    assert.deepEqual(namesOf(await ask('tools/list')), ['word_count'])
    assert.equal(outcome(await ask('tools/call', { name: 'word_count', arguments: { a: 1 } })), 'Not forty.')
    for (const name of ['free', 'demo__word_count']) {
      assert.equal(outcome(await ask('tools/call', { name, arguments: {} })), `Unknown tool: ${name}`)
    }
  }
  assert.equal(gateway.demo.calls('tools/call').length, 0)
})

test('a yes is for the arguments that will be sent, whose secrets nobody is shown', async (t) => {
  const gateway = await startViews(t)
  await gateway.rest('POST', '/policies', {
    name: 'ask',
    effect: 'approve',
    targets: { tools: ['add', 'word_count'] },
    hold_ms: 0
  })
  const group = (lock: number) => ({
    included_servers: ['demo'],
    tools: {
      [add]: { name: 'plus', arguments: { b: { lock } } },
      demo__word_count: { arguments: { text: { lock: { secret: 'pass-word' } } } }
    }
  })
  assert.equal((await gateway.group(group(40))).status, 201)
  const pending = async () =>
    (await gateway.rest('GET', '/approvals?status=pending')).body as {
      id: string
      fingerprint: string
      arguments: unknown
      tool: string
    }[]
  const decide = async (verb: string) => {
    const [entry] = await pending()
    const decision = { fingerprint: entry!.fingerprint }
    assert.equal((await gateway.rest('POST', `/approvals/${entry!.id}/${verb}`, decision)).status, 200)
    return entry!
  }
  const statusOf = ({ result }: RpcAnswer) => result._meta?.[META]?.status as string | undefined
  for (const way of eras) {
    const ask = await gateway.way(way, 'g')
    const call = (args: object) => ask('tools/call', { name: 'plus', arguments: args })
    assert.equal(statusOf(await call({ a: way.length })), 'pending', way)
    const { arguments: shown, tool } = await decide('approve')
    assert.deepEqual([tool, shown], ['add', { a: way.length, b: 40 }])
    // another lock is another call
    assert.equal((await gateway.rest('PUT', '/tool-groups/g', group(41))).status, 200)
    assert.equal(statusOf(await call({ a: way.length })), 'pending')
    assert.deepEqual((await decide('deny')).arguments, { a: way.length, b: 41 })
    assert.equal((await gateway.rest('PUT', '/tool-groups/g', group(40))).status, 200)
    assert.deepEqual(received(await call({ a: way.length })), { a: way.length, b: 40 })

    const secret = await ask('tools/call', { name: 'demo__word_count' })
    assert.equal(statusOf(secret), 'pending')
    const entry = await decide('approve')
    assert.deepEqual(entry.arguments, { text: '***' })
    await ask('tools/call', { name: 'demo__word_count' })
    assert.deepEqual(gateway.demo.calls('tools/call').at(-1)!.params, {
      name: 'word_count',
      arguments: { text: 'pass-word' },
      ...metaOf(gateway)
    })
  }
})

const metaOf = ({ demo }: ViewGateway) => {
  const { _meta } = demo.calls('tools/call').at(-1)!.params as { _meta?: object }
  return _meta ? { _meta } : {}
}

test('a person who is asked sees the arguments that will be sent, and exactly these are sent', async (t) => {
  const gateway = await startViews(t, { modern: true })
  await gateway.rest('POST', '/policies', {
    name: 'ask',
    effect: 'confirm',
    targets: { annotations: { destructive: true } },
    hold_ms: 0
  })
  const override = {
    annotations: { readOnlyHint: false, destructiveHint: true },
    arguments: { b: { lock: { secret: '40' } }, a: { default: 2 } }
  }
  const refused = await gateway.group({ tools: { [add]: override } })
  assert.match(refused.body.error, /does not take the locked value/)
  const asked = { ...override, arguments: { b: { lock: 40 }, a: { default: 2 } } }
  const tools = {
    [add]: asked,
    demo__word_count: {
      annotations: { destructiveHint: false },
      arguments: { text: { lock: { secret: 'pass-word' } } }
    }
  }
  assert.equal((await gateway.group({ tools })).status, 201)
  const { origin } = new URL(gateway.mcp.url)
  const ask = async (params: object) => {
    const meta = {
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      'io.modelcontextprotocol/protocolVersion': '2026-07-28'
    }
    const body = legacyBody('tools/call', { ...params, _meta: meta })
    const headers = { ...json, ...modernHeaders('tools/call', (params as { name: string }).name) }
    return (await readAnswer(await fetch(`${origin}/v0/groups/g/mcp`, { method: 'POST', headers, body }))).body
  }
  const first = await ask({ name: add })
  const { inputRequests, requestState } = first.result
  assert.match(inputRequests['towpath-confirm'].params.message, /\{"b":40,"a":2\}$/)
  const inputResponses = { 'towpath-confirm': { action: 'accept', content: { confirm: true } } }
  const done = await ask({ name: add, inputResponses, requestState })
  assert.deepEqual(received(done), { b: 40, a: 2 })
  // the group says that this one destroys nothing
  assert.deepEqual(received(await ask({ name: 'demo__word_count' })), { text: '***' })
  // at the global endpoint it is the other way round
  const global = await gateway.way('modern', undefined)
  const outcomes = [add, 'demo__word_count'].map(
    async (name) => (await global('tools/call', { name, arguments: {} })).result
  )
  const [plain, words] = await Promise.all(outcomes)
  assert.equal(plain.isError, undefined)
  assert.equal(words.isError, true)
})

test('the instructions of a group come before those of its servers', async (t) => {
  const gateway = await startViews(t)
  const instructions = 'Use these tools for sums only.'
  assert.equal((await gateway.group({ instructions, tools: { [add]: { name: 'plus' } } })).status, 201)
  const bare = { name: 'bare', included_servers: ['demo'], tool_names: 'bare', instructions }
  assert.equal((await gateway.rest('POST', '/tool-groups', bare)).status, 201)
  const told = async (ask: Ask, method: string, params = {}) =>
    (await ask(method, params)).result.instructions as string
  const clientInfo = { name: 'test', version: '1' }
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  for (const text of [
    await told(await gateway.way('stateless', 'g'), 'initialize', hello),
    await told(await gateway.way('modern', 'g'), 'server/discover')
  ]) {
    assert.match(text, /of each prompt, and of most tools, begins/)
    assert.ok(text.includes(`\n\n${instructions}`), text)
  }
  assert.equal(await told(await gateway.way('stateless', 'bare'), 'initialize', hello), `${instructions}\n\nBe kind`)
  assert.ok(!(await told(await gateway.way('stateless', undefined), 'initialize', hello)).includes(instructions))
  const long = await gateway.rest('PUT', '/tool-groups/g', {
    included_servers: ['demo'],
    instructions: 'ü'.repeat(4_097)
  })
  assert.deepEqual([long.status, long.body.error], [400, '"instructions" has more than 8192 bytes'])
})
