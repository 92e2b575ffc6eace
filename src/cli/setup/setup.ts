import { CLIENT_TITLES, FILE_CLIENTS, type FileClient } from '../../domain/clients/clients.ts'
import { TOKEN_PLACEHOLDER, type Target } from '../../domain/clients/snippets.ts'
import type { Registration } from '../../domain/import/entry.ts'
import { PRODUCT } from '../../domain/product.ts'
import { fileClientOf } from '../clients/client-names.ts'
import { findClients, type FoundClients, type FoundServer } from '../clients/find.ts'
import { programWords } from '../connect/program-words.ts'
import type { Cli } from '../io/cli.ts'
import { checkToken } from '../io/connection.ts'
import { EXIT, notFound, usage } from '../io/failure.ts'
import { needsToken } from '../io/mode.ts'
import { askText, confirm } from '../io/prompt.ts'
import type { Action } from '../io/runner.ts'
import { mergeServers, type MergedServer } from './merge.ts'
import { planChanges, planFiles, type PlannedFile, type PlannedFiles } from './plan.ts'
import { hashOf, recordPath, writeRecord } from './record.ts'
import { isServed, plannedOutcome, registerServers } from './register.ts'
import { tokensOfEndpoint, tokensOfServer } from './tokens.ts'
import { undo } from './undo.ts'
import { serverRow, setupTables, type FileRow, type ServerRow, type SetupRows, type TokensRow } from './view.ts'
import { writePlannedFile } from './write.ts'

interface Flags {
  readonly client?: readonly string[]
  readonly undo?: boolean
  readonly dryRun?: boolean
}

/** Variable with the token that the clients send in enterprise mode. */
const TOKEN_VARIABLE = 'TOWPATH_CLIENT_TOKEN'
const ENDPOINT = '/mcp'

/** Findings of set-up, made before it changes anything. */
interface Survey {
  readonly clients: readonly FileClient[]
  readonly found: FoundClients
  readonly servers: readonly MergedServer[]
  readonly target: Target
}

async function survey(cli: Cli, given: readonly FileClient[] | undefined): Promise<Survey> {
  const registry = cli.api.registry
  const isClosed = await needsToken(cli)
  const { body } = await cli.api.get<readonly Registration[]>('/api/v0/server_configs')
  const found = await findClients(cli.io, [registry], given ?? FILE_CLIENTS)
  const clients = given ?? FILE_CLIENTS.filter((client) => found.places.some((place) => place.client === client))
  if (clients.length === 0 && found.unreadable.length === 0)
    throw notFound('no MCP client was found', `create a client's file with: ${PRODUCT} setup --client cursor`)
  const servers = mergeServers(
    found.places.flatMap((place) => place.servers),
    body,
    cli.io.env
  )
  const target = {
    name: PRODUCT,
    url: registry + ENDPOINT,
    program: programWords(cli.io),
    ...(isClosed ? { tokenVariable: TOKEN_VARIABLE } : {})
  }
  return { clients, found, servers, target }
}

/** Puts the token into the entries of clients that cannot read variables; those are refused without one. */
function insertTokens(cli: Cli, planned: PlannedFiles): PlannedFiles {
  const token = cli.io.env[TOKEN_VARIABLE]
  const needing = planned.files.filter(({ text }) => text.includes(TOKEN_PLACEHOLDER))
  if (needing.length === 0) return planned
  const others = planned.files.filter((file) => !needing.includes(file))
  if (token === undefined) {
    const problem = `its file needs the token of an MCP client: set ${TOKEN_VARIABLE}`
    return {
      files: others,
      refused: [...planned.refused, ...needing.map(({ client, path }) => ({ client, path, problem }))]
    }
  }
  const quoted = JSON.stringify(checkToken(token, TOKEN_VARIABLE)).slice(1, -1)
  const filled = needing.map((file) => ({
    ...file,
    text: file.text.replaceAll(TOKEN_PLACEHOLDER, () => quoted),
    hasToken: true
  }))
  return { ...planned, files: [...others, ...filled] }
}

/** Plans the files for servers that the gateway serves. */
async function planFor(
  cli: Cli,
  { found, clients, target }: Survey,
  moved: readonly FoundServer[]
): Promise<PlannedFiles> {
  const unreadable = new Set(found.unreadable.map(({ path }) => path))
  const changes = planChanges(cli.io, found, clients, moved, target).filter(({ path }) => !unreadable.has(path))
  const planned = insertTokens(cli, await planFiles(changes))
  return { ...planned, refused: [...found.unreadable, ...planned.refused] }
}

