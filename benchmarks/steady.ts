import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/postgres.ts'
import { sample, slope, type Sample } from '../test/soak/measure.ts'
import { until } from '../test/until.ts'
import { withBench, type Bench, type Gateway } from './bench.ts'
import type { Order, Round } from './load.ts'
import { pinSelf } from './processes.ts'
import { calls, modernRequest, times } from './requests.ts'
import { median } from './statistics.ts'

/**
 * `npm run bench:steady -- --minutes 30`: calls at 70 % of what the gateway can answer, with its defaults and the call
 * log on. Ends with 1 if the rate is not reached, an answer or a row of the call log is missing, memory grows by 1 MB a
 * minute or more, or p99 is more than five times p50.
 */
const SHARE = 0.7
const CONNECTIONS = 16
const SIZE = 200
const ROUND_MS = 10_000
const CAPACITY_ROUNDS = 4
/** Share of the time before memory is measured, in which caches, pools and the heap reach their size. */
const WARM_UP = 0.4
const MOST_GROWTH = 1
const MOST_RATIO = 5
/** Least share of the rate that must be reached: a run that falls behind measures only its own queue. */
const LEAST_RATE = 0.98
const STORED_MS = 30_000

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, store: { type: 'string', default: 'embedded' } }
})
const minutes = Number(options.minutes)
const engine = options.store === 'postgres' ? 'postgres' : 'embedded'

type Load = (order: Order) => Promise<Round>

async function open(bench: Bench): Promise<{ gateway: Gateway; load: Load; target: Order['target'] }> {
  const upstream = await bench.target('upstream.ts')
  const gateway = await bench.gateway({ place: await bench.place(engine), env: { TOWPATH_CALL_LOG: 'on' } })
  await gateway.register('bench', { transport: 'streamable_http', url: `${upstream.url}/mcp` })
  const args = { message: 'hello', size: SIZE }
  const request = modernRequest(gateway.mcp, 'tools/call', { name: 'bench__echo', arguments: args })
  const requests = times(CONNECTIONS, () => request)
  return { gateway, load: await bench.load(), target: calls(gateway.url, requests, SIZE) }
}

/** Samples the resident memory once a second until `stop`. */
async function watch(pid: number, stop: AbortSignal): Promise<Sample[]> {
  const begun = performance.now()
  const samples: Sample[] = []
  while (!stop.aborted) {
    samples.push(sample(pid, (performance.now() - begun) / 60_000))
    await delay(1_000)
  }
  return samples
}

/** Returns the id of the newest row, which is the number of rows ever stored: the store is new. */
async function storedRows({ admin }: Gateway): Promise<number> {
  const { calls: rows } = (await (await admin('GET', '/calls?limit=1')).json()) as { calls: { id: string }[] }
  return Number(rows[0]?.id ?? 0)
}

async function run(bench: Bench): Promise<string[]> {
  const { gateway, load, target } = await open(bench)
  const key = 'steady'
  let sent = 0
  const round = async (order: Pick<Order, 'ms' | 'perSecond'>) => {
    const result = await load({ key, target, ...order })
    sent += result.requests
    return result
  }
  await round({ ms: ROUND_MS })
  const closed: Round[] = []
  for (let at = 0; at < CAPACITY_ROUNDS; at++) closed.push(await round({ ms: ROUND_MS }))
  const capacity = median(closed.map(({ requests, elapsedMs }) => (requests * 1_000) / elapsedMs))
  const perSecond = Math.floor(SHARE * capacity)
  console.log(`capacity ${capacity.toFixed(0)} calls a second, ${engine} store; ${perSecond} a second from now on`)

  const stop = new AbortController()
  const watching = watch(gateway.pid, stop.signal)
  const end = performance.now() + minutes * 60_000
  const steady: Round[] = []
  while (performance.now() < end) steady.push(await round({ ms: ROUND_MS, perSecond }))
  stop.abort()
  const samples = await watching
  const isComplete = async () => (await storedRows(gateway)) >= sent
  await until('the call log to be complete', isComplete, STORED_MS).catch(() => {})
  const stored = await storedRows(gateway)

  const errors = [...closed, ...steady].reduce((sum, each) => sum + each.errors, 0)
  const growth = slope(samples.filter(({ minute }) => minute >= minutes * WARM_UP))
  const [p50, p99] = [median(steady.map((each) => each.p50)), median(steady.map((each) => each.p99))]
  const rate = median(steady.map(({ requests, elapsedMs }) => (requests * 1_000) / elapsedMs))
  const most = Math.max(...samples.map(({ rssMb }) => rssMb))
  console.log(
    `${sent} calls in ${minutes} minutes, ${rate.toFixed(0)} a second: ${errors} without a right answer; ${stored} rows of the call log; ` +
      `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${(p99 / p50).toFixed(1)} times); ` +
      `memory ${growth.toFixed(2)} MB a minute, at most ${most.toFixed(0)} MB`
  )
  return [
    ...(rate >= LEAST_RATE * perSecond ? [] : [`only ${rate.toFixed(0)} calls a second were made`]),
    ...(errors > 0 ? [`${errors} answers were lost`] : []),
    ...(stored === sent ? [] : [`${sent - stored} rows are missing`]),
    ...(growth < MOST_GROWTH ? [] : [`memory grows by ${growth.toFixed(2)} MB a minute`]),
    ...(p99 <= MOST_RATIO * p50 ? [] : [`p99 is ${(p99 / p50).toFixed(1)} times p50`])
  ]
}

pinSelf()
const postgres = engine === 'postgres' ? await startPostgres(process.env) : undefined
try {
  const problems = await withBench({ isQuick: false, postgresUrl: postgres?.url }, run)
  for (const problem of problems) console.error(`FAILED: ${problem}`)
  process.exitCode = problems.length === 0 ? 0 : 1
} finally {
  await postgres?.stop()
}
