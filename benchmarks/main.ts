import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../test/postgres.ts'
import { withBench } from './bench.ts'
import { load, machine } from './machine.ts'
import { failed, isMet, type Outcome } from './outcome.ts'
import { GOALS, goals, withSection } from './page.ts'
import { measurePeers } from './peers/main.ts'
import { pinSelf } from './processes.ts'
import { rows } from './rows/all.ts'
import type { Row } from './rows/row.ts'
import { table } from './table.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
/** Cores of load above which another process is using this machine. */
const QUIET_LOAD = 0.5

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    peers: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false }
  }
})

function chosen(): readonly Row[] {
  if (options.only === undefined) return rows
  const wanted = new Set(options.only.split(',').map(Number))
  const found = rows.filter(({ numbers }) => numbers.some((number) => wanted.has(number)))
  if (found.length === 0) throw new Error(`--only takes numbers of rows, 1 to 15, separated by commas`)
  return found
}

async function versionOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const {
      rows: [row]
    } = await client.query<{ server_version: string }>('show server_version')
    return row!.server_version
  } finally {
    await client.end()
  }
}

async function measure(row: Row, postgresUrl: string | undefined): Promise<Outcome[]> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await withBench({ isQuick: options.quick, postgresUrl }, (bench) => {
      const late = new Promise<never>((_, reject) => {
        const message = `not done after ${row.limitSeconds} s`
        timer = setTimeout(() => reject(new Error(message)), row.limitSeconds * 1_000)
      })
      return Promise.race([row.run(bench), late])
    })
  } catch (error) {
    return [failed(row.numbers[0]!, row.work, (error as Error).message)]
  } finally {
    clearTimeout(timer)
  }
}

async function measureAll(postgresUrl: string | undefined): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const row of chosen()) {
    const begun = performance.now()
    outcomes.push(...(await measure(row, postgresUrl)))
    console.error(`row ${row.numbers.join(', ')}: ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
  }
  return outcomes
}

async function main(): Promise<boolean> {
  if (!existsSync(here('../dist/src/cli/main.js'))) throw new Error('build first: npm run build')
  const busy = load()
  if (busy > QUIET_LOAD) console.error(`*** this machine is busy (load ${busy.toFixed(1)}): trust no figure ***`)
  const isPinned = pinSelf()
  if (options.peers) {
    await measurePeers(options.quick, machine(isPinned, undefined))
    return true
  }
  const begun = performance.now()
  const postgres = await startPostgres(process.env)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void Promise.resolve(postgres?.stop()).finally(() => process.exit(1)))
  }
  try {
    const version = postgres && (await versionOf(postgres.url))
    const outcomes = await measureAll(postgres?.url)
    const minutes = (performance.now() - begun) / 60_000
    const about = machine(isPinned, version)
    console.log(`${about.join('\n')}\n\n${table(outcomes)}\n\n${minutes.toFixed(1)} minutes`)
    if (options.only === undefined && !options.quick) {
      const day = new Date().toISOString().slice(0, 10)
      const file = here('../docs/reference/performance.md')
      const text = goals(outcomes, about, minutes, day)
      await writeFile(file, withSection(await readFile(file, 'utf8'), GOALS, text))
    }
    return outcomes.every((outcome) => isMet(outcome) !== false)
  } finally {
    await postgres?.stop()
  }
}

process.exitCode = (await main()) ? 0 : 1
