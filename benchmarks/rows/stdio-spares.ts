import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { descendants } from '../../test/e2e/process-tree.ts'
import { until } from '../../test/until.ts'
import type { Round } from '../load.ts'
import { onSharedCore } from '../processes.ts'
import type { Outcome } from '../outcome.ts'
import { legacyRequest, openSessions, target } from '../requests.ts'
import { medianRatio } from '../statistics.ts'
import { median } from '../statistics.ts'
import type { Row } from './row.ts'

const work = 'stdio, `stateless` mode, server-everything, 2 calls/s'
const everything = [
  fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')),
  'stdio'
]
const ROUNDS = 3
const ROUND_MS = 6_000
const SPAWNS = 4
const CALLERS = 2
const SETTLE_MS = 5_000
const EXPIRY_MS = 60_000
/** Tolerance for the gateway's timers, which are not exact. */
const SLACK_MS = 5_000

/**
 * Starts the server, performs the handshake, makes one call and ends the server. Returns the milliseconds until the
 * result.
 */
async function spawnPerCall(): Promise<number> {
  const begun = performance.now()
  const child = spawn(process.execPath, everything, { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const answerTo = async (id: number) => {
    for (;;) {
      const { value } = await lines.next()
      const message = JSON.parse(value as string) as { readonly id?: number; readonly result?: object }
      if (message.id === id && message.result) return
    }
  }
  const clientInfo = { name: 'bench', version: '1.0.0' }
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })
  await answerTo(1)
  send({ method: 'notifications/initialized' })
  send({ id: 2, method: 'tools/call', params: { name: 'echo', arguments: { message: 'hello' } } })
  await answerTo(2)
  const took = performance.now() - begun
  const ended = once(child, 'exit')
  child.kill()
  await ended
  return took
}

async function spawns(): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < SPAWNS; count++) times.push(await spawnPerCall())
  return median(times)
}

function latency(rounds: readonly Round[], spawned: readonly number[]): Outcome {
  const own = rounds.map(({ p50 }) => p50)
  return {
    row: 6,
    work,
    reference: 'spawn and handshake per call',
    measure: 'p50, times lower',
    goal: { atLeast: 40, unit: '×' },
    value: medianRatio(spawned, own),
    unit: '×',
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
    note: `gateway p50 ${median(own).toFixed(2)} ms, spawn per call ${median(spawned).toFixed(0)} ms${rounds.map(({ sample }) => sample).find(Boolean) ?? ''}`
  }
}

const remainingOutcome = (measure: string, atMost: number, value: number): Outcome => ({
  row: 6,
  work,
  reference: '–',
  measure,
  goal: { atMost, unit: 'processes' },
  value,
  unit: 'processes',
  errors: 0,
  note: ''
})

export const stdioSpares: Row = {
  numbers: [6],
  work,
  limitSeconds: 150,
  async run(bench) {
    const { pid, url, mcp, register } = await bench.gateway()
    const [command, ...args] = onSharedCore([process.execPath, ...everything])
    await register('bench', { transport: 'stdio', command, args })
    const sessions = await openSessions(mcp, CALLERS)
    const params = { name: 'bench__echo', arguments: { message: 'hello' } }
    const requests = sessions.map((headers) => legacyRequest(mcp, 'tools/call', params, headers))
    const order = { key: 'gateway', target: target(url, requests, 'Echo: hello', 50), ms: ROUND_MS, perSecond: 2 }
    const load = await bench.load()
    const warmUp = await load(order)
    const rounds: Round[] = []
    const spawned: number[] = []
    for (let round = 0; round < (bench.isQuick ? 1 : ROUNDS); round++) {
      rounds.push(await load(order))
      spawned.push(await spawns())
    }
    const last = await load({ ...order, ms: 1_000 })
    await delay(SETTLE_MS)
    const spare = descendants(pid).length
    const gone = () => descendants(pid).length === 0
    await until('the spare to expire', gone, EXPIRY_MS - SETTLE_MS + SLACK_MS).catch(() => {})
    const { errors, sample } = [warmUp, last].find((round) => round.errors > 0) ?? warmUp
    const outcome = latency(rounds, spawned)
    return [
      { ...outcome, errors: outcome.errors + errors, note: outcome.note + sample },
      remainingOutcome('children 5 s after the last call', 1, spare),
      remainingOutcome('children 65 s after the last call', 0, descendants(pid).length)
    ]
  }
}
