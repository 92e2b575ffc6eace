import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ManagedProcess, start } from './processes.ts'
import {
  type Launch,
  type Upstream,
  post,
  register,
  registration,
  startFixture,
  startGateway,
  upstreams
} from './servers.ts'
import {
  type CheckNote,
  type Revision,
  type Verdict,
  extensionScenarios,
  findNode,
  readVerdicts,
  requiredArguments,
  revisions,
  scenarioArguments,
  separateScenarios
} from './suite.ts'
import { installTools } from '../tools/tools.ts'
import { runClientSide } from './auth/client-side.ts'
import { runServerSide } from './auth/server-side.ts'

/** Options of `run.ts`, the official conformance suite against the gateway; see `docs/how-to/conformance.md`. */
interface Options {
  /** True to test OAuth instead: the gateway as authorization server, and as client of upstreams. */
  readonly auth: boolean
  readonly direct: boolean
  readonly sets: readonly Revision[]
  readonly scenario: string | undefined
  readonly upstream: Upstream
  readonly sessionMode: string
  /** Path of an endpoint other than the group's. */
  readonly path: string | undefined
}

const limitMs = 300_000

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      auth: { type: 'boolean', default: false },
      direct: { type: 'boolean', default: false },
      set: { type: 'string' },
      scenario: { type: 'string' },
      upstream: { type: 'string', default: 'http' },
      'session-mode': { type: 'string', default: 'stateless' },
      path: { type: 'string' }
    }
  })
  const { auth, direct, set, scenario, path } = values
  const sets = set === undefined ? revisions : [oneOf('--set', revisions, set)]
  const upstream = oneOf('--upstream', upstreams, values.upstream)
  if (direct && upstream !== 'http') throw new Error('--direct speaks to the fixture over http only')
  return { auth, direct, sets, scenario, upstream, sessionMode: values['session-mode'], path }
}

function oneOf<const T extends string>(option: string, known: readonly T[], value: string): T {
  const found = known.find((one) => one === value)
  if (found === undefined) throw new Error(`${option} is one of ${known.join(', ')}`)
  return found
}

/** Result of a scenario against each server that was tested. */
interface Row {
  readonly scenario: string
  /** True for a scenario that the revision requires. */
  readonly scored: boolean
  /** Undefined if the server was not tested without the gateway. */
  readonly direct: Verdict | undefined
  /** Undefined if only the server was tested. */
  readonly through: Verdict | undefined
}

/** Runs the scenarios about OAuth, first of authorization servers, then of clients. Resolves with the exit code. */
async function runAuth(launch: Launch, folder: string): Promise<number> {
  const { passed, all } = await runServerSide(launch, folder)
  const unexpected = all - passed + (await runClientSide(launch, folder))
  console.log(unexpected === 0 ? 'every result is as listed' : `${unexpected} results are not as listed`)
  return unexpected === 0 ? 0 : 1
}

