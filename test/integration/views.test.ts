import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demoRegistration } from '../../src/demo/registration.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { startMcp } from './mcp-helpers.ts'
import { as, enterprise, rest } from './definition-helpers.ts'
import { addTool, eras, namesOf, received, startViews, toolsOf, wordTool, type ViewGateway } from './view-helpers.ts'

const add = 'demo__add'
const find = (tools: readonly Record<string, unknown>[], name: string) => tools.find((tool) => tool.name === name)!

/** Runs a check in all ways of asking the group's endpoint. */
async function inEveryWay(
  gateway: ViewGateway,
  group: string,
  check: (ask: Awaited<ReturnType<ViewGateway['way']>>) => Promise<void>
) {
  for (const way of eras) {
    try {
      await check(await gateway.way(way, group))
    } catch (error) {
      ;(error as Error).message = `${way}: ${(error as Error).message}`
      throw error
    }
  }
}

for (const modern of [false, true]) {
  const era = modern ? 'modern' : 'legacy'

  test(`VS-01 a renamed tool is listed and called by its new name alone, and as usual elsewhere (${era} server)`, async (t) => {
    const gateway = await startViews(t, { modern })
    assert.equal((await gateway.group({ tools: { [add]: { name: 'plus' } } })).status, 201)
    await inEveryWay(gateway, 'g', async (ask) => {
      assert.deepEqual(namesOf(await ask('tools/list')), ['plus', 'demo__word_count'])
      assert.deepEqual(received(await ask('tools/call', { name: 'plus', arguments: { a: 1, b: 2 } })), { a: 1, b: 2 })
      for (const name of [add, 'add', 'demo__plus']) {
        const { error } = await ask('tools/call', { name, arguments: { a: 1, b: 2 } })
        assert.deepEqual([error?.code, error?.message], [-32602, `Unknown tool: ${name}`])
      }
      const other = await ask('tools/call', { name: 'demo__word_count', arguments: { text: 'x' } })
      assert.deepEqual(received(other), { text: 'x' })
    })
    for (const way of eras) {
      const ask = await gateway.way(way, undefined)
      assert.deepEqual(namesOf(await ask('tools/list')), [add, 'demo__word_count'])
      assert.equal((await ask('tools/call', { name: 'plus', arguments: {} })).error?.code, -32602)
      assert.deepEqual(received(await ask('tools/call', { name: add, arguments: { a: 1, b: 2 } })), { a: 1, b: 2 })
    }
    for (const call of gateway.demo.calls('tools/call')) {
      assert.ok(['add', 'word_count'].includes((call.params as { name: string }).name))
    }
  })

  test(`VS-02 a locked argument is not shown, is put into every call, and must not be sent (${era} server)`, async (t) => {
    const gateway = await startViews(t, { modern })
    assert.equal((await gateway.group({ tools: { [add]: { arguments: { b: { lock: 40 } } } } })).status, 201)
    await inEveryWay(gateway, 'g', async (ask) => {
      const { inputSchema } = find(toolsOf(await ask('tools/list')), add) as { inputSchema: object }
      const { a } = addTool.inputSchema.properties
      assert.deepEqual(inputSchema, { ...addTool.inputSchema, properties: { a }, required: ['a'] })
      assert.deepEqual(received(await ask('tools/call', { name: add, arguments: { a: 2 } })), { a: 2, b: 40 })
      assert.deepEqual(received(await ask('tools/call', { name: add, arguments: {} })), { b: 40 })
      assert.deepEqual(received(await ask('tools/call', { name: add })), { b: 40 })
      const sent = gateway.demo.calls('tools/call').length
      for (const b of [1, 40, null]) {
        const { error } = await ask('tools/call', { name: add, arguments: { a: 2, b } })
        assert.equal(error?.code, -32602)
        assert.match(error.message, /argument "b" is set by this endpoint/)
        assert.ok(!error.message.includes('40'))
      }
      assert.equal(gateway.demo.calls('tools/call').length, sent)
    })
  })

  test(`VS-03 a default makes an argument optional and is put in where it is absent (${era} server)`, async (t) => {
    const gateway = await startViews(t, { modern })
    assert.equal((await gateway.group({ tools: { [add]: { arguments: { b: { default: 40 } } } } })).status, 201)
    await inEveryWay(gateway, 'g', async (ask) => {
      const { inputSchema } = find(toolsOf(await ask('tools/list')), add) as { inputSchema: object }
      const { a, b } = addTool.inputSchema.properties
      assert.deepEqual(inputSchema, {
        ...addTool.inputSchema,
        properties: { a, b: { ...b, default: 40 } },
        required: ['a']
      })
      assert.deepEqual(received(await ask('tools/call', { name: add, arguments: { a: 2 } })), { a: 2, b: 40 })
      assert.deepEqual(received(await ask('tools/call', { name: add, arguments: { a: 2, b: 1 } })), { a: 2, b: 1 })
    })
  })
}

