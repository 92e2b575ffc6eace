import type { Cli } from '../cli.ts'
import { itemPath, KINDS, type KindName } from '../kinds.ts'
import { suggesting } from '../lookup.ts'
import { confirm } from '../prompt.ts'
import type { Action } from '../runner.ts'

/** Asks on a terminal; scripts go ahead. */
async function removal(cli: Cli, kind: KindName, name: string): Promise<void> {
  const { singular } = KINDS[kind]
  if (cli.canAsk && !(await confirm(cli.world, `Delete ${singular} "${name}"?`))) {
    cli.note('nothing was changed')
    return
  }
  await suggesting(cli, kind, name, cli.api.remove(itemPath(kind, name)))
  cli.note(`deleted ${singular} "${name}"`)
}

export const removeOf =
  (kind: KindName): Action =>
  (cli, [name = '']) =>
    removal(cli, kind, name)

export const removeServer = removeOf('server')
