import type { ItemKind, RegistryState, StoredItem, StoredServer } from '../registry/model.ts'
import { valueOf, withMembers, members } from './json.ts'

/** One tool, prompt, resource or template of the catalog. Immutable. */
export interface Item {
  readonly kind: ItemKind
  readonly server: ServerBlock
  readonly stored: StoredItem
  /** Own name of a tool or prompt, URI of a resource, URI template of a template. */
  readonly name: string
  /** `<server>__<name>` for tools and prompts (contract 1); the own URI for resources and templates. */
  readonly publicName: string
  /** Its own switch and its server's. */
  readonly enabled: boolean
}

/** List entries of one server and kind as ready bytes, joined by commas, so that pages are cut without copying. */
export interface Listing {
  readonly bytes: Buffer
  /** Offset behind each entry; the next one begins one byte later, behind the comma. */
  readonly ends: readonly number[]
}

/** One server with everything it offers. Made once for each stored revision and shared by all catalogs that hold it. */
export interface ServerBlock {
  readonly stored: StoredServer
  readonly name: string
  readonly enabled: boolean
  /** Every item, disabled ones included, in the upstream's order. */
  items(kind: ItemKind): readonly Item[]
  find(kind: ItemKind, name: string): Item | undefined
  /** The enabled items as MCP lists show them. */
  listing(kind: ItemKind): Listing
}

/** Everything that the data plane serves from, at one version of the registry. Immutable, swapped whole. */
export interface Catalog {
  readonly version: string
  /** In order of name. */
  readonly servers: readonly ServerBlock[]
  server(name: string): ServerBlock | undefined
}

/** A qualified name splits at the first `__` (decisions "Names"). Undefined where there is none. */
export function splitName(qualified: string): { server: string; name: string } | undefined {
  const at = qualified.indexOf('__')
  if (at <= 0) return undefined
  return { server: qualified.slice(0, at), name: qualified.slice(at + 2) }
}

/**
 * Core tasks are not bridged, so `execution.taskSupport` is not listed (proxy page 3.21). What is left of `execution`,
 * null for nothing; undefined where it stays as it is.
 */
function withoutTaskSupport(definition: string): string | null | undefined {
  const execution = valueOf(definition, members(definition), 'execution')
  if (!execution?.startsWith('{') || !members(execution).some(({ key }) => key === 'taskSupport')) return undefined
  const rest = withMembers(execution, { taskSupport: null })
  return rest === '{}' ? null : rest
}

/** The entry of an MCP list: the upstream's definition, the name apart (proxy page 3.6). */
export function listedText({ kind, stored, publicName }: Pick<Item, 'kind' | 'stored' | 'publicName'>): string {
  if (kind === 'resource' || kind === 'template') return stored.definition
  const name = JSON.stringify(publicName)
  if (kind === 'prompt') return withMembers(stored.definition, { name })
  const execution = withoutTaskSupport(stored.definition)
  return withMembers(stored.definition, execution === undefined ? { name } : { name, execution })
}

export function joinListing(texts: readonly string[]): Listing {
  const ends: number[] = []
  let end = -1
  for (const text of texts) {
    end += 1 + Buffer.byteLength(text)
    ends.push(end)
  }
  return { bytes: Buffer.from(texts.join(',')), ends }
}

const isNamed = (kind: ItemKind) => kind === 'tool' || kind === 'prompt'

function createBlock(stored: StoredServer): ServerBlock {
  const byKind = new Map<ItemKind, Item[]>()
  const byName = new Map<ItemKind, Map<string, Item>>()
  const listings = new Map<ItemKind, Listing>()
  const items = (kind: ItemKind): readonly Item[] => byKind.get(kind) ?? []
  const block: ServerBlock = {
    stored,
    name: stored.name,
    enabled: stored.enabled,
    items,
    find: (kind, name) => byName.get(kind)?.get(name),
    listing(kind) {
      let listing = listings.get(kind)
      if (!listing)
        listings.set(
          kind,
          (listing = joinListing(
            items(kind)
              .filter((item) => item.enabled)
              .map(listedText)
          ))
        )
      return listing
    }
  }
  for (const item of stored.items) {
    const { kind, name } = item
    const publicName = isNamed(kind) ? `${stored.name}__${name}` : name
    const entry: Item = { kind, server: block, stored: item, name, publicName, enabled: item.enabled && stored.enabled }
    if (!byKind.has(kind)) {
      byKind.set(kind, [])
      byName.set(kind, new Map())
    }
    byKind.get(kind)!.push(entry)
    byName.get(kind)!.set(name, entry)
  }
  return block
}

const blocks = new WeakMap<StoredServer, ServerBlock>()

/** The block of a stored server; the same object for the same revision (architecture, "Reloading is incremental"). */
function blockOf(stored: StoredServer): ServerBlock {
  let block = blocks.get(stored)
  if (!block) blocks.set(stored, (block = createBlock(stored)))
  return block
}

export function buildCatalog(state: RegistryState): Catalog {
  const servers = state.servers.map(blockOf)
  const byName = new Map(servers.map((block) => [block.name, block]))
  return { version: state.version, servers, server: (name) => byName.get(name) }
}

export const emptyCatalog: Catalog = buildCatalog({ version: '0', servers: [], groups: [] })
