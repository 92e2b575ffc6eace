import { expandPlaceholders } from '../../domain/placeholders.ts'
import { importServers, type ImportedServer } from '../../domain/import/formats.ts'
import { MASK } from '../../domain/secrets/secret-parts.ts'
import { PRODUCT } from '../../domain/product.ts'
import { fileClientOf } from '../clients/client-names.ts'
import { serversOfClient } from '../clients/find.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { readText } from '../io/input.ts'
import { KINDS } from '../io/kinds.ts'
import { isPending, type RegistrationResponse } from '../io/sign-in.ts'
import { noteStarts, type StartingServer } from '../output/start-costs.ts'
import { combineExitCodes, isFatal } from '../apply/exit-codes.ts'
import type { Column, Records } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { rowsView } from '../output/views.ts'

interface Flags {
  readonly client?: string
  readonly force?: boolean
  readonly dryRun?: boolean
}

/** A server of the file and its outcome. */
interface Row {
  readonly name: string
  readonly outcome:
    'new' | 'replaces' | 'added' | 'replaced' | 'sign_in_needed' | 'exists' | 'refused' | 'failed' | 'skipped'
  readonly transport: string
  /** Without arguments and query values, which may be secrets. */
  readonly target: string
  readonly problems: readonly string[]
  readonly notes: readonly string[]
  readonly ignored: readonly string[]
  /** Variables read from the environment. */
  readonly variables: readonly string[]
}

const columns: readonly Column<Row>[] = [
  { head: 'name', value: ({ name }) => name },
  { head: 'outcome', value: ({ outcome }) => outcome.replaceAll('_', ' ') },
  { head: 'transport', value: ({ transport }) => transport },
  { head: 'target', value: ({ target }) => target },
  { head: 'variables', value: ({ variables }) => variables.join(', '), isWide: true },
  { head: 'ignored', value: ({ ignored }) => ignored.join(', '), isWide: true },
  { head: 'remarks', value: ({ problems, notes }) => [...problems, ...notes].join('; ') }
]

function rowOf(server: ImportedServer, outcome: Row['outcome'], problem?: string): Row {
  const { name, registration, problems, notes, ignored, variables } = server
  return {
    name,
    outcome,
    transport: registration.transport,
    target: (registration.url ?? registration.command ?? '').replace(/\?.*$/s, `?${MASK}`),
    problems: problem === undefined ? problems : [...problems, problem],
    notes,
    ignored,
    variables: variables.map((ask) => ask.name)
  }
}

function selectServers(servers: readonly ImportedServer[], names: readonly string[]): readonly ImportedServer[] {
  const unknown = names.filter((name) => !servers.some((server) => server.name === name))
  if (unknown.length > 0)
    throw usage(`there is no server ${unknown.join(', ')}`, `found: ${servers.map(({ name }) => name).join(', ')}`)
  return names.length === 0 ? servers : servers.filter(({ name }) => names.includes(name))
}

/** Looks up a variable in the environment, then in the file's defaults. */
function valueFor({ variables }: ImportedServer, env: Readonly<Record<string, string | undefined>>) {
  const defaults = new Map(variables.map((ask) => [ask.name, ask.default]))
  return (name: string) => env[name] ?? defaults.get(name)
}

/**
 * Expands the variables of all servers. The error lists all unset variables at once, before any request
 * (http-contract.md#placeholders).
 */
export function expandBodies(cli: Cli, servers: readonly ImportedServer[]): ReadonlyMap<ImportedServer, unknown> {
  const missing: string[] = []
  const bodies = servers.map((server) => {
    const { value, unset } = expandPlaceholders(server.registration, valueFor(server, cli.io.env))
    missing.push(...unset.map(({ name, path }) => `  ${name} at ${path} of "${server.name}"`))
    return [server, value] as const
  })
  const names = [...new Set(missing.map((line) => line.trim().split(' ', 1)[0]!))]
  if (names.length > 0)
    throw usage(`variables are not set:\n${missing.join('\n')}`, `export ${names.map((name) => `${name}=…`).join(' ')}`)
  return new Map(bodies)
}

