import { parseArgs } from 'node:util'
import { startPostgres } from '../test/postgres.ts'
import { until } from '../test/until.ts'
import { withBench, type Bench, type Gateway } from './bench.ts'
import { compare, cpuRatio, errorsOf, figures, speedRatio, type Candidate, type Measurement } from './compare.ts'
import { cpuMs, treeOf } from './processes.ts'
import { calls, legacyRequest, modernRequest, openSessions, times } from './requests.ts'

/**
 * `npm run bench:workers`: calls a second, and CPU of the whole process tree per call, with 1 and 2 workers in one
 * interleaved run. Nothing is pinned: the workers share the cores with the load generator, the server and the database,
 * so that on two cores the calls a second say little about cores that workers have for themselves. What a call costs
 * more with workers says how n workers would scale on n free cores: `n ×` the ratio (goal: 0.85). Ends with 1 if the
 * goal is missed.
 */
const GOAL = 0.85
/** Connections of each worker: n workers are there for n times the load. With fewer, a turn of the loop has fewer calls. */
const CONNECTIONS = 16
const SIZE = 200
/** Calls of each worker before the first measured one: with half of the calls, code is compiled half as soon. */
const WARM_UP = 25_000
const LONGEST_WARM_UP_MS = 120_000
const tool = { name: 'bench__echo', arguments: { message: 'hello', size: SIZE } }

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string', default: '9' } }
})

async function open(bench: Bench, upstream: string, workers: number): Promise<Gateway> {
  const gateway = await bench.gateway({ isPinned: false, env: { TOWPATH_WORKERS: String(workers) } })
  await gateway.register('bench', { transport: 'streamable_http', url: `${upstream}/mcp` })
  // ready once its first worker is
  await until('all workers', () => treeOf(gateway.pid).length >= (workers === 1 ? 1 : workers + 1))
  return gateway
}

const cpuOfTree = (pid: number) => () => treeOf(pid).reduce((sum, each) => sum + cpuMs(each), 0)

const modern = ({ url }: Gateway, workers: number) =>
  times(CONNECTIONS * workers, () => modernRequest(`${url}/mcp`, 'tools/call', tool))

/** A session is opened on another connection than its calls use, so that about half of them are forwarded. */
async function legacy({ mcp }: Gateway, workers: number): Promise<string[]> {
  const sessions = await openSessions(mcp, CONNECTIONS * workers)
  return sessions.map((session) => legacyRequest(mcp, 'tools/call', tool, session))
}

const candidate = (name: string, { pid, url }: Gateway, requests: readonly string[]): Candidate => ({
  name,
  pid,
  target: calls(url, requests, SIZE),
  cpuMs: cpuOfTree(pid)
})

/** Lets each worker answer as many calls as the other gateway's. */
async function warmUp(bench: Bench, { name, target }: Candidate, workers: number): Promise<void> {
  const load = await bench.load()
  await load({ key: name, target, ms: LONGEST_WARM_UP_MS, most: workers * (bench.isQuick ? 1_000 : WARM_UP) })
}

function report(work: string, [one, two]: readonly Measurement[]): boolean {
  const scale = cpuRatio(one!, two!)
  console.log(`${work}: ${figures(one!, two!)}`)
  console.log(
    `${work}: with 2 workers ${speedRatio(two!, one!).toFixed(2)} × the calls a second on this machine; ` +
      `CPU per call allows ${scale.toFixed(2)} × n on n free cores, goal ${GOAL}; ${errorsOf(one!, two!)} errors`
  )
  return scale >= GOAL && errorsOf(one!, two!) === 0
}

const postgres = await startPostgres(process.env)
try {
  if (!postgres) throw new Error('workers need PostgreSQL')
  const results = await withBench({ isQuick: options.quick, postgresUrl: postgres.url }, async (bench) => {
    const upstream = await bench.target('upstream.ts')
    const gateways = [await open(bench, upstream.url, 1), await open(bench, upstream.url, 2)] as const
    const rounds = { rounds: Number(options.rounds) }
    const names = ['1 worker', '2 workers'] as const
    const stateless = names.map((name, at) => candidate(name, gateways[at]!, modern(gateways[at]!, at + 1)))
    const sessions = await Promise.all(
      names.map(async (name, at) => candidate(`${name}, sessions`, gateways[at]!, await legacy(gateways[at]!, at + 1)))
    )
    for (const all of [stateless, sessions]) {
      for (const [at, one] of all.entries()) await warmUp(bench, one, at + 1)
    }
    return {
      'calls of 2026-07-28': await compare(bench, stateless, rounds),
      'calls of sessions, half of them forwarded': await compare(bench, sessions, rounds)
    }
  })
  const verdicts = Object.entries(results).map(([work, measured]) => report(work, measured))
  // forwarding is the exception: most clients keep the connection that opened their session
  process.exitCode = verdicts[0] ? 0 : 1
} finally {
  await postgres?.stop()
}
