import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isUp, startPlain, type Bench } from '../bench.ts'
import { freePort } from '../../test/ports.ts'
import { compare, errorsOf, type Measurement } from '../compare.ts'
import type { Outcome } from '../outcome.ts'
import { rssKib, start } from '../processes.ts'
import { calls, modernRequest, times } from '../requests.ts'
import { mean } from '../statistics.ts'
import { until } from '../../test/until.ts'
import type { Row } from './row.ts'

const STREAMS = 5_000
const QUICK_STREAMS = 500
/** Streams opened and closed before the measurement, so that code, pools and the heap reach their size. */
const WARM_UP = 500
const SETTLE_MS = 2_000
/**
 * The time in total equals a stream's keep-alive interval, so that it includes the keep-alives of all streams; every
 * round counts, since a round without keep-alives must not stand for one with them.
 */
const options = { perSecond: 250, rounds: 4, ms: 4_000 }
const client = ['--import', import.meta.resolve('tsx'), fileURLToPath(new URL('../stream-client.ts', import.meta.url))]

interface OpenStreams {
  closed(): number
  stop(): Promise<void>
}

async function hold(bench: Bench, url: string, count: number, hasSessions: boolean): Promise<OpenStreams> {
  const env = { ...process.env, URL: url, COUNT: String(count), ...(hasSessions && { SESSIONS: '1' }) }
  const { child, stop, errors } = start(client, { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] as never })
  bench.addCleanup(stop)
  let closed = 0
  child.on('message', (message: object) => {
    if ('closed' in message) closed++
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`streams cannot be opened: ${errors()}`)))
  ended.catch(() => {})
  await Promise.race([once(child, 'message'), ended])
  await delay(SETTLE_MS)
  return { closed: () => closed, stop }
}

/** Returns KiB of resident memory per stream, beyond the memory of the process after earlier streams have closed. */
async function memory(bench: Bench, pid: number, url: string, count: number, hasSessions: boolean) {
  const warmUp = await hold(bench, url, WARM_UP, hasSessions)
  await warmUp.stop()
  await delay(SETTLE_MS)
  const before = rssKib(pid)
  const held = await hold(bench, url, count, hasSessions)
  return { held, each: (rssKib(pid) - before) / count }
}

async function bareMemory(bench: Bench, count: number): Promise<number> {
  const port = await freePort()
  const { pid, stop } = startPlain('stream-holder.mjs', port)
  bench.addCleanup(stop)
  const url = `http://127.0.0.1:${port}/`
  await until('the bare server', () => isUp(`${url}health`))
  return (await memory(bench, pid, url, count, false)).each
}

export const idleStreams: Row = {
  numbers: [10],
  work: '5,000 idle streams',
  limitSeconds: 120,
  async run(bench) {
    const count = bench.isQuick ? QUICK_STREAMS : STREAMS
    const upstream = await bench.target('upstream.ts')
    const { pid, url, mcp, register } = await bench.gateway()
    await register('bench', { transport: 'streamable_http', url: `${upstream.url}/mcp` })
    const request = modernRequest(mcp, 'tools/call', { name: 'bench__echo', arguments: { message: 'hello' } })
    const candidate = {
      name: 'another client',
      pid,
      target: calls(
        url,
        times(4, () => request)
      )
    }
    const [before] = (await compare(bench, [candidate], options)) as [Measurement]
    const { held, each } = await memory(bench, pid, mcp, count, true)
    const [after] = (await compare(bench, [candidate], options)) as [Measurement]
    const bare = await bareMemory(bench, count)
    const shared = {
      row: 10,
      work: `${count.toLocaleString('en')} idle streams`,
      errors: errorsOf(before, after) + held.closed()
    }
    const [p99Before, p99After] = [mean(before.p99), mean(after.p99)] as const
    return [
      {
        ...shared,
        reference: `bare Node.js: ${bare.toFixed(1)} KiB`,
        measure: 'memory each',
        goal: { atMost: 18, unit: 'KiB' },
        value: each,
        unit: 'KiB',
        note: `each with a session of its own; ${held.closed()} closed by the gateway`
      },
      {
        ...shared,
        reference: 'before the streams',
        measure: "another client's p99",
        goal: { atMost: 1.2, unit: '×' },
        value: p99After / p99Before,
        unit: '×',
        note: `${p99Before.toFixed(2)} ms before, ${p99After.toFixed(2)} ms with them, at ${options.perSecond} calls/s`
      }
    ] satisfies Outcome[]
  }
}
