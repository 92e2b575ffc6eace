import type { ItemKind } from '../registry/model/model.ts'
import { definitionForClients, skillText, type CatalogServer, type Item } from '../catalog/catalog.ts'
import { members } from '../json/json.ts'
import { addressOf, aliasOf, hasNamedAddress } from '../catalog/resource-uris.ts'
import { mayBeAlias, resourceOf } from '../catalog/resource-resolution.ts'
import { anyByUri } from '../catalog/item-lookup.ts'
import type { SkillEntry } from '../catalog/items/skill-entry.ts'
import type { RestView } from './rest-view.ts'

/** REST's names of members that MCP writes in camelCase (http-contract.md#tool-record). */
const restMembers: Record<ItemKind, Readonly<Record<string, string>>> = {
  tool: { inputSchema: 'input_schema', outputSchema: 'output_schema' },
  prompt: {},
  resource: { mimeType: 'mime_type' },
  template: { mimeType: 'mime_type', uriTemplate: 'uri_template' },
  skill: {}
}

const nameMembers = { tool: 'name', prompt: 'name', resource: 'uri', template: 'uri_template', skill: 'uri' } as const

/** Members of a definition that REST writes itself or under another name; the upstream's are left out. */
const omitted: Record<ItemKind, readonly string[]> = {
  tool: ['name', 'enabled', 'input_schema', 'output_schema'],
  prompt: ['name', 'enabled'],
  resource: ['uri', 'enabled', 'mime_type'],
  template: ['uriTemplate', 'enabled', 'mime_type', 'uri_template'],
  skill: ['uri', 'name', 'enabled', 'description']
}

/**
 * Returns the name of an item in REST: the qualified name, or for resources, templates and skills the URI in the global
 * scope (mcp-proxy.md#resource-uris), which names the server of an interface or skill. A disabled item keeps its original
 * URI only if no other server offers the same, because the other server's item may take the URI over.
 */
export function restName({ catalog, scope, sees }: RestView, item: Item): string {
  const { kind, name, server, enabled, publicName } = item
  if (kind === 'tool' || kind === 'prompt') return publicName
  if (hasNamedAddress(name) || mayBeAlias(catalog, name)) return addressOf(server.name, name)
  const hasSame = (other: CatalogServer) => other !== server && isSeen(other.find(kind, name))
  const isSeen = (other: Item | undefined) => other !== undefined && sees(other)
  const isShared = !enabled && catalog.servers.some(hasSame)
  return !isShared && anyByUri(catalog, kind, name, scope, sees) === item ? name : aliasOf(server.name, name)
}

/** Returns the frontmatter's name and description of a skill, which REST also gives as members of the record. */
function skillMembers(definition: string): string[] {
  const { frontmatter } = JSON.parse(definition) as SkillEntry
  return [`"name":${JSON.stringify(frontmatter.name)}`, `"description":${JSON.stringify(frontmatter.description)}`]
}

/** Returns a definition with the addresses that clients of REST use, of a skill with the files that the caller sees. */
function definitionOf({ catalog, sees }: RestView, item: Item, name: string): string {
  const { kind, stored, server } = item
  if (kind === 'tool') return definitionForClients(item)
  if (kind !== 'skill') return stored.definition
  const isSeen = (uri: string) => sees(resourceOf(catalog, server.name, uri))
  return skillText(stored.definition, (uri) => (name === item.name ? uri : addressOf(server.name, uri)), isSeen)
}

/** Serializes an item: REST's own members, followed by the rest of the upstream's definition byte for byte. */
export function itemRecord(view: RestView, item: Item): string {
  const shownName = restName(view, item)
  const text = definitionOf(view, item, shownName)
  const parts = [`"${nameMembers[item.kind]}":${JSON.stringify(shownName)}`, `"enabled":${item.enabled}`]
  if (item.kind === 'skill') parts.push(...skillMembers(text))
  for (const member of members(text)) {
    if (omitted[item.kind].includes(member.key)) continue
    const name = restMembers[item.kind][member.key]
    parts.push(name ? `"${name}":${text.slice(member.start, member.end)}` : text.slice(member.keyStart, member.end))
  }
  return `{${parts.join(',')}}`
}

/**
 * Serializes the items of a kind that a caller sees as a JSON array, of one server or of all enabled ones. Cached per catalog in the
 * bounded cache of pages.
 */
export function itemRecords(view: RestView, kind: ItemKind, only?: CatalogServer): Buffer {
  const { catalog, contentHash, sees } = view
  const key = `records ${kind} ${only?.name ?? ''} ${contentHash}`
  const known = catalog.pages.get(key)
  if (known) return known.bytes
  const servers = only ? [only] : catalog.servers
  const items = servers.filter((server) => server.enabled).flatMap((server) => server.items(kind).filter(sees))
  const bytes = Buffer.from(`[${items.map((item) => itemRecord(view, item)).join(',')}]`)
  catalog.pages.set(key, { bytes, next: undefined }, { size: bytes.buffer.byteLength + 2 * key.length })
  return bytes
}
