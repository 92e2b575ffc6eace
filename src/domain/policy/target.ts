import { selects, type Selection } from '../groups.ts'
import { isObject } from '../is-object.ts'
import { compileGlobs, isLike, type Glob } from './glob.ts'
import type { Annotations, PolicyTargets } from './rule.ts'

/** An item as policies see it: an item of a list, or a resource that is only known by its URI. */
export interface PolicyItem {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'skill'
  readonly server: { readonly name: string }
  /** Name at the server, URI, or URI template. */
  readonly name: string
  /** Public name without the server: differs from `name` if the gateway renames the item. */
  readonly alias: string
  /** Absent if no list has the item. */
  readonly stored?: { readonly definition: string }
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

/** Returns a test for tools whose annotations have these values. */
function compileAnnotations(wanted: Annotations): (item: PolicyItem) => boolean {
  const entries = (Object.keys(hintDefaults) as (keyof Annotations)[]).filter((key) => wanted[key] !== undefined)
  return ({ stored }) => {
    const hints = hintsOf(stored?.definition ?? '')
    return entries.every((key) => {
      const [member, byDefault] = hintDefaults[key]
      const hint = hints[member]
      return (typeof hint === 'boolean' ? hint : byDefault) === wanted[key]
    })
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

/** Compiles the targets of a rule. */
export function compileTargets(targets: PolicyTargets, contents: GroupContents): TargetTest {
  const isServer = compileGlobs(targets.servers)
  const names = targets.groups ?? []
  const groups = [...contents].filter(([group]) => names.some((glob) => isLike(group, glob))).map(([, each]) => each)
  const kinds = compileKinds(targets)
  const hints = Object.values(targets.annotations ?? {}).some((hint) => hint !== undefined)
    ? compileAnnotations(targets.annotations!)
    : undefined
  const inGroups = (item: PolicyItem) =>
    groups.some((group) => {
      const selection = group.get(item.server.name)
      return selection !== undefined && isInGroup(selection, item)
    })
  return {
    reaches: (server) => isServer(server) && (names.length === 0 || groups.some((group) => group.has(server))),
    isWhole: kinds === undefined && names.length === 0 && hints === undefined,
    matches(item) {
      if (names.length > 0 && !inGroups(item)) return false
      const isNamed = kinds?.get(item.kind)
      if (kinds && !(isNamed && (isNamed(item.name) || isNamed(item.alias)))) return false
      return hints === undefined || (item.kind === 'tool' && hints(item))
    }
  }
}
