import { allServers, noServers } from '../domain/policy/allow-list.ts'
import type { Decision, Permit } from '../domain/policy/permit.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { wholeServer, selects } from '../domain/groups.ts'
import { splitName } from '../domain/names.ts'
import { matchesTemplate } from '../domain/uri-template.ts'
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
import { SKILLS_EXTENSION } from '../domain/mcp-constants.ts'
import { declaredExtension } from './extensions.ts'
import { skillUris } from './skill-entry.ts'
import { withMembers } from '../json/json.ts'
import { joinListing, pickEntries, type Listing } from './list-cache.ts'
import {
  aliasOf,
  formatAddress,
  hasNamedAddress,
  hasNamedScheme,
  isAppUri,
  looseSegmentOf,
  splitAlias,
  splitNamedAddress,
  type AddressForm
} from './resource-uris.ts'
import type { Caller } from './caller.ts'

/** Result of resolving a resource URI. */
export interface ResourceTarget {
  readonly server: CatalogServer
  /** The upstream's own URI. */
  readonly uri: string
  /** Form of the address that the caller used; answers use it as well. */
  readonly form: AddressForm
}

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
  /** Returns true if an item is in scope. */
  includes(item: Item): boolean
  /** Decides on an item of `servers`: conditions on the arguments may still refuse a call. */
  decide(item: PolicyItem): Decision
  /** Decides on a resource of `servers`, listed or not, by the URI at its server. */
  decideUri(server: CatalogServer, uri: string): Decision
  /** Returns a tool or prompt by its listed name. */
  find(kind: 'tool' | 'prompt', publicName: string): Item | undefined
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
}

const byRegistration = (a: CatalogServer, b: CatalogServer) =>
  a.stored.registeredAt < b.stored.registeredAt ? -1 : a.stored.registeredAt > b.stored.registeredAt ? 1 : 0

const keys = { resource: 'uri', template: 'uriTemplate' } as const

/** Returns a definition with the alias in place of the URI; on collision the title names the server. */
function aliasedText(item: Item, collides: boolean): string {
  const key = keys[item.kind as keyof typeof keys]
  const alias = JSON.stringify(aliasOf(item.server.name, item.name))
  const { title } = JSON.parse(item.stored.definition) as { title?: unknown }
  const changes =
    collides && typeof title === 'string' ? { title: JSON.stringify(`${title} (${item.server.name})`) } : {}
  return withMembers(listEntry(item), { [key]: alias, ...changes })
}

