import { setTimeout as delay } from 'node:timers/promises'
import type { CallEntry, CallPage } from '../../schemas/call.ts'
import type { Server } from '../../schemas/server.ts'
import type { Static } from '@sinclair/typebox'
import { withQuery } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { localTime, momentOf } from '../io/moments.ts'
import { qualifiedName } from '../../domain/names.ts'
import type { Colour, Column } from '../output/records.ts'
import { itemPath } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { row } from '../output/table.ts'
import { recordView, rowsView } from '../output/views.ts'

interface Flags {
  readonly follow?: boolean
  readonly server?: string
  readonly tool?: string
  readonly caller?: string
  readonly failed?: boolean
  readonly since?: string
  readonly limit: string
}

const POLL_MS = 1_000
/** Maximum page size of the gateway. */
const PAGE = 500
/** Ids kept for deduplication: replicas may write rows late, before those already shown. */
const MAX_KNOWN = 2_000

/** The name that `towpath invoke` takes; of a resource the URI. */
const nameOf = ({ kind, server, item = '' }: CallEntry): string =>
  server === undefined || kind === 'resource' ? item : qualifiedName(server, item)

/** The error without the part that the item's name says already. */
const errorOf = ({ error, server }: CallEntry): string | undefined => {
  const prefix = `server ${JSON.stringify(server)}: `
  return error?.startsWith(prefix) ? error.slice(prefix.length) : error
}

const outcomeColours: Readonly<Record<CallEntry['outcome'], Colour | undefined>> = {
  ok: undefined,
  task: undefined,
  tool_error: 'yellow',
  failed: 'red',
  timeout: 'red',
  cancelled: 'dim',
  refused: 'yellow'
}

const columns: readonly Column<CallEntry>[] = [
  { head: 'at', value: ({ at }) => localTime(at), colour: () => 'dim' },
  { head: 'outcome', value: ({ outcome }) => outcome, colour: ({ outcome }) => outcomeColours[outcome] },
  { head: 'ms', value: ({ total_ms }) => String(Math.round(total_ms)) },
  { head: 'caller', value: ({ caller, caller_kind }) => caller || caller_kind },
  { head: 'endpoint', value: ({ endpoint }) => endpoint, isWide: true },
  { head: 'kind', value: ({ kind }) => kind, isWide: true },
  { head: 'client', value: ({ client }) => client, isWide: true },
  { head: 'item', value: nameOf },
  { head: 'request', value: ({ request_id }) => request_id, isWide: true },
  { head: 'error', value: errorOf }
]
/** Minimum column widths while following, when later rows are unknown. */
const WIDTHS: Readonly<Record<string, number>> = { at: 19, outcome: 10, ms: 6, caller: 12, endpoint: 12, item: 28 }

type Page = Static<typeof CallPage>
type Query = Readonly<Record<string, string | undefined>>

const pageOf = (cli: Cli, query: Query) => cli.api.get<Page>(withQuery('/api/v0/calls', query))

export const logs: Action<Flags> = async (cli, _args, { follow, failed, since, limit, ...filter }) => {
  const { server, tool, caller } = filter
  const query: Query = { server, tool, caller, ...(failed ? { failed: 'true' } : {}), from: momentOf(since, '--since') }
  if (follow) return followCalls(cli, query, limit)
  const answer = await pageOf(cli, { ...query, limit })
  const { calls, next_before } = answer.body
  await cli.show(
    answer,
    rowsView(columns, calls.toReversed(), ({ id }) => id)
  )
  if (calls.length === 0) cli.note('no calls')
  if (next_before !== undefined) cli.note('older calls exist: raise --limit, at most 500')
}

/**
 * Creates a printer of one line per call in the requested format. JSON is printed as JSON lines, since the list never
 * ends.
 */
function createPrinter(cli: Cli): (calls: readonly CallEntry[]) => void {
  if (cli.format === 'yaml')
    throw usage('logs --follow does not support YAML', 'use -o json, which prints one line per call')
  const shown = columns.filter(({ isWide }) => !isWide || cli.format === 'wide')
  const widths = shown.map(({ head }) => WIDTHS[head] ?? 8)
  const head = shown.map(({ head: text }) => text.toUpperCase())
  const line = (call: CallEntry) =>
    row(
      shown.map(({ value }) => value(call) ?? ''),
      widths,
      (text, column) => {
        const colour = shown[column]!.colour?.(call)
        return colour === undefined ? text : cli.paint(colour, text)
      }
    )
  if (cli.format === 'table' || cli.format === 'wide') cli.out(row(head, widths))
  return (calls) => {
    for (const call of calls) {
      if (cli.format === 'json') cli.out(JSON.stringify(call))
      else if (cli.format === 'name') cli.out(call.id)
      else cli.out(line(call))
    }
  }
}

/** Reads the new calls with an id above `floor`, oldest first. Reads pages until one contains a known call. */
async function fetchNewCalls(cli: Cli, query: Query, known: ReadonlySet<string>, floor: bigint): Promise<CallEntry[]> {
  const fresh: CallEntry[] = []
  for (let before: string | undefined; ;) {
    const { calls, next_before } = (await pageOf(cli, { ...query, before, limit: String(PAGE) })).body
    const own = calls.filter(({ id }) => !known.has(id) && BigInt(id) > floor)
    fresh.push(...own)
    if (own.length < calls.length || next_before === undefined) return fresh.toReversed()
    before = next_before
  }
}

/** Follows the call log until interrupted or stdout is closed. */
async function followCalls(cli: Cli, query: Query, limit: string): Promise<void> {
  const { stdoutClosed } = cli.io
  const print = createPrinter(cli)
  const first = (await pageOf(cli, { ...query, limit })).body.calls.toReversed()
  // calls older than the first page were not requested
  const floor = BigInt(first[0]?.id ?? 0)
  let known = new Set(first.map(({ id }) => id))
  print(first)
  while (!stdoutClosed?.aborted) {
    await delay(POLL_MS, undefined, stdoutClosed ? { signal: stdoutClosed } : {}).catch(() => {})
    if (stdoutClosed?.aborted) return
    const fresh = await fetchNewCalls(cli, query, known, floor)
    print(fresh)
    known = new Set([...known, ...fresh.map(({ id }) => id)].slice(-MAX_KNOWN))
  }
}

interface RecordFlags {
  readonly minutes: string
  readonly stop?: boolean
}

/** Records the contents of the calls of a server for a time, or stops that. */
export const recordServer: Action<RecordFlags> = async (cli, [name = ''], { minutes, stop }) => {
  if (!/^[1-9]\d{0,3}$/.test(minutes)) throw usage('--minutes must be a number from 1 to 1440')
  const route = `${itemPath('server', name)}/recording`
  const sent = stop
    ? cli.api.send<Static<typeof Server>>('DELETE', route)
    : cli.api.put<Static<typeof Server>>(route, { minutes: Number(minutes) })
  const answer = await withSuggestion(cli, 'server', name, sent)
  const until = answer.body.recorded_until
  cli.note(
    until === undefined
      ? `contents of the calls of "${name}" are no longer recorded`
      : `contents of the calls of "${name}" are recorded until ${until}; read them with \`towpath logs --json\``
  )
  await cli.show(answer, recordView(answer.body))
}
