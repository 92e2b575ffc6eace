import type { ToolGroup } from '../../schemas/tool-group.ts'
import type { Static } from '@sinclair/typebox'
import type { Members } from '../../domain/secrets/difference.ts'
import type { FileKind } from './check.ts'
import type { Cli } from '../io/cli.ts'
import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import { Failure } from '../io/failure.ts'
import { KINDS } from '../io/kinds.ts'
import type { Records } from '../output/records.ts'
import { withoutAliases } from '../output/aliases.ts'

/** Lists clients or users; undefined in development mode, which has none. */
export async function listPrincipals<K extends 'client' | 'user'>(
  cli: Cli,
  kind: K
): Promise<readonly Records[K][] | undefined> {
  try {
    const { body } = await cli.api.get<readonly Records[K][]>(KINDS[kind].path)
    return body.map(withoutAliases)
  } catch (error) {
    if (error instanceof Failure && error.code === ENTERPRISE_MODE_ONLY) return undefined
    throw error
  }
}

type NamedConfig = Members & { readonly name: string }

/**
 * Returns the configurations of a kind by name, with the secrets of servers; undefined if the gateway's mode lacks the
 * kind.
 */
export async function readCurrent(cli: Cli, kind: FileKind): Promise<ReadonlyMap<string, Members> | undefined> {
  const byName = (list: readonly NamedConfig[]) => new Map(list.map((each) => [each.name, each]))
  if (kind === 'server') return byName((await cli.api.get<readonly NamedConfig[]>('/api/v0/server_configs')).body)
  if (kind === 'group') return byName((await cli.api.get<readonly Static<typeof ToolGroup>[]>(KINDS.group.path)).body)
  const list = await listPrincipals(cli, kind)
  return list && byName(list)
}
