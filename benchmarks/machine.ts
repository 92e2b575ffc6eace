import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { VERSION } from '../src/domain/version.ts'

function linesOf(command: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

const dependency = (name: string) =>
  (
    JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8')) as {
      version: string
    }
  ).version

/** Describes the machine and software versions, one per line. */
export function machine(isPinned: boolean, postgresVersion: string | undefined): string[] {
  const [cpu] = cpus()
  const commit = linesOf('git', ['rev-parse', '--short=10', 'HEAD'])
  return [
    `Towpath ${VERSION}${commit ? `, commit \`${commit}\`` : ''}`,
    `Node.js ${process.versions.node}, Fastify ${dependency('fastify')}, undici ${dependency('undici')}`,
    postgresVersion ? `PostgreSQL ${postgresVersion}` : 'no PostgreSQL: gateways used the embedded store',
    `${cpus().length} × ${cpu?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`,
    isPinned
      ? 'The process under test had one core to itself, everything else the other (`taskset`)'
      : 'No `taskset`, or one core only: nothing was pinned, and the figures are worth less'
  ]
}

/** Load by other processes at the start of a run, in cores; more than a little makes the figures worthless. */
export const load = () => loadavg()[0]!
