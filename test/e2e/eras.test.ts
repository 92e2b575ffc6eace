import assert from 'node:assert/strict'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { register } from '../app.ts'
import { answersOf, connectLegacy, connectModern, type AskedClient } from '../asked-clients.ts'
import { addRecorder, startMcp } from '../integration/mcp-helpers.ts'
import { later } from '../store.ts'
import { cleanEnv, root, run, until } from './harness.ts'

type Era = 'modern' | 'legacy'

const eras = ['modern', 'legacy'] as const
const connect = { modern: connectModern, legacy: connectLegacy }

/** What a server of the other era says to a request. */
const refusals = {
  modern: { status: 404, code: -32601 },
  legacy: { status: 200, code: -32601 }
}

const isModern = (body: string) => body.includes('"io.modelcontextprotocol/protocolVersion"')

async function pass(era: Era, target: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await text(incoming)
  if (body !== '' && isModern(body) !== (era === 'modern')) {
    const { status, code } = refusals[era]
    const { id = null } = JSON.parse(body) as { id?: unknown }
    outgoing.writeHead(status, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'Method not found' } }))
    return
  }
  const { method, headers } = incoming
  const onward = httpRequest(target, { method: method!, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode!, answer.headers).flushHeaders()
    answer.pipe(outgoing)
  })
  outgoing.on('close', () => onward.destroy())
  onward.on('error', () => outgoing.destroy()).end(body)
}

/** The fixture speaks both eras: in front of it only one gets through. Resolves with the URL. */
async function pinned(t: TestContext, era: Era, target: string): Promise<string> {
  const server = createServer((incoming, outgoing) => void pass(era, target, incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  later(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

async function startFixture(t: TestContext): Promise<string> {
  const args = ['--import', import.meta.resolve('tsx'), 'test/fixtures/conformance/main.ts', 'http']
  const running = run(t, process.execPath, args, { env: cleanEnv(), cwd: root })
  return until('the fixture to listen', () => /^http:\S+/m.exec(running.output())?.[0] ?? '', 60_000)
}

interface Cell {
  readonly tools: string[]
  readonly call: string
  /** The numbers that were told. */
  readonly progress: number[]
  readonly greeting: string
  readonly asked: string[]
}

/** One cell of the table: everything that a client of one era gets from an upstream of the other. */
async function look({ client, call, asked }: AskedClient): Promise<Cell> {
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
    asked: asked.map(({ method, params }) => `${method} ${params.message}`)
  }
}

for (const up of eras) {
  test(`clients of both eras get the same of an upstream that is ${up} alone`, async (t) => {
    const mcp = await startMcp(t)
    const url = await pinned(t, up, await startFixture(t))
    await register(mcp.app, { name: 'up', transport: 'streamable_http', url })
    for (const down of eras) {
      const client = await connect[down](t, mcp.url, answersOf('ann'))
      const cell = await look(client)
      assert.ok(cell.tools.includes('up__test_simple_text'), down)
      assert.equal(cell.call, 'This is a simple text response for testing.', down)
      assert.deepEqual(cell.progress.slice(0, 2), [0, 50], down)
      assert.equal(cell.greeting, 'Hello, ann!', down)
      assert.deepEqual(cell.asked, ['elicitation/create What is your name?'], down)
    }
  })
}

/** Not found is -32002 to a legacy caller of a legacy upstream; a modern upstream has no such code. */
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
