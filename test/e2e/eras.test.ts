import assert from 'node:assert/strict'
import { test } from 'node:test'
import { register } from '../app.ts'
import { answersOf, connectLegacy, connectModern, type RecordingClient } from '../asked-clients.ts'
import { addRecorder, startMcp } from '../integration/mcp-helpers.ts'
import { startEraProxy, startFixture, type Era } from './fixture.ts'

const eras = ['modern', 'legacy'] as const
const connect = { modern: connectModern, legacy: connectLegacy }

interface Cell {
  readonly tools: string[]
  readonly call: string
  /** Progress values received. */
  readonly progress: number[]
  readonly greeting: string
  readonly asked: string[]
}

/** Exercises one cell of the table: every request of a client of one era to an upstream of the other. */
async function runCell({ client, call, serverRequests }: RecordingClient): Promise<Cell> {
  const { tools } = await client.listTools()
  const simple = await call('up__test_simple_text')
  const progress: number[] = []
  await call('up__test_tool_with_progress', {}, { onprogress: (told) => progress.push(told.progress) })
  const greeted = await call('up__test_input_required_result_elicitation')
  return {
    tools: tools.map(({ name }) => name),
    call: simple.content[0]!.text,
    progress,
    greeting: greeted.content[0]!.text,
    asked: serverRequests.map(({ method, params }) => `${method} ${params.message}`)
  }
}

for (const up of eras) {
  test(`clients of both eras get the same of an upstream that is ${up} alone`, async (t) => {
    const mcp = await startMcp(t)
    const url = await startEraProxy(t, up, await startFixture(t))
    await register(mcp.app, { name: 'up', transport: 'streamable_http', url })
    for (const down of eras) {
      const client = await connect[down](t, mcp.url, answersOf('ann'))
      const cell = await runCell(client)
      assert.ok(cell.tools.includes('up__test_simple_text'), down)
      assert.equal(cell.call, 'This is a simple text response for testing.', down)
      assert.deepEqual(cell.progress.slice(0, 2), [0, 50], down)
      assert.equal(cell.greeting, 'Hello, ann!', down)
      assert.deepEqual(cell.asked, ['elicitation/create What is your name?'], down)
    }
  })
}

/** Not found is -32002 for a legacy caller of a legacy upstream; modern upstreams have no such code. */
const codes: Record<Era, Record<Era, number>> = {
  modern: { modern: -32602, legacy: -32602 },
  legacy: { modern: -32602, legacy: -32002 }
}

test('the code of an error is that of the upstream, unless it means something else to the caller', async (t) => {
  for (const up of eras) {
    const mcp = await startMcp(t)
    await addRecorder(t, mcp, 'up', up === 'modern' ? { modern: true, legacy: 'none' } : {})
    for (const down of eras) {
      const { client } = await connect[down](t, mcp.url, {})
      const code = await client.readResource({ uri: 'fixture://nothing' }).then(
        () => 0,
        (error: { code: number }) => error.code
      )
      assert.equal(code, codes[down][up], `${down} client, ${up} upstream`)
    }
  }
})
