import type { Static } from '@sinclair/typebox'
import type { EffectiveTools } from '../../schemas/tool-group.ts'
import { withQuery } from '../io/api.ts'
import { itemPath, KINDS, type KindName } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Records } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { listView } from '../output/views.ts'

interface Flags {
  readonly server?: string
  readonly group?: string
}

export const listOf =
  (kind: KindName): Action<Flags> =>
  async (cli, _args, { server, group }) => {
    const { path, plural } = KINDS[kind]
    const listed = cli.api.get<readonly Records[typeof kind][]>(
      withQuery(path, kind === 'server' ? { include: 'health' } : { server })
    )
    const answer = server === undefined ? await listed : await withSuggestion(cli, 'server', server, listed)
    const chosen = group === undefined ? answer : { body: await servedBy(group, answer.body) }
    if (chosen.body.length === 0) cli.note(`no ${plural.replace('mcp-', 'MCP ')}`)
    await cli.show(chosen, listView(kind, chosen.body))

    async function servedBy<T extends { readonly name: string }>(name: string, records: readonly T[]) {
      const effective = cli.api.get<Static<typeof EffectiveTools>>(`${itemPath('group', name)}/effective-tools`)
      const served = new Set((await withSuggestion(cli, 'group', name, effective)).body.tools)
      return records.filter((record) => served.has(record.name))
    }
  }
