import { parseArgs } from 'node:util'
import { type ManagedProcess, start } from '../conformance/processes.ts'
import type { Launch } from '../conformance/servers.ts'
import { type Row, compare, createDirect } from './cells.ts'
import { type Gateway, ownBuild, startGateway } from './gateway.ts'
import { readDifferences } from './known.ts'
import { printHead, printNotes, printRow } from './matrix.ts'
import { type Scenario, describe, plan } from './scenarios.ts'
import { type Toolchain, prepare, toolchains } from './toolchains.ts'

/** Options of `run.ts`: third-party clients and servers with and without the gateway; see `docs/how-to/interop.md`. */
interface Options {
  readonly only: readonly RegExp[]
  readonly jobs: number
  readonly isComplete: boolean
  readonly isListing: boolean
  /** Program of another build of the gateway. */
  readonly gateway: string
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      jobs: { type: 'string', default: '2' },
      require: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      gateway: { type: 'string', default: ownBuild }
    }
  })
  const only = values.only.map((pattern) => new RegExp(pattern))
  const { require: isComplete, list: isListing, gateway } = values
  return { only, jobs: Number(values.jobs), isComplete, isListing, gateway }
}

/** Installs the programs that the rows need. Returns the rows that can run. */
async function prepareFor(rows: readonly Scenario[]): Promise<Scenario[]> {
  const missing = new Set<Toolchain>()
  for (const toolchain of toolchains) {
    if (!rows.some((row) => needs(row, toolchain))) continue
    const failure = await prepare(toolchain)
    if (failure === undefined) continue
    missing.add(toolchain)
    const skipped = rows.filter((row) => needs(row, toolchain)).length
    console.error(`\n!!! SKIPPED: ${skipped} rows, for ${toolchain} cannot be had: ${failure}\n`)
  }
  return rows.filter((row) => ![...missing].some((toolchain) => needs(row, toolchain)))
}

const needs = ({ client, server }: Scenario, toolchain: Toolchain) =>
  client.toolchain === toolchain || server.toolchain === toolchain

async function run(options: Options, launch: Launch): Promise<number> {
  const planned = plan().filter((row) => options.only.every((pattern) => pattern.test(describe(row))))
  if (options.isListing) {
    for (const row of planned) console.log(describe(row))
    return 0
  }
  const differences = await readDifferences()
  const rows = await prepareFor(planned)
  const width = Math.max(0, ...rows.map((row) => describe(row).length))
  const direct = createDirect(launch)
  const done: Row[] = []
  const waiting = [...rows]
  printHead(width)
  const work = async () => {
    const gateways = new Map<string, Promise<Gateway>>()
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      const gateway = gateways.get(row.serverMode) ?? startGateway(launch, options.gateway, row.serverMode)
      gateways.set(row.serverMode, gateway)
      const compared = await compare(launch, await gateway, await direct(row), row, differences)
      done.push(compared)
      printRow(compared, width)
    }
    for (const gateway of gateways.values()) await (await gateway).stop()
  }
  await Promise.all(Array.from({ length: options.jobs }, work))
  printNotes(done)
  const faults = done.flatMap(({ cells }) => Object.values(cells)).filter(({ verdict }) => verdict === 'fault').length
  const isShort = options.isComplete && rows.length < planned.length
  return faults > 0 || isShort || rows.length === 0 ? 1 : 0
}

async function main(args: string[]): Promise<number> {
  const options = readOptions(args)
  const running = new Set<ManagedProcess>()
  let isStopping = false
  const launch: Launch = (...command) => {
    if (isStopping) throw new Error('stopped')
    const started = start(...command)
    running.add(started)
    void started.exited.then(() => running.delete(started))
    return started
  }
  const stopAll = async () => {
    isStopping = true
    await Promise.all([...running].map(({ stop }) => stop()))
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stopAll())
  try {
    return await run(options, launch)
  } finally {
    await stopAll()
  }
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return 1
})
