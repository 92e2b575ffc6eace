import { selects } from '../domain/groups.ts'
import { splitName } from '../domain/names.ts'
import type { Catalog, CatalogServer, Item, ResolvedGroup } from './catalog.ts'
import {
  compileOverride,
  isCompiled,
  type BrokenOverride,
  type CompiledOverride,
  type OverrideSource
} from './compiled-override.ts'
import { pickEntries, type Listing } from './list-cache.ts'

/** A tool that a group withholds. */
export interface WithheldTool {
  /** `<server>__<tool>` */
  readonly tool: string
  readonly reason: string
}

/** A group's overrides, applied to the tools of one catalog (groups.md#views). Immutable. */
export interface GroupParts {
  /** True if no tool of the group is served otherwise than usual. */
  readonly isPlain: boolean
  /** Returns the override of a tool; undefined if the tool is served as usual, or withheld. */
  of(item: Item): CompiledOverride | undefined
  /** Returns true if a tool is not served because an override cannot be applied as it was meant. */
  isWithheld(item: Item): boolean
  /** Returns the tool that has a name by its override, whoever may use it. */
  named(name: string): Item | undefined
  /** Returns a key for the listing of a server; empty if its tools are listed as usual. */
  keyOf(server: CatalogServer): string
  /** Returns a listing of tools of a server with the overrides. `items`: the enabled tools, `source`: their listing. */
  listing(source: Listing, items: readonly Item[], includes: (item: Item) => boolean): Listing
  /** All overrides that are applied, in the order of the group. */
  readonly applied: readonly CompiledOverride[]
  readonly withheld: readonly WithheldTool[]
}

/** Compiled overrides of tools, which last as long as the tool and the revision of the group. */
export type OverrideCache = WeakMap<Item, WeakMap<OverrideSource, CompiledOverride | BrokenOverride>>

/** Parts of the global endpoint, and of groups without overrides. */
export const plainParts: GroupParts = {
  isPlain: true,
  of: () => undefined,
  isWithheld: () => false,
  named: () => undefined,
  keyOf: () => '',
  listing: (source) => source,
  applied: [],
  withheld: []
}

type Tools = Pick<Catalog, 'server' | 'overrides'>

function compile({ overrides }: Tools, { isBare }: ResolvedGroup, item: Item, source: OverrideSource) {
  let known = overrides.get(item)
  if (!known) overrides.set(item, (known = new WeakMap()))
  const found = known.get(source) ?? compileOverride(item, isBare, source)
  known.set(source, found)
  return found
}

/** Returns the tools of a group that it has overrides for, as far as its endpoint serves them. */
function servedTools(catalog: Tools, { overrides, selections }: ResolvedGroup): Map<Item, OverrideSource> {
  const found = new Map<Item, OverrideSource>()
  for (const [tool, source] of overrides) {
    const split = splitName(tool)
    const part = split && selections.get(split.server)
    const item = split && catalog.server(split.server)?.find('tool', split.name)
    if (!item?.enabled || !part || !selects(part, item.name, item.alias) || found.has(item)) continue
    found.set(item, source)
  }
  // a name that the group gives wins over a usual one
  const isUsual = ([, { override }]: readonly [Item, OverrideSource]) => Number(override.name === undefined)
  return new Map([...found].toSorted((a, b) => isUsual(a) - isUsual(b)))
}

/** Returns the tool that is listed by this name unless an override says otherwise. */
function usuallyNamed(catalog: Tools, { isBare, selections }: ResolvedGroup, name: string): Item | undefined {
  const split = isBare ? { server: [...selections.keys()][0] ?? '', name } : splitName(name)
  if (!split) return undefined
  const part = selections.get(split.server)
  const item = catalog.server(split.server)?.find('tool', split.name)
  if (!item?.enabled || item.alias !== split.name || !part || !selects(part, item.name, item.alias)) return undefined
  return item
}

function createParts(catalog: Tools, group: ResolvedGroup): GroupParts {
  const byItem = new Map<Item, CompiledOverride>()
  const byName = new Map<string, Item>()
  const withheld = new Map<Item, string>()
  for (const [item, source] of servedTools(catalog, group)) {
    const result = compile(catalog, group, item, source)
    if (!isCompiled(result)) {
      withheld.set(item, result.broken)
    } else if (byName.has(result.name)) {
      withheld.set(item, `its name "${result.name}" is that of another tool`)
    } else {
      byItem.set(item, result)
      byName.set(result.name, item)
    }
  }
  for (const [name, item] of byName) {
    const other = usuallyNamed(catalog, group, name)
    if (!other || other === item || withheld.has(other) || byItem.has(other)) continue
    withheld.set(other, `the group calls "${item.publicName}" by its name`)
  }
  const keys = new Map<string, string>()
  for (const item of [...byItem.keys(), ...withheld.keys()]) keys.set(item.server.name, group.contentHash)
  for (const { server, name } of withheld.keys()) keys.set(server.name, `${keys.get(server.name)} ${name}`)
  return {
    isPlain: false,
    of: (item) => byItem.get(item),
    isWithheld: (item) => withheld.has(item),
    named: (name) => byName.get(name),
    keyOf: ({ name }) => keys.get(name) ?? '',
    listing(source, items, includes) {
      const entries = items.flatMap((item, index) => {
        if (!includes(item)) return []
        const own = byItem.get(item)
        return [own === undefined ? index : Buffer.from(own.text)]
      })
      return pickEntries(source, entries)
    },
    applied: [...byItem.values()],
    withheld: [...withheld].map(([{ publicName }, reason]) => ({ tool: publicName, reason }))
  }
}

/** Returns the parts of a group in a catalog, made at the first use. */
export function partsOf(catalog: Catalog, group: ResolvedGroup): GroupParts {
  if (group.overrides.size === 0) return plainParts
  const known = catalog.parts.get(group.contentHash)
  if (known) return known
  const parts = createParts(catalog, group)
  catalog.parts.set(group.contentHash, parts)
  return parts
}
