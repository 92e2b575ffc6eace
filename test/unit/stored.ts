import { buildCatalog, type Catalog } from '../../src/gateway/catalog.ts'
import type { ItemKind, StoredGroup, StoredItem, StoredServer, Verdict } from '../../src/registry/model.ts'

export const legacyVerdict: Verdict = {
  modern: null,
  legacy: '2025-11-25',
  hasSessions: false,
  capabilities: {},
  serverInfo: null,
  instructions: null,
  checkedAt: '2026-01-01T00:00:00.000Z'
}

const keys: Record<ItemKind, string> = { tool: 'name', prompt: 'name', resource: 'uri', template: 'uriTemplate' }

/** An item as the registry hands it out; `definition` takes the place of a minimal one. */
export function storedItem(kind: ItemKind, name: string, more: Partial<StoredItem> = {}): StoredItem {
  const definition = JSON.stringify({ [keys[kind]]: name })
  return { kind, name, definition, enabled: true, fingerprint: 'f', changedAt: '2026-01-01T00:00:00.000Z', ...more }
}

export const tool = (name: string, more?: Partial<StoredItem>) => storedItem('tool', name, more)
export const prompt = (name: string, more?: Partial<StoredItem>) => storedItem('prompt', name, more)
export const resource = (uri: string, more?: Partial<StoredItem>) => storedItem('resource', uri, more)
export const template = (uri: string, more?: Partial<StoredItem>) => storedItem('template', uri, more)

export function storedServer(
  name: string,
  items: readonly StoredItem[],
  more: Partial<StoredServer> = {}
): StoredServer {
  return {
    id: `id-${name}`,
    name,
    transport: 'streamable_http',
    description: null,
    session_mode: 'stateless',
    settings: { url: `http://${name}.test/mcp` },
    sealed: null,
    enabled: true,
    revision: '1',
    registeredAt: '2026-01-01T00:00:00.000Z',
    verdict: legacyVerdict,
    items,
    ...more
  }
}

export const storedGroup = (name: string, more: Partial<StoredGroup> = {}): StoredGroup => ({
  name,
  description: null,
  included_tools: [],
  included_servers: [],
  excluded_tools: [],
  tool_names: 'qualified',
  revision: '1',
  createdAt: '2026-01-01T00:00:00.000Z',
  ...more
})

/** A catalog of the servers and groups, put in order of name as the registry does. */
export const catalogOf = (
  servers: readonly StoredServer[],
  version = '7',
  groups: readonly StoredGroup[] = []
): Catalog => buildCatalog({ version, servers: servers.toSorted((a, b) => (a.name < b.name ? -1 : 1)), groups })
