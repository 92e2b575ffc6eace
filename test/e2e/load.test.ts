import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { addCleanup } from '../store.ts'
import { addUpstream, skip, startEnterprise } from './enterprise.ts'
import { startGateway } from './harness.ts'
import { until } from '../until.ts'
import { needs } from '../needs.ts'

const rssMb = (pid: number) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length
const needsProc = { skip: needs('/proc', existsSync('/proc/self/status')) }

/** Runs `work` `count` times, some of them concurrently. */
async function many<T>(count: number, work: (number: number) => Promise<T>, atOnce = 50): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const worker = async () => {
    while (next < count) results.push(await work(next++))
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}

function openStream(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write('GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n')
  return new Promise((resolve, reject) => {
    socket.once('data', (chunk) =>
      chunk.toString().includes(' 200 ') ? resolve(socket) : reject(new Error(chunk.toString()))
    )
  })
}

test(
  'LI-06 two thousand idle streams take little memory each, hold nobody up and leave nothing',
  needsProc,
  async (t) => {
    const gateway = await startGateway(t)
    const idle = descriptors(gateway.pid)
    for (const stream of await many(100, () => openStream(gateway.port))) stream.destroy()
    await until('the first to be gone', () => descriptors(gateway.pid) <= idle + 5)
    const before = rssMb(gateway.pid)
    const streams = await many(2_000, () => openStream(gateway.port))
    addCleanup(t, () => streams.forEach((stream) => stream.destroy()))
    assert.ok(descriptors(gateway.pid) >= 2_000)
    assert.ok(rssMb(gateway.pid) - before < 120, `${rssMb(gateway.pid) - before} MB`)
    assert.equal((await gateway.get('/api/v0/servers')).status, 200)
    for (const stream of streams) stream.destroy()
    await until('every stream to be gone', () => descriptors(gateway.pid) <= idle + 5)
  }
)

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'load', version: '1' } }
})

test(
  'LI-08 sessions that nobody ends are bounded in number and memory, and later clients are served or told',
  needsProc,
  async (t) => {
    const gateway = await startGateway(t, { env: { TOWPATH_SESSIONS: '200' } })
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const send = async (body: string) => {
      const answer = await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body })
      await answer.text()
      return { status: answer.status, id: answer.headers.get('mcp-session-id') }
    }
    const before = rssMb(gateway.pid)
    const answers = await many(1_000, () => send(initialize))
    for (const { status } of answers) assert.ok([200, 429, 503].includes(status), String(status))
    assert.ok(rssMb(gateway.pid) - before < 200, `${rssMb(gateway.pid) - before} MB`)
    const ids = answers.flatMap(({ id }) => id ?? [])
    assert.equal(new Set(ids).size, ids.length)
    assert.ok([200, 429, 503].includes((await send(initialize)).status))
    assert.equal((await gateway.get('/health')).status, 200)
  }
)

test('LI-12 a client that floods is told to come back, and another one is served meanwhile', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const upstream = await addUpstream(t, gateway, 'alpha')
  const slow = { name: 'alpha__slow', arguments: { ms: 3_600_000 } }
  let over = 0
  const flood = Array.from({ length: 200 }, () => gateway.cliAll.modern('tools/call', slow).finally(() => over++))
  await Promise.race(flood)
  const other = await gateway.cliA.modern('tools/call', { name: 'alpha__echo', arguments: { text: 'x' } })
  assert.equal(other.status, 200, other.text)
  await until('each to be refused or under way', () => over + upstream.calls('tools/call').length === 201)
  upstream.finish()
  const answers = await Promise.all(flood)
  const refused = answers.filter(({ status }) => status === 429)
  assert.equal(answers.filter(({ status }) => status === 200).length + refused.length, 200)
  assert.ok(refused.length >= 100, `${refused.length} refused`)
  for (const { headers } of refused) assert.match(headers.get('retry-after') ?? '', /^\d+$/)
})
