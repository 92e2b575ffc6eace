import { hasHidden } from '../../domain/text/hidden-characters.ts'
import { isObject } from '../../domain/is-object.ts'
import { estimateTokens } from '../../domain/token-estimate.ts'
import type { StoredItem } from '../../registry/model/model.ts'
import type { PromptView } from '../../schemas/dashboard/prompts.ts'
import type { ResourceView, TemplateView } from '../../schemas/dashboard/resources.ts'
import type { SkillView } from '../../schemas/dashboard/skills.ts'
import type { Flag } from '../../schemas/dashboard/shared.ts'
import type { ServerStatus } from '../../schemas/server-status.ts'
import type { Catalog, Item } from '../../catalog/catalog.ts'
import type { SkillEntry } from '../../catalog/items/skill-entry.ts'
import { members } from '../../json/json.ts'
import { restName } from '../item-records.ts'
import { wholeView } from '../rest-view.ts'
import type { Caller } from '../../catalog/caller.ts'
import { itemViewFor } from './for-caller.ts'

type Members = Readonly<Record<string, unknown>>

/** Parsed definition of an item with properties derived from it, computed once per stored item. */
interface ItemFacts {
  readonly definition: Members
  readonly tokens: number
  readonly isHidden: boolean
}

const facts = new WeakMap<StoredItem, ItemFacts>()

function parse(definition: string): Members {
  const value: unknown = JSON.parse(definition)
  return isObject(value) ? value : {}
}

const textMember = <K extends string>(key: K, value: unknown) =>
  (typeof value === 'string' ? { [key]: value } : {}) as { readonly [key in K]?: string }
const objectMember = <K extends string>(key: K, value: unknown) =>
  (isObject(value) ? { [key]: value } : {}) as { readonly [key in K]?: Record<string, unknown> }

/** Returns the part of a definition that a model reads in addition to name and description. */
const promptBody = ({ inputSchema, arguments: list }: Members) => inputSchema ?? list

export function factsOf({ stored, publicName }: Pick<Item, 'stored' | 'publicName'>): ItemFacts {
  const known = facts.get(stored)
  if (known) return known
  const definition = parse(stored.definition)
  const { description } = textMember('description', definition.description)
  const found = {
    definition,
    tokens: estimateTokens({ name: publicName, description, input_schema: promptBody(definition) }),
    // serialized, so that the texts of all members are searched at once
    isHidden: hasHidden(JSON.stringify(definition))
  }
  facts.set(stored, found)
  return found
}

/** Returns since when the server's definition differs from the accepted one; undefined if it does not. */
function changedSince({ stored }: Item): string | undefined {
  const { state, changedAt } = stored.present ?? stored
  return state === 'changed' ? changedAt : undefined
}

const flagsOf = ({ problem }: Item, { isHidden }: ItemFacts, changedAt: string | undefined): Flag[] => [
  ...(isHidden ? (['hidden_characters'] as const) : []),
  ...(changedAt === undefined ? [] : (['changed'] as const)),
  ...(problem === undefined ? [] : (['unusable'] as const))
]

/** Returns the members that views of tools, prompts and resources share. */
function commonMembers(item: Item, server_status: ServerStatus) {
  const { server, stored, problem } = item
  const known = factsOf(item)
  const { definition, tokens } = known
  const changedAt = changedSince(item)
  return {
    server: server.name,
    ...textMember('title', definition.title),
    ...textMember('description', definition.description),
    enabled: stored.enabled,
    server_enabled: server.enabled,
    server_status,
    tokens,
    ...(changedAt === undefined ? {} : { changed_at: changedAt }),
    flags: flagsOf(item, known, changedAt),
    ...(problem === undefined ? {} : { problem: problem.reason })
  }
}

/** Members of a tool's definition that are arbitrary JSON of the upstream, and their names in the views. */
const schemas: Readonly<Record<string, string>> = {
  inputSchema: 'input_schema',
  outputSchema: 'output_schema',
  annotations: 'annotations'
}

/**
 * Copies the arbitrary JSON byte for byte: agents see the original, which parsing could change, such as large numbers.
 */
const verbatim = (definition: string): string[] =>
  members(definition)
    .filter(({ key, start }) => Object.hasOwn(schemas, key) && definition[start] === '{')
    .map(({ key, start, end }) => `"${schemas[key]}":${definition.slice(start, end)}`)

const memberText = (known: Members): string => JSON.stringify(known).slice(1, -1)
const joinMembers = (parts: readonly string[]): string => `{${parts.filter(Boolean).join(',')}}`

/** Returns a `ToolView` as JSON text, as the caller may read it. */
export function toolText(item: Item, status: ServerStatus, caller: Caller): string {
  const { definition } = item.stored
  const common = itemViewFor(caller, commonMembers(item, status))
  const known = { name: item.alias, canonical_name: item.publicName, ...common }
  const isBare = !isObject(factsOf(item).definition.inputSchema)
  return joinMembers([memberText(known), ...verbatim(definition), isBare ? '"input_schema":{}' : ''])
}

const toArgument = (argument: unknown) => {
  const { name, title, description, required } = isObject(argument) ? argument : {}
  return {
    name: typeof name === 'string' ? name : '',
    ...textMember('title', title),
    ...textMember('description', description),
    ...(typeof required === 'boolean' ? { required } : {})
  }
}

const argumentsOf = ({ arguments: list }: Members) => (Array.isArray(list) ? list.map(toArgument) : [])

export function promptView(item: Item, status: ServerStatus): PromptView {
  return {
    name: item.alias,
    canonical_name: item.publicName,
    ...commonMembers(item, status),
    arguments: argumentsOf(factsOf(item).definition)
  }
}

const resourceMembers = (item: Item, status: ServerStatus) => {
  const { name, mimeType, annotations, _meta: meta } = factsOf(item).definition
  return {
    name: typeof name === 'string' ? name : item.name,
    ...commonMembers(item, status),
    ...textMember('mime_type', mimeType),
    ...objectMember('annotations', annotations),
    ...objectMember('app', isObject(meta) ? meta.ui : undefined)
  }
}

export function resourceView(catalog: Catalog, item: Item, status: ServerStatus): ResourceView {
  const { size } = factsOf(item).definition
  return {
    uri: restName(wholeView(catalog), item),
    ...resourceMembers(item, status),
    ...(typeof size === 'number' ? { size } : {})
  }
}

export const templateView = (catalog: Catalog, item: Item, status: ServerStatus): TemplateView => ({
  uri_template: restName(wholeView(catalog), item),
  ...resourceMembers(item, status)
})

/** Returns a skill, with the description that its author wrote. */
export function skillView(catalog: Catalog, item: Item, status: ServerStatus): SkillView {
  const { frontmatter, resources } = factsOf(item).definition as unknown as SkillEntry
  return {
    uri: restName(wholeView(catalog), item),
    name: frontmatter.name,
    ...commonMembers(item, status),
    description: frontmatter.description,
    ...(resources === 'dynamic' ? {} : { files: resources.length })
  }
}
