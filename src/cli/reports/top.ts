import type { Stats } from '../../schemas/stats.ts'
import { withQuery } from '../io/api.ts'
import type { Action } from '../io/runner.ts'
import { qualifiedName } from '../../domain/names.ts'
import type { Column } from '../output/records.ts'
import { rowsView } from '../output/views.ts'

/** One line of a table: a server or a tool and its figures. */
interface Figures {
  readonly name: string
  readonly calls: number
  readonly failed: number
  readonly p50_ms?: number
  readonly p95_ms?: number
}

const ms = (value: number | undefined) => (value === undefined ? undefined : `${Math.round(value)} ms`)
const columns = (head: string): readonly Column<Figures>[] => [
  { head, value: ({ name }) => name },
  { head: 'calls', value: ({ calls }) => String(calls) },
  { head: 'failed', value: ({ failed }) => String(failed), colour: ({ failed }) => (failed > 0 ? 'red' : undefined) },
  { head: 'p50', value: ({ p50_ms }) => ms(p50_ms) },
  { head: 'p95', value: ({ p95_ms }) => ms(p95_ms) }
]

/** Shows the figures of the call log; servers always those of the last day, which is their only period. */
export const top: Action<{ readonly range: string }> = async (cli, _args, { range }) => {
  const answer = await cli.api.get<Stats>(withQuery('/api/v0/stats', { range }))
  const { servers, top_tools, slowest_tools, total } = answer.body
  const ofTool = ({ server, tool, ...rest }: Stats['top_tools'][number]): Figures => ({
    name: qualifiedName(server, tool),
    ...rest
  })
  const byCalls = servers
    .toSorted((a, b) => b.calls - a.calls)
    .map(({ server, ...rest }) => ({ name: server, ...rest }))
  const parts = [
    rowsView(columns('server, last 24 hours'), byCalls, ({ name }) => name),
    rowsView(columns(`most called tools, last ${range}`), top_tools.map(ofTool), ({ name }) => name),
    rowsView(columns(`slowest tools, last ${range}`), slowest_tools.map(ofTool), ({ name }) => name)
  ]
  await cli.show(answer, {
    table: (width, paint) =>
      parts
        .map((part) => part.table(width, paint))
        .filter((text) => text !== '')
        .join('\n\n'),
    names: () => byCalls.map(({ name }) => name)
  })
  if (byCalls.length === 0) cli.note('no calls in the last 24 hours')
  else cli.note(`${total.calls} calls in the last ${range}, ${total.failed} failed, p95 ${ms(total.p95_ms) ?? '–'}`)
}
