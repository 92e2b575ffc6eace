import type { Static } from '@sinclair/typebox'
import { startCostText } from '../../domain/start-cost.ts'
import type { CallEntry, CallPage } from '../../schemas/call.ts'
import { withQuery } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure } from '../io/failure.ts'
import { itemPath, KINDS } from '../io/kinds.ts'
import { localTime } from '../io/moments.ts'
import type { Paint } from '../io/messages.ts'
import type { Action } from '../io/runner.ts'
import { leftOutReasons } from '../output/left-out.ts'
import { withSuggestion } from '../output/lookup.ts'
import { COLUMNS, type Column, type Records, statusColour } from '../output/records.ts'
import { details, table } from '../output/table.ts'
import { rowsView } from '../output/views.ts'

/** Failed calls shown; the call log has the others. */
const FAILED_CALLS = '5'

const failureColumns: readonly Column<CallEntry>[] = [
  { head: 'at', value: ({ at }) => localTime(at), colour: () => 'dim' },
  { head: 'outcome', value: ({ outcome }) => outcome },
  { head: 'item', value: ({ item }) => item },
  { head: 'error', value: ({ error }) => error }
]

/** Newest failed calls; none if the caller may not see the call log. */
async function failedCalls(cli: Cli, query: { readonly server: string }): Promise<readonly CallEntry[]> {
  try {
    const path = withQuery('/api/v0/calls', { ...query, failed: 'true', limit: FAILED_CALLS })
    return (await cli.api.get<Static<typeof CallPage>>(path)).body.calls
  } catch (error) {
    if (error instanceof Failure && error.exitCode === EXIT.refused) return []
    throw error
  }
}

/** Numbers of items other than tools, which are listed; undefined if there are none. */
function offered(health: Records['server']['health']): string | undefined {
  if (!health) return undefined
  const { prompt_count, resource_count, skill_count } = health
  const counts = { prompt: prompt_count, resource: resource_count, skill: skill_count }
  const named = Object.entries(counts).filter(([, count]) => count > 0)
  return named.map(([word, count]) => `${count} ${word}${count === 1 ? '' : 's'}`).join(', ') || undefined
}

function facts(server: Records['server'], paint: Paint): string {
  const { name, description, transport, session_mode, url, command, args = [], notes = [], health } = server
  const { calls_24h: calls } = health ?? {}
  const status = health?.status ?? 'unknown'
  const figures =
    calls &&
    `${calls.calls}, ${calls.failed} failed${calls.p95_ms === undefined ? '' : `, p95 ${Math.round(calls.p95_ms)} ms`}`
  const text = details([
    ['name', name],
    ['description', description],
    ['status', status.replaceAll('_', ' ')],
    ['since', health?.since && localTime(health.since)],
    ['last error', health?.last_error],
    ['transport', transport],
    ['target', url ?? [command, ...args].join(' ')],
    ['session mode', session_mode],
    ['starts', server.start_cost && startCostText(transport, server.start_cost)],
    ['apps', server.apps === false ? 'off' : undefined],
    ['annotations', server.trusted_annotations ? 'trusted by policies' : undefined],
    ['offers', offered(health)],
    ['calls, 24 hours', figures],
    ['notes', notes.join('; ')]
  ])
  return text.replace(
    /^(status: +)(.*)$/m,
    (_line, head: string, value: string) => head + paint(statusColour(status), value)
  )
}

const section = (title: string, text: string): string[] => (text === '' ? [] : [`${title}\n${text}`])

/** Shows everything about one server: state, target, figures, tools, items left out, and its newest failed calls. */
export const describeServer: Action = async (cli, [name = '']) => {
  const path = withQuery(itemPath('server', name), { include: 'health' })
  const { body: server } = await withSuggestion(cli, 'server', name, cli.api.get<Records['server']>(path))
  const [{ body: tools }, failures] = await Promise.all([
    cli.api.get<readonly Records['tool'][]>(withQuery(KINDS.tool.path, { server: name })),
    failedCalls(cli, { server: name })
  ])
  const leftOut = leftOutReasons(server)
  const text = (width: number | undefined, paint: Paint) =>
    [
      facts(server, paint),
      ...section(`Tools (${tools.length})`, rowsView(COLUMNS.tool, tools, (tool) => tool.name).table(width, paint)),
      ...section(`Left out (${leftOut.length})`, leftOut.length > 0 ? table(['item', 'reason'], leftOut, width) : ''),
      ...section('Newest failed calls', rowsView(failureColumns, failures, ({ id }) => id).table(width, paint))
    ].join('\n\n')
  await cli.show({ body: { server, tools, failed_calls: failures } }, { table: text, names: () => [name] })
}
