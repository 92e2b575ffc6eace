import { createHash, timingSafeEqual } from 'node:crypto'
import { allServers, readAllowList } from '../domain/allow-list.ts'
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
import type { Bounded } from './bounded.ts'
import type { Caller } from './gateway.ts'
import { valueOf, withMembers, members } from './json.ts'
import { createLeftOut, type Problem } from './left-out.ts'
import { noParamHeaders, readParamHeaders, withoutParamHeaders, type ParamHeaders } from './param-headers.ts'
import { createListingCache, createPageCache, joinListing } from './listing.ts'
import type { Listing, ListingCache, Page } from './listing.ts'

/** One tool, prompt, resource or template of the catalog. Immutable. */
export interface Item {
  readonly kind: ItemKind
  readonly server: ServerBlock
  readonly stored: StoredItem
  /** Own name of a tool or prompt, URI of a resource, URI template of a template. */
  readonly name: string
  /** `<server>__<name>` for tools and prompts (contract 1); the own URI for resources and templates. */
  readonly publicName: string
  /** Its own switch and its server's, and nothing wrong with it. */
  readonly enabled: boolean
  /** Arguments of a tool that requests over HTTP repeat in headers. */
  readonly params: ParamHeaders
  /** Why it is not served; undefined where it can be. */
  readonly problem: Problem | undefined
}

/** One server with everything it offers. Made once for each stored revision and shared by all catalogs that hold it. */
export interface ServerBlock {
  readonly stored: StoredServer
  readonly name: string
  readonly enabled: boolean
  /** What of its lists is not served; undefined where that is nothing. */
  readonly leftOut: LeftOut | undefined
  /** Every item, disabled ones included, in the upstream's order. */
  items(kind: ItemKind): readonly Item[]
  find(kind: ItemKind, name: string): Item | undefined
  /** The enabled items as MCP lists show them; bare: tools and prompts under their own names. */
  listing(kind: ItemKind, isBare?: boolean): Listing
}

/** What a group takes of one server. */
export interface GroupPart extends Selection {
  /** Equal for equal selections, and short. */
  readonly content: string
}

