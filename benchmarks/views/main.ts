import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../test/postgres.ts'
import { withBench } from '../bench.ts'
import { withSection } from '../page.ts'
import { pinSelf } from '../processes.ts'
import { shuffled } from '../search/cost.ts'
import { readFunctionCalls } from '../search/data.ts'
import { compareCalls } from './calls.ts'
import { publishedPackages, publishedTools } from './published-tools.ts'
import { PUBLISHED, report } from './report.ts'
import { roundTrip } from './round-trip.ts'
import { compareSwaps } from './swap.ts'
import { accuraciesOf } from './tokens.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const FILE = here('../../docs/reference/performance.md')
/** Number of tools of the set that are used. */
const TOOLS = 526

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false }
  }
})

async function main(): Promise<boolean> {
  if (!existsSync(here('../../dist/src/cli/main.js'))) throw new Error('build first: npm run build')
  const tools = shuffled((await readFunctionCalls()).tools).slice(0, TOOLS)
  const packages = await publishedPackages()
  const sets = [
    { name: PUBLISHED, tools: await publishedTools(packages) },
    { name: 'of the function-calling set', tools }
  ]
  const accuracies = await accuraciesOf(sets, packages)
  pinSelf()
  const swap = compareSwaps(options.quick ? 20 : undefined)
  const postgres = await startPostgres(process.env)
  try {
    const settings = { isQuick: options.quick, postgresUrl: postgres?.url }
    const result = await withBench(settings, async (bench) => ({
      swap,
      calls: await compareCalls(bench),
      roundTrip: await roundTrip(bench, tools),
      accuracies
    }))
    const { text, isMet } = report(result)
    console.log(text)
    if (options.write) await writeFile(FILE, withSection(await readFile(FILE, 'utf8'), 'Views of groups', text))
    return isMet
  } finally {
    await postgres?.stop()
  }
}

process.exitCode = (await main()) ? 0 : 1
