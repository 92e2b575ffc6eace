import type { TSchema } from '@sinclair/typebox'
import { upstreamUrlProblem } from '../../domain/upstream-url.ts'
import { ClientInput, UserInput } from '../../schemas/principal.ts'
import { ServerInput } from '../../schemas/server.ts'
import { ToolGroupInput } from '../../schemas/tool-group.ts'
import { problemOf } from '../../validation.ts'
import type { Cli } from '../cli.ts'
import { usage } from '../failure.ts'
import { readObjects, type Given } from '../input.ts'
import type { Action } from '../runner.ts'
import { withToken } from '../secret.ts'
import { rowsView } from '../views.ts'

const schemas: Readonly<Record<string, TSchema>> = {
  server: ServerInput,
  group: ToolGroupInput,
  'mcp-client': ClientInput,
  user: UserInput
}

/** What an object looks like, by the members that only one kind has. */
export function typeOf(value: Readonly<Record<string, unknown>>): string {
  if ('transport' in value || 'url' in value || 'command' in value) return 'server'
  if ('included_tools' in value || 'included_servers' in value || 'excluded_tools' in value) return 'group'
  if ('allowed_servers' in value) return 'mcp-client'
  if ('role' in value) return 'user'
  throw usage('what is in the file could be of several types', 'give --type server, group, mcp-client or user')
}

function serverProblem({ transport, url, command }: Readonly<Record<string, unknown>>): string | undefined {
  if (transport === 'stdio') return command ? undefined : '"command" is required for transport stdio'
  if (!url) return `"url" is required for transport ${String(transport)}`
  const problem = upstreamUrlProblem(url as string)
  return problem && `"url" ${problem}`
}

async function check(cli: Cli, given: Given, type: string): Promise<void> {
  const isPrincipal = type === 'mcp-client' || type === 'user'
  const value = isPrincipal ? await withToken(cli, given, true) : given.value
  const problem = problemOf(schemas[type]!, value) ?? (type === 'server' ? serverProblem(value) : undefined)
  if (problem !== undefined) throw usage(`${given.from}: ${problem}`)
}

export const validate: Action<{ readonly type?: string }> = async (cli, [path = ''], flags) => {
  if (flags.type !== undefined && !(flags.type in schemas))
    throw usage('--type takes server, group, mcp-client or user')
  const found: { file: string; type: string; name: string }[] = []
  for (const given of await readObjects(cli.world, path)) {
    const type = flags.type ?? typeOf(given.value)
    await check(cli, given, type)
    found.push({ file: given.from, type, name: String(given.value.name) })
  }
  cli.note(`${found.length === 1 ? 'it is' : 'they are'} valid`)
  const columns = [
    { head: 'file', value: (row: (typeof found)[number]) => row.file },
    { head: 'type', value: (row: (typeof found)[number]) => row.type },
    { head: 'name', value: (row: (typeof found)[number]) => row.name }
  ]
  await cli.show(
    { body: found },
    rowsView(columns, found, ({ name }) => name)
  )
}
