import type { ItemKind } from '../registry/model/model.ts'
import { definitionForClients, type Catalog, type CatalogServer, type Item } from '../catalog/catalog.ts'
import { members } from '../json/json.ts'
import { aliasOf, appAddressOf, isAppUri } from '../catalog/resource-uris.ts'
import { anyByUri } from '../catalog/scope.ts'

/** REST's names of members that MCP writes in camelCase (http-contract.md#tool-record). */
const restMembers: Record<ItemKind, Readonly<Record<string, string>>> = {
  tool: { inputSchema: 'input_schema', outputSchema: 'output_schema' },
  prompt: {},
  resource: { mimeType: 'mime_type' },
  template: { mimeType: 'mime_type', uriTemplate: 'uri_template' }
}

/** Members of a definition that REST writes itself or under another name; the upstream's are left out. */
const omitted: Record<ItemKind, readonly string[]> = {
  tool: ['name', 'enabled', 'input_schema', 'output_schema'],
  prompt: ['name', 'enabled'],
  resource: ['uri', 'enabled', 'mime_type'],
  template: ['uriTemplate', 'enabled', 'mime_type', 'uri_template']
}

/**
 * Returns the name of an item in REST: the qualified name, or for resources and templates the URI in the global scope
 * (mcp-proxy.md#resource-uris), which names the server of an interface. A disabled item keeps its original URI only if no other server offers the same, because
 * the other server's item may take the URI over.
 */
export function restName(catalog: Catalog, item: Item): string {
  const { kind, name, server, enabled, publicName } = item
  if (kind === 'tool' || kind === 'prompt') return publicName
  if (isAppUri(name)) return appAddressOf(server.name, name)
  const isShared = !enabled && catalog.servers.some((other) => other !== server && other.find(kind, name))
  return !isShared && anyByUri(catalog, kind, name) === item ? name : aliasOf(server.name, name)
}

/** Serializes an item: REST's own members, followed by the rest of the upstream's definition byte for byte. */
export function itemRecord(catalog: Catalog, item: Item): string {
  const text = item.kind === 'tool' ? definitionForClients(item) : item.stored.definition
  const key = item.kind === 'resource' ? 'uri' : item.kind === 'template' ? 'uri_template' : 'name'
  const parts = [`"${key}":${JSON.stringify(restName(catalog, item))}`, `"enabled":${item.enabled}`]
  for (const member of members(text)) {
    if (omitted[item.kind].includes(member.key)) continue
    const name = restMembers[item.kind][member.key]
    parts.push(name ? `"${name}":${text.slice(member.start, member.end)}` : text.slice(member.keyStart, member.end))
  }
  return `{${parts.join(',')}}`
}

/**
 * Serializes all items of a kind as a JSON array, of one server or of all enabled ones. Cached per catalog in the
 * bounded cache of pages.
 */
export function itemRecords(catalog: Catalog, kind: ItemKind, only?: CatalogServer): Buffer {
  const key = `records ${kind} ${only?.name ?? ''}`
  const known = catalog.pages.get(key)
  if (known) return known.bytes
  const servers = only ? [only] : catalog.servers
  const items = servers.filter((server) => server.enabled).flatMap((server) => server.items(kind))
  const bytes = Buffer.from(`[${items.map((item) => itemRecord(catalog, item)).join(',')}]`)
  catalog.pages.set(key, { bytes, next: undefined }, { size: bytes.buffer.byteLength + 2 * key.length })
  return bytes
}
