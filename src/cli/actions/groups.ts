import type { Static } from '@sinclair/typebox'
import type { ToolOverride, ToolOverrides } from '../../domain/overrides/tool-overrides.ts'
import type { ToolGroupDetails } from '../../schemas/tool-group.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { parsePairs, readObject } from '../io/input.ts'
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
  readonly rename?: readonly string[]
  readonly instructions?: string
  readonly maxTokens?: string
  readonly toolList?: string
  readonly alwaysListed?: readonly string[]
  readonly searchLimit?: string
  readonly maxResultTokens?: string
}

type Details = Static<typeof ToolGroupDetails>

const members = (flags: Flags) => ({
  ...(flags.description === undefined ? {} : { description: flags.description }),
  ...(flags.includeTool ? { included_tools: flags.includeTool } : {}),
  ...(flags.includeServer ? { included_servers: flags.includeServer } : {}),
  ...(flags.excludeTool ? { excluded_tools: flags.excludeTool } : {}),
  ...(flags.toolNames === undefined ? {} : { tool_names: flags.toolNames }),
  ...(flags.rename ? { tools: namesOf(flags.rename) } : {}),
  ...(flags.instructions === undefined ? {} : { instructions: flags.instructions }),
  ...(flags.maxTokens === undefined ? {} : { max_tokens: Number(flags.maxTokens) }),
  ...(flags.toolList === undefined ? {} : { tool_list: flags.toolList }),
  ...(flags.alwaysListed ? { always_listed: flags.alwaysListed } : {}),
  ...(flags.searchLimit === undefined ? {} : { search_limit: Number(flags.searchLimit) }),
  ...(flags.maxResultTokens === undefined ? {} : { max_result_tokens: Number(flags.maxResultTokens) })
})

/** Returns the overrides that give tools other names; an empty name stands for the tool's own. */
const namesOf = (pairs: readonly string[]): ToolOverrides =>
  Object.fromEntries(parsePairs(pairs, '--rename').map(([tool, name]) => [tool, name === '' ? {} : { name }]))

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
  const body = isFromFile ? value : await changed(cli, name, path, value)
  const answer = await withSuggestion(cli, 'group', name, cli.api.put<Details>(path, body))
  cli.note(`updated group "${name}"`)
  await cli.show(answer, recordView(answer.body))
}

/** Returns the current configuration with the members that flags give, and the names among the other overrides. */
async function changed(cli: Cli, name: string, path: string, value: Readonly<Record<string, unknown>>) {
  const before = await current(cli, name, path)
  if (value.tools === undefined) return { ...before, ...value }
  const { tools: old = {} } = before
  const renamed = Object.entries(value.tools as ToolOverrides).map(([tool, given]): [string, ToolOverride] => {
    const { name: _name, ...others } = Object.hasOwn(old, tool) ? old[tool]! : {}
    return [tool, { ...others, ...given }]
  })
  const all = Object.entries({ ...old, ...Object.fromEntries(renamed) })
  const tools = Object.fromEntries(all.filter(([, override]) => Object.keys(override).length > 0))
  return { ...before, ...value, tools }
}

async function current(cli: Cli, name: string, path: string) {
  const { body } = await withSuggestion(cli, 'group', name, cli.api.get<Details>(path))
  const { description, included_tools, included_servers, excluded_tools, tool_names } = body
  const { tools, instructions, max_tokens, tool_list, always_listed, search_limit, max_result_tokens } = body
  return {
    ...(tools === undefined ? {} : { tools }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(max_tokens === undefined ? {} : { max_tokens }),
    ...(tool_list === undefined ? {} : { tool_list }),
    ...(always_listed === undefined ? {} : { always_listed }),
    ...(search_limit === undefined ? {} : { search_limit }),
    ...(max_result_tokens === undefined ? {} : { max_result_tokens }),
    ...(description === undefined ? {} : { description }),
    included_tools,
    included_servers,
    excluded_tools,
    ...(tool_names === undefined ? {} : { tool_names })
  }
}
