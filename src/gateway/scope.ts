import { matchesTemplate } from '../domain/uri-template.ts'
import type { ItemKind } from '../registry/model.ts'
import {
  joinListing,
  listedText,
  splitName,
  type Catalog,
  type Item,
  type Listing,
  type ServerBlock
} from './catalog.ts'
import { withMembers } from './json.ts'

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
  /** Enabled servers in order of name. */
  readonly servers: readonly ServerBlock[]
  /** A tool or prompt by the name under which it is listed here. */
  find(kind: 'tool' | 'prompt', publicName: string): Item | undefined
  /** Proxy page 8, "Resolving". */
  resolve(uri: string): ResourceTarget | undefined
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
  return withMembers(listedText(item), { [key]: alias, ...changes })
}

/** The enabled servers' items of a kind that keep their original URI, by URI: the first registered server's. */
function originals(ordered: readonly ServerBlock[], kind: 'resource' | 'template'): Map<string, Item> {
  const names = new Set(ordered.map((server) => server.name))
  const owners = new Map<string, Item>()
  for (const server of ordered) {
    for (const item of server.items(kind)) {
      const alias = splitAlias(item.name)
      if (!item.enabled || owners.has(item.name) || (alias && names.has(alias.server))) continue
      owners.set(item.name, item)
    }
  }
  return owners
}

/** A listing of one server's resources in which those that collide stand under their alias. */
function resourceListing(server: ServerBlock, kind: 'resource' | 'template', owners: Map<string, Item>): Listing {
  const enabled = server.items(kind).filter((item) => item.enabled)
  if (enabled.every((item) => owners.get(item.name) === item)) return server.listing(kind)
  return joinListing(
    enabled.map((item) => {
      const owner = owners.get(item.name)
      return owner === item ? listedText(item) : aliasedText(item, owner !== undefined)
    })
  )
}

const authority = (uri: string) => /^[a-z][a-z0-9+.-]*:(\/\/[^/?#]*)?/i.exec(uri)?.[0].toLowerCase()

const matches = (server: ServerBlock, uri: string, enabled = true) =>
  server.items('template').some((item) => item.enabled === enabled && matchesTemplate(item.name, uri))

/** Disabled items are found by no step, so what only they describe must not reach its server by another way. */
function isDisabled(server: ServerBlock, uri: string): boolean {
  const item = server.find('resource', uri)
  return item ? !item.enabled : !matches(server, uri) && matches(server, uri, false)
}

const hasResources = (server: ServerBlock) =>
  server.items('resource').some((item) => item.enabled) || server.items('template').some((item) => item.enabled)

const sharesAuthority = (server: ServerBlock, uri: string) => {
  const wanted = authority(uri)
  const same = (item: Item) => item.enabled && authority(item.name) === wanted
  return wanted !== undefined && (server.items('resource').some(same) || server.items('template').some(same))
}

/** Steps 3 and 5 of "Resolving": a template's expansion, else the only server that can be meant. */
function guess(ordered: readonly ServerBlock[], uri: string): ServerBlock | undefined {
  const open = ordered.filter((server) => hasResources(server) && !isDisabled(server, uri))
  const byTemplate = open.find((server) => matches(server, uri))
  if (byTemplate) return byTemplate
  const related = open.filter((server) => sharesAuthority(server, uri))
  if (related.length === 1) return related[0]
  return open.length === 1 && ordered.filter(hasResources).length === 1 ? open[0] : undefined
}

function createScope(catalog: Catalog): Scope {
  const servers = catalog.servers.filter((server) => server.enabled)
  const byAge = servers.toSorted(byRegistration)
  const owners = new Map<'resource' | 'template', Map<string, Item>>()
  const ownersOf = (kind: 'resource' | 'template') => {
    let found = owners.get(kind)
    if (!found) owners.set(kind, (found = originals(byAge, kind)))
    return found
  }
  const listed = new Map<ItemKind, readonly Listing[]>()
  const makeListings = (kind: ItemKind) =>
    servers.map((server) =>
      kind === 'tool' || kind === 'prompt' ? server.listing(kind) : resourceListing(server, kind, ownersOf(kind))
    )
  /** Server and own URI or template where the text is the alias form of a server in scope: it is then nothing else. */
  const readAlias = (text: string): ResourceTarget | undefined => {
    const alias = splitAlias(text)
    const server = alias && catalog.server(alias.server)
    return server?.enabled ? { server, uri: alias!.uri, isAlias: true } : undefined
  }
  return {
    catalog,
    servers,
    find(kind, publicName) {
      const split = splitName(publicName)
      const item = split && catalog.server(split.server)?.find(kind, split.name)
      return item?.enabled ? item : undefined
    },
    resolve(uri) {
      const aliased = readAlias(uri)
      if (aliased) return hasResources(aliased.server) && !isDisabled(aliased.server, aliased.uri) ? aliased : undefined
      const server = ownersOf('resource').get(uri)?.server ?? guess(byAge, uri)
      return server && { server, uri, isAlias: false }
    },
    resolveTemplate(template) {
      const aliased = readAlias(template)
      const item = aliased ? aliased.server.find('template', aliased.uri) : ownersOf('template').get(template)
      return item?.enabled ? { server: item.server, uri: item.name, isAlias: aliased !== undefined } : undefined
    },
    listings(kind) {
      let found = listed.get(kind)
      if (!found) listed.set(kind, (found = makeListings(kind)))
      return found
    }
  }
}

const globalScopes = new WeakMap<Catalog, Scope>()

/** The scope of the global endpoint for a caller who may use every server. */
export function globalScope(catalog: Catalog): Scope {
  let scope = globalScopes.get(catalog)
  if (!scope) globalScopes.set(catalog, (scope = createScope(catalog)))
  return scope
}

/**
 * An item by its URI or alias as REST knows it: the one that the URI leads to, else any server's, disabled ones included
 * (proxy page 8).
 */
export function anyByUri(catalog: Catalog, kind: 'resource' | 'template', uri: string): Item | undefined {
  const target = globalScope(catalog).resolve(uri)
  const inForce = target?.server.find(kind, target.uri)
  if (inForce) return inForce
  const alias = splitAlias(uri)
  const server = alias && catalog.server(alias.server)
  if (alias && server) return server.find(kind, alias.uri)
  return catalog.servers.map((each) => each.find(kind, uri)).find((item) => item !== undefined)
}
