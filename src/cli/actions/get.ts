import type { ApiResponse } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { withQuery } from '../io/api.ts'
import { itemPath, type KindName } from '../io/kinds.ts'
import { noteLeftOut, withoutLeftOut } from '../output/left-out.ts'
import { withSuggestion } from '../output/lookup.ts'
import { labelOf, type Records } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { recordView } from '../output/views.ts'
import { read } from './read.ts'
import { render } from './render.ts'

interface Flags {
  readonly arg?: readonly string[]
  readonly read?: boolean
}

type RecordResponse = Pick<ApiResponse<Records[KindName]>, 'body'> & { readonly text?: string }

function find(cli: Cli, kind: KindName, name: string): Promise<RecordResponse> {
  const hasUri = kind === 'resource' || kind === 'skill'
  const byQuery = kind === 'tool' || kind === 'prompt' || hasUri
  const path = byQuery ? withQuery(`/api/v0/${kind}`, hasUri ? { uri: name } : { name }) : itemPath(kind, name)
  return withSuggestion(cli, kind, name, cli.api.get<Records[typeof kind]>(path))
}

export const getOf =
  (kind: KindName): Action<Flags> =>
  async (cli, args, flags) => {
    // MCPJungle's forms of `render` and `read`
    if (flags.arg) return render(cli, args, flags)
    if (flags.read) return read(cli, args, {})
    const found = await find(cli, kind, args[0]!)
    const shown = kind === 'server' ? withoutLeftOut(found.body as Records['server']) : found.body
    await cli.show(found, recordView(shown, labelOf(found.body)))
    if (kind === 'server') noteLeftOut(cli, found.body as Records['server'])
  }
