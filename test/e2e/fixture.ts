import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fixtureArgs } from '../fixtures/conformance/bundle.ts'
import { addCleanup } from '../store.ts'
import { cleanEnv, root, run } from './harness.ts'
import { until } from '../until.ts'

/** Keep-alive time: on a busy machine a shorter one closes the socket just as the next call is sent on it. */
const IDLE_MS = 120_000

export type Era = 'modern' | 'legacy'

/** Responses of a server of the other era to a request. */
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

/**
 * Starts a proxy in front of the fixture, which speaks both eras, that lets only one era through. Resolves with the
 * URL.
 */
export async function startEraProxy(t: TestContext, era: Era, target: string): Promise<string> {
  const server = createServer(
    { keepAliveTimeout: IDLE_MS },
    (incoming, outgoing) => void pass(era, target, incoming, outgoing)
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  addCleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

/** Starts the conformance fixture. Resolves with its URL. */
export async function startFixture(t: TestContext, kind: 'http' | 'sse' = 'http'): Promise<string> {
  const running = run(t, process.execPath, fixtureArgs(kind), { env: cleanEnv(), cwd: root })
  return until('the fixture to listen', () => /^http:\S+/m.exec(running.output())?.[0] ?? '')
}
