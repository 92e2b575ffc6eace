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
  findNode,
  readVerdicts,
  revisions,
  suiteArguments
} from './suite.ts'
import { installTools } from '../tools/tools.ts'

/** Options of `run.ts`, the official conformance suite against the gateway; see `docs/how-to/conformance.md`. */
interface Options {
  readonly direct: boolean
  readonly sets: readonly Revision[]
  readonly scenario: string | undefined
  readonly upstream: Upstream
  readonly sessionMode: string
  /** Path of an endpoint other than the group's. */
  readonly path: string | undefined
}

const limitMs = 180_000

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      direct: { type: 'boolean', default: false },
      set: { type: 'string' },
      scenario: { type: 'string' },
      upstream: { type: 'string', default: 'http' },
      'session-mode': { type: 'string', default: 'stateless' },
      path: { type: 'string' }
    }
  })
  const { direct, set, scenario, path } = values
  const sets = set === undefined ? revisions : [oneOf('--set', revisions, set)]
  const upstream = oneOf('--upstream', upstreams, values.upstream)
  if (direct && upstream !== 'http') throw new Error('--direct speaks to the fixture over http only')
  return { direct, sets, scenario, upstream, sessionMode: values['session-mode'], path }
}

function oneOf<const T extends string>(option: string, known: readonly T[], value: string): T {
  const found = known.find((one) => one === value)
  if (found === undefined) throw new Error(`${option} is one of ${known.join(', ')}`)
  return found
}

async function run(options: Options, launch: Launch, folder: string): Promise<number> {
  const url = await startTarget(options, launch, join(folder, 'data'))
  const scored: Verdict[] = []
  for (const set of options.sets) {
    const results = join(folder, set)
    await launch(findNode(), suiteArguments(url, set, results, options.scenario)).exited
    const verdicts = readVerdicts(results, set, options.scenario)
    print(set, verdicts, options.scenario !== undefined)
    scored.push(...verdicts.filter((verdict) => verdict.scored || options.scenario !== undefined))
  }
  const failed = scored.filter(({ passed }) => !passed).length
  console.log(`${scored.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

/** Returns the URL under test. The suite checks the Host header, so the URL uses a host name valid for this machine. */
async function startTarget(options: Options, launch: Launch, dataDir: string): Promise<string> {
  if (options.direct) return (await startFixture(launch, 'http')).replace('127.0.0.1', 'localhost')
  const [origin, server] = await Promise.all([
    startGateway(launch, dataDir),
    registration(launch, options.upstream, options.sessionMode)
  ])
  if (options.path === undefined) return origin + (await register(origin, server))
  await post(`${origin}/api/v0/servers`, server)
  return origin + options.path
}

function print(set: Revision, verdicts: readonly Verdict[], isDetailed: boolean) {
  const width = Math.max(...verdicts.map(({ scenario }) => scenario.length))
  for (const { scenario, scored, passed, failedChecks, warnings } of verdicts) {
    const result = `${passed ? 'pass' : 'FAIL'}${scored ? '' : ' (not scored)'}`
    const warned = warnings.length > 0 ? `warnings: ${names(warnings)}` : ''
    console.log([set, scenario.padEnd(width), result, names(failedChecks), warned].filter(Boolean).join('  '))
    if (scored || isDetailed) for (const { id, message } of failedChecks) console.log(`    ${id}: ${message}`)
  }
}

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
    return await run(options, launch, folder)
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
