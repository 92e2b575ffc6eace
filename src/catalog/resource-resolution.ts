import type { Decision, Permit } from '../domain/policy/permit.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { withMembers } from '../json/json.ts'
import { listEntry, skillEntry, skillText, type Catalog, type CatalogServer, type Item } from './catalog.ts'
import { joinListing, type Listing } from './list-cache.ts'
import {
  byRegistration,
  guess,
  hasMatchingTemplate,
  hasResources,
  isDisabled,
  mayHaveSkills
} from './resource-owners.ts'
import {
  aliasOf,
  hasNamedAddress,
  hasNamedScheme,
  isAppUri,
  looksLikeAlias,
  looseSegmentOf,
  splitAlias,
  splitNamedAddress,
  type AddressForm
} from './resource-uris.ts'
import { hiddenFilesOf, skillUris } from './items/skill-entry.ts'

/** Result of resolving a resource URI. */
export interface ResourceTarget {
  readonly server: CatalogServer
  /** The upstream's own URI. */
  readonly uri: string
  /** Form of the address that the caller used; answers use it as well. */
  readonly form: AddressForm
}

/** Returns a resource as policies see it; no list needs to have it. */
export const resourceOf = (catalog: Catalog, name: string, uri: string): PolicyItem =>
  catalog.server(name)?.find('resource', uri) ?? { kind: 'resource', server: { name }, name: uri, alias: uri }

/** Decision on a resource that may be in no list. */
export const decideUri = (permit: Permit, server: CatalogServer, uri: string): Decision =>
  permit.decide(server.find('resource', uri) ?? { kind: 'resource', server, name: uri, alias: uri })

export const isVisible = ({ verdict }: Decision) => verdict !== 'no'

/**
 * Returns true if a client may take the first segment of an interface's address, or of an alias, for the name of a registered server, in
 * scope or not: the address of a server that is disabled must not lead to another one.
 */
export function mayNameServer({ servers }: Catalog, uri: string): boolean {
  const segment = looseSegmentOf(uri)
  return servers.some(({ name }) => name.toLowerCase() === segment)
}

/** Returns true for an own URI that a client may read as the alias of a registered server. */
export const mayBeAlias = (catalog: Catalog, uri: string): boolean => looksLikeAlias(uri) && mayNameServer(catalog, uri)

/** A permit's answers about items and URIs, apart from the group. */
interface Access {
  /** Returns true if the item is enabled and the permit shows it. */
  isServed(item: Item | undefined): item is Item
  isPermitted(server: CatalogServer, uri: string): boolean
  /** Returns the positions of a skill's files that the permit hides; undefined if it hides the whole skill. */
  hiddenFiles(skill: Item): readonly number[] | undefined
}

const noFiles: readonly number[] = []

export function accessBy(permit: Permit): Access {
  const isPermitted = (server: CatalogServer, uri: string) => isVisible(decideUri(permit, server, uri))
  return {
    isServed: (item): item is Item => item?.enabled === true && isVisible(permit.decide(item)),
    isPermitted,
    hiddenFiles: ({ server, stored }) =>
      permit.isAll ? noFiles : hiddenFilesOf(stored.definition, (uri) => isPermitted(server, uri))
  }
}

/** Servers and tools whose interfaces and skills an endpoint with qualified names serves. */
interface AddressScope extends Access {
  /** All servers in scope, including those of which only single tools are. */
  readonly servers: readonly CatalogServer[]
  isWhole(server: CatalogServer): boolean
  includes(item: Item): boolean
}

/** Creates the resolution of addresses that name their server (mcp-proxy.md#apps, mcp-proxy.md#skills). */
export function createNamedUris(catalog: Catalog, { servers, isWhole, includes, isServed, isPermitted }: AddressScope) {
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

/** Character that tells listings apart: the item is hidden, keeps its URI, collides with another, or looks like an alias. */
const markOf = (item: Item, owner: Item | 'none' | undefined) =>
  owner === undefined ? 'h' : owner === item ? 'o' : owner === 'none' ? 'a' : 'c'

/** Creates the resolution and the listings of resources, templates and skills among these servers. */
export function createUris(
  catalog: Catalog,
  servers: readonly CatalogServer[],
  isBare: boolean,
  { isServed, isPermitted, hiddenFiles }: Access
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
    if (!isBare && mayBeAlias(catalog, uri)) return undefined
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
  /** Returns true for a skill whose shown files all lead to its server under their own URIs. */
  const keepsUris = ({ server, stored }: Item) =>
    skillUris(stored.definition).every((uri) => !isPermitted(server, uri) || resolve(uri, false)?.server === server)
  /** Returns the mark of a skill among listings: hidden, or under its own URIs or aliases, without some files. */
  const markSkill = (item: Item) => {
    const hidden = isServed(item) ? hiddenFiles(item) : undefined
    if (hidden === undefined) return 'h'
    // an address of the usual scheme names its server already
    const form = isBare || hasNamedAddress(item.name) || keepsUris(item) ? 'o' : 'a'
    return hidden.length === 0 ? form : `${form}${hidden.join('.')},`
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
            const mark = marks[i]!
            if (mark === 'h') return []
            const isShown = (uri: string) => isPermitted(server, uri)
            if (mark.startsWith('o')) return [skillEntry(item, isBare, isShown)]
            return [skillText(item.stored.definition, (uri) => aliasOf(server.name, uri), isShown)]
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