/** Returns the entries that leave their files: those that a client starts, of servers that the gateway serves. */
const movedEntries = (servers: readonly MergedServer[]) =>
  servers.flatMap(({ sources }) => sources.filter(({ isEnabled }) => isEnabled))

const fileRows = ({ files, refused }: PlannedFiles): FileRow[] => [
  ...files.map(({ client, path, before, removed }): FileRow => {
    const outcome = before ? 'changes' : 'creates'
    return { client, file: path, outcome, replaced: removed }
  }),
  ...refused.map(({ client, path, problem }): FileRow => {
    return { client, file: path, outcome: 'refused', replaced: [], problem }
  })
]

/** Parses an answer such as `1,3-5`, counted from 1; undefined if it is not one. */
export function parseChoice(answer: string, count: number): number[] | undefined {
  const parts = answer.trim().split(/[\s,]+/)
  const numbers = parts.flatMap((part) => {
    const [, from, to = from] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part) ?? []
    if (from === undefined || Number(from) < 1 || Number(to) > count || Number(from) > Number(to)) return [Number.NaN]
    return Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => Number(from) + index)
  })
  return numbers.some(Number.isNaN) ? undefined : numbers
}

/** Asks which of the usable servers to take; all without a question. */
async function choose(cli: Cli, servers: readonly MergedServer[]): Promise<ReadonlySet<MergedServer>> {
  const usable = servers.filter((server) => ['new', 'exists'].includes(plannedOutcome(server)))
  if (!cli.canPrompt || usable.length === 0) return new Set(usable)
  usable.forEach(({ name }, index) => cli.announce(`  ${index + 1}. ${name}`))
  for (;;) {
    const answer = await askText(cli.io, 'Which servers should the gateway take over? [all, or numbers such as 1,3-5] ')
    if (answer.trim() === '' || answer.trim() === 'all') return new Set(usable)
    const numbers = parseChoice(answer, usable.length)
    if (numbers) return new Set(numbers.map((number) => usable[number - 1]!))
    cli.announce(`numbers from 1 to ${usable.length}, separated by commas`)
  }
}

/** Estimates what each client loads in this folder, before and now. */
async function measure(
  cli: Cli,
  { clients, servers, target }: Survey,
  rows: readonly ServerRow[]
): Promise<TokensRow[]> {
  const served = servers.filter((_, index) => isServed(rows[index]!))
  const sizes = new Map<MergedServer, number>()
  for (const server of served) sizes.set(server, await tokensOfServer(cli, server.name))
  const token = target.tokenVariable === undefined ? null : cli.io.env[TOKEN_VARIABLE]
  const now = token === undefined ? undefined : await tokensOfEndpoint(cli, ENDPOINT, token).catch(() => undefined)
  return clients.map((client) => {
    const own = servers.filter(({ sources }) =>
      sources.some((source) => source.client === client && source.isEnabled && isLoadedHere(cli, source))
    )
    const before = own.reduce((sum, server) => sum + (sizes.get(server) ?? 0), 0)
    const unmeasured = own.filter((server) => !sizes.has(server)).length
    return { client, before, unmeasured, ...(now === undefined ? {} : { now }) }
  })
}

/** False for servers that the user has in another project only. */
const isLoadedHere = ({ io }: Cli, { place, path }: FoundServer) => place.scope !== 'local' || path[1] === io.cwd

/** Writes the record, then the files, and returns their rows. */
async function changeFiles(cli: Cli, planned: PlannedFiles, record: () => Promise<void>, at: Date): Promise<FileRow[]> {
  await record()
  const rows: FileRow[] = []
  for (const file of planned.files) rows.push(await writePlannedFile(cli, file, at))
  return [...rows, ...fileRows({ files: [], refused: planned.refused })]
}

function checkConsent(cli: Cli, { dryRun }: Flags): void {
  if (dryRun || cli.assumesYes || cli.canPrompt) return
  throw usage(
    'setup changes the files of MCP clients, and there is no terminal to ask on',
    `see the plan with \`${PRODUCT} setup --dry-run\`, then run \`${PRODUCT} setup --yes\``
  )
}

