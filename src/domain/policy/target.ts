import { selects, type Selection } from '../groups.ts'
import { isObject } from '../is-object.ts'
import { comparableUri, decodePercent, isEvasiveUri, looseUri } from '../loose-uri.ts'
import { compileGlobs, isLike, type Glob } from './glob.ts'
import { isAsking, type Annotations, type Effect, type PolicyRule, type PolicyTargets } from './rule.ts'

/** An item as policies see it: an item of a list, or a resource that is only known by its URI. */
export interface PolicyItem {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'skill'
  /** `trustsAnnotations`: an administrator vouches for the annotations of its tools; absent for false. */
  readonly server: { readonly name: string; readonly trustsAnnotations?: boolean }
  /** Name at the server, URI, or URI template. */
  readonly name: string
  /** Public name without the server: differs from `name` if the gateway renames the item. */
  readonly alias: string
  /** Absent if no list has the item. */
  readonly stored?: { readonly definition: string }
  /** Definition as the endpoint lists it, if a group corrects its annotations (groups.md#views). */
  readonly listed?: { readonly definition: string }
}

/** Contents of the tool groups, by their names and then by server. */
export type GroupContents = ReadonlyMap<string, ReadonlyMap<string, Selection>>

/** Compiled targets of a rule. */
export interface TargetTest {
  /** Returns true if the rule applies to some items of the server. */
  readonly reaches: (server: string) => boolean
  /** Returns true if the rule applies to every item of the servers that it reaches. */
  readonly isWhole: boolean
  /** Returns true if the rule applies to an item of a server that it reaches. */
  readonly matches: (item: PolicyItem) => boolean
  /** Returns true if the server may read the item as one that the rule applies to; see `spellingOf`. */
  readonly mayMatch: (item: PolicyItem) => boolean
  /** Returns true if the rule applies to the item, whatever the path of its URI. */
  readonly matchesPaths: (item: PolicyItem) => boolean
}

/**
 * Tells how much the URI of a resource that no list has says about which resource its server reads: `exact`; `loose` for
 * a file of a skill, whose server may read other spellings as the same file; `evasive` if it may be any resource.
 */
export function spellingOf({ kind, name, stored }: PolicyItem): 'exact' | 'loose' | 'evasive' {
  if (kind !== 'resource' || stored !== undefined) return 'exact'
  if (isEvasiveUri(name)) return 'evasive'
  return /^\s*skill:/i.test(name) ? 'loose' : 'exact'
}

/** Returns the text that all spellings of the URI of a skill's file share. */
export function looseSkillUri(uri: string): string {
  const { scheme, path } = looseUri(uri)
  return `${scheme}://${path}`
}

const comparables = new WeakMap<PolicyItem, string>()

/** Returns the text that the spellings of an item's URI share; many rules ask for that of one item. */
function comparableOf(item: PolicyItem): string {
  const known = comparables.get(item)
  if (known !== undefined) return known
  const text = comparableUri(item.name)
  comparables.set(item, text)
  return text
}

/**
 * Compiles globs of URIs to a test for the texts of `comparableOf`. The beginning of a URI may mean something else to a
 * parser than the whole, so it also counts as it is written.
 */
function compileComparable(globs: readonly string[]): Glob {
  const exact = new Set(globs.filter((glob) => !glob.endsWith('*')).map(comparableUri))
  const prefixes = globs
    .filter((glob) => glob.endsWith('*'))
    .map((glob) => glob.slice(0, -1))
    .flatMap((start) => [comparableUri(start), decodePercent(start).toLowerCase()])
  return (text) => exact.has(text) || prefixes.some((prefix) => text.startsWith(prefix))
}

/** Hints of MCP with the values that a tool without them has. */
const hintDefaults = {
  readOnly: ['readOnlyHint', false],
  destructive: ['destructiveHint', true],
  idempotent: ['idempotentHint', false],
  openWorld: ['openWorldHint', true]
} as const

function hintsOf(definition: string): Record<string, unknown> {
  if (!definition.includes('annotations')) return {}
  const { annotations } = JSON.parse(definition) as { annotations?: unknown }
  return isObject(annotations) ? annotations : {}
}