async function run(options: Options, launch: Launch, folder: string): Promise<number> {
  const urls = await startTargets(options, launch, join(folder, 'data'))
  const extensions = new Set(extensionScenarios())
  /** A scenario of an extension counts if the server passes it without the gateway. */
  const counts = ({ scenario, scored, direct }: Row) =>
    scored || options.scenario !== undefined || (extensions.has(scenario) && direct?.passed === true)
  const counted: boolean[] = []
  for (const set of options.sets) {
    const test = (column: keyof typeof urls) =>
      runSuite(urls[column], set, options.scenario, launch, join(folder, column, set))
    const rows = joinRows(await test('direct'), await test('through'))
    print(set, rows, options.scenario !== undefined)
    counted.push(...rows.filter(counts).map(hasPassed))
  }
  const failed = counted.filter((passed) => !passed).length
  console.log(`${counted.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

/** Runs one scenario, or all that exist for a revision, against `url`. Resolves without verdicts if it is undefined. */
async function runSuite(
  url: string | undefined,
  set: Revision,
  scenario: string | undefined,
  launch: Launch,
  results: string
): Promise<Verdict[]> {
  if (url === undefined) return []
  const node = findNode()
  if (scenario === undefined) await launch(node, requiredArguments(url, set, results)).exited
  for (const name of scenario === undefined ? separateScenarios(set) : [scenario])
    await launch(node, scenarioArguments(url, set, results, name)).exited
  return readVerdicts(results, set, scenario)
}

function joinRows(direct: readonly Verdict[], through: readonly Verdict[]): Row[] {
  const verdicts = new Map([...direct, ...through].map((verdict) => [verdict.scenario, verdict]))
  const verdictOf = (all: readonly Verdict[], name: string) => all.find(({ scenario }) => scenario === name)
  return [...verdicts.values()].map(({ scenario, scored }) => ({
    scenario,
    scored,
    direct: verdictOf(direct, scenario),
    through: withLostChecks(verdictOf(through, scenario), verdictOf(direct, scenario))
  }))
}

/** Fails a scenario whose checks are made without the gateway but skipped through it. */
function withLostChecks(through: Verdict | undefined, direct: Verdict | undefined): Verdict | undefined {
  if (!through || !direct?.passed) return through
  const lost = through.skippedChecks.filter((id) => !direct.skippedChecks.includes(id))
  const notes = lost.map((id) => ({ id, message: 'skipped, but not without the gateway' }))
  return { ...through, passed: through.passed && lost.length === 0, failedChecks: [...through.failedChecks, ...notes] }
}

const hasPassed = ({ direct, through }: Row) => (through ?? direct)?.passed === true

/** Starts what is tested. The suite checks the Host header, so the URLs use a host name valid for this machine. */
async function startTargets(
  options: Options,
  launch: Launch,
  dataDir: string
): Promise<{ readonly direct: string | undefined; readonly through: string | undefined }> {
  const local = (url: string) => url.replace('127.0.0.1', 'localhost')
  if (options.direct) return { direct: local(await startFixture(launch, 'http')), through: undefined }
  const [origin, server] = await Promise.all([
    startGateway(launch, dataDir),
    registration(launch, options.upstream, options.sessionMode)
  ])
  // the suite speaks Streamable HTTP only
  const direct = options.upstream === 'http' ? local(server.url!) : undefined
  if (options.path === undefined) return { direct, through: origin + (await register(origin, server)) }
  await post(`${origin}/api/v0/servers`, server)
  return { direct, through: origin + options.path }
}

function print(set: Revision, rows: readonly Row[], isDetailed: boolean) {
  const width = Math.max(...rows.map(({ scenario }) => scenario.length))
  for (const { scenario, scored, direct, through } of rows) {
    const cells = [
      set,
      scenario.padEnd(width),
      ...(direct ? [`direct ${result(direct)}`] : []),
      ...(through ? [`through ${result(through)}`] : []),
      scored ? '' : '(not required)'
    ]
    const { failedChecks, warnings } = (through ?? direct)!
    const warned = warnings.length > 0 ? `warnings: ${names(warnings)}` : ''
    console.log([...cells, names(failedChecks), warned].filter(Boolean).join('  '))
    if (scored || isDetailed || direct?.passed)
      for (const { id, message } of failedChecks) console.log(`    ${id}: ${message}`)
  }
}

const result = ({ passed }: Verdict) => (passed ? 'pass' : 'FAIL')

function names(notes: readonly CheckNote[]): string {
  const ids = [...new Set(notes.map(({ id }) => id))]
  return ids.slice(0, 3).join(', ') + (ids.length > 3 ? ` and ${ids.length - 3} more` : '')
}

async function main(args: string[]): Promise<number> {
  const options = readOptions(args)
  installTools()
  const folder = await mkdtemp(join(tmpdir(), 'towpath-conformance-'))
  const running: ManagedProcess[] = []
  let isStopping = false
  const launch: Launch = (...command) => {
    if (isStopping) throw new Error('stopped')
    const started = start(...command)
    running.unshift(started)
    return started
  }
  const stopAll = async () => {
    isStopping = true
    await Promise.all(running.map(({ stop }) => stop()))
  }
  const timer = setTimeout(() => {
    console.error(`not done after ${limitMs / 1000} s`)
    void stopAll()
  }, limitMs)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stopAll())
  try {
    return await (options.auth ? runAuth(launch, folder) : run(options, launch, folder))
  } finally {
    clearTimeout(timer)
    await stopAll()
    await rm(folder, { recursive: true, force: true })
  }
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return 1
})
