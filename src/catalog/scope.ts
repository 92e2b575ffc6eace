import { isSearchTool } from '../domain/search/names.ts'
import { allServers, noServers } from '../domain/policy/allow-list.ts'
import type { Decision, Permit } from '../domain/policy/permit.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { wholeServer, selects } from '../domain/groups.ts'
import { splitName } from '../domain/names.ts'
import type { ItemKind } from '../registry/model/model.ts'
import {
  kinds,
  listEntry,
  skillText,
  type Catalog,
  type ResolvedGroup,
  type ServerSelection,
  type Item,
  type CatalogServer
} from './catalog.ts'
import type { CompiledOverride } from './compiled-override.ts'
import { partsOf, plainParts, type GroupParts } from './group-parts.ts'
import { joinListing, pickEntries, type Listing } from './list-cache.ts'
import { isDisabled } from './resource-owners.ts'
import {
  accessBy,
  createNamedUris,
  createUris,
  decideUri,
  isVisible,
  type ResourceTarget
} from './resource-resolution.ts'
import { formatAddress, hasNamedAddress } from './resource-uris.ts'
import type { SearchMode } from './search-listing.ts'
import type { Caller } from './caller.ts'

/**
 * Everything that a caller can see and use at an endpoint. Lists, calls, reads, completion and streams all go through
 * it; an item outside the scope does not exist for the caller.
 */
export interface Scope {
  readonly catalog: Catalog
  /** Short key, equal for scopes with the same part of their catalog. */
  readonly contentHash: string
  /** Enabled servers with at least one item in scope, sorted by name. */
  readonly servers: readonly CatalogServer[]
  /** Servers whose prompts and resources are served as well: in a group, those that it includes as a whole. */
  readonly wholeServers: readonly CatalogServer[]
  /** True for a single server whose items keep their own names (mcp-proxy.md#bare-names). */
  readonly isBare: boolean
  /** The group's text for the model, before the instructions of the servers; null for none. */
  readonly instructions: string | null
  /** True if a group gives some tools other names. */
  readonly hasRenamedTools: boolean
  /** Returns true if an item is in scope. */
  includes(item: Item): boolean
  /** Decides on an item of `servers`: conditions on the arguments may still refuse a call. */
  decide(item: PolicyItem): Decision
  /** Decides on a resource of `servers`, listed or not, by the URI at its server. */
  decideUri(server: CatalogServer, uri: string): Decision
  /** Returns what the group changes of a tool in scope; undefined if it is served as usual. */
  overrideOf(item: Item): CompiledOverride | undefined
  /** Returns the tool that has a name only here, in scope or not: a group has renamed it. */
  renamed(name: string): Item | undefined
  /** Returns a tool or prompt by its listed name, a tool also by the name that `ownNamed` accepts. */
  find(kind: 'tool' | 'prompt', publicName: string): Item | undefined
  /**
   * Returns the tool that an interface means by the name at its server (mcp-proxy.md#apps), which may be disabled or
   * denied; undefined unless exactly one server with an interface in scope has a tool of this name.
   */
  ownNamed(name: string): Item | undefined
  /**
   * Resolves a resource URI (mcp-proxy.md#resource-uris). With `guesses` (the default), a URI that no server lists
   * resolves to `sender`, the name of the server that sent the caller this URI, else to the only candidate.
   */
  resolve(uri: string, guesses?: boolean, sender?: string): ResourceTarget | undefined
  /**
   * Resolves a URI of a known server, listed or not; undefined if the server is out of scope or has the URI disabled. Of
   * a server that is not served as a whole, only the interfaces of its tools in scope are resolved.
   */
  resolveAt(server: string, uri: string): ResourceTarget | undefined
  /** Returns the entry of an enabled skill for clients, by the address of its `SKILL.md`; undefined if it is not listed. */
  skillAt(uri: string): string | undefined
  /** Resolves a template by its listed string, aliased or not. */
  resolveTemplate(template: string): ResourceTarget | undefined
  /** Returns the serialized list entries, one listing per server. */
  listings(kind: ItemKind): readonly Listing[]
  /** Set if the endpoint lists the tools of search instead of its own: see `shownListings`. */
  readonly search: SearchMode | undefined
  /** Estimated tokens beyond which texts of results are cut; null for no limit. */
  readonly maxResultTokens: number | null
}

const emptyGroup: ResolvedGroup = {
  isBare: false,
  search: undefined,
  maxResultTokens: null,
  selections: new Map(),
  overrides: new Map(),
  instructions: null,
  contentHash: 'nothing'
}
const wholePart: ServerSelection = { ...wholeServer, contentHash: '' }

function hasItemIn(server: CatalogServer, part: ServerSelection): boolean {
  const isOffered = (item: Item | undefined) =>
    item !== undefined && item.enabled && selects(part, item.name, item.alias)
  return part.isWhole || [...part.names].some((name) => isOffered(server.find('tool', name)))
}

/** Returns an item as policies see it at the endpoint of a group. */
const judgedItem = (parts: GroupParts, item: PolicyItem): PolicyItem => parts.of(item as Item)?.policyItem ?? item

