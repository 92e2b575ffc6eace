import { allows, allServers, noServers, type AllowList } from '../domain/allow-list.ts'
import { wholeServer, selects } from '../domain/groups.ts'
import { splitName } from '../domain/names.ts'
import { matchesTemplate } from '../domain/uri-template.ts'
import type { ItemKind } from '../registry/model.ts'
import {
  listEntry,
  type Catalog,
  type GroupParts,
  type ServerSelection,
  type Item,
  type ServerBlock
} from './catalog.ts'
import { withMembers } from './json.ts'
import { joinListing, pickEntries, type Listing } from './listing.ts'
import type { Caller } from './caller.ts'

/** Where a resource URI leads: the server to ask and the URI that it knows. */
export interface ResourceTarget {
  readonly server: ServerBlock
  /** The upstream's own URI. */
  readonly uri: string
  /** True when the caller used the `towpath://<server>/` form, so that answers are given in it. */
  readonly isAlias: boolean
}

/**
 * What a caller can see and use at an endpoint: the one gate for lists, calls, reads, completion and streams
 * (architecture, idea 2). What is not in it does not exist for the caller.
 */
export interface Scope {
  readonly catalog: Catalog
  /** Equal for scopes that hold the same of their catalog, and short. */
  readonly contentHash: string
  /** Enabled servers of which something can be used here, in order of name. */
  readonly servers: readonly ServerBlock[]
  /** Those among them whose prompts and resources are served too: of a group, the ones that it includes whole. */
  readonly whole: readonly ServerBlock[]
  /** One server under its own names, as if it were spoken to directly (mcp-proxy.md#bare-names). */
  readonly isBare: boolean
  /** Whether an item can be used here. */
  serves(item: Item): boolean
  /** A tool or prompt by the name under which it is listed here. */
  find(kind: 'tool' | 'prompt', publicName: string): Item | undefined
  /**
   * mcp-proxy.md#resource-uris. `guesses` (the default): what nobody lists goes to `sender`, the name of the server
   * that sent
   * the caller this URI, else to the only server that can be meant.
   */
  resolve(uri: string, guesses?: boolean, sender?: string): ResourceTarget | undefined
  /** A URI that is known to lead to this server, listed there or not; undefined where the server must not be asked for it. */
  resolveAt(server: string, uri: string): ResourceTarget | undefined
  /** A template by the string under which it is listed here, alias or not. */
  resolveTemplate(template: string): ResourceTarget | undefined
  /** Ready list entries, one listing a server. */
  listings(kind: ItemKind): readonly Listing[]
}

const ALIAS = 'towpath://'

export const aliasOf = (server: string, uri: string) => `${ALIAS}${server}/${uri}`

/** Server and original URI of the alias form; undefined for every other URI. */
function splitAlias(uri: string): { server: string; uri: string } | undefined {
  if (!uri.startsWith(ALIAS)) return undefined
  const slash = uri.indexOf('/', ALIAS.length)
  return slash < 0 ? undefined : { server: uri.slice(ALIAS.length, slash), uri: uri.slice(slash + 1) }
}

const byRegistration = (a: ServerBlock, b: ServerBlock) =>
  a.stored.registeredAt < b.stored.registeredAt ? -1 : a.stored.registeredAt > b.stored.registeredAt ? 1 : 0

const keys = { resource: 'uri', template: 'uriTemplate' } as const

/** The alias takes the URI's place; on collision the title tells the servers apart. */
function aliasedText(item: Item, collides: boolean): string {
  const key = keys[item.kind as keyof typeof keys]
  const alias = JSON.stringify(aliasOf(item.server.name, item.name))
  const { title } = JSON.parse(item.stored.definition) as { title?: unknown }
  const changes =
    collides && typeof title === 'string' ? { title: JSON.stringify(`${title} (${item.server.name})`) } : {}
  return withMembers(listEntry(item), { [key]: alias, ...changes })
}

