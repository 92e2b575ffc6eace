import type { ToolOverride, ToolOverrides } from '../../../src/domain/overrides/tool-overrides.ts'
import type { ToolGroupInput } from '../../../src/schemas/tool-group.ts'

/** Group being edited: its stored members without derived ones. Lists keep names that no longer exist. */
export interface Draft {
  readonly name: string
  readonly description: string
  readonly included_servers: readonly string[]
  readonly included_tools: readonly string[]
  readonly excluded_tools: readonly string[]
  readonly tool_names: 'qualified' | 'bare'
  /** Overrides of tools by their public names; secrets are `***`. */
  readonly tools: ToolOverrides
  readonly instructions: string
  /** Limit of the tokens as typed; empty for none. */
  readonly max_tokens: string
  readonly tool_list: 'full' | 'search'
  /** Tools that are listed in search mode all the same. */
  readonly always_listed: readonly string[]
  /** Hits of a query in search mode, as typed; empty for the default. */
  readonly search_limit: string
  /** Tokens beyond which texts of results are cut, as typed; empty for no limit. */
  readonly max_result_tokens: string
}

export const emptyDraft: Draft = {
  name: '',
  description: '',
  included_servers: [],
  included_tools: [],
  excluded_tools: [],
  tool_names: 'qualified',
  tools: {},
  instructions: '',
  max_tokens: '',
  tool_list: 'full',
  always_listed: [],
  search_limit: '',
  max_result_tokens: ''
}

/** Members that a stored group shares with a draft. */
export interface GroupRecord extends Pick<Draft, 'name' | 'included_servers' | 'included_tools' | 'excluded_tools'> {
  readonly description?: string | undefined
  readonly tool_names?: 'bare' | undefined
  readonly overrides?: ToolOverrides | undefined
  readonly instructions?: string | undefined
  readonly max_tokens?: number | undefined
  readonly tool_list?: 'search' | undefined
  readonly always_listed?: readonly string[] | undefined
  readonly search_limit?: number | undefined
  readonly max_result_tokens?: number | undefined
}

export function draftOf(record: GroupRecord): Draft {
  const { name, description = '', included_servers, included_tools, excluded_tools } = record
  const { overrides: tools = {}, instructions = '', max_tokens } = record
  const lists = { included_servers, included_tools, excluded_tools }
  const views = { tools, instructions, max_tokens: typedNumber(max_tokens) }
  const { tool_list = 'full' as const, always_listed = [], search_limit, max_result_tokens } = record
  const search = {
    tool_list,
    always_listed,
    search_limit: typedNumber(search_limit),
    max_result_tokens: typedNumber(max_result_tokens)
  }
  return { name, description, ...lists, tool_names: record.tool_names ?? 'qualified', ...views, ...search }
}

const typedNumber = (value: number | undefined) => (value === undefined ? '' : String(value))

/**
 * Returns the request body that creates the group, also the file format of `towpath apply` and `create group`. Empty
 * members are omitted.
 */
export function groupInput({ name, description, tool_names, tools, ...draft }: Draft): ToolGroupInput {
  const { instructions, max_tokens, tool_list, search_limit, max_result_tokens, ...lists } = draft
  return {
    name,
    ...(description.trim() === '' ? {} : { description }),
    ...nonEmpty('included_servers', lists.included_servers),
    ...nonEmpty('included_tools', lists.included_tools),
    ...nonEmpty('excluded_tools', lists.excluded_tools),
    ...(tool_names === 'bare' ? { tool_names } : {}),
    ...(Object.keys(tools).length > 0 ? { tools: tools as ToolGroupInput['tools'] & object } : {}),
    ...(instructions.trim() === '' ? {} : { instructions }),
    ...(max_tokens.trim() === '' ? {} : { max_tokens: Number(max_tokens) }),
    ...(tool_list === 'search' ? { tool_list } : {}),
    ...nonEmpty('always_listed', lists.always_listed),
    ...(search_limit.trim() === '' ? {} : { search_limit: Number(search_limit) }),
    ...(max_result_tokens.trim() === '' ? {} : { max_result_tokens: Number(max_result_tokens) })
  }
}