/** Returns the listing of the included tools or prompts of a server. A whole server shares its own listing. */
function partialListing(
  { listings }: Catalog,
  server: CatalogServer,
  kind: 'tool' | 'prompt',
  {
    isBare,
    key,
    includes,
    parts
  }: { isBare: boolean; key: string; includes: (item: Item) => boolean; parts: GroupParts }
): Listing {
  const source = server.listing(kind, isBare)
  const ownKey = kind === 'tool' ? parts.keyOf(server) : ''
  if (key === '' && ownKey === '') return source
  return listings.get(`${server.name} ${kind} ${isBare} ${key} ${ownKey}`, source, () => {
    const enabled = server.items(kind).filter((item) => item.enabled)
    if (ownKey !== '') return parts.listing(source, enabled, includes)
    return pickEntries(
      source,
      enabled.flatMap((item, index) => (includes(item) ? [index] : []))
    )
  })
}

/** Returns the test for tools that a group does not serve: a caller must not take one for a tool of search. */
function withheldTest({ search, isBare }: ResolvedGroup, parts: GroupParts): (item: Item) => boolean {
  if (search === undefined) return parts.isWithheld
  const listedName = (item: Item) => parts.of(item)?.name ?? (isBare ? item.alias : item.publicName)
  return (item) => parts.isWithheld(item) || (item.kind === 'tool' && isSearchTool(listedName(item)))
}

function createScope(catalog: Catalog, group: ResolvedGroup | undefined, permit: Permit, contentHash: string): Scope {
  const { isBare, instructions, search, maxResultTokens } = group ?? emptyGroup
  const parts = group ? partsOf(catalog, group) : plainParts
  const decide = parts.isPlain ? permit.decide : (item: PolicyItem) => permit.decide(judgedItem(parts, item))
  const partOf = ({ name }: CatalogServer) =>
    permit.reach(name) === 'none' ? undefined : group ? group.selections.get(name) : wholePart
  const isWholePermit = ({ name }: CatalogServer) => permit.reach(name) === 'all'
  const isWithheld = withheldTest(group ?? emptyGroup, parts)
  const includes = (item: Item) => {
    const part = item.enabled ? partOf(item.server) : undefined
    if (part === undefined || !(item.kind === 'tool' ? selects(part, item.name, item.alias) : part.isWhole))
      return false
    return !isWithheld(item) && isVisible(decide(item))
  }
  const isInScope = (server: CatalogServer) => {
    const part = server.enabled ? partOf(server) : undefined
    if (part === undefined || !hasItemIn(server, part)) return false
    return isWholePermit(server) || kinds.some((kind) => server.items(kind).some(includes))
  }
  const servers = catalog.servers.filter(isInScope)
  const wholeServers = servers.filter((server) => partOf(server)!.isWhole)
  let lazyUris: ReturnType<typeof createUris> | undefined
  const access = accessBy(permit)
  const uris = () => (lazyUris ??= createUris(catalog, wholeServers, isBare, access))
  const isWhole = (server: CatalogServer) => partOf(server)?.isWhole === true
  let lazyNamed: ReturnType<typeof createNamedUris> | undefined
  const namedUris = () => (lazyNamed ??= createNamedUris(catalog, { servers, isWhole, includes, ...access }))
  const resolve = (uri: string, guesses = true, sender?: string) =>
    !isBare && hasNamedAddress(uri) ? namedUris().resolve(uri) : uris().resolve(uri, guesses, sender)
  const lookUpUsual = (kind: 'tool' | 'prompt', listedName: string) => {
    if (isBare) return wholeServers[0]?.find(kind, listedName)
    const split = splitName(listedName)
    return split && catalog.server(split.server)?.find(kind, split.name)
  }
  const lookUp = (kind: 'tool' | 'prompt', listedName: string) => {
    if (kind === 'prompt' || parts.isPlain) return lookUpUsual(kind, listedName)
    const item = parts.named(listedName) ?? lookUpUsual(kind, listedName)
    // the usual name of a renamed tool means nothing here
    const name = item && parts.of(item)?.override.name
    return name === undefined || name === listedName ? item : undefined
  }
  let lazyAppServers: readonly CatalogServer[] | undefined
  const appServers = () => (lazyAppServers ??= servers.filter(({ appTools }) => appTools.some(includes)))
  const ownNamed = (name: string): Item | undefined => {
    // such a name always means the server that it names, even one that is gone
    if (isBare || splitName(name)) return undefined
    const found = appServers().flatMap((server) => server.find('tool', name) ?? [])
    return found.length === 1 && found[0]!.name === name ? found[0] : undefined
  }
  /** Key of the server's included items among listings; empty if all are included. */
  const keyOf = (server: CatalogServer, kind: ItemKind) => {
    const { isWhole, names, contentHash: ofPart } = partOf(server)!
    const hasAllOfPart = kind !== 'tool' || (isWhole && names.size === 0)
    if (isWholePermit(server)) return hasAllOfPart ? '' : ofPart
    return `${hasAllOfPart ? '' : ofPart} ${permit.contentHash}`
  }
  const makeListings = (kind: ItemKind): Listing[] => {
    if (kind === 'tool' || kind === 'prompt') {
      return (kind === 'tool' ? servers : wholeServers).map((server) =>
        partialListing(catalog, server, kind, { isBare, key: keyOf(server, kind), includes, parts })
      )
    }
    if (kind === 'skill') return wholeServers.map((server) => uris().skills(server))
    return servers.flatMap((server) => {
      if (isWhole(server)) return uris().listing(server, kind)
      const items = kind === 'resource' ? namedUris().listed(server) : []
      return items.length === 0 ? [] : joinListing(items.map((item) => listEntry(item)))
    })
  }
  // only listings of whole servers are cached here; those of parts are in the bounded cache of the catalog
  const listed = new Map<ItemKind, readonly Listing[]>()
  return {
    catalog,
    contentHash,
    servers,
    wholeServers,
    isBare,
    ...{ instructions, search, maxResultTokens },
    hasRenamedTools: parts.applied.some(({ override }) => override.name !== undefined),
    includes,
    overrideOf: parts.of,
    renamed(name) {
      const item = parts.named(name)
      return item && parts.of(item)?.override.name === name ? item : undefined
    },
    decide,
    decideUri: (server, uri) => decideUri(permit, server, uri),
    find(kind, listedName) {
      const item = lookUp(kind, listedName) ?? (kind === 'tool' ? ownNamed(listedName) : undefined)
      return item && includes(item) ? item : undefined
    },
    ownNamed,
    resolve,
    skillAt(uri) {
      const target = resolve(uri)
      const item = target?.server.find('skill', target.uri)
      if (!target || !item || !access.isServed(item) || access.hiddenFiles(item) === undefined) return undefined
      const { server, form } = target
      return skillText(
        item.stored.definition,
        (own) => formatAddress(form, server.name, own),
        (own) => access.isPermitted(server, own)
      )
    },
    resolveAt(name, uri) {
      const server = servers.find((each) => each.name === name)
      if (!server || !access.isPermitted(server, uri)) return undefined
      const isInScope = isWhole(server) ? !isDisabled(server, uri) : namedUris().isNamed(server, uri)
      return isInScope ? { server, uri, form: 'own' } : undefined
    },
    resolveTemplate: (template) =>
      !isBare && hasNamedAddress(template) ? namedUris().resolveTemplate(template) : uris().resolveTemplate(template),
    listings(kind) {
      if (group || !permit.isAll) return makeListings(kind)
      let found = listed.get(kind)
      if (!found) listed.set(kind, (found = makeListings(kind)))
      return found
    }
  }
}