/**
 * Returns a test for tools whose annotations have these values. An `allow` believes only servers whose annotations are
 * trusted: another could call its delete tool read-only.
 */
function compileAnnotations(wanted: Annotations, effect: Effect): (item: PolicyItem) => boolean {
  const entries = (Object.keys(hintDefaults) as (keyof Annotations)[]).filter((key) => wanted[key] !== undefined)
  return ({ kind, server, stored, listed }) => {
    if (kind !== 'tool' || (effect === 'allow' && server.trustsAnnotations !== true)) return false
    // what a group shows decides who is asked, never who may call
    const hints = hintsOf(((isAsking(effect) ? listed : undefined) ?? stored)?.definition ?? '')
    const valueOf = (key: keyof Annotations) => {
      const [member, byDefault] = hintDefaults[key]
      const hint = hints[member]
      return typeof hint === 'boolean' ? hint : byDefault
    }
    // the destructive hint means something only for tools that do more than read (MCP, ToolAnnotations)
    return entries.every(
      (key) => (key === 'destructive' ? valueOf(key) && !valueOf('readOnly') : valueOf(key)) === wanted[key]
    )
  }
}

/** Returns the kinds that the rule names with a test for their names; undefined if it applies to every kind. */
function compileKinds({ tools, prompts, resources }: PolicyTargets): ReadonlyMap<string, Glob> | undefined {
  const lists = { tool: tools, prompt: prompts, resource: resources, template: resources, skill: resources }
  const named = Object.entries(lists).filter(([, list]) => list !== undefined && list.length > 0)
  if (named.length === 0) return undefined
  return new Map(named.map(([kind, list]) => [kind, compileGlobs(list)]))
}

const isInGroup = (selection: Selection, { kind, name, alias }: PolicyItem) =>
  kind === 'tool' ? selects(selection, name, alias) : selection.isWhole

type TargetSource = Pick<PolicyRule, 'targets' | 'effect'>

/** Compiles the targets of a rule. */
export function compileTargets({ targets, effect }: TargetSource, contents: GroupContents): TargetTest {
  const isServer = compileGlobs(targets.servers)
  const names = targets.groups ?? []
  const groups = [...contents].filter(([group]) => names.some((glob) => isLike(group, glob))).map(([, each]) => each)
  const kinds = compileKinds(targets)
  const isLooseUri = compileGlobs(targets.resources?.map((glob) => glob.toLowerCase()))
  const isComparable = compileComparable(targets.resources ?? [])
  const hints = Object.values(targets.annotations ?? {}).some((hint) => hint !== undefined)
    ? compileAnnotations(targets.annotations!, effect)
    : undefined
  const isInGroups = (item: PolicyItem) =>
    groups.some((group) => {
      const selection = group.get(item.server.name)
      return selection !== undefined && isInGroup(selection, item)
    })
  const isPlaced = (item: PolicyItem) =>
    (names.length === 0 || isInGroups(item)) && (hints === undefined || hints(item))
  const isNamed = ({ kind, name, alias }: PolicyItem) => {
    const test = kinds?.get(kind)
    return kinds === undefined || (test !== undefined && (test(name) || test(alias)))
  }
  const isForTools = isAsking(effect)
  const matches = (item: PolicyItem) => (!isForTools || item.kind === 'tool') && isNamed(item) && isPlaced(item)
  return {
    reaches: (server) => isServer(server) && (names.length === 0 || groups.some((group) => group.has(server))),
    isWhole: !isForTools && kinds === undefined && names.length === 0 && hints === undefined,
    matches,
    mayMatch(item) {
      if (matches(item)) return true
      if (item.kind !== 'resource' || item.stored !== undefined || kinds?.has('resource') !== true) return false
      const spelling = spellingOf(item)
      const isSpelt =
        spelling === 'evasive' ||
        (spelling === 'loose' && isLooseUri(looseSkillUri(item.name))) ||
        isComparable(comparableOf(item))
      return isSpelt && isPlaced(item)
    },
    matchesPaths: (item) => matches(item) && (kinds === undefined || targets.resources?.includes('*') === true)
  }
}