const nonEmpty = (name: string, list: readonly string[]) => (list.length > 0 ? { [name]: list } : {})

/** State of a checkbox. */
export type BoxState = 'off' | 'mixed' | 'on'

/** Draft indexed for many lookups. */
export interface DraftSelection {
  /** Returns true if the whole server is included, with tools that it adds later. */
  includesServer(server: string): boolean
  /** Returns true if the tool is part of the group. `tool` is its public name. */
  includesTool(server: string, tool: string): boolean
  stateOf(server: string, tools: readonly string[]): BoxState
  countOf(server: string, tools: readonly string[]): number
}

export function selectionOf({ included_servers, included_tools, excluded_tools }: Draft): DraftSelection {
  const servers = new Set(included_servers)
  const picked = new Set(included_tools)
  const excluded = new Set(excluded_tools)
  const includesTool = (server: string, tool: string) =>
    (servers.has(server) || picked.has(tool)) && !excluded.has(tool)
  return {
    includesServer: (server) => servers.has(server),
    includesTool,
    countOf: (server, tools) => tools.filter((tool) => includesTool(server, tool)).length,
    stateOf(server, tools) {
      if (servers.has(server)) return toolsOf(server, excluded_tools).length > 0 ? 'mixed' : 'on'
      return tools.some((tool) => picked.has(tool) && !excluded.has(tool)) ? 'mixed' : 'off'
    }
  }
}

/** Returns the tools of a server. A server name contains no `__`, so the first one ends it. */
const toolsOf = (server: string, names: readonly string[]): string[] =>
  names.filter((name) => name.startsWith(`${server}__`))

const without = (list: readonly string[], gone: (name: string) => boolean): string[] =>
  list.filter((name) => !gone(name))

const withName = (list: readonly string[], name: string): readonly string[] =>
  list.includes(name) ? list : [...list, name].toSorted()

/** Toggles a server: off and mixed become on (its single tools and exclusions are removed), on becomes off. */
export function toggleServer(draft: Draft, server: string, tools: readonly string[]): Draft {
  const isOn = selectionOf(draft).stateOf(server, tools) === 'on'
  const isOwn = (name: string) => name.startsWith(`${server}__`)
  return withValidNames({
    ...draft,
    included_servers: isOn
      ? without(draft.included_servers, (name) => name === server)
      : withName(draft.included_servers, server),
    included_tools: without(draft.included_tools, isOwn),
    excluded_tools: without(draft.excluded_tools, isOwn)
  })
}

/** Toggles a tool: in an included server it is excluded or included again, otherwise added or removed. */
export function toggleTool(draft: Draft, server: string, tool: string): Draft {
  const choice = selectionOf(draft)
  const isTool = (name: string) => name === tool
  if (choice.includesTool(server, tool)) {
    const included_tools = without(draft.included_tools, isTool)
    return choice.includesServer(server)
      ? { ...draft, included_tools, excluded_tools: withName(draft.excluded_tools, tool) }
      : { ...draft, included_tools }
  }
  const excluded_tools = without(draft.excluded_tools, isTool)
  if (choice.includesServer(server)) return { ...draft, excluded_tools }
  return withValidNames({ ...draft, excluded_tools, included_tools: withName(draft.included_tools, tool) })
}

export interface ToolName {
  readonly server: string
  /** Public name. */
  readonly name: string
}

