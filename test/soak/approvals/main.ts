import { parseArgs } from 'node:util'
import { startPostgres } from '../../postgres.ts'
import { runStandalone } from '../../standalone.ts'
import { addCleanup } from '../../store.ts'
import { runChaos } from './chaos.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    'calls-per-kill': { type: 'string', default: '20' }
  }
})

const problems = await runStandalone(async (t) => {
  const cluster = await startPostgres(process.env)
  if (!cluster) throw new Error('no PostgreSQL found')
  addCleanup(t, () => cluster.stop())
  const outcome = await runChaos(t, {
    databaseUrl: cluster.url,
    runs: Number(values.runs),
    seed: Number(values.seed),
    callsPerKill: Number(values['calls-per-kill']),
    report: (text) => console.log(text)
  })
  console.table(outcome.seen)
  const { kills, runs, yeses, reached } = outcome
  console.log(`${runs} calls lived through ${kills} kills: ${yeses} had a yes, ${reached} ran`)
  for (const problem of outcome.problems) console.error(problem)
  return outcome.problems
})
process.exit(problems.length > 0 ? 1 : 0)
