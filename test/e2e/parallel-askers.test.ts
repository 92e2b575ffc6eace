import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { register } from '../app.ts'
import { connectLegacy, connectModern, type Answers, type RecordingClient } from '../asked-clients.ts'
import { startMcp, type Mcp } from '../integration/mcp-helpers.ts'
import { cellsOf } from '../matrix.ts'
import { until } from '../until.ts'
import { cleanEnv, root, run } from './harness.ts'

const script = join(root, 'test/fixtures/asking/main.mjs')
const kinds = { stdio: 'stdio', SSE: 'sse', "HTTP, on the session's own stream": 'http' } as const
type Kind = (typeof kinds)[keyof typeof kinds]

/** Registers the server whose requests do not say which call they belong to. */
async function addAsking(t: TestContext, { app }: Mcp, kind: Kind, session_mode: string): Promise<void> {
  if (kind === 'stdio') {
    const command = { command: process.execPath, args: [script, 'stdio'] }
    await register(app, { name: 'up', session_mode, transport: 'stdio', ...command })
    return
  }
  const running = run(t, process.execPath, [script, kind], { env: cleanEnv(), cwd: root })
  const url = await until('the server to listen', () => /^http:\S+/m.exec(running.output())?.[0] ?? '')
  const transport = kind === 'sse' ? 'sse' : 'streamable_http'
  await register(app, { name: 'up', session_mode, transport, url })
}

const clients: Record<string, (t: TestContext, mcp: Mcp, answers: Answers) => Promise<RecordingClient>> = {
  'legacy over HTTP': (t, { url }, answers) => connectLegacy(t, url, answers),
  'legacy over HTTP+SSE': (t, { url }, answers) =>
    connectLegacy(t, new SSEClientTransport(new URL('/sse', url)) as Transport, answers),
  modern: (t, { url }, answers) => connectModern(t, url, answers)
}

const N = 5
/** Concurrent sessions for a modern caller's calls that wait for input. */
const LANES = 4

/** Returns handlers that hold every answer until `count` requests have arrived. */
function answersTogether(count: number): Answers {
  let asked = 0
  const turn = async () => {
    asked++
    await until('the others are asked', () => asked >= count)
  }
  return {
    async form({ message }) {
      await turn()
      return { action: 'accept', content: { said: `yes to ${message}` } }
    },
    async sampling({ messages }) {
      await turn()
      const [{ content }] = messages
      return { role: 'assistant', model: 'm', content: { type: 'text', text: `yes to ${content.text}` } }
    },
    async roots() {
      await turn()
      return { roots: [{ uri: 'file:///here', name: 'here' }] }
    }
  }
}

const textOf = ({ content }: { content: { text: string }[] }) => content[0]!.text

const questions: readonly (readonly [tool: string, answer: (name: string) => string])[] = [
  ['ask', (name) => `${name}: accept yes to ${name}`],
  ['model', (name) => `${name}: yes to ${name}`],
  ['roots', (name) => `${name}: here`]
]
const askers = Array.from({ length: N }, (_, i) => {
  const [tool, answer] = questions[i % questions.length]!
  return { name: `asker ${i + 1}`, tool: `up__${tool}`, answer: answer(`asker ${i + 1}`) }
})

for (const [[transport, kind], [who, connect], mode] of cellsOf(Object.entries(kinds), Object.entries(clients), [
  'stateful',
  'stateless'
])) {
  test(`CR-F1: ${N} parallel calls that ask over ${transport} are all answered (${mode}, client ${who})`, async (t) => {
    const mcp = await startMcp(t)
    await addAsking(t, mcp, kind, mode)
    if (who === 'modern' && kind === 'http') await makeFirstAsk(t, mcp)
    const together = who === 'modern' && mode === 'stateful' ? LANES : N
    const client = await connect(t, mcp, answersTogether(together))
    const results = await Promise.all(askers.map(({ tool, name }) => client.call(tool, { name })))
    assert.deepEqual(
      results.map(textOf),
      askers.map(({ answer }) => answer),
      'all get their answers'
    )
    assert.equal(client.serverRequests.length, N, 'each asks once')
  })
}

/**
 * Shows the gateway that the server sends requests on its session's stream; from then on calls of modern callers to the
 * server are serialised.
 */
async function makeFirstAsk(t: TestContext, { url }: Mcp) {
  const client = await connectModern(t, url, answersTogether(1))
  await client.call('up__ask', { name: 'first' })
}

for (const [[transport, kind], [who, connect]] of cellsOf(Object.entries(kinds), Object.entries(clients))) {
  test(`CR-F1: over ${transport} a late answer costs no call its time, nor does the end of another call (${who})`, async (t) => {
    const mcp = await startMcp(t, { TOWPATH_CALL_TIMEOUT_MS: '4000', TOWPATH_CALL_TOTAL_TIMEOUT_MS: '5000' })
    await addAsking(t, mcp, kind, 'stateful')
    const together = ['oldest', 'quick', 'newest']
    const asked = new Set<string>()
    const client = await connect(t, mcp, {
      async form({ message }) {
        asked.add(message)
        if (message === 'first') return { action: 'accept', content: { said: 'at once' } }
        await until('all are asked', () => together.every((name) => asked.has(name)))
        if (message !== 'quick') await new Promise((resolve) => setTimeout(resolve, 5_500))
        return { action: 'accept', content: { said: 'in time' } }
      }
    })
    // the session is open by then
    await client.call('up__ask', { name: 'first' })
    const ask = async (name: string) => textOf(await client.call('up__ask', { name }))
    assert.deepEqual(
      await Promise.all(together.map(ask)),
      together.map((name) => `${name}: accept in time`),
      'all are answered'
    )
  })
}