const show = (cli: Cli, rows: SetupRows & { readonly dry_run: boolean }): Promise<void> =>
  cli.show(
    { body: { gateway: cli.api.registry, ...rows } },
    { table: (width, paint) => setupTables(rows, width, paint), names: () => rows.files.map(({ file }) => file) }
  )

/** Registers the servers of all clients and points the clients at the gateway. */
export const setup: Action<Flags> = async (cli, _args, flags) => {
  checkConsent(cli, flags)
  if (flags.undo) return undo(cli, flags.dryRun ?? false)
  const found = await survey(cli, flags.client?.map(fileClientOf))
  const usable = found.servers.filter((server) => ['new', 'exists'].includes(plannedOutcome(server)))
  const plan = await planFor(cli, found, movedEntries(usable))
  const planRows = found.servers.map((server) => serverRow(server, plannedOutcome(server)))
  const rows = { servers: planRows, files: fileRows(plan), tokens: [], dry_run: true }
  if (flags.dryRun) return show(cli, rows)
  if (cli.canPrompt) cli.announce(setupTables(rows, cli.io.stderr.columns || undefined, (_colour, text) => text))
  const chosen = await choose(cli, found.servers)
  if (cli.canPrompt && !(await confirm(cli.io, `Register them at ${cli.api.registry} and change these files?`)))
    return EXIT.interrupted
  return carryOut(cli, found, chosen)
}

async function carryOut(cli: Cli, found: Survey, chosen: ReadonlySet<MergedServer>): Promise<number> {
  const at = new Date()
  const path = recordPath(cli.io, at)
  const added = found.servers.filter((server) => chosen.has(server) && plannedOutcome(server) === 'new')
  const record = (files: readonly PlannedFile[]) => writeRecord(path, recordOf(cli, at, added, files))
  // even if this process is killed, undo knows what it may have registered
  if (added.length > 0) await record([])
  const servers = await registerServers(cli, found.servers, chosen)
  const served = found.servers.filter((_, index) => isServed(servers[index]!))
  const planned = await planFor(cli, found, movedEntries(served))
  const tokens = await measure(cli, found, servers)
  const files =
    planned.files.length === 0 ? fileRows(planned) : await changeFiles(cli, planned, () => record(planned.files), at)
  await show(cli, { servers, files, tokens, dry_run: false })
  conclude(cli, found, files, tokens)
  const hasFailed =
    servers.some(({ outcome }) => outcome === 'failed') || files.some(({ outcome }) => outcome === 'refused')
  return hasFailed ? EXIT.failed : EXIT.done
}

function recordOf(cli: Cli, at: Date, added: readonly MergedServer[], files: readonly PlannedFile[]) {
  return {
    version: 1 as const,
    at: at.toISOString(),
    registry: cli.api.registry,
    servers: added.map(({ name, identity }) => ({ name, identity: hashOf(identity) })),
    files: files.map(({ client, path, language, before, text, changes }) => ({
      client,
      path,
      language,
      mode: before?.mode ?? 0o600,
      ...(before ? { before: hashOf(before.bytes) } : {}),
      after: hashOf(text),
      removed: changes.filter(({ value }) => value === undefined).map((change) => [...change.path]),
      added: changes.filter(({ value }) => value !== undefined).map((change) => [...change.path])
    }))
  }
}

/** Tells what to do next. */
function conclude(cli: Cli, { target }: Survey, files: readonly FileRow[], tokens: readonly TokensRow[]): void {
  const changed = files.filter(({ outcome }) => outcome === 'changed' || outcome === 'created')
  if (changed.length === 0) {
    cli.note('no client’s file was changed')
    return
  }
  const titles = [...new Set(changed.map(({ client }) => CLIENT_TITLES[client]))]
  cli.note(`restart ${titles.join(', ')} to use the gateway; \`${PRODUCT} setup --undo\` restores the files`)
  if (target.tokenVariable !== undefined)
    cli.note(
      `the clients send the token in ${TOKEN_VARIABLE}: \`${PRODUCT} create mcp-client NAME --allow SERVERS\` creates one`
    )
  if (tokens.some(({ before = 0, now = 0 }) => now > before))
    cli.note(`clients now see the tools of all servers; a group offers fewer: \`${PRODUCT} create group --help\``)
}
