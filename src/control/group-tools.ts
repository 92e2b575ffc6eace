import { splitName } from '../domain/names.ts'
import { MASK } from '../domain/secrets/secret-parts.ts'
import {
  isSecretLock,
  isToolName,
  TOOL_NAME_RULE,
  unmaskLocks,
  secretsOfLocks,
  type ArgumentOverride,
  type LockSecrets,
  type OverrideBindings,
  type ToolOverride,
  type ToolOverrides
} from '../domain/overrides/tool-overrides.ts'
import { AppError, invalid } from '../lib/errors.ts'
import { listEntry, resolveGroupConfig, type Catalog, type Item, type ResolvedGroup } from '../catalog/catalog.ts'
import { bindingOf, problemsOfOverride } from '../catalog/compiled-override.ts'
import { partsOf } from '../catalog/group-parts.ts'
import { scopeFor } from '../catalog/scope.ts'
import { budgetOf, listTokensOf, type ToolTokens } from '../catalog/token-budget.ts'
import type { GroupConfig, StoredGroup } from '../registry/model/model.ts'

/** Bytes of a group's own instructions. */
const MAX_INSTRUCTIONS_BYTES = 8_192
/** Problems that one answer names. */
const MAX_PROBLEMS = 20
/** Tools that an answer names when a group exceeds its limit of tokens. */
const DEAREST = 10

const findTool = (catalog: Catalog, tool: string): Item | undefined => {
  const split = splitName(tool)
  return split && catalog.server(split.server)?.find('tool', split.name)
}

/** Returns the configuration with the stored secret for each `***`, which stands for a secret that stays. */
export function withStoredSecrets(config: GroupConfig, stored: () => LockSecrets): GroupConfig {
  const isMasked = (secrets: Readonly<Record<string, string>>) => Object.values(secrets).includes(MASK)
  if (!Object.values(secretsOfLocks(config.tools)).some(isMasked)) return config
  return { ...config, tools: unmaskLocks(config.tools, stored()) }
}

function argumentProblems(name: string, override: ArgumentOverride): string[] {
  const { lock, ...others } = override
  const label = `argument ${JSON.stringify(name)}`
  if (Object.keys(override).length === 0) return [`${label} needs a lock, a default, a description or an enum`]
  if (!Object.hasOwn(override, 'lock')) return []
  if (Object.keys(others).length > 0) return [`${label} has a lock, and can have nothing else`]
  return isSecretLock(lock) && lock.secret === MASK ? [`${label} has no stored secret that "${MASK}" could keep`] : []
}

/** Returns the problems of an override that do not depend on the tool. */
function ownProblems({ name, arguments: given = {} }: ToolOverride): string[] {
  const named = name === undefined || isToolName(name) ? [] : [`the name ${JSON.stringify(name)} ${TOOL_NAME_RULE}`]
  return [...named, ...Object.entries(given).flatMap(([argument, each]) => argumentProblems(argument, each))]
}

/** Returns names that two overrides give, and tools that two overrides are for. */
function repeated(catalog: Catalog, tools: ToolOverrides): string[] {
  const names = new Set<string>()
  const items = new Set<Item>()
  return Object.entries(tools).flatMap(([tool, { name }]) => {
    const item = findTool(catalog, tool)
    const isTwice = item !== undefined && items.size === items.add(item).size
    const isTaken = name !== undefined && names.size === names.add(name).size
    return [
      ...(isTwice ? [`${tool}: another override is for the same tool`] : []),
      ...(isTaken ? [`${tool}: the name "${name}" is used twice`] : [])
    ]
  })
}

/**
 * Throws a 400 AppError that names everything that keeps overrides from being applied to the tools as they are now.
 * Tools that do not exist are not examined.
 */
export function checkOverrides(catalog: Catalog, config: GroupConfig): void {
  const { tools, instructions } = config
  if (Buffer.byteLength(instructions ?? '') > MAX_INSTRUCTIONS_BYTES) {
    throw invalid(`"instructions" has more than ${MAX_INSTRUCTIONS_BYTES} bytes`)
  }
  const problems = Object.entries(tools).flatMap(([tool, override]) => {
    const item = findTool(catalog, tool)
    const own = ownProblems(override)
    const found = own.length > 0 || !item ? own : problemsOfOverride(item, override)
    return found.map((problem) => `${tool}: ${problem}`)
  })
  const all = [...problems, ...repeated(catalog, tools)]
  if (all.length === 0) {
    const { withheld } = partsOf(catalog, resolveGroupConfig(config))
    all.push(...withheld.map(({ tool, reason }) => `${tool}: ${reason}`))
  }
  if (all.length === 0) return
  const more = all.length > MAX_PROBLEMS ? `; and ${all.length - MAX_PROBLEMS} more` : ''
  throw invalid(`"tools" cannot be applied: ${all.slice(0, MAX_PROBLEMS).join('; ')}${more}`)
}

/** Returns the definitions that the overrides are written for: those that are served now, else those known before. */
export function bindTools(catalog: Catalog, { tools }: GroupConfig, before?: StoredGroup): OverrideBindings {
  const known = before?.bindings ?? {}
  const bindings = Object.entries(tools).flatMap(([tool, override]) => {
    const item = findTool(catalog, tool)
    if (item) return [[tool, bindingOf(item, override)] as const]
    return Object.hasOwn(known, tool) ? [[tool, known[tool]!] as const] : []
  })
  return Object.fromEntries(bindings)
}

const tilde = ({ name, tokens }: ToolTokens) => `${name} ~${tokens}`

/** Throws a 409 AppError if the tools of a group have more estimated tokens than its limit; in search mode those that it lists count. */
export function checkBudget(catalog: Catalog, config: GroupConfig): void {
  const { max_tokens: limit } = config
  if (limit === null) return
  const scope = scopeFor(catalog, resolveGroupConfig(config))
  const tokens = listTokensOf(scope)
  if (tokens <= limit) return
  const { tools } = budgetOf(scope)
  const dearest = tools.toSorted((a, b) => b.tokens - a.tokens).slice(0, DEAREST)
  const message = `the tools of the group have ~${tokens} tokens, more than its "max_tokens" ${limit}; the dearest: ${dearest.map(tilde).join(', ')}`
  throw new AppError(409, message, { code: 'too_many_tokens' })
}

/** Returns the names of the tools whose definitions have changed since their overrides were saved. */
export const staleTools = (catalog: Catalog, group: ResolvedGroup): string[] =>
  partsOf(catalog, group).applied.flatMap(({ item, isStale }) => (isStale ? [item.publicName] : []))

/**
 * Returns what the endpoint of a group lists as JSON text: its tools' definitions byte for byte, with estimated tokens
 * before and after the overrides. `more`: further members.
 */
export function definitionsText(catalog: Catalog, group: ResolvedGroup, more: object = {}): string {
  const scope = scopeFor(catalog, group)
  const { tools, tokens, before } = budgetOf(scope)
  const definitions = tools.map(({ item, tokens: own, before: usual }) => {
    const known = JSON.stringify({ tool: item.publicName, server: item.server.name, tokens: own, tokens_before: usual })
    const text = scope.overrideOf(item)?.text ?? listEntry(item, scope.isBare)
    return `${known.slice(0, -1)},"definition":${text}}`
  })
  const names = tools.map(({ item }) => item.publicName)
  const known = {
    tools: names,
    tokens,
    tokens_before: before,
    stale: staleTools(catalog, group),
    broken: partsOf(catalog, group).withheld,
    ...more
  }
  return `${JSON.stringify(known).slice(0, -1)},"definitions":[${definitions.join(',')}]}`
}
