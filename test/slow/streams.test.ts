import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http'
import { test, type TestContext } from 'node:test'
import { startGateway, type Gateway } from '../e2e/harness.ts'
import { until } from '../until.ts'
import { legacyBody } from '../integration/mcp-helpers.ts'

const KB = 1_024
const both = 'application/json, text/event-stream'
const clientInfo = { name: 'test', version: '1' }
const hello = legacyBody('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })

/** Returns the resident memory of a process in kB. */
const rss = ({ pid }: Gateway) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

interface Head {
  readonly status: number
  readonly session: string | undefined
  readonly retryAfter: string | undefined
  readonly sent: ClientRequest
}

/**
 * Sends one request without `fetch`, whose pool would hold thousands of sockets. With `body` it is a POST and the
 * response is read completely.
 */
function send(url: string, agent: Agent, headers: Record<string, string>, body?: string): Promise<Head> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request(url, { method, agent, headers: { accept: both, ...headers } }, (response: IncomingMessage) => {
      const { statusCode: status = 0, headers: got } = response
      const head = { status, session: got['mcp-session-id'] as string, retryAfter: got['retry-after'], sent }
      response.on('error', () => {})
      response.resume()
      if (body === undefined) resolve(head)
      else response.on('end', () => resolve(head))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Runs `work` `count` times, `atOnce` at a time. */
async function times<T>(count: number, atOnce: number, work: (i: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const worker = async () => {
    while (next < count) {
      const i = next++
      results[i] = await work(i)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}

function agentOf(t: TestContext, options: ConstructorParameters<typeof Agent>[0]): Agent {
  const agent = new Agent(options)
  t.after(() => agent.destroy())
  return agent
}

const json = { 'content-type': 'application/json' }
const initialize = (gateway: Gateway, agent: Agent) => send(`${gateway.url}/mcp`, agent, json, hello)

test('LI-06 5,000 idle streams take little memory, disturb nobody, and give their places back', async (t) => {
  const count = 5_000
  const gateway = await startGateway(t, { env: { TOWPATH_SESSIONS: String(count) } })
  const posts = agentOf(t, { keepAlive: true, maxSockets: 32 })
  const streams = agentOf(t, { keepAlive: false, maxSockets: Infinity })
  const openMcp = async () => {
    const { session } = await initialize(gateway, posts)
    return send(`${gateway.url}/mcp`, streams, { 'mcp-session-id': session! })
  }
  const openSse = () => send(`${gateway.url}/sse`, streams, {})
  await times(200, 16, () => initialize(gateway, posts))
  const latencyOf = async () => {
    const latencies = await times(500, 4, async () => {
      const begun = performance.now()
      assert.equal((await send(`${gateway.url}/api/v0/servers`, posts, {})).status, 200)
      return performance.now() - begun
    })
    return latencies.toSorted((a, b) => a - b)[250]!
  }
  const usual = await latencyOf()
  const before = rss(gateway)
  const open = await times(count, 32, (i) => (i % 2 ? openMcp() : openSse()))
  assert.ok(open.every(({ status }) => status === 200))
  const each = (rss(gateway) - before) / count
  t.diagnostic(`${each.toFixed(1)} kB for each stream`)
  assert.ok(each < 60, `${each} kB for each stream`)

  const refused = await openSse()
  assert.deepEqual([refused.status, refused.retryAfter], [503, '30'])
  const latency = await latencyOf()
  t.diagnostic(`other requests: median ${latency.toFixed(1)} ms, without streams ${usual.toFixed(1)} ms`)
  assert.ok(latency < 20 + 10 * usual)

  for (const { sent } of open) sent.destroy()
  await until('a place for a stream again', async () => {
    const { status, sent } = await openSse()
    sent.destroy()
    return status === 200
  })
  assert.equal((await times(count, 32, () => initialize(gateway, posts))).at(-1)?.status, 200)
})

test('LI-08 20,000 sessions that nobody closes: 10,000 are kept, and later clients are served', async (t) => {
  const gateway = await startGateway(t)
  const posts = agentOf(t, { keepAlive: true, maxSockets: 32 })
  await times(500, 16, () => initialize(gateway, posts))
  const before = rss(gateway)
  const opened = await times(20_000, 32, () => initialize(gateway, posts))
  assert.ok(opened.every(({ status }) => status === 200))
  const grown = Math.round((rss(gateway) - before) / KB)
  t.diagnostic(`${grown} MB more for 20,000 sessions`)
  assert.ok(grown < 200, `${grown} MB more`)

  const last = opened.at(-1)!.session!
  const ping = legacyBody('ping')
  const later = await send(`${gateway.url}/mcp`, posts, { ...json, 'mcp-session-id': last }, ping)
  assert.deepEqual([later.status, (await initialize(gateway, posts)).status], [200, 200])
})
