import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { modernBody, modernHeaders } from '../integration/mcp-helpers.ts'
import { addCleanup } from '../store.ts'
import { key } from './enterprise.ts'
import { startGateway, type Gateway, type GatewayOptions } from './harness.ts'
import { startUpstream } from './upstream.ts'
import { needs } from '../needs.ts'

const SOCKETS = 200
const PIPELINED = 8
/** Enough for one list response per connection, not for eight. */
const MAX_GROWTH_MB = 350
const needsProc = { skip: needs('/proc', existsSync('/proc/self/status')) }

const memoryMb = (pid: number, field: 'VmRSS' | 'VmHWM') =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

/** Returns the CPU time of a process so far, in kernel ticks. */
function ticks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** Waits until a process has finished its work, with requests to `/health` meanwhile. */
async function settle({ pid, get: ask }: Gateway): Promise<void> {
  for (let idle = 0, last = -1; idle < 5;) {
    await delay(100)
    assert.equal((await ask('/health')).status, 200)
    const now = ticks(pid)
    idle = now - last <= 2 ? idle + 1 : 0
    last = now
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

function listTools(): string {
  const body = modernBody('tools/list')
  const headers = {
    host: 'localhost',
    'content-length': String(Buffer.byteLength(body)),
    ...modernHeaders('tools/list')
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Sends on each of many connections and reads nothing; resolves once the kernel has accepted every request. */
async function sendUnread(t: TestContext, port: number, request: string): Promise<Socket[]> {
  const sockets = Array.from({ length: SOCKETS }, () => connect(port, '127.0.0.1').on('error', () => {}))
  addCleanup(t, () => sockets.forEach((socket) => socket.destroy()))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write(request.repeat(PIPELINED), resolve))))
  return sockets
}

const wide = { name: 'tool', description: 'x'.repeat(2_000), inputSchema: { type: 'object' } }
const tools = Array.from({ length: 300 }, (_, i) => ({ ...wide, name: `tool${i}` }))

/** Attacks with each of the requests in turn while requesting `/health`. */
async function attack(t: TestContext, gateway: Gateway, requests: readonly (readonly [string, string])[]) {
  for (const [name, request] of requests) {
    const before = memoryMb(gateway.pid, 'VmRSS')
    const sockets = await sendUnread(t, gateway.port, request)
    await settle(gateway)
    const peak = memoryMb(gateway.pid, 'VmHWM')
    const after = memoryMb(gateway.pid, 'VmRSS')
    t.diagnostic(`${name}: ${before.toFixed()} MB before, ${after.toFixed()} MB after, peak ${peak.toFixed()} MB`)
    assert.ok(peak - before < MAX_GROWTH_MB, `${name}: ${(peak - before).toFixed()} MB`)
    for (const socket of sockets) socket.destroy()
  }
}

const documents = ['/docs', '/docs/static/swagger-ui-bundle.js', '/openapi.json'].map(
  (path) => [path, get(path)] as const
)

const modes: readonly (readonly [string, GatewayOptions])[] = [
  ['development', {}],
  ['enterprise', { env: key }]
]

for (const [mode, options] of modes) {
  test(`SR-H1 static documents that nobody reads take no memory in ${mode} mode`, needsProc, async (t) => {
    const gateway = await startGateway(t, options)
    await attack(t, gateway, documents)
  })
}

test('SR-H1 lists that nobody reads take memory for one answer of each connection', needsProc, async (t) => {
  const gateway = await startGateway(t)
  const { url } = await startUpstream(t, 'alpha', { tools })
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url })
  await attack(t, gateway, [
    ['/api/v0/tools', get('/api/v0/tools')],
    ['tools/list', listTools()]
  ])
})
