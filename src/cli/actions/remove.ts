import type { Cli } from '../io/cli.ts'
import { itemPath, KINDS, type KindName } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import { confirm } from '../io/prompt.ts'
import type { Action } from '../io/runner.ts'

/** Deletes a resource; asks for confirmation on a terminal only. */
async function remove(cli: Cli, kind: KindName, name: string): Promise<void> {
  const { singular } = KINDS[kind]
  if (cli.canPrompt && !(await confirm(cli.io, `Delete ${singular} "${name}"?`))) {
    cli.note('nothing was deleted')
    return
  }
  await withSuggestion(cli, kind, name, cli.api.remove(itemPath(kind, name)))
  cli.note(`deleted ${singular} "${name}"`)
}

export const removeOf =
  (kind: KindName): Action =>
  (cli, [name = '']) =>
    remove(cli, kind, name)

export const removeServer = removeOf('server')