const authority = (uri: string) => /^[a-z][a-z0-9+.-]*:(\/\/[^/?#]*)?/i.exec(uri)?.[0].toLowerCase()

/** A template such as `{+uri}` describes every URI, so it says of none whose it is. */
const namesScheme = ({ name }: Item) => authority(name) !== undefined

/** Which of the `templates` describe a URI: an enabled one, else disabled ones alone, else none. Looks at each once. */
function describedBy(templates: readonly Item[], uri: string): 'enabled' | 'disabled' | undefined {
  let found: 'disabled' | undefined
  for (const item of templates) {
    if ((!item.enabled && found) || !matchesTemplate(item.name, uri)) continue
    if (item.enabled) return 'enabled'
    found = 'disabled'
  }
  return found
}

const described = (server: ServerBlock, uri: string) => describedBy(server.items('template'), uri)
const describedAsOwn = (server: ServerBlock, uri: string) =>
  describedBy(server.items('template').filter(namesScheme), uri)

/** Disabled items are found by no step, so what only they describe must not reach its server by another way. */
function isDisabled(server: ServerBlock, uri: string): boolean {
  const item = server.find('resource', uri)
  return item ? !item.enabled : described(server, uri) === 'disabled'
}

/** Whether an enabled template of the server describes a URI that is not listed as a disabled resource. */
const expands = (server: ServerBlock, uri: string, describes = describedAsOwn) =>
  server.find('resource', uri)?.enabled !== false && describes(server, uri) === 'enabled'

const hasResources = (server: ServerBlock) =>
  server.items('resource').some((item) => item.enabled) || server.items('template').some((item) => item.enabled)

const sharesAuthority = (server: ServerBlock, uri: string) => {
  const wanted = authority(uri)
  const same = (item: Item) => item.enabled && authority(item.name) === wanted
  return wanted !== undefined && (server.items('resource').some(same) || server.items('template').some(same))
}

/** An entry or a template says whose it is, were they disabled or out of scope. */
const isExplained = ({ servers }: Catalog, uri: string) =>
  servers.some((server) => server.find('resource', uri) !== undefined || describedAsOwn(server, uri) !== undefined)

/**
 * Step 5 of "Resolving": the only server that can be meant, else one whose template describes every URI. Never for what is
 * known to be of another one.
 */
function guess(catalog: Catalog, ordered: readonly ServerBlock[], uri: string): ServerBlock | undefined {
  if (isExplained(catalog, uri)) return undefined
  const open = ordered.filter((server) => hasResources(server) && !isDisabled(server, uri))
  const related = open.filter((server) => sharesAuthority(server, uri))
  if (related.length === 1) return related[0]
  return open.length === 1 ? open[0] : open.find((server) => expands(server, uri, described))
}

const nothing: GroupParts = { isBare: false, parts: new Map(), contentHash: 'nothing' }
const wholePart: ServerSelection = { ...wholeServer, contentHash: '' }

function offers(server: ServerBlock, part: ServerSelection): boolean {
  const isOffered = (item: Item | undefined) =>
    item !== undefined && item.enabled && selects(part, item.name, item.alias)
  return part.isWhole || [...part.names].some((name) => isOffered(server.find('tool', name)))
}

/** A server's tools as far as the part takes them. A whole server shares its ready listing. */
function toolListing({ listings }: Catalog, server: ServerBlock, part: ServerSelection, isBare: boolean): Listing {
  const source = server.listing('tool', isBare)
  if (part.isWhole && part.names.size === 0) return source
  return listings.get(`${server.name} ${isBare} ${part.contentHash}`, source, () => {
    const enabled = server.items('tool').filter((item) => item.enabled)
    return pickEntries(
      source,
      enabled.flatMap(({ name, alias }, index) => (selects(part, name, alias) ? [index] : []))
    )
  })
}

/** Where the URIs of resources and templates lead among these servers, and how they are listed. */
function createUris(catalog: Catalog, servers: readonly ServerBlock[], isBare: boolean) {
  const byAge = servers.toSorted(byRegistration)
  const byName = new Map(servers.map((server) => [server.name, server]))
  /** Server and own URI or template where the text is the alias form of a server in scope: it is then nothing else. */
  const readAlias = (text: string): ResourceTarget | undefined => {
    const alias = isBare ? undefined : splitAlias(text)
    const server = alias && byName.get(alias.server)
    return server && { server, uri: alias!.uri, isAlias: true }
  }
  /** The item that keeps its original URI: the first registered server's. */
  const ownerOf = (kind: 'resource' | 'template', uri: string): Item | undefined => {
    if (readAlias(uri)) return undefined
    for (const server of byAge) {
      const item = server.find(kind, uri)
      if (item?.enabled) return item
    }
    return undefined
  }
  const sentBy = (sender: string | undefined, uri: string) => {
    const server = sender === undefined ? undefined : byName.get(sender)
    return server && !isDisabled(server, uri) ? server : undefined
  }
  return {
    /** One server's entries, those that collide under their alias. */
    listing(server: ServerBlock, kind: 'resource' | 'template'): Listing {
      const source = server.listing(kind)
      const enabled = server.items(kind).filter((item) => item.enabled)
      const owners = enabled.map((item) => ownerOf(kind, item.name))
      if (enabled.every((item, i) => owners[i] === item)) return source
      const marks = enabled.map((item, i) => (owners[i] === item ? 'o' : owners[i] ? 'c' : 'a')).join('')
      return catalog.listings.get(`${server.name} ${kind} ${marks}`, source, () =>
        joinListing(
          enabled.map((item, i) => (owners[i] === item ? listEntry(item) : aliasedText(item, owners[i] !== undefined)))
        )
      )
    },
    resolve(uri: string, guesses: boolean, sender?: string): ResourceTarget | undefined {
      const aliased = readAlias(uri)
      if (aliased) return hasResources(aliased.server) && !isDisabled(aliased.server, aliased.uri) ? aliased : undefined
      const server =
        ownerOf('resource', uri)?.server ??
        byAge.find((each) => expands(each, uri)) ??
        (guesses ? (sentBy(sender, uri) ?? guess(catalog, byAge, uri)) : undefined)
      return server && { server, uri, isAlias: false }
    },
    resolveTemplate(template: string): ResourceTarget | undefined {
      const aliased = readAlias(template)
      const item = aliased ? aliased.server.find('template', aliased.uri) : ownerOf('template', template)
      return item?.enabled ? { server: item.server, uri: item.name, isAlias: aliased !== undefined } : undefined
    }
  }
}

function createScope(catalog: Catalog, group: GroupParts | undefined, allowed: AllowList, contentHash: string): Scope {
  const isBare = group?.isBare ?? false
  const partOf = ({ name }: ServerBlock) =>
    allows(allowed, name) ? (group ? group.parts.get(name) : wholePart) : undefined
  const isIn = (server: ServerBlock) => {
    const part = server.enabled ? partOf(server) : undefined
    return part !== undefined && offers(server, part)
  }
  const servers = catalog.servers.filter(isIn)
  const wholeServers = servers.filter((server) => partOf(server)!.isWhole)
  let made: ReturnType<typeof createUris> | undefined
  const uris = () => (made ??= createUris(catalog, wholeServers, isBare))
  const serves = (item: Item) => {
    const part = item.enabled ? partOf(item.server) : undefined
    return part !== undefined && (item.kind === 'tool' ? selects(part, item.name, item.alias) : part.isWhole)
  }
  const lookUp = (kind: 'tool' | 'prompt', listedName: string) => {
    if (isBare) return wholeServers[0]?.find(kind, listedName)
    const split = splitName(listedName)
    return split && catalog.server(split.server)?.find(kind, split.name)
  }
  const makeListings = (kind: ItemKind): Listing[] => {
    if (kind === 'tool') return servers.map((server) => toolListing(catalog, server, partOf(server)!, isBare))
    if (kind === 'prompt') return wholeServers.map((server) => server.listing(kind, isBare))
    return wholeServers.map((server) => uris().listing(server, kind))
  }
  // what is made for a part of a server is held by the bounded cache alone
  const listed = new Map<ItemKind, readonly Listing[]>()
  return {
    catalog,
    contentHash,
    servers,
    whole: wholeServers,
    isBare,
    serves,
    find(kind, listedName) {
      const item = lookUp(kind, listedName)
      return item && serves(item) ? item : undefined
    },
    resolve: (uri, guesses = true, sender?: string) => uris().resolve(uri, guesses, sender),
    resolveAt(name, uri) {
      const server = wholeServers.find((each) => each.name === name)
      return server && !isDisabled(server, uri) ? { server, uri, isAlias: false } : undefined
    },
    resolveTemplate: (template) => uris().resolveTemplate(template),
    listings(kind) {
      if (group || !allowed.isAll) return makeListings(kind)
      let found = listed.get(kind)
      if (!found) listed.set(kind, (found = makeListings(kind)))
      return found
    }
  }
}

const MAX_SCOPES = 1_000
const scopes = new WeakMap<Catalog, Map<string, Scope>>()

/** What can be used of a group, or at the global endpoint, by a caller with this allow list. */
export function scopeFor(catalog: Catalog, group?: GroupParts, allowed: AllowList = allServers): Scope {
  let known = scopes.get(catalog)
  if (!known) scopes.set(catalog, (known = new Map()))
  const ofGroup = group?.contentHash ?? ''
  const contentHash = allowed.isAll ? ofGroup : `${ofGroup} ${allowed.contentHash}`
  let scope = known.get(contentHash)
  if (scope && known.size < MAX_SCOPES) return scope
  // full: the one that was used least recently gives way
  known.delete(contentHash)
  if (!scope && known.size >= MAX_SCOPES) known.delete(known.keys().next().value!)
  known.set(contentHash, (scope ??= createScope(catalog, group, allowed, contentHash)))
  return scope
}

/** By a group's name; nothing is in scope where there is no such group (any more). */
export const scopeAt = (catalog: Catalog, group: string | undefined, allowed?: AllowList): Scope =>
  group === undefined
    ? scopeFor(catalog, undefined, allowed)
    : scopeFor(catalog, catalog.group(group) ?? nothing, allowed)

/** As of this catalog: streams hold a caller for longer than its allow list, or its token, is good. */
export const allowedTo = (catalog: Catalog, caller: Caller): AllowList =>
  caller.kind === 'client' ? (catalog.currentPrincipal(caller)?.caller.allowed ?? noServers) : allServers

export const globalScope = (catalog: Catalog): Scope => scopeFor(catalog)

/**
 * An item by its URI or alias as REST knows it: the one that the URI leads to, else any server's, disabled ones included
 * (mcp-proxy.md#resource-uris).
 */
export function anyByUri(catalog: Catalog, kind: 'resource' | 'template', uri: string): Item | undefined {
  const scope = globalScope(catalog)
  const target = kind === 'resource' ? scope.resolve(uri) : scope.resolveTemplate(uri)
  const inForce = target?.server.find(kind, target.uri)
  if (inForce) return inForce
  const alias = splitAlias(uri)
  const server = alias && catalog.server(alias.server)
  if (alias && server) return server.find(kind, alias.uri)
  const byAge = catalog.servers.toSorted(byRegistration)
  return byAge.map((each) => each.find(kind, uri)).find((item) => item !== undefined)
}

/** An item by the name that REST has for it, whether or not anybody may use it: qualified, or a URI. */
export function anyByName(catalog: Catalog, kind: ItemKind, name: string): Item | undefined {
  if (kind === 'resource' || kind === 'template') return anyByUri(catalog, kind, name)
  const split = splitName(name)
  return split && catalog.server(split.server)?.find(kind, split.name)
}