/** Groups of which a permit's hashes are kept. */
const MAX_HASHES = 64
/** Hashes by permit and group: each request would join the two texts, and read all of the new text to look it up. */
const hashes = new WeakMap<Permit, Map<string, string>>()

function scopeHash(ofGroup: string, permit: Permit): string {
  if (permit.isAll) return ofGroup
  let ofPermit = hashes.get(permit)
  const known = ofPermit?.get(ofGroup)
  if (known !== undefined) return known
  if (!ofPermit || ofPermit.size >= MAX_HASHES) hashes.set(permit, (ofPermit = new Map()))
  const hash = `${ofGroup} ${permit.contentHash}`
  ofPermit.set(ofGroup, hash)
  return hash
}

/** Returns the scope of a group, or of the global endpoint, for a caller with this permit. */
export function scopeFor(catalog: Catalog, group?: ResolvedGroup, permit: Permit = allServers): Scope {
  const contentHash = scopeHash(group?.contentHash ?? '', permit)
  const known = catalog.scopes.get(contentHash)
  if (known) return known
  const scope = createScope(catalog, group, permit, contentHash)
  catalog.scopes.set(contentHash, scope)
  return scope
}

/** Returns the scope of a group by name, or of the global endpoint. An unknown or removed group has an empty scope. */
export const scopeAt = (catalog: Catalog, group: string | undefined, permit?: Permit): Scope =>
  group === undefined
    ? scopeFor(catalog, undefined, permit)
    : scopeFor(catalog, catalog.group(group) ?? emptyGroup, permit)

/** Returns the caller's permit in this catalog: on a stream, policies or the token may have changed since. */
export const permitOf = (catalog: Catalog, caller: Caller): Permit => {
  const current = caller.kind === 'development' ? caller : catalog.currentCaller(caller)
  return current ? catalog.permits.of(current) : noServers
}

export const globalScope = (catalog: Catalog): Scope => scopeFor(catalog)

/** Scopes in the current catalog. A stream outlives the catalog and the allow list that it was opened with. */
export interface CurrentScopes {
  /** Returns what the caller can use at an endpoint, by its path. */
  scope(caller: Caller, endpoint: string): Scope
  /** Returns true if the caller may now use a resource of the server: also if conditions and scopes decide. */
  allows(caller: Caller, server: string, uri: string): boolean
}