/** What a group holds, made ready for look-ups. */
export interface GroupParts {
  readonly isBare: boolean
  /** By name of server, whether or not there is one. */
  readonly parts: ReadonlyMap<string, GroupPart>
  /** Equal for groups that hold the same. */
  readonly content: string
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
  current(caller: Caller): Principal | undefined
  readonly listings: ListingCache
  /** Its lists over MCP, by page, and over REST, ready to be sent: they end with it. */
  readonly pages: Bounded<Page>
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

/** The entry of an MCP list: the upstream's definition, the name apart where it is qualified (proxy page 3.6, 6.4). */
export function listedText({ kind, stored, publicName, server }: Item, isBare = false): string {
  if (kind === 'resource' || kind === 'template') return stored.definition
  // where there are no headers, an annotation that cannot be honoured says nothing
  const hasProblem = server.stored.transport !== 'streamable_http' && readParamHeaders(stored.definition).problem
  const definition = hasProblem ? withoutParamHeaders(stored.definition) : stored.definition
  const name = isBare ? {} : { name: JSON.stringify(publicName) }
  const execution = kind === 'tool' ? withoutTaskSupport(definition) : undefined
  if (execution !== undefined) return withMembers(definition, { ...name, execution })
  return isBare ? definition : withMembers(definition, name)
}

const isNamed = (kind: ItemKind) => kind === 'tool' || kind === 'prompt'

const problemOf = ({ problem }: ParamHeaders): Problem | undefined =>
  problem === undefined ? undefined : { code: 'parameters', reason: problem }

const kinds: readonly ItemKind[] = ['tool', 'prompt', 'resource', 'template']

/** What the last reading left out, and what is stored and cannot be served. */
function leftOutOf({ stored, items }: Pick<ServerBlock, 'stored' | 'items'>): LeftOut | undefined {
  const found = createLeftOut()
  for (const { kind, name, problem } of kinds.flatMap(items)) if (problem) found.add(kind, name, problem)
  if (stored.leftOut) found.include(stored.leftOut)
  return found.done()
}

function createBlock(stored: StoredServer): ServerBlock {
  const isHttp = stored.transport === 'streamable_http'
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
      if (leftOut === null) leftOut = leftOutOf(block)
      return leftOut
    },
    items,
    find: (kind, name) => byName.get(kind)?.get(name),
    listing(kind, isBare = false) {
      const key = isBare && isNamed(kind) ? `bare ${kind}` : kind
      let listing = listings.get(key)
      if (!listing) {
        const enabled = items(kind).filter((item) => item.enabled)
        listings.set(key, (listing = joinListing(enabled.map((item) => listedText(item, isBare)))))
      }
      return listing
    }
  }
  for (const item of stored.items) {
    const { kind, name } = item
    const publicName = isNamed(kind) ? `${stored.name}__${name}` : name
    const params = kind === 'tool' && isHttp ? readParamHeaders(item.definition) : noParamHeaders
    const problem = problemOf(params)
    const enabled = item.enabled && stored.enabled && problem === undefined
    const entry: Item = { kind, server: block, stored: item, name, publicName, enabled, params, problem }
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

const digest = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('base64url')

/** The parts of a group, stored or not. */
export function partsOf(config: GroupConfig): GroupParts {
  const isBare = config.tool_names === 'bare'
  const parts = new Map<string, GroupPart>()
  for (const [server, { isWhole, names }] of [...resolveGroup(config)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    parts.set(server, { isWhole, names, content: digest([isWhole, [...names].sort()]) })
  }
  const content = digest([isBare, [...parts].map(([server, part]) => [server, part.content])])
  return { isBare, parts, content }
}

const groupBlocks = new WeakMap<StoredGroup, GroupBlock>()

function groupOf(stored: StoredGroup): GroupBlock {
  let group = groupBlocks.get(stored)
  if (!group) groupBlocks.set(stored, (group = { stored, ...partsOf(stored) }))
  return group
}

/** Administrators and users may use every server, though not over MCP (contract 5.4). */
function callerFor(stored: StoredPrincipal): Caller {
  const { kind, id, name } = stored
  if (stored.kind === 'client') {
    return { kind, name, key: `client:${id}`, allowed: readAllowList(stored.allowed_servers) }
  }
  return { kind, name, key: `user:${id}`, allowed: allServers, tokenHash: stored.tokenHash }
}

/** Whom a caller was made for. */
const madeFor = new WeakMap<Caller, StoredPrincipal>()
const principals = new WeakMap<StoredPrincipal, Principal>()

function principalOf(stored: StoredPrincipal): Principal {
  const known = principals.get(stored)
  if (known) return known
  const principal = { stored, caller: callerFor(stored) }
  principals.set(stored, principal)
  madeFor.set(principal.caller, stored)
  return principal
}

/** Bytes as a key of a map, one character each. */
const keyOf = (hash: Uint8Array) => Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1')

const isSameToken = (a: Uint8Array, b: Uint8Array) => Buffer.from(a).equals(b)

/** Look-ups of those who have tokens. What tells how far a guess was right is the hash, which nobody can choose. */
function indexPrincipals(all: readonly Principal[]): Pick<Catalog, 'principal' | 'current'> {
  const byHash = new Map(all.map((each) => [keyOf(each.stored.tokenHash), each]))
  const byKey = new Map(all.map((each) => [each.caller.key, each]))
  return {
    principal(tokenHash) {
      const found = byHash.get(keyOf(tokenHash))
      return found && timingSafeEqual(found.stored.tokenHash, tokenHash) ? found : undefined
    },
    current(caller) {
      const now = byKey.get(caller.key)
      if (!now || now.caller === caller) return now
      const before = madeFor.get(caller)
      return before && isSameToken(before.tokenHash, now.stored.tokenHash) ? now : undefined
    }
  }
}

/** `listings` is handed on from catalog to catalog, so that what did not change is not made again. */
export function buildCatalog(state: RegistryState, listings: ListingCache = createListingCache()): Catalog {
  const servers = state.servers.map(blockOf)
  const groups = state.groups.map(groupOf)
  const known = state.principals.map(principalOf)
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