/** Adds several tools; those already included stay. */
export function withTools(draft: Draft, tools: readonly ToolName[]): Draft {
  const choice = selectionOf(draft)
  const news = tools.filter(({ server, name }) => !choice.includesTool(server, name))
  if (news.length === 0) return draft
  const names = new Set(news.map(({ name }) => name))
  const picks = news.filter(({ server }) => !choice.includesServer(server)).map(({ name }) => name)
  return withValidNames({
    ...draft,
    included_tools:
      picks.length > 0 ? [...new Set([...draft.included_tools, ...picks])].toSorted() : draft.included_tools,
    excluded_tools: without(draft.excluded_tools, (name) => names.has(name))
  })
}

/** Removes several tools. */
function withoutTools(draft: Draft, tools: readonly ToolName[]): Draft {
  const choice = selectionOf(draft)
  const gone = new Set(tools.map(({ name }) => name))
  const excluded = tools.filter(({ server }) => choice.includesServer(server)).map(({ name }) => name)
  return {
    ...draft,
    included_tools: without(draft.included_tools, (name) => gone.has(name)),
    excluded_tools: [...new Set([...draft.excluded_tools, ...excluded])].toSorted()
  }
}

/** Toggles the visible tools of a server while a filter hides others, which stay unchanged. */
export function toggleShown(draft: Draft, tools: readonly ToolName[]): Draft {
  const choice = selectionOf(draft)
  return tools.every(({ server, name }) => choice.includesTool(server, name))
    ? withoutTools(draft, tools)
    : withTools(draft, tools)
}

/** Sets the override of a tool; undefined removes it. */
export function withOverride(draft: Draft, tool: string, override: ToolOverride | undefined): Draft {
  const { [tool]: _before, ...others } = draft.tools
  return { ...draft, tools: override === undefined ? others : { ...others, [tool]: override } }
}

/** Removes a name from all lists and overrides, for names that no longer exist. */
export const withoutName = (draft: Draft, name: string): Draft => {
  const isIt = (other: string) => other === name
  return {
    ...withOverride(draft, name, undefined),
    included_servers: without(draft.included_servers, isIt),
    included_tools: without(draft.included_tools, isIt),
    excluded_tools: without(draft.excluded_tools, isIt),
    always_listed: without(draft.always_listed, isIt)
  }
}

/** Returns true if the group may use bare names: exactly one whole server (http-contract.md#tool-groups). */
export const canBeBare = ({ included_servers, included_tools }: Draft): boolean =>
  included_servers.length === 1 && included_tools.length === 0

const withValidNames = (draft: Draft): Draft =>
  draft.tool_names === 'bare' && !canBeBare(draft) ? { ...draft, tool_names: 'qualified' } : draft

/** Returns true if every tool of a server is added singly: later tools would not join, so the page shows a hint. */
export function isAllPicked(draft: Draft, server: string, tools: readonly string[]): boolean {
  const choice = selectionOf(draft)
  return !choice.includesServer(server) && tools.length > 0 && choice.countOf(server, tools) === tools.length
}

/** Returns the number of differences between two drafts: names in lists, overrides, and other members. */
export function changeCount(before: Draft, after: Draft): number {
  const lists = ['included_servers', 'included_tools', 'excluded_tools', 'always_listed'] as const
  const differing = lists.reduce((sum, list) => sum + differenceOf(before[list], after[list]), 0)
  const others = ['tool_list', 'search_limit', 'max_result_tokens'] as const
  const texts = ['name', 'description', 'tool_names', 'instructions', 'max_tokens', ...others] as const
  const tools = new Set([...Object.keys(before.tools), ...Object.keys(after.tools)])
  const isSame = (tool: string) => JSON.stringify(before.tools[tool]) === JSON.stringify(after.tools[tool])
  const overrides = [...tools].filter((tool) => !isSame(tool)).length
  return differing + overrides + texts.filter((member) => before[member] !== after[member]).length
}

function differenceOf(a: readonly string[], b: readonly string[]): number {
  const [first, second] = [new Set(a), new Set(b)]
  return without(a, (name) => second.has(name)).length + without(b, (name) => first.has(name)).length
}
