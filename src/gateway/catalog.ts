import { createHash } from 'node:crypto'
import { resolveGroup, type Selection } from '../domain/groups.ts'
import type {
  GroupConfig,
  ItemKind,
  LeftOut,
  RegistryState,
  StoredGroup,
  StoredItem,
  StoredPrincipal,
  StoredServer
} from '../registry/model.ts'
import type { LruCache } from './bounded.ts'
import type { Caller } from './gateway.ts'
import { valueOf, withMembers, members } from './json.ts'
import { unlistedMembers } from './item-shape.ts'
import { createItemNames, type ItemNames, type ToolNames } from './item-names.ts'
import { leftOutOf, type Problem } from './left-out.ts'
import { noParamHeaders, readParamHeaders, withoutParamHeaders, type ParamHeaders } from './param-headers.ts'
import { createListingCache, createPageCache, joinListing } from './listing.ts'
import type { Listing, ListingCache, Page } from './listing.ts'
import { indexPrincipals, principalOf } from './principal-index.ts'
import { withUsableItems, type UnusableItem, type UsableServer } from './usable-items.ts'

/** One tool, prompt, resource or template of the catalog. Immutable. */
export interface Item {
  readonly kind: ItemKind
  readonly server: ServerBlock
  readonly stored: StoredItem
  /** Own name of a tool or prompt, URI of a resource, URI template of a template. */
  readonly name: string
  /** The part of the public name behind the server's: the own name, but where that had to be changed. */
  readonly alias: string
  /** `<server>__<alias>` for tools and prompts (http-contract.md#names); the own URI for resources and templates. */
  readonly publicName: string
  /** Its own switch and its server's, and nothing wrong with it. */
  readonly enabled: boolean
  /** Arguments of a tool that requests over HTTP repeat in headers. */
  readonly params: ParamHeaders
  /** Why it is not served; undefined where it can be. */
  readonly problem: Problem | undefined
}

/** A part of the registry that is not served because of an error in the gateway. */
export interface Fault {
  /** Kind and name. */
  readonly subject: string
  readonly error: unknown
}

/** One server with everything it offers. Made once for each stored revision and shared by all catalogs that hold it. */
export interface ServerBlock {
  readonly stored: StoredServer
  readonly name: string
  readonly enabled: boolean
  /** What of its lists is not served; undefined where that is nothing. */
  readonly leftOut: LeftOut | undefined
  /** Stored items that are not in the block. */
  readonly unusable: readonly UnusableItem[]
  /** Where there is one, the block holds nothing. */
  readonly fault: Fault | undefined
  /** Every item, disabled ones included, in the upstream's order. */
  items(kind: ItemKind): readonly Item[]
  /** By the upstream's own name or URI, or by the alias. */
  find(kind: ItemKind, name: string): Item | undefined
  /** The enabled items as MCP lists show them; bare: tools and prompts under their own names. */
  listing(kind: ItemKind, isBare?: boolean): Listing
}

/** What a group takes of one server. */
export interface ServerSelection extends Selection {
  /** Equal for equal selections, and short. */
  readonly contentHash: string
}

/** What a group holds, made ready for look-ups. */
export interface GroupParts {
  readonly isBare: boolean
  /** By name of server, whether or not there is one. */
  readonly parts: ReadonlyMap<string, ServerSelection>
  /** Equal for groups that hold the same. */
  readonly contentHash: string
}

/** A tool group. Made once for each stored revision. */
export interface GroupBlock extends GroupParts {
  readonly stored: StoredGroup
}

/** Whoever has an access token. Made once for each stored revision. */
export interface Principal {
  readonly stored: StoredPrincipal
  readonly caller: Caller
}

/** Everything that the data plane serves from, at one version of the registry. Immutable, swapped whole. */
export interface Catalog {
  readonly version: string
  /** Whether enterprise mode has its first administrator. */
  readonly initialized: boolean
  /** In order of name. */
  readonly servers: readonly ServerBlock[]
  server(name: string): ServerBlock | undefined
  /** In order of name. */
  readonly groups: readonly GroupBlock[]
  group(name: string): GroupBlock | undefined
  /** Users, then clients, each in order of name. */
  readonly principals: readonly Principal[]
  /** By the SHA-256 of an access token. */
  principal(tokenHash: Buffer): Principal | undefined
  /** As it is now; undefined where the token that the caller showed is good for nothing any more. */
  currentPrincipal(caller: Caller): Principal | undefined
  readonly listings: ListingCache
  readonly faults: readonly Fault[]
  /** Its lists over MCP, by page, and over REST, ready to be sent: they end with it. */
  readonly pages: LruCache<Page>
}

