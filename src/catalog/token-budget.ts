import { estimateTokens, tokensOfBytes } from '../domain/token-estimate.ts'
import type { StoredItem } from '../registry/model/model.ts'
import type { Item } from './catalog.ts'
import type { CompiledOverride } from './compiled-override.ts'
import { shownListings } from './search-listing.ts'
import type { Scope } from './scope.ts'

/** Estimated tokens of a tool that a scope lists (groups.md#token-budget). */
export interface ToolTokens {
  readonly item: Item
  /** Name at the endpoint. */
  readonly name: string
  readonly tokens: number
  /** The same without the group's overrides. */
  readonly before: number
}

/** Estimated tokens of the tools that a scope lists, in the order of the list. */
export interface TokenBudget {
  readonly tools: readonly ToolTokens[]
  readonly tokens: number
  readonly before: number
}

interface ModelTexts {
  readonly description?: string | undefined
  readonly input_schema?: unknown
}

function textsOf(definition: string): ModelTexts {
  const { description, inputSchema } = JSON.parse(definition) as Record<string, unknown>
  return { description: typeof description === 'string' ? description : undefined, input_schema: inputSchema }
}

const bytes = new WeakMap<StoredItem | CompiledOverride, number>()

/** Returns the bytes of the texts beside the name that a model reads, counted once. */
function bytesOf(key: StoredItem | CompiledOverride, definition: string): number {
  const known = bytes.get(key)
  if (known !== undefined) return known
  const { description = '', input_schema } = textsOf(definition)
  const schema = input_schema === undefined ? '' : JSON.stringify(input_schema)
  const counted = Buffer.byteLength(description) + Buffer.byteLength(schema)
  bytes.set(key, counted)
  return counted
}

const tokensWith = (name: string, others: number) => tokensOfBytes(Buffer.byteLength(name) + others)

function tokensOf(scope: Scope, item: Item): ToolTokens {
  const usual = scope.isBare ? item.alias : item.publicName
  const before = tokensWith(usual, bytesOf(item.stored, item.stored.definition))
  const override = scope.overrideOf(item)
  if (!override) return { item, name: usual, tokens: before, before }
  return { item, name: override.name, tokens: tokensWith(override.name, bytesOf(override, override.text)), before }
}

const budgets = new WeakMap<Scope, TokenBudget>()

/** Returns the estimated tokens of what a scope lists. */
export function budgetOf(scope: Scope): TokenBudget {
  const known = budgets.get(scope)
  if (known) return known
  const items = scope.servers.flatMap((server) => server.items('tool').filter(scope.includes))
  const tools = items.map((item) => tokensOf(scope, item))
  const sum = (count: (tool: ToolTokens) => number) => tools.reduce((total, tool) => total + count(tool), 0)
  const budget = { tools, tokens: sum(({ tokens }) => tokens), before: sum(({ before }) => before) }
  budgets.set(scope, budget)
  return budget
}

interface ListedDefinition {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: unknown
}

const lists = new WeakMap<Scope, number>()

/** Returns the estimated tokens of the tools that the endpoint of a scope lists: in search mode few, else all. */
export function listTokensOf(scope: Scope): number {
  if (scope.search === undefined) return budgetOf(scope).tokens
  const known = lists.get(scope)
  if (known !== undefined) return known
  const text = shownListings(scope, 'tool')
    .map(({ bytes: list }) => list.toString())
    .join(',')
  const listed = JSON.parse(`[${text}]`) as ListedDefinition[]
  const tokens = listed.reduce(
    (sum, { name, description, inputSchema: input_schema }) =>
      sum + estimateTokens({ name, description, input_schema }),
    0
  )
  lists.set(scope, tokens)
  return tokens
}
