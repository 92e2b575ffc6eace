import { CLIENT_TITLES, type FileClient } from '../../domain/clients/clients.ts'
import { maskArguments, maskUrl } from '../../domain/secrets/secret-parts.ts'
import type { Paint } from '../io/messages.ts'
import type { Column } from '../output/records.ts'
import { rowsView } from '../output/views.ts'
import type { MergedServer } from './merge.ts'

/** A server of the clients and what set-up does with it. */
export interface ServerRow {
  readonly name: string
  readonly outcome: 'new' | 'exists' | 'added' | 'failed' | 'disabled' | 'unusable' | 'not_chosen'
  readonly transport: string
  /** Without secrets. */
  readonly target: string
  readonly clients: readonly FileClient[]
  readonly problems: readonly string[]
}

/** A client's file and what set-up does with it. */
export interface FileRow {
  readonly client: FileClient
  readonly file: string
  readonly outcome: 'changes' | 'creates' | 'changed' | 'created' | 'unchanged' | 'refused'
  /** Entries that the gateway replaces. */
  readonly replaced: readonly string[]
  readonly backup?: string
  readonly problem?: string
}

/** Estimated tokens of the tool definitions that a client loads. */
export interface TokensRow {
  readonly client: FileClient
  /** Of its own servers; absent before they are registered. */
  readonly before?: number
  /** Enabled servers whose tools are not known. */
  readonly unmeasured: number
  /** Of the gateway's endpoint; absent if it cannot be measured. */
  readonly now?: number
}

/** Returns the row of a server, with its target's secrets masked. */
export function serverRow(server: MergedServer, outcome: ServerRow['outcome'], problem?: string): ServerRow {
  const { name, registration, sources, problems } = server
  const { url, command = '', args = [], transport } = registration
  return {
    name,
    outcome,
    transport,
    target: url === undefined ? [command, ...maskArguments(args)].join(' ') : maskUrl(url),
    clients: [...new Set(sources.map(({ client }) => client))],
    problems: problem === undefined ? problems : [...problems, problem]
  }
}

const words = (outcome: string) => outcome.replaceAll('_', ' ')

const serverColumns: readonly Column<ServerRow>[] = [
  { head: 'server', value: ({ name }) => name },
  { head: 'outcome', value: ({ outcome }) => words(outcome) },
  { head: 'clients', value: ({ clients }) => clients.map((client) => CLIENT_TITLES[client]).join(', ') },
  { head: 'target', value: ({ target }) => target },
  { head: 'remarks', value: ({ problems }) => problems.join('; ') }
]

const fileColumns: readonly Column<FileRow>[] = [
  { head: 'client', value: ({ client }) => CLIENT_TITLES[client] },
  { head: 'outcome', value: ({ outcome }) => outcome },
  { head: 'replaced', value: ({ replaced }) => String(replaced.length) },
  { head: 'file', value: ({ file }) => file },
  { head: 'remarks', value: ({ backup, problem }) => problem ?? (backup === undefined ? '' : `backup in ${backup}`) }
]

const more = (count: number) => (count === 0 ? '' : ` + ${count} not measured`)
const estimate = (tokens: number | undefined, unmeasured: number) =>
  tokens === undefined ? 'not measured' : `~${tokens.toLocaleString('en')}${more(unmeasured)}`

const tokensColumns: readonly Column<TokensRow>[] = [
  { head: 'client', value: ({ client }) => CLIENT_TITLES[client] },
  { head: 'tokens before', value: ({ before, unmeasured }) => estimate(before, unmeasured) },
  { head: 'tokens now', value: ({ now, unmeasured }) => estimate(now, unmeasured) }
]

export interface SetupRows {
  readonly servers: readonly ServerRow[]
  readonly files: readonly FileRow[]
  readonly tokens: readonly TokensRow[]
}

/** Returns the tables of a plan or result, without empty ones. */
export function setupTables({ servers, files, tokens }: SetupRows, width: number | undefined, paint: Paint): string {
  const tables = [
    rowsView(serverColumns, servers, ({ name }) => name),
    rowsView(fileColumns, files, ({ file }) => file),
    rowsView(tokensColumns, tokens, ({ client }) => client)
  ]
  return tables
    .map(({ table }) => table(width, paint))
    .filter((text) => text !== '')
    .join('\n\n')
}
