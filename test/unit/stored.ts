import { createHash } from 'node:crypto'
import { allServers } from '../../src/domain/policy/allow-list.ts'
import { buildCatalog, createCatalogCache, type Catalog } from '../../src/catalog/catalog.ts'
import { createListingCache } from '../../src/catalog/list-cache.ts'
import type {
  ItemKind,
  RegistryState,
  StoredClient,
  StoredGroup,
  StoredItem,
  StoredServer,
  StoredToken,
  StoredUser,
  Negotiation
} from '../../src/registry/model/model.ts'
import type { Caller } from '../../src/catalog/caller.ts'

export const legacyNegotiation: Negotiation = {
  modern: null,
  legacy: '2025-11-25',
  hasSessions: false,
  capabilities: {},
  serverInfo: null,
  instructions: null,
  checkedAt: '2026-01-01T00:00:00.000Z'
}

const minimal: Record<ItemKind, (name: string) => object> = {
  tool: (name) => ({ name, inputSchema: { type: 'object' } }),
  prompt: (name) => ({ name }),
  resource: (uri) => ({ uri, name: 'n' }),
  template: (uriTemplate) => ({ uriTemplate, name: 'n' }),
  skill: (uri) => ({ uri, frontmatter: { name: uri.split('/').at(-2), description: 'd' }, resources: 'dynamic' })
}

/** Returns an item as the registry loads it; `definition` replaces a minimal one. */
export function storedItem(kind: ItemKind, name: string, more: Partial<StoredItem> = {}): StoredItem {
  const definition = JSON.stringify(minimal[kind](name))
  const changedAt = '2026-01-01T00:00:00.000Z'
  const pinned = { state: 'accepted', canonical: 'c', pinned: 'c', accepted: null } as const
  return { kind, name, definition, enabled: true, fingerprint: 'f', changedAt, ...pinned, ...more }
}

export const tool = (name: string, more?: Partial<StoredItem>) => storedItem('tool', name, more)
export const prompt = (name: string, more?: Partial<StoredItem>) => storedItem('prompt', name, more)
export const resource = (uri: string, more?: Partial<StoredItem>) => storedItem('resource', uri, more)
export const template = (uri: string, more?: Partial<StoredItem>) => storedItem('template', uri, more)
export const skill = (uri: string, more?: Partial<StoredItem>) => storedItem('skill', uri, more)

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
    updatedAt: '2026-01-01T00:00:00.000Z',
    negotiation: legacyNegotiation,
    saveFailure: null,
    recording: null,
    issuer: null,
    items,
    instructions: null,
    acceptedOrigin: null,
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
  tools: {},
  bindings: {},
  sealed: null,
  instructions: null,
  max_tokens: null,
  tool_list: 'full',
  always_listed: [],
  search_limit: 10,
  max_result_tokens: null,
  revision: '1',
  createdAt: '2026-01-01T00:00:00.000Z',
  ...more
})

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Returns a user whose access token is its name. */
export const storedUser = (name: string, kind: StoredUser['kind'] = 'user'): StoredUser => ({
  id: `id-${name}`,
  kind,
  name,
  active: true,
  source: 'static',
  displayName: null,
  email: null,
  groups: [],
  roleSource: 'manual',
  sessionsValidFrom: null,
  claimsAt: null,
  tokens: [storedToken(name)],
  revision: '1'
})

/** Returns a static token; `more` makes it a personal one. */
export const storedToken = (token: string, more: Partial<StoredToken> = {}): StoredToken => ({
  id: `id-of-${token}`,
  hash: sha256(token),
  kind: 'static',
  scopes: null,
  expiresAt: null,
  ...more
})

/** Returns a client whose access token is its name. */
export const storedClient = (name: string, allowed_servers: readonly string[] = []): StoredClient => ({
  id: `id-${name}`,
  kind: 'client',
  name,
  description: null,
  allowed_servers,
  jwks: null,
  jwks_uri: null,
  tokens: [storedToken(name)],
  revision: '1'
})

/** Returns a caller as an enterprise gateway creates them. */
export const callerNamed = (name: string, kind: Caller['kind'] = 'client'): Caller => ({
  kind,
  name,
  key: `${kind}:${name}`,
  allowed: allServers
})

/** Returns a registry state that is empty except for the given members. */
export const stateOf = (version: string, more: Partial<RegistryState> = {}): RegistryState => ({
  version,
  initialized: true,
  servers: [],
  groups: [],
  principals: [],
  policies: [],
  teams: [],
  tombstones: [],
  signingKeys: [],
  ...more
})

const cache = createCatalogCache()

/** Returns a catalog of the servers and groups, sorted by name as the registry does. */
export const catalogOf = (
  servers: readonly StoredServer[],
  version = '7',
  groups: readonly StoredGroup[] = []
): Catalog =>
  buildCatalog(stateOf(version, { servers: servers.toSorted((a, b) => (a.name < b.name ? -1 : 1)), groups }), {
    ...cache,
    listings: createListingCache()
  })