test('VS-02 VS-03 the demo server adds what a lock or a default gives it', async (t) => {
  const mcp = await startMcp(t)
  const { status } = await rest(mcp.app, 'POST', '/servers', demoRegistration())
  assert.equal(status, 201)
  const { origin } = new URL(mcp.url)
  for (const [group, override] of [
    ['locked', { lock: 40 }],
    ['default', { default: 40 }]
  ] as const) {
    const tools = { [add]: { arguments: { b: override } } }
    assert.equal(
      (await rest(mcp.app, 'POST', '/tool-groups', { name: group, included_servers: ['demo'], tools })).status,
      201
    )
    const call = async (args: object) => {
      const params = { name: add, arguments: args }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      const answer = await fetch(`${origin}/v0/groups/${group}/mcp`, { method: 'POST', headers, body })
      const { result, error } = (await answer.json()) as {
        result?: { structuredContent: unknown }
        error?: { code: number }
      }
      return result?.structuredContent ?? error?.code
    }
    assert.deepEqual(await call({ a: 2 }), { sum: 42 })
    assert.deepEqual(await call({ a: 2, b: 1 }), group === 'locked' ? -32602 : { sum: 3 })
  }
})

test('VS-04 a changed title and description leave every other member byte for byte as it was', async (t) => {
  const gateway = await startViews(t)
  const override = { title: 'Sum', description: 'Adds.', annotations: { destructiveHint: false } }
  assert.equal((await gateway.group({ tools: { [add]: override } })).status, 201)
  const { body } = await gateway.rest('GET', '/tool-groups/g/effective-tools?detail=definitions')
  const definitions = body.definitions as { tool: string; definition: object; tokens: number; tokens_before: number }[]
  const preview = await gateway.rest('POST', '/tool-groups/preview', {
    included_servers: ['demo'],
    tools: { [add]: override }
  })
  assert.deepEqual(preview, { status: 200, body })
  await inEveryWay(gateway, 'g', async (ask) => {
    const tool = find(toolsOf(await ask('tools/list')), add)
    const { annotations } = addTool
    assert.deepEqual(tool, {
      ...addTool,
      name: add,
      ...override,
      annotations: { ...annotations, destructiveHint: false }
    })
    assert.equal(JSON.stringify(tool._meta), JSON.stringify(addTool._meta))
    assert.deepEqual(definitions.find(({ tool: name }) => name === add)!.definition, tool)
  })
  const { tokens, tokens_before } = definitions.find(({ tool }) => tool === add)!
  assert.ok(tokens < tokens_before)
  assert.equal(body.tokens_before - body.tokens, tokens_before - tokens)
})

