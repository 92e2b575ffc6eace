import type { Cli } from '../cli.ts'
import { itemPath, KINDS, type KindName } from '../kinds.ts'
import { withSuggestion } from '../lookup.ts'
import { confirm } from '../prompt.ts'
import type { Action } from '../runner.ts'

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
