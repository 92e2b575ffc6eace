import type { Definition, DefinitionPage, StateFilter } from '../../schemas/definition.ts'
import { withQuery } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'

/** Reads all definitions in a state, of one server or of all. */
export async function readDefinitions(
  cli: Pick<Cli, 'api'>,
  state: StateFilter,
  server?: string
): Promise<Definition[]> {
  const items: Definition[] = []
  let cursor: string | undefined
  do {
    const { body } = await cli.api.get<DefinitionPage>(withQuery('/api/v0/definitions', { state, server, cursor }))
    items.push(...body.items)
    cursor = body.next_cursor
  } while (cursor !== undefined)
  return items
}