const authority = (uri: string) => /^[a-z][a-z0-9+.-]*:(\/\/[^/?#]*)?/i.exec(uri)?.[0].toLowerCase()

/** A template such as `{+uri}` describes every URI, so it does not show that a URI belongs to its server. */
const namesScheme = ({ name }: Item) => authority(name) !== undefined

/** Returns 'enabled' if an enabled template matches the URI, 'disabled' if only disabled ones do. Tests each once. */
function matchAny(templates: readonly Item[], uri: string): 'enabled' | 'disabled' | undefined {
  let found: 'disabled' | undefined
  for (const item of templates) {
    if ((!item.enabled && found) || !matchesTemplate(item.name, uri)) continue
    if (item.enabled) return 'enabled'
    found = 'disabled'
  }
  return found
}

const matchTemplates = (server: CatalogServer, uri: string) => matchAny(server.items('template'), uri)
const matchOwnTemplates = (server: CatalogServer, uri: string) =>
  matchAny(server.items('template').filter(namesScheme), uri)

/** A URI that only disabled items describe must not reach the server by any step of the resolution. */
function isDisabled(server: CatalogServer, uri: string): boolean {
  if (server.skillStateOf(uri) === 'disabled') return true
  const item = server.find('resource', uri)
  return item ? !item.enabled : matchTemplates(server, uri) === 'disabled'
}

/** Returns true if an enabled template of the server matches a URI that is not listed as a disabled resource. */
const hasMatchingTemplate = (server: CatalogServer, uri: string, describes = matchOwnTemplates) =>
  server.find('resource', uri)?.enabled !== false &&
  server.skillStateOf(uri) !== 'disabled' &&
  describes(server, uri) === 'enabled'

const hasResources = (server: CatalogServer) =>
  (['resource', 'template', 'skill'] as const).some((kind) => server.items(kind).some((item) => item.enabled))

/** Returns true if the server may have files of skills, which it need not list. */
const mayHaveSkills = (server: CatalogServer) => declaredExtension(server, SKILLS_EXTENSION) !== undefined

const sharesAuthority = (server: CatalogServer, uri: string) => {
  const wanted = authority(uri)
  const same = (item: Item) => item.enabled && authority(item.name) === wanted
  return wanted !== undefined && (server.items('resource').some(same) || server.items('template').some(same))
}

/** Returns true if some server's entry or template shows whose URI it is, even if disabled or out of scope. */
const hasKnownServer = ({ servers }: Catalog, uri: string) =>
  servers.some(
    (server) =>
      server.find('resource', uri) !== undefined ||
      server.skillStateOf(uri) !== undefined ||
      matchOwnTemplates(server, uri) !== undefined
  )

/**
 * Step 5 of the resolution (mcp-proxy.md#resource-uris): the only candidate, else a server with a template that matches
 * every URI. A URI that is known to belong to another server is never guessed.
 */
function guess(catalog: Catalog, ordered: readonly CatalogServer[], uri: string): CatalogServer | undefined {
  if (hasKnownServer(catalog, uri)) return undefined
  const candidates = ordered.filter((server) => hasResources(server) && !isDisabled(server, uri))
  const related = candidates.filter((server) => sharesAuthority(server, uri))
  if (related.length === 1) return related[0]
  return candidates.length === 1
    ? candidates[0]
    : candidates.find((server) => hasMatchingTemplate(server, uri, matchTemplates))
}

const emptyGroup: ResolvedGroup = { isBare: false, selections: new Map(), contentHash: 'nothing' }
const wholePart: ServerSelection = { ...wholeServer, contentHash: '' }

function hasItemIn(server: CatalogServer, part: ServerSelection): boolean {
  const isOffered = (item: Item | undefined) =>
    item !== undefined && item.enabled && selects(part, item.name, item.alias)
  return part.isWhole || [...part.names].some((name) => isOffered(server.find('tool', name)))
}

/** Returns a resource as policies see it; no list needs to have it. */
export const resourceOf = (catalog: Catalog, name: string, uri: string): PolicyItem =>
  catalog.server(name)?.find('resource', uri) ?? { kind: 'resource', server: { name }, name: uri, alias: uri }

/** Decision on a resource that may be in no list. */
const decideUri = (permit: Permit, server: CatalogServer, uri: string): Decision =>
  permit.decide(server.find('resource', uri) ?? { kind: 'resource', server, name: uri, alias: uri })

const isVisible = ({ verdict }: Decision) => verdict !== 'no'

/** Returns the listing of the included tools or prompts of a server. A whole server shares its own listing. */
function partialListing(
  { listings }: Catalog,
  server: CatalogServer,
  kind: 'tool' | 'prompt',
  { isBare, key, includes }: { isBare: boolean; key: string; includes: (item: Item) => boolean }
): Listing {
  const source = server.listing(kind, isBare)
  if (key === '') return source
  return listings.get(`${server.name} ${kind} ${isBare} ${key}`, source, () => {
    const enabled = server.items(kind).filter((item) => item.enabled)
    return pickEntries(
      source,
      enabled.flatMap((item, index) => (includes(item) ? [index] : []))
    )
  })
}

/**
 * Returns true if a client may take the first segment of an interface's address for the name of a registered server, in
 * scope or not: the address of a server that is disabled must not lead to another one.
 */
function mayNameServer({ servers }: Catalog, uri: string): boolean {
  const segment = looseSegmentOf(uri)
  return servers.some(({ name }) => name.toLowerCase() === segment)
}

/** A permit's answers about items and URIs, apart from the group. */
interface Access {
  /** Returns true if the item is enabled and the permit shows it. */
  isServed(item: Item | undefined): item is Item
  isPermitted(server: CatalogServer, uri: string): boolean
}

const accessBy = (permit: Permit): Access => ({
  isServed: (item): item is Item => item?.enabled === true && isVisible(permit.decide(item)),
  isPermitted: (server, uri) => isVisible(decideUri(permit, server, uri))
})

/** Servers and tools whose interfaces and skills an endpoint with qualified names serves. */
interface AddressScope extends Access {
  /** All servers in scope, including those of which only single tools are. */
  readonly servers: readonly CatalogServer[]
  isWhole(server: CatalogServer): boolean
  includes(item: Item): boolean
}

/** Creates the resolution of addresses that name their server (mcp-proxy.md#apps, mcp-proxy.md#skills). */
function createNamedUris(catalog: Catalog, { servers, isWhole, includes, isServed, isPermitted }: AddressScope) {
  const byName = new Map(servers.map((server) => [server.name, server]))
  const namesApp = (server: CatalogServer, uri: string) =>
    server.appTools.some((tool) => tool.appUris.includes(uri) && includes(tool))
  /** Returns true if a tool in scope names the interface, and the server does not list it as disabled. */
  const isNamed = (server: CatalogServer, uri: string) => namesApp(server, uri) && !isDisabled(server, uri)
  const hasAny = (server: CatalogServer) => hasResources(server) || server.appTools.length > 0 || mayHaveSkills(server)
  const canRead = (server: CatalogServer, uri: string) =>
    isPermitted(server, uri) &&
    (isNamed(server, uri) || (isWhole(server) && !isDisabled(server, uri) && hasAny(server)))
  const lists = (server: CatalogServer, uri: string) =>
    server.find('resource', uri)?.enabled || server.skillStateOf(uri) === 'enabled' || hasMatchingTemplate(server, uri)
  const offers = (server: CatalogServer, uri: string) =>
    isPermitted(server, uri) && (isNamed(server, uri) || (isWhole(server) && lists(server, uri)))
  const hasTemplate = (server: CatalogServer, uri: string) => isWhole(server) && isServed(server.find('template', uri))
  /** Returns the only server that has an own URI, unless its first segment can be meant as the name of a server. */
  const ownerOf = (uri: string, has: (server: CatalogServer, uri: string) => boolean | undefined) => {
    if (mayNameServer(catalog, uri)) return undefined
    const owners = servers.filter((server) => has(server, uri))
    return owners.length === 1 ? owners[0] : undefined
  }
  const resolveIf = (
    address: string,
    isReadable: (server: CatalogServer, uri: string) => boolean,
    has: (server: CatalogServer, uri: string) => boolean | undefined
  ): ResourceTarget | undefined => {
    const named = splitNamedAddress(address)
    const server = named && byName.get(named.server)
    if (server) return isReadable(server, named.uri) ? { server, uri: named.uri, form: 'named' } : undefined
    const owner = ownerOf(address, has)
    return owner && { server: owner, uri: address, form: 'own' }
  }
  return {
    isNamed,
    resolve: (address: string) => resolveIf(address, canRead, offers),
    resolveTemplate: (address: string) => resolveIf(address, hasTemplate, hasTemplate),
    /** Returns the listed resources that tools in scope name; `server` is not served as a whole. */
    listed: (server: CatalogServer): Item[] =>
      server.appTools.length === 0
        ? []
        : server
            .items('resource')
            .filter((item) => isServed(item) && isAppUri(item.name) && namesApp(server, item.name))
  }
}

/** Character that tells listings apart: the item is hidden, keeps its URI, collides with another, or looks like an alias. */
const markOf = (item: Item, owner: Item | 'none' | undefined) =>
  owner === undefined ? 'h' : owner === item ? 'o' : owner === 'none' ? 'a' : 'c'

/** Creates the resolution and the listings of resources, templates and skills among these servers. */
function createUris(
  catalog: Catalog,
  servers: readonly CatalogServer[],
  isBare: boolean,
  { isServed, isPermitted }: Access
) {
  const byAge = servers.toSorted(byRegistration)
  const byName = new Map(servers.map((server) => [server.name, server]))
  /** Parses an alias of a server in scope; such a text has no other meaning. */
  const readAlias = (text: string): ResourceTarget | undefined => {
    const alias = isBare ? undefined : splitAlias(text)
    const server = alias && byName.get(alias.server)
    return server && { server, uri: alias!.uri, form: 'alias' }
  }
  /** Returns the item that keeps its original URI: the one of the server that was registered first. */
  const ownerOf = (kind: 'resource' | 'template', uri: string): Item | undefined => {
    if (readAlias(uri)) return undefined
    for (const server of byAge) {
      const item = server.find(kind, uri)
      if (isServed(item)) return item
    }
    return undefined
  }
  const permittedFor = (uri: string) => byAge.filter((server) => isPermitted(server, uri))
  const senderOf = (sender: string | undefined, uri: string) => {
    const server = sender === undefined ? undefined : byName.get(sender)
    return server && !isDisabled(server, uri) && isPermitted(server, uri) ? server : undefined
  }
  const resolve = (uri: string, guesses: boolean, sender?: string): ResourceTarget | undefined => {
    const aliased = readAlias(uri)
    if (aliased) {
      const isUsable = hasResources(aliased.server) && !isDisabled(aliased.server, aliased.uri)
      return isUsable && isPermitted(aliased.server, aliased.uri) ? aliased : undefined
    }
    const known =
      ownerOf('resource', uri)?.server ??
      byAge.find((each) => each.skillStateOf(uri) === 'enabled' && isPermitted(each, uri)) ??
      byAge.find((each) => hasMatchingTemplate(each, uri) && isPermitted(each, uri))
    const guessed = () => {
      if (!isBare && hasNamedScheme(uri)) return undefined
      const permitted = permittedFor(uri)
      return (
        senderOf(sender, uri) ?? guess(catalog, permitted, uri) ?? permitted.find((each) => ownsUnlisted(each, uri))
      )
    }
    const server = known ?? (guesses ? guessed() : undefined)
    return server && { server, uri, form: 'own' }
  }
  /** Tests for a skill that the only server of a bare group does not list (mcp-proxy.md#skills). */
  const ownsUnlisted = (server: CatalogServer, uri: string) =>
    isBare && hasNamedScheme(uri) && mayHaveSkills(server) && !isDisabled(server, uri)
  /** Returns true for a skill whose files all lead to its server under their own URIs. */
  const keepsUris = ({ server, stored }: Item) =>
    skillUris(stored.definition).every((uri) => resolve(uri, false)?.server === server)
  /** Returns the mark of a skill among listings: hidden, under its own URIs, or under aliases. */
  const markSkill = (item: Item) => {
    if (!isServed(item)) return 'h'
    // an address of the usual scheme names its server already
    return isBare || hasNamedAddress(item.name) || keepsUris(item) ? 'o' : 'a'
  }
  return {
    /** Returns a server's skills; one with a file that leads to another server is listed under its aliases. */
    skills(server: CatalogServer): Listing {
      const source = server.listing('skill', isBare)
      const enabled = server.items('skill').filter((item) => item.enabled)
      const marks = enabled.map(markSkill)
      if (marks.every((mark) => mark === 'o')) return source
      return catalog.listings.get(`${server.name} skill ${isBare} ${marks.join('')}`, source, () =>
        joinListing(
          enabled.flatMap((item, i) => {
            if (marks[i] === 'h') return []
            if (marks[i] === 'o') return [listEntry(item, isBare)]
            return [skillText(item.stored.definition, (uri) => aliasOf(server.name, uri))]
          })
        )
      )
    },
    /** Returns one server's entries; those that collide are listed under their alias. */
    listing(server: CatalogServer, kind: 'resource' | 'template'): Listing {
      const source = server.listing(kind, isBare)
      const enabled = server.items(kind).filter((item) => item.enabled)
      // the address of an interface or skill names its server already
      const ownerAmong = (item: Item) =>
        !isBare && hasNamedAddress(item.name) ? item : (ownerOf(kind, item.name) ?? 'none')
      const owners = enabled.map((item) => (isServed(item) ? ownerAmong(item) : undefined))
      if (enabled.every((item, i) => owners[i] === item)) return source
      const marks = enabled.map((item, i) => markOf(item, owners[i])).join('')
      return catalog.listings.get(`${server.name} ${kind} ${marks}`, source, () =>
        joinListing(
          enabled.flatMap((item, i) => {
            const owner = owners[i]
            if (owner === undefined) return []
            return [owner === item ? listEntry(item) : aliasedText(item, owner !== 'none')]
          })
        )
      )
    },
    resolve,
    resolveTemplate(template: string): ResourceTarget | undefined {
      const aliased = readAlias(template)
      const item = aliased ? aliased.server.find('template', aliased.uri) : ownerOf('template', template)
      return isServed(item) ? { server: item.server, uri: item.name, form: aliased ? 'alias' : 'own' } : undefined
    }
  }
}

function createScope(catalog: Catalog, group: ResolvedGroup | undefined, permit: Permit, contentHash: string): Scope {
  const isBare = group?.isBare ?? false
  const partOf = ({ name }: CatalogServer) =>
    permit.reach(name) === 'none' ? undefined : group ? group.selections.get(name) : wholePart
  const isWholePermit = ({ name }: CatalogServer) => permit.reach(name) === 'all'
  const includes = (item: Item) => {
    const part = item.enabled ? partOf(item.server) : undefined
    if (part === undefined || !(item.kind === 'tool' ? selects(part, item.name, item.alias) : part.isWhole))
      return false
    return isVisible(permit.decide(item))
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
  const lookUp = (kind: 'tool' | 'prompt', listedName: string) => {
    if (isBare) return wholeServers[0]?.find(kind, listedName)
    const split = splitName(listedName)
    return split && catalog.server(split.server)?.find(kind, split.name)
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
        partialListing(catalog, server, kind, { isBare, key: keyOf(server, kind), includes })
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
    includes,
    decide: permit.decide,
    decideUri: (server, uri) => decideUri(permit, server, uri),
    find(kind, listedName) {
      const item = lookUp(kind, listedName)
      return item && includes(item) ? item : undefined
    },
    resolve,
    skillAt(uri) {
      const target = resolve(uri)
      const item = target?.server.find('skill', target.uri)
      if (!target || !item || !access.isServed(item)) return undefined
      return skillText(item.stored.definition, (own) => formatAddress(target.form, target.server.name, own))
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

/** Kinds of items that are found by their URI. */
type UriKind = 'resource' | 'template' | 'skill'

/** Returns the scope of a group, or of the global endpoint, for a caller with this permit. */
export function scopeFor(catalog: Catalog, group?: ResolvedGroup, permit: Permit = allServers): Scope {
  const ofGroup = group?.contentHash ?? ''
  const contentHash = permit.isAll ? ofGroup : `${ofGroup} ${permit.contentHash}`
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

/** Returns the item that an address names, or the only one with this own URI, whether enabled or not. */
function anyNamed(catalog: Catalog, kind: UriKind, uri: string): Item | undefined {
  const named = splitNamedAddress(uri)
  const server = named && catalog.server(named.server)
  if (server) return server.find(kind, named.uri)
  const found = catalog.servers.flatMap((each) => each.find(kind, uri) ?? [])
  return found.length === 1 && !mayNameServer(catalog, uri) ? found[0] : undefined
}

/**
 * Returns an item by its URI or alias in REST: the item that the URI resolves to, else that of any server, enabled or
 * not (mcp-proxy.md#resource-uris). `scope` and `sees` limit it to the items that a caller sees.
 */
export function anyByUri(
  catalog: Catalog,
  kind: UriKind,
  uri: string,
  scope = globalScope(catalog),
  sees: (item: Item) => boolean = () => true
): Item | undefined {
  const visible = (item: Item | undefined) => (item && sees(item) ? item : undefined)
  const target = kind === 'template' ? scope.resolveTemplate(uri) : scope.resolve(uri)
  if (hasNamedAddress(uri)) return visible(target?.server.find(kind, target.uri) ?? anyNamed(catalog, kind, uri))
  const inForce = target?.server.find(kind, target.uri)
  if (inForce) return visible(inForce)
  const alias = splitAlias(uri)
  const server = alias && catalog.server(alias.server)
  if (alias && server) return visible(server.find(kind, alias.uri))
  const byAge = catalog.servers.toSorted(byRegistration)
  return byAge.map((each) => visible(each.find(kind, uri))).find((item) => item !== undefined)
}

/** Returns an item by its name in REST, a qualified name or a URI, whether enabled or not. */
export function anyByName(catalog: Catalog, kind: ItemKind, name: string): Item | undefined {
  if (kind !== 'tool' && kind !== 'prompt') return anyByUri(catalog, kind, name)
  const split = splitName(name)
  return split && catalog.server(split.server)?.find(kind, split.name)
}

/** Scopes in the current catalog. A stream outlives the catalog and the allow list that it was opened with. */
export interface CurrentScopes {
  /** Returns what the caller can use at an endpoint, by its path. */
  scope(caller: Caller, endpoint: string): Scope
  /** Returns true if the caller may now use a resource of the server. */
  allows(caller: Caller, server: string, uri: string): boolean
}