/** Servers that the gateway has taken, and the failures of the others. */
interface Outcomes {
  readonly added: StartingServer[]
  readonly failures: Failure[]
}

async function add(cli: Cli, server: ImportedServer, body: unknown, isForced: boolean, { added }: Outcomes) {
  const query = isForced ? '?force=true' : ''
  const answer: RegistrationResponse = await cli.api.post(`${KINDS.server.path}${query}`, body)
  if (isPending(answer.body)) {
    cli.note(`server "${server.name}" requires a sign-in: ${answer.body.authorization_required.authorization_url}`)
    return rowOf(server, 'sign_in_needed')
  }
  added.push(answer.body)
  cli.note(`${isForced ? 'replaced' : 'added'} server "${server.name}"`)
  return rowOf(server, isForced ? 'replaced' : 'added')
}

/** Returns the servers of a file, or of a client's own files. */
async function readServers(cli: Cli, file: string | undefined, client: string | undefined) {
  if (client !== undefined) return serversOfClient(cli, fileClientOf(client))
  if (file === undefined) throw usage('import needs a file, or --client CLIENT', `${PRODUCT} import --client cursor`)
  const { servers, problem } = importServers(await readText(cli.io, file), { ownUrls: [cli.api.registry] })
  if (problem !== undefined) throw usage(`${file === '-' ? 'stdin' : file}: ${problem}`)
  return servers
}

/** Registers the servers of another client's configuration; a failure does not stop the others. */
export const importFile: Action<Flags> = async (cli, args, { client, force = false, dryRun = false }) => {
  const [file, ...others] = args
  const servers = selectServers(await readServers(cli, file, client), client === undefined ? others : args)
  const { body } = await cli.api.get<readonly Records['server'][]>(KINDS.server.path)
  const existing = new Set(body.map(({ name }) => name))
  const outcomeOf = (server: ImportedServer): Row['outcome'] => {
    if (server.problems.length > 0) return 'refused'
    if (existing.has(server.name)) return force ? 'replaces' : 'exists'
    return 'new'
  }
  const show = (rows: readonly Row[]) =>
    cli.show(
      { body: rows },
      rowsView(columns, rows, ({ name }) => name)
    )
  const planned = servers.map((server) => [server, outcomeOf(server)] as const)
  if (dryRun) return show(planned.map(([server, outcome]) => rowOf(server, outcome)))

  const isTried = (outcome: Row['outcome']) => outcome === 'new' || outcome === 'replaces'
  const bodies = expandBodies(
    cli,
    planned.flatMap(([server, outcome]) => (isTried(outcome) ? [server] : []))
  )
  const rows: Row[] = []
  const outcomes: Outcomes = { added: [], failures: [] }
  const { added, failures } = outcomes
  for (const [server, outcome] of planned) {
    if (!isTried(outcome)) {
      failures.push(refusal(server, outcome))
      cli.warn(`server "${server.name}": ${failures.at(-1)!.message}`, failures.at(-1)!.hint)
      rows.push(rowOf(server, outcome))
    } else if (failures.some(isFatal)) {
      rows.push(rowOf(server, 'skipped'))
    } else {
      rows.push(await tryAdd(cli, server, bodies.get(server), outcome === 'replaces', outcomes))
    }
  }
  await show(rows)
  noteStarts(cli, added)
  return combineExitCodes(failures)
}

const refusal = ({ problems }: ImportedServer, outcome: Row['outcome']): Failure =>
  outcome === 'exists'
    ? new Failure(EXIT.conflict, 'already exists', { hint: 'replace it with --force' })
    : usage(problems.join('; '))

async function tryAdd(cli: Cli, server: ImportedServer, body: unknown, isForced: boolean, outcomes: Outcomes) {
  try {
    return await add(cli, server, body, isForced, outcomes)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    outcomes.failures.push(error)
    cli.warn(`server "${server.name}": ${error.message}`, error.hint, error.details.stderr)
    return rowOf(server, 'failed', error.message)
  }
}
