import { parseArgs } from 'node:util'
import { startPostgres } from '../test/postgres.ts'
import { withBench, type Bench, type Gateway } from './bench.ts'
import { compare, cpuRatio, errorsOf, figures, type Candidate, type Measurement } from './compare.ts'
import { pinSelf } from './processes.ts'
import { calls, modernRequest, times } from './requests.ts'

/**
 * `npm run bench:approvals`: CPU of a call that no rule matches, in a gateway with rules that confirm and approve,
 * compared with one without (goal: at most 1.01 times). A third gateway, without rules as well, shows the noise. Ends
 * with 1 if the goal is missed.
 */
const GOAL = 1.01
const CONNECTIONS = 16
const SIZE = 200
const names = ['without', 'without, again', 'with'] as const

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string', default: '84' } }
})

/** Rules that match other tools of the server, other servers, and other annotations. */
const rules: readonly object[] = [
  { name: 'deletions', effect: 'approve', targets: { servers: ['bench'], tools: ['delete_*'] } },
  { name: 'elsewhere', effect: 'approve', targets: { servers: ['prod-*'] }, when: 'args.size > 5' },
  { name: 'payments', effect: 'confirm', targets: { tools: ['pay', 'refund'] }, without_elicitation: 'deny' }
]

async function open(bench: Bench, upstream: string, name: (typeof names)[number]) {
  const gateway = await bench.gateway()
  await gateway.register('bench', { transport: 'streamable_http', url: `${upstream}/mcp` })
  if (name === 'with') for (const rule of rules) await gateway.admin('POST', '/policies', rule)
  return candidate(name, gateway)
}

function candidate(name: string, { pid, url }: Gateway): Candidate {
  const args = { message: 'hello', size: SIZE }
  const request = modernRequest(`${url}/mcp`, 'tools/call', { name: 'bench__echo', arguments: args })
  const requests = times(CONNECTIONS, () => request)
  return { name, pid, target: calls(url, requests, SIZE) }
}

pinSelf()
const postgres = await startPostgres(process.env)
try {
  const measured = await withBench({ isQuick: options.quick, postgresUrl: postgres?.url }, async (bench) => {
    const upstream = await bench.target('upstream.ts')
    const candidates: Candidate[] = []
    for (const name of names) candidates.push(await open(bench, upstream.url, name))
    return compare(bench, candidates, { rounds: Number(options.rounds) })
  })
  const [without, again, asking] = measured as [Measurement, Measurement, Measurement]
  const ratio = cpuRatio(asking, without)
  console.log(figures(...measured))
  console.log(
    `with rules ${ratio.toFixed(3)} × CPU, goal ${GOAL}; without again ${cpuRatio(again, without).toFixed(3)}; ${errorsOf(...measured)} errors`
  )
  process.exitCode = ratio <= GOAL && errorsOf(...measured) === 0 ? 0 : 1
} finally {
  await postgres?.stop()
}