/** Core tasks are not bridged: nobody could call a tool that works as one alone. */
function taskProblem(definition: string): Problem | undefined {
  if (!definition.includes('"taskSupport"')) return undefined
  const { execution } = JSON.parse(definition) as { execution?: { taskSupport?: unknown } | null }
  if (execution?.taskSupport !== 'required') return undefined
  return { code: 'tasks', reason: 'it can only be called as a task, which the gateway does not support' }
}

/**
 * Core tasks are not bridged, so `execution.taskSupport` is not listed (mcp-proxy.md#tasks). What is left of
 * `execution`,
 * null for nothing; undefined where it stays as it is.
 */
function withoutTaskSupport(definition: string): string | null | undefined {
  const execution = valueOf(definition, members(definition), 'execution')
  if (!execution?.startsWith('{') || !members(execution).some(({ key }) => key === 'taskSupport')) return undefined
  const rest = withMembers(execution, { taskSupport: null })
  return rest === '{}' ? null : rest
}

/**
 * The entry of an MCP list: the upstream's definition, but for the name and members that clients refuse
 * (mcp-proxy.md#names, mcp-proxy.md#bare-names).
 */
export function listEntry({ kind, name: own, alias, stored, publicName, server }: Item, isBare = false): string {
  if (kind === 'resource' || kind === 'template') return definitionWith(kind, stored.definition, {})
  // where there are no headers, an annotation that cannot be honoured says nothing
  const hasProblem = server.stored.transport !== 'streamable_http' && readParamHeaders(stored.definition).problem
  const definition = hasProblem ? withoutParamHeaders(stored.definition) : stored.definition
  const keepsName = isBare && alias === own
  const name = keepsName ? {} : { name: JSON.stringify(isBare ? alias : publicName) }
  const execution = kind === 'tool' ? withoutTaskSupport(definition) : undefined
  return definitionWith(kind, definition, execution === undefined ? name : { ...name, execution })
}

function definitionWith(kind: ItemKind, definition: string, changes: Readonly<Record<string, string | null>>): string {
  const all = { ...unlistedMembers(kind, definition), ...changes }
  return Object.keys(all).length === 0 ? definition : withMembers(definition, all)
}

const kinds: readonly ItemKind[] = ['tool', 'prompt', 'resource', 'template']

const isNamed = (kind: ItemKind) => kind === 'tool' || kind === 'prompt'

const problemOf = ({ problem }: ParamHeaders): Problem | undefined =>
  problem === undefined ? undefined : { code: 'parameters', reason: problem }

function createBlock({ stored, unusable }: UsableServer, toolNames: ToolNames, fault?: Fault): ServerBlock {
  const byKind = new Map<ItemKind, Item[]>()
  const byName = new Map<ItemKind, Map<string, Item>>()
  const listings = new Map<string, Listing>()
  let leftOut: LeftOut | undefined | null = null
  const items = (kind: ItemKind): readonly Item[] => byKind.get(kind) ?? []
  const block: ServerBlock = {
    stored,
    name: stored.name,
    enabled: stored.enabled,
    get leftOut() {
      if (leftOut === null) leftOut = leftOutOf([...unusable, ...kinds.flatMap(items)], stored.leftOut)
      return leftOut
    },
    unusable,
    fault,
    items,
    find: (kind, name) => byName.get(kind)?.get(name),
    listing(kind, isBare = false) {
      const key = isBare && isNamed(kind) ? `bare ${kind}` : kind
      let listing = listings.get(key)
      if (!listing) {
        const enabled = items(kind).filter((item) => item.enabled)
        listings.set(key, (listing = joinListing(enabled.map((item) => listEntry(item, isBare)))))
      }
      return listing
    }
  }
  const itemNames = createItemNames(toolNames, stored.name, stored.items)
  for (const item of stored.items) {
    const { kind, name } = item
    if (!byKind.has(kind)) {
      byKind.set(kind, [])
      byName.set(kind, new Map())
    }
    const entry = createItem(block, item, itemNames)
    byKind.get(kind)!.push(entry)
    byName.get(kind)!.set(name, entry).set(entry.alias, entry)
  }
  return block
}

