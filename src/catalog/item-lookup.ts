import { splitName } from '../domain/names.ts'
import type { ItemKind } from '../registry/model/model.ts'
import type { Catalog, Item } from './catalog.ts'
import { byRegistration } from './resource-owners.ts'
import { mayNameServer } from './resource-resolution.ts'
import { hasNamedAddress, splitAlias, splitNamedAddress } from './resource-uris.ts'
import { globalScope } from './scope.ts'

/** Kinds of items that are found by their URI. */
type UriKind = 'resource' | 'template' | 'skill'

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