test('VS-05 what cannot be applied is refused with a reason and not stored', async (t) => {
  const either = {
    name: 'either',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }]
    }
  }
  const gateway = await startViews(t, { tools: [addTool, wordTool, either] })
  const refused: [tools: object, reason: RegExp][] = [
    [{ [add]: { arguments: { c: { lock: 1 } } } }, /"c" is no property/],
    [{ demo__either: { arguments: { a: { lock: 'x' } } } }, /also names it in "oneOf"/],
    [{ [add]: { name: 'a b' } }, /the name "a b" must be/],
    [{ [add]: { name: 'x'.repeat(65) } }, /must be 1 to 64/],
    [{ [add]: { name: 'demo__word_count' } }, /by its name/],
    [{ [add]: { name: 'same' }, demo__word_count: { name: 'same' } }, /used twice/],
    [{ [add]: { arguments: { b: { lock: 1, default: 2 } } } }, /can have nothing else/],
    [{ [add]: { arguments: { b: { lock: 'text' } } } }, /does not take the locked value/],
    [{ [add]: { arguments: { b: { enum: [1, 2], default: 3 } } } }, /default outside of its enum/],
    [{ [add]: { arguments: { b: { enum: [1, 1] } } } }, /twice/],
    [{ [add]: { arguments: { b: { enum: [{}] } } } }, /strings, numbers/],
    [{ [add]: { arguments: { b: {} } } }, /needs a lock/],
    [{ [add]: { arguments: { b: { lock: { secret: '***' } } } } }, /no stored secret/],
    [{ demo__gone: { name: 'x' } }, /unknown tool: "demo__gone"/]
  ]
  for (const [tools, reason] of refused) {
    const { status, body } = await gateway.group({ tools })
    assert.equal(status, 400, JSON.stringify(tools))
    assert.match(body.error, reason)
    const preview = await gateway.rest('POST', '/tool-groups/preview', { included_servers: ['demo'], tools })
    assert.deepEqual([preview.status, preview.body], [400, body])
  }
  assert.deepEqual((await gateway.rest('GET', '/tool-groups')).body, [])
  const swapped = { [add]: { name: 'demo__word_count' }, demo__word_count: { name: add } }
  assert.equal((await gateway.group({ tools: swapped })).status, 201)
  const ask = await gateway.way('modern', 'g')
  assert.deepEqual(received(await ask('tools/call', { name: add, arguments: { text: 'x' } })), { text: 'x' })
})

test('VS-06 an override of a tool whose description changes stays and is stale until the group is saved again', async (t) => {
  const gateway = await startViews(t)
  const tools = { [add]: { name: 'plus', arguments: { b: { lock: 40 } } } }
  assert.equal((await gateway.group({ tools })).status, 201)
  const read = async () => (await gateway.rest('GET', '/tool-groups/g')).body
  assert.deepEqual([(await read()).tools, (await read()).stale, (await read()).broken], [tools, [], []])
  await gateway.serve([{ ...addTool, description: 'Adds numbers' }, wordTool])
  assert.deepEqual([(await read()).stale, (await read()).broken], [[add], []])
  await inEveryWay(gateway, 'g', async (ask) => {
    assert.equal(find(toolsOf(await ask('tools/list')), 'plus').description, 'Adds numbers')
    assert.deepEqual(received(await ask('tools/call', { name: 'plus', arguments: { a: 2 } })), { a: 2, b: 40 })
  })
  const { status, body } = await gateway.rest('PUT', '/tool-groups/g', { included_servers: ['demo'], tools })
  assert.deepEqual([status, body.stale, body.old.stale], [200, [], [add]])
  assert.deepEqual((await read()).stale, [])
})

test('VS-06 a tool whose locked property changes its type or vanishes is withheld until the group is saved again', async (t) => {
  const gateway = await startViews(t)
  const tools = { [add]: { name: 'plus', arguments: { b: { enum: [1, 2] } } } }
  assert.equal((await gateway.group({ tools })).status, 201)
  const { a } = addTool.inputSchema.properties
  const changed = [{ a, b: { type: ['number', 'string'] } }, { a, b: { type: 'string' } }, { a }]
  for (const properties of changed) {
    await gateway.serve([{ ...addTool, inputSchema: { ...addTool.inputSchema, properties } }, wordTool])
    const { broken } = (await gateway.rest('GET', '/tool-groups/g')).body
    assert.equal(broken.length, 1)
    assert.equal(broken[0].tool, add)
    await inEveryWay(gateway, 'g', async (ask) => {
      assert.deepEqual(namesOf(await ask('tools/list')), ['demo__word_count'])
      for (const name of ['plus', add]) {
        assert.equal(
          (await ask('tools/call', { name, arguments: { a: 1, b: 1 } })).error?.message,
          `Unknown tool: ${name}`
        )
      }
    })
  }
  await gateway.serve([addTool, wordTool])
  assert.deepEqual((await gateway.rest('GET', '/tool-groups/g')).body.broken, [])
})

