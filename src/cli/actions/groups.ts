import type { Static } from '@sinclair/typebox'
import type { ToolGroupDetails } from '../../schemas/tool-group.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { readObject } from '../io/input.ts'
import { itemPath, KINDS } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { recordView } from '../output/views.ts'

interface Flags {
  readonly conf?: string
  readonly description?: string
  readonly includeTool?: readonly string[]
  readonly includeServer?: readonly string[]
  readonly excludeTool?: readonly string[]
  readonly toolNames?: string
}

type Details = Static<typeof ToolGroupDetails>

const members = (flags: Flags) => ({
  ...(flags.description === undefined ? {} : { description: flags.description }),
  ...(flags.includeTool ? { included_tools: flags.includeTool } : {}),
  ...(flags.includeServer ? { included_servers: flags.includeServer } : {}),
  ...(flags.excludeTool ? { excluded_tools: flags.excludeTool } : {}),
  ...(flags.toolNames === undefined ? {} : { tool_names: flags.toolNames })
})

/** Reads the configuration from a file or flags. */
async function read(cli: Cli, given: string | undefined, flags: Flags) {
  const fromFlags = members(flags)
  const { value } =
    flags.conf === undefined ? { value: { ...fromFlags, name: given } } : await readObject(cli.io, flags.conf)
  if (flags.conf !== undefined && Object.keys(fromFlags).length > 0)
    throw usage('with -c only the name can be given in addition: everything else comes from the file')
  const name = given ?? value.name
  if (typeof name !== 'string') throw usage('the name of the group is missing', 'pass a name, or a file with "name"')
  return { name, value: { ...value, name }, isFromFile: flags.conf !== undefined }
}

export const createGroup: Action<Flags> = async (cli, [given], flags) => {
  const { name, value } = await read(cli, given, flags)
  const answer = await cli.api.post<Details>(KINDS.group.path, value)
  cli.note(`created group "${name}"`)
  await cli.show(answer, recordView(answer.body))
}

/** Updates a group: a file replaces the whole configuration, flags only their members. */
export const updateGroup: Action<Flags> = async (cli, [given], flags) => {
  const { name, value, isFromFile } = await read(cli, given, flags)
  const path = itemPath('group', name)
  const body = isFromFile ? value : { ...(await current(cli, name, path)), ...value }
  const answer = await withSuggestion(cli, 'group', name, cli.api.put<Details>(path, body))
  cli.note(`updated group "${name}"`)
  await cli.show(answer, recordView(answer.body))
}

async function current(cli: Cli, name: string, path: string) {
  const { body } = await withSuggestion(cli, 'group', name, cli.api.get<Details>(path))
  const { description, included_tools, included_servers, excluded_tools, tool_names } = body
  return {
    ...(description === undefined ? {} : { description }),
    included_tools,
    included_servers,
    excluded_tools,
    ...(tool_names === undefined ? {} : { tool_names })
  }
}
