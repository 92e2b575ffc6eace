import type { ToolGroup } from '../schemas/tool-group.ts'
import type { Static } from '@sinclair/typebox'
import type { Members } from '../domain/difference.ts'
import type { Filed } from './check.ts'
import type { Cli } from './cli.ts'
import { Failure } from './failure.ts'
import { KINDS } from './kinds.ts'
import type { Records } from './records.ts'
import { withoutSpellings } from './spellings.ts'

/** Undefined in development mode, which has no clients and users. */
export async function listPrincipals<K extends 'client' | 'user'>(
  cli: Cli,
  kind: K
): Promise<readonly Records[K][] | undefined> {
  try {
    const { body } = await cli.api.get<readonly Records[K][]>(KINDS[kind].path)
    return body.map(withoutSpellings)
  } catch (error) {
    if (error instanceof Failure && /only in enterprise mode/.test(error.message)) return undefined
    throw error
  }
}

type Named = Members & { readonly name: string }

/** Configurations of a kind by name, secrets of servers included; undefined where the gateway has none of the kind. */
export async function currentOf(cli: Cli, kind: Filed): Promise<ReadonlyMap<string, Members> | undefined> {
  const byName = (list: readonly Named[]) => new Map(list.map((each) => [each.name, each]))
  if (kind === 'server') return byName((await cli.api.get<readonly Named[]>('/api/v0/server_configs')).body)
  if (kind === 'group') return byName((await cli.api.get<readonly Static<typeof ToolGroup>[]>(KINDS.group.path)).body)
  const list = await listPrincipals(cli, kind)
  return list && byName(list)
}
