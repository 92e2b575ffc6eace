import type { Members } from '../../domain/secrets/difference.ts'
import { DECLARED, type FileKind } from '../io/kinds.ts'
import type { Cli } from '../io/cli.ts'
import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import { Failure } from '../io/failure.ts'
import { withoutAliases } from '../output/aliases.ts'

/** Lists resources of a kind; undefined in development mode if only enterprise mode has the kind. */
export async function listDeclared<T extends object>(cli: Cli, kind: FileKind): Promise<readonly T[] | undefined> {
  try {
    const { body } = await cli.api.get<readonly T[]>(DECLARED[kind].path)
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
  const list = await listDeclared<NamedConfig>(cli, kind)
  return list && byName(list)
}