function createItem(server: ServerBlock, item: StoredItem, names: ItemNames): Item {
  const { kind, name } = item
  const { stored } = server
  const isHttp = stored.transport === 'streamable_http'
  const alias = names.publicPart(kind, name)
  const publicName = isNamed(kind) ? `${stored.name}__${alias}` : name
  const params = kind === 'tool' && isHttp ? readParamHeaders(item.definition) : noParamHeaders
  const problem =
    names.problem(kind, name) ?? problemOf(params) ?? (kind === 'tool' ? taskProblem(item.definition) : undefined)
  const enabled = item.enabled && stored.enabled && problem === undefined
  return { kind, server, stored: item, name, alias, publicName, enabled, params, problem }
}

const newBlocks = () => new WeakMap<StoredServer, ServerBlock>()
const blocks = { 'leave-out': newBlocks(), rename: newBlocks(), keep: newBlocks() }

function readBlock(stored: StoredServer, toolNames: ToolNames): ServerBlock {
  try {
    return createBlock(withUsableItems(stored), toolNames)
  } catch (error) {
    // one server must not keep the others, nor a revocation, from being served
    const empty = { stored: { ...stored, items: [] }, unusable: [] }
    return createBlock(empty, toolNames, { subject: `server "${stored.name}"`, error })
  }
}

/** The block of a stored server; the same object for the same revision (architecture, "Reloading is incremental"). */
function blockOf(stored: StoredServer, toolNames: ToolNames): ServerBlock {
  const known = blocks[toolNames].get(stored)
  if (known) return known
  const block = readBlock(stored, toolNames)
  blocks[toolNames].set(stored, block)
  return block
}

const digest = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('base64url')

/** The parts of a group, stored or not. */
export function partsOf(config: GroupConfig): GroupParts {
  const isBare = config.tool_names === 'bare'
  const parts = new Map<string, ServerSelection>()
  for (const [server, selection] of [...resolveGroup(config)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { isWhole, names, without = [] } = selection
    parts.set(server, { ...selection, contentHash: digest([isWhole, [...names].sort(), [...without].sort()]) })
  }
  const contentHash = digest([isBare, [...parts].map(([server, part]) => [server, part.contentHash])])
  return { isBare, parts, contentHash }
}

const groupBlocks = new WeakMap<StoredGroup, GroupBlock>()

function groupBlockOf(stored: StoredGroup): GroupBlock {
  let group = groupBlocks.get(stored)
  if (!group) groupBlocks.set(stored, (group = { stored, ...partsOf(stored) }))
  return group
}

/** Makes something of each stored thing; one that fails is left out, and its name goes to `faults`. */
function buildEach<S extends { readonly name: string }, R>(
  what: string,
  all: readonly S[],
  make: (stored: S) => R,
  faults: Fault[]
): R[] {
  return all.flatMap((stored) => {
    try {
      return [make(stored)]
    } catch (error) {
      faults.push({ subject: `${what} "${stored.name}"`, error })
      return []
    }
  })
}

/**
 * Never throws. `listings` is handed on from catalog to catalog, so that what did not change is not made again.
 * `toolNames`: what becomes of items whose names clients cannot use.
 */
export function buildCatalog(
  state: RegistryState,
  listings: ListingCache = createListingCache(),
  toolNames: ToolNames = 'leave-out'
): Catalog {
  const servers = state.servers.map((stored) => blockOf(stored, toolNames))
  const faults = servers.flatMap(({ fault }) => fault ?? [])
  const groups = buildEach('tool group', state.groups, groupBlockOf, faults)
  const known = buildEach('principal', state.principals, principalOf, faults)
  const byName = new Map(servers.map((block) => [block.name, block]))
  const groupsByName = new Map(groups.map((group) => [group.stored.name, group]))
  return {
    version: state.version,
    initialized: state.initialized,
    principals: known,
    ...indexPrincipals(known),
    servers,
    server: (name) => byName.get(name),
    groups,
    group: (name) => groupsByName.get(name),
    listings,
    faults,
    pages: createPageCache()
  }
}

export const emptyCatalog: Catalog = buildCatalog({
  version: '0',
  initialized: false,
  servers: [],
  groups: [],
  principals: []
})
