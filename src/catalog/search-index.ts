import { LRUCache } from 'lru-cache'
import { noop } from '../lib/noop.ts'
import { completeInSlices, createTimeSlice } from '../lib/time-slice.ts'
import { BlockBuilder, type SearchBlock } from '../domain/search/block.ts'
import { ToolRanking, type SearchPart } from '../domain/search/ranking.ts'
import { listEntry, type Catalog, type CatalogServer, type Item } from './catalog.ts'
import type { Scope } from './scope.ts'
import { aboutServer, listedTool } from './search-listing.ts'
import { readTool } from './search/tool-text.ts'

const MAX_BYTES = 67_108_864
/** Size of a reference to a tool */
const ITEM_BYTES = 8
/** Rankings of scopes that are kept. Each has a byte per tool. */
const MAX_RANKINGS = 200

/** Postings of a server's tools under their usual names, and the tools by number. */
interface ServerIndex {
  readonly server: CatalogServer
  readonly block: SearchBlock
  readonly items: readonly Item[]
}

/** Tools that were found, best first. */
export interface FoundItems {
  readonly items: readonly Item[]
  /** Number of all tools with a word of the query */
  readonly total: number
  /** Number of the first tools whose names are in the query */
  readonly named: number
}

/** Search over the tools of one scope. */
export interface ScopeSearch {
  /** Finds at most `limit` tools; `server`: only those of this server. Long queries give way to other work. */
  find(query: string, limit: number, server?: string): Promise<FoundItems>
}

/** Postings of the servers' tools, made when they are needed first (architecture.md#search). */
export interface SearchIndex {
  /** Returns the search over the tools of a scope, once their postings are there. */
  of(scope: Scope): Promise<ScopeSearch>
  /** Drops what does not belong to a catalog, and begins with the servers of groups in search mode. */
  follow(catalog: Catalog): void
  /** Approximate size of all postings */
  readonly bytes: number
}

/** Part of a ranking, with its tools by number. */
interface ScopePart extends SearchPart {
  readonly server: string
  readonly items: readonly Item[]
}

/** Adds tools to a block, a few per turn of the event loop. `textOf`: their JSON texts as they are listed. */
async function buildBlock(server: CatalogServer, items: readonly Item[], textOf: (item: Item) => string) {
  const builder = new BlockBuilder()
  const slice = createTimeSlice()
  // many servers begin at once
  await slice.next()
  for (const item of items) {
    if (slice.isOver) await slice.next()
    const { name, text, parameters } = readTool(textOf(item))
    // a group can give a tool any name
    const ownName = name === item.publicName ? item.alias : name
    builder.add({ name, ownName, description: text, parameters })
  }
  if (slice.isOver) await slice.next()
  return builder.finish({ name: server.name, about: aboutServer(server) })
}

/** Returns the part of the tools that a group serves otherwise than usual, if there are any. */
async function overriddenPart(scope: Scope, server: CatalogServer): Promise<ScopePart[]> {
  const items = server.items('tool').filter((item) => scope.overrideOf(item) !== undefined && scope.includes(item))
  if (items.length === 0) return []
  const block = await buildBlock(server, items, (item) => listedTool(scope, item).text)
  return [{ server: server.name, block, items }]
}

function maskOf(items: readonly Item[], includes: (item: Item) => boolean): Uint8Array | undefined {
  const included = Uint8Array.from(items, (item) => (includes(item) ? 1 : 0))
  return included.includes(0) ? included : undefined
}

function createScopeSearch(parts: readonly ScopePart[]): ScopeSearch {
  const ranking = new ToolRanking(parts)
  return {
    async find(query, limit, server) {
      const only =
        server === undefined ? undefined : new Set(parts.flatMap((part, at) => (part.server === server ? at : [])))
      const { hits, total, named } = await completeInSlices(ranking.search(query, limit, only))
      return { total, named, items: hits.map(({ part, tool }) => parts[part]!.items[tool]!) }
    }
  }
}

/** Creates an empty index of at most `maxBytes`; beyond, the servers that were searched least recently are dropped. */
export function createSearchIndex(maxBytes = MAX_BYTES): SearchIndex {
  const rankings = new LRUCache<Scope, Promise<ScopeSearch>>({ max: MAX_RANKINGS })
  // a ranking keeps the postings of its servers alive
  const indexes = new LRUCache<string, ServerIndex>({ maxSize: maxBytes, dispose: () => rankings.clear() })
  const building = new Map<CatalogServer, Promise<ServerIndex>>()

  const build = async (server: CatalogServer): Promise<ServerIndex> => {
    try {
      const items = server.items('tool').filter(({ enabled }) => enabled)
      const index = { server, items, block: await buildBlock(server, items, (item) => listEntry(item)) }
      const size = index.block.bytes + ITEM_BYTES * items.length + 1
      if (building.has(server)) indexes.set(server.name, index, { size })
      return index
    } finally {
      building.delete(server)
    }
  }
  const indexOf = (server: CatalogServer): ServerIndex | Promise<ServerIndex> => {
    const known = indexes.get(server.name)
    if (known?.server === server) return known
    const started = building.get(server) ?? build(server)
    building.set(server, started)
    return started
  }
  const searchOf = async (scope: Scope): Promise<ScopeSearch> => {
    const started = scope.servers.map(indexOf)
    const parts: ScopePart[] = []
    const slice = createTimeSlice()
    for (const [i, server] of scope.servers.entries()) {
      const { block, items } = await started[i]!
      if (slice.isOver) await slice.next()
      const isUsual = (item: Item) => scope.includes(item) && scope.overrideOf(item) === undefined
      parts.push({ server: server.name, block, items, included: maskOf(items, isUsual) })
      parts.push(...(await overriddenPart(scope, server)))
    }
    return createScopeSearch(parts)
  }
  return {
    of(scope) {
      const known = rankings.get(scope)
      if (known) return known
      const search = searchOf(scope)
      rankings.set(scope, search)
      search.catch(() => rankings.delete(scope))
      return search
    },
    follow(catalog) {
      rankings.clear()
      for (const [name, { server }] of indexes.entries()) if (catalog.server(name) !== server) indexes.delete(name)
      for (const server of building.keys()) if (catalog.server(server.name) !== server) building.delete(server)
      const wanted = new Set(catalog.groups.flatMap(({ search, selections }) => (search ? [...selections.keys()] : [])))
      for (const name of wanted) {
        const server = catalog.server(name)
        // the query that needs it tries again, and reports the error
        if (server) Promise.resolve(indexOf(server)).catch(noop)
      }
    },
    get bytes() {
      return indexes.calculatedSize
    }
  }
}
