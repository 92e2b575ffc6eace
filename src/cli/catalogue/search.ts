import type { CataloguePage, CatalogueServer } from '../../schemas/catalogue.ts'
import { withQuery } from '../io/api.ts'
import type { Column } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { rowsView } from '../output/views.ts'

interface Flags {
  readonly limit: string
}

type Row = CatalogueServer

const columns: readonly Column<Row>[] = [
  { head: 'name', value: ({ name }) => name },
  { head: 'version', value: ({ version }) => version },
  { head: 'packages', value: ({ options }) => options.join(', ') || 'none' },
  { head: 'repository', value: ({ repository }) => repository, isWide: true },
  { head: 'description', value: ({ title, description }) => [title, description].filter(Boolean).join(': ') }
]

/** Searches the catalogue (docs/how-to/catalogue.md). */
export const search: Action<Flags> = async (cli, words, { limit }) => {
  const query = { search: words.length > 0 ? words.join(' ') : undefined, limit }
  const answer = await cli.api.get<CataloguePage>(withQuery('/api/v0/catalogue', query))
  const { servers, total, source } = answer.body
  if (source.problem !== undefined) cli.warn(`the MCP registry cannot be read: ${source.problem}`)
  const origin = source.registry ?? 'the list of the package'
  cli.note(`${servers.length} of ${total} servers, from ${origin}, ${source.read_at.slice(0, 10)}`)
  await cli.show(
    answer,
    rowsView(columns, servers, ({ name }) => name)
  )
}
