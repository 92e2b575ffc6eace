import { missingNames, type NameLookup } from '../domain/groups.ts'
import type { GroupConfig, ItemKind, ServerSecrets, StoredServer } from '../registry/model.ts'
import type { Catalog, Item, ServerBlock } from './catalog.ts'
import type { GroupRecord, LeftOutRecord, ServerRecord } from './gateway.ts'
import { members } from './json.ts'
import { leftOutCount } from './left-out.ts'
import { aliasOf, anyByUri } from './scope.ts'
import type { Caller } from './caller.ts'

/** How REST names members that MCP writes in camelCase (http-contract.md#tool-record). */
const renamed: Record<ItemKind, Readonly<Record<string, string>>> = {
  tool: { inputSchema: 'input_schema', outputSchema: 'output_schema' },
  prompt: {},
  resource: { mimeType: 'mime_type' },
  template: { mimeType: 'mime_type', uriTemplate: 'uri_template' }
}

/** Members that the record states itself, or says under another name; an upstream's own of that name is left out. */
const replaced: Record<ItemKind, readonly string[]> = {
  tool: ['name', 'enabled', 'input_schema', 'output_schema'],
  prompt: ['name', 'enabled'],
  resource: ['uri', 'enabled', 'mime_type'],
  template: ['uriTemplate', 'enabled', 'mime_type', 'uri_template']
}

/**
 * Name under which REST knows an item: qualified, or for resources and templates the URI in force in the global scope
 * (mcp-proxy.md#resource-uris). What is disabled has its own URI only where no other server offers it: that one may
 * take it over.
 */
export function restName(catalog: Catalog, item: Item): string {
  const { kind, name, server, enabled, publicName } = item
  if (kind === 'tool' || kind === 'prompt') return publicName
  const isShared = !enabled && catalog.servers.some((other) => other !== server && other.find(kind, name))
  return !isShared && anyByUri(catalog, kind, name) === item ? name : aliasOf(server.name, name)
}

/** A record as JSON text: the upstream's definition complete and byte for byte, with REST's own members in front. */
export function itemRecord(catalog: Catalog, item: Item): string {
  const text = item.stored.definition
  const key = item.kind === 'resource' ? 'uri' : item.kind === 'template' ? 'uri_template' : 'name'
  const parts = [`"${key}":${JSON.stringify(restName(catalog, item))}`, `"enabled":${item.enabled}`]
  for (const member of members(text)) {
    if (replaced[item.kind].includes(member.key)) continue
    const name = renamed[item.kind][member.key]
    parts.push(name ? `"${name}":${text.slice(member.start, member.end)}` : text.slice(member.keyStart, member.end))
  }
  return `{${parts.join(',')}}`
}

/**
 * The records of all items of a kind as a JSON array: of one server, or of all that are enabled. Made once for a catalog, and
 * held while it is asked for.
 */
export function itemRecords(catalog: Catalog, kind: ItemKind, only?: ServerBlock): Buffer {
  const key = `records ${kind} ${only?.name ?? ''}`
  const known = catalog.pages.get(key)
  if (known) return known.bytes
  const servers = only ? [only] : catalog.servers
  const items = servers.filter((server) => server.enabled).flatMap((server) => server.items(kind))
  const bytes = Buffer.from(`[${items.map((item) => itemRecord(catalog, item)).join(',')}]`)
  catalog.pages.set(key, { bytes, next: undefined }, bytes.buffer.byteLength + 2 * key.length)
  return bytes
}

const masked = (env: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.keys(env).map((name) => [name, '***']))

/** Given with a server that cannot have what its session mode promises. */
const WITHOUT_SESSIONS =
  'session_mode "stateful" changes nothing here: the server gives no session ids, so each of its requests stands alone'

const lacksSessions = ({ transport, session_mode, verdict }: Shown['stored']) =>
  session_mode === 'stateful' && transport === 'streamable_http' && verdict?.hasSessions === false

/** What of a server its record is made of. */
interface Shown {
  readonly stored: Pick<StoredServer, 'name' | 'transport' | 'session_mode' | 'description' | 'settings' | 'enabled'> &
    Partial<Pick<StoredServer, 'verdict'>>
}

/**
 * A server as REST lists it (http-contract.md#server-object): without secrets, `env` values only for those who may see
 * them.
 */
export function serverRecord({ stored }: Shown, secrets: ServerSecrets, caller: Caller): ServerRecord {
  const { name, transport, description, settings, session_mode, enabled } = stored
  const isStdio = transport === 'stdio'
  const env = secrets.env ?? {}
  return {
    name,
    transport,
    ...(description === null ? {} : { description }),
    ...(isStdio ? { command: settings.command ?? '', args: settings.args ?? [] } : { url: settings.url ?? '' }),
    ...(isStdio && Object.keys(env).length > 0 ? { env: caller.kind === 'user' ? masked(env) : env } : {}),
    session_mode,
    enabled,
    ...(lacksSessions(stored) ? { notes: [WITHOUT_SESSIONS] } : {})
  }
}

/** What of a server is not served. `isWhole`: with the items themselves. */
export function leftOutRecord(server: Pick<ServerBlock, 'leftOut'> | undefined, isWhole: boolean): LeftOutRecord {
  const leftOut = server?.leftOut
  if (leftOut === undefined) return {}
  return { left_out_count: leftOutCount(leftOut), ...(isWhole ? { left_out: leftOut.items } : {}) }
}

export function groupRecord(config: GroupConfig, known: NameLookup): GroupRecord {
  const { name, description, included_tools, included_servers, excluded_tools, tool_names } = config
  const { tools, servers } = missingNames(config, known)
  return {
    name,
    ...(description === null ? {} : { description }),
    included_tools,
    included_servers,
    excluded_tools,
    ...(tool_names === 'bare' ? { tool_names } : {}),
    missing: [...tools, ...servers]
  }
}
