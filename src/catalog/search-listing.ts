import { joinListing, type Listing } from './list-cache.ts'
import { listEntry, type CatalogServer, type Item } from './catalog.ts'
import type { ItemKind } from '../registry/model/model.ts'
import type { Scope } from './scope.ts'
import { searchToolDefinitions, type ListedServer } from './search/search-tools.ts'

/** A tool as an endpoint lists it. */
export interface ListedTool {
  readonly name: string
  /** JSON text of its definition */
  readonly text: string
}

/** Returns a tool of a scope as its endpoint lists it. */
export function listedTool(scope: Scope, item: Item): ListedTool {
  const { isBare } = scope
  const override = scope.overrideOf(item)
  if (override) return override
  return { name: isBare ? item.alias : item.publicName, text: listEntry(item, isBare) }
}

/** Returns the text that describes a server: its description, or the beginning of its instructions. */
export const aboutServer = ({ stored, instructions }: CatalogServer): string => stored.description ?? instructions ?? ''

/** Returns the servers of a scope as search shows them. */
export const listedServers = ({ servers }: Pick<Scope, 'servers'>): ListedServer[] =>
  servers.map((server) => ({ name: server.name, about: aboutServer(server) }))

/** How an endpoint in search mode lists its tools (tool-groups.md#search-mode). */
export interface SearchMode {
  /** `<server>__<tool>` of the tools that are listed all the same */
  readonly alwaysListed: ReadonlySet<string>
  /** Hits of a query that names no limit */
  readonly limit: number
}

const listings = new WeakMap<Scope, readonly Listing[]>()

/** Returns what the endpoint of a scope lists: of tools in search mode those of search, then those always listed. */
export function shownListings(scope: Scope, kind: ItemKind): readonly Listing[] {
  const { search } = scope
  if (!search || kind !== 'tool') return scope.listings(kind)
  const known = listings.get(scope)
  if (known) return known
  const made = [searchListing(scope, search)]
  listings.set(scope, made)
  return made
}

function searchListing(scope: Scope, { alwaysListed, limit }: SearchMode): Listing {
  const always = scope.servers.flatMap((server) =>
    server.items('tool').filter((item) => alwaysListed.has(item.publicName) && scope.includes(item))
  )
  return joinListing([
    ...searchToolDefinitions(listedServers(scope), limit),
    ...always.map((item) => listedTool(scope, item).text)
  ])
}