test('VS-07 a group beyond its limit of tokens is not saved, and is served when its servers grow beyond it', async (t) => {
  const gateway = await startViews(t, { env: { OTEL_ENABLED: 'true' } })
  const { tokens } = (await gateway.rest('POST', '/tool-groups/preview', { included_servers: ['demo'] })).body
  const refused = await gateway.group({ max_tokens: tokens - 1 })
  assert.equal(refused.status, 409)
  assert.equal(refused.body.code, 'too_many_tokens')
  assert.ok(refused.body.error.includes(`~${tokens} tokens`), refused.body.error)
  assert.match(refused.body.error, /the dearest: demo__add ~\d+/)
  assert.equal((await gateway.rest('GET', '/tool-groups/g')).status, 404)
  assert.equal((await gateway.group({ max_tokens: tokens })).status, 201)
  await gateway.serve([{ ...addTool, description: 'x'.repeat(4_000) }, wordTool])
  const ask = await gateway.way('modern', 'g')
  assert.deepEqual(namesOf(await ask('tools/list')), [add, 'demo__word_count'])
  const metrics = (await gateway.mcp.app.inject('/metrics')).body
  const shown = Number(/^towpath_group_tokens\{group="g"\} (\d+)$/m.exec(metrics)?.[1])
  assert.ok(shown > tokens + 900, metrics)
  const again = await gateway.rest('PUT', '/tool-groups/g', { included_servers: ['demo'], max_tokens: tokens })
  assert.equal(again.status, 409)
})

test('VS-07 what exceeds its limit needs attention and is logged once', async (t) => {
  const lines: string[] = []
  const gateway = await startViews(t, { log: { write: (line) => void lines.push(line) } })
  const { tokens } = (await gateway.rest('POST', '/tool-groups/preview', { included_servers: ['demo'] })).body
  assert.equal((await gateway.group({ max_tokens: tokens })).status, 201)
  const attention = async () => {
    const { body } = await gateway.mcp.app.inject('/api/dashboard/overview')
    return (JSON.parse(body) as { attention: { kind: string }[] }).attention.map(({ kind }) => kind)
  }
  assert.ok(!(await attention()).includes('group_tokens'))
  for (const length of [4_000, 5_000]) await gateway.serve([{ ...addTool, description: 'x'.repeat(length) }, wordTool])
  assert.ok((await attention()).includes('group_tokens'))
  assert.equal(lines.filter((line) => line.includes('more tokens than its limit')).length, 1)
})

test('VS-08 a client without the server on its list sees and calls nothing of a renamed tool', async (t) => {
  const gateway = await startViews(t, { env: enterprise })
  const other = await startRecorder(null, { name: 'other' })
  addCleanup(t, other.close)
  const registration = { name: 'other', transport: 'streamable_http', url: other.url }
  assert.equal((await gateway.rest('POST', '/servers', registration)).status, 201)
  const group = { included_servers: ['demo', 'other'], tools: { [add]: { name: 'plus' } } }
  assert.equal((await gateway.group(group)).status, 201)
  const headersOf = async (server: string) => {
    const { body } = await gateway.rest('POST', '/clients', { name: `of-${server}`, allowed_servers: [server] })
    return as(body.access_token as string)
  }
  const headers = await headersOf('other')
  for (const way of eras) {
    const ask = await gateway.way(way, 'g', headers)
    const names = toolsOf(await ask('tools/list')).map(({ name }) => String(name))
    assert.ok(names.length > 0 && names.every((name) => name.startsWith('other__')), String(names))
    for (const name of ['plus', add]) {
      assert.equal((await ask('tools/call', { name, arguments: {} })).error?.message, `Unknown tool: ${name}`)
    }
  }
  assert.equal(gateway.demo.calls('tools/call').length, 0)
  const ask = await gateway.way('modern', 'g', await headersOf('demo'))
  assert.deepEqual(received(await ask('tools/call', { name: 'plus', arguments: { a: 1, b: 2 } })), { a: 1, b: 2 })
  await until('the refusals are in the audit log', async () => {
    const { body } = await gateway.rest('GET', '/audit?action=tool.refused')
    const targets = (body.entries as { target: string }[]).map(({ target }) => target)
    return targets.length > 0 && targets.every((target) => target === add)
  })
})
