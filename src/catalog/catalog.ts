import type { DefinitionPolicy } from '../domain/definitions/kinds.ts'
import { qualifiedName } from '../domain/names.ts'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { resolveGroup, type Selection } from '../domain/groups.ts'
import { secretsOfLocks, type LockSecrets, type OverrideBindings } from '../domain/overrides/tool-overrides.ts'
import type {
  GroupConfig,
  ItemKind,
  LeftOut,
  RegistryState,
  SigningKey,
  StoredClient,
  StoredGroup,
  StoredPolicy,
  StoredPrincipal,
  StoredServer
} from '../registry/model/model.ts'
import { withMembers } from '../json/json.ts'
import { unlistedMembers } from './items/item-shape.ts'
import { appUrisOf, namingServer, removeReference, rewrittenMeta } from './app-references.ts'
import { createItemNames, type ItemNames, type ToolNames } from './items/item-names.ts'
import { leftOutOf, type Problem } from './items/left-out.ts'
import { taskProblem, withoutTaskSupport } from './items/task-support.ts'
import { noParamHeaders, readParamHeaders, withoutParamHeaders, type ParamHeaders } from '../protocol/param-headers.ts'
import type { OverrideSource } from './compiled-override.ts'
import type { GroupParts, OverrideCache } from './group-parts.ts'
import { createListingCache, createPageCache, joinListing } from './list-cache.ts'
import type { Listing, ListingCache, PageCache } from './list-cache.ts'
import { createPermitsBuilder, type Permits, type PolicySettings } from './permits.ts'
import { createPeopleIndexer, type People, type SignedIn } from './people.ts'
import { createPrincipal, createPrincipalIndexer } from './principal-index.ts'
import { hasNamedAddress, namedAddressOf } from './resource-uris.ts'
import type { Scope } from './scope.ts'
import type { SearchMode } from './search-listing.ts'
import { withSkillUris, type FileTest } from './items/skill-entry.ts'
import { createSkillFolders, type SkillFolders } from './items/skill-folders.ts'
import { withServedDefinitions, type HeldItem, type ServedItem } from './served-definitions.ts'
import { withUsableItems, type CheckedItems, type UnusableItem } from './items/usable-items.ts'
import type { Caller } from './caller.ts'

/** One tool, prompt, resource, template or skill of the catalog. Immutable. */
export interface Item {
  readonly kind: ItemKind
  readonly server: CatalogServer
  readonly stored: ServedItem
  /** Name of a tool or prompt at its server, URI of a resource or of a skill's `SKILL.md`, URI template of a template. */
  readonly name: string
  /** Public name without the server prefix: `name`, unless `TOWPATH_TOOL_NAMES` renames the item. */
  readonly alias: string
  /** `<server>__<alias>` for tools and prompts (http-contract.md#names); `name` for resources and templates. */
  readonly publicName: string
  /** True if the item and its server are enabled, it has no `problem`, and it is no file of a disabled skill. */
  readonly enabled: boolean
  /** Arguments of a tool that are also sent as HTTP headers. */
  readonly paramHeaders: ParamHeaders
  /** Addresses of the interfaces that a tool names, as its server wrote them; none if the server's apps are off. */
  readonly appUris: readonly string[]
  /** Reason that the item is not served, if any. */
  readonly problem: Problem | undefined
}

/** Part of the registry that is not served because of an error in the gateway. */
export interface Fault {
  /** Kind and name of the part, such as `server "x"`. */
  readonly subject: string
  readonly error: unknown
}

/** A server and everything it offers. Built once per stored revision and shared by all catalogs that contain it. */
export interface CatalogServer {
  /** The stored server with the items that are served, in the definitions that are served. */
  readonly stored: StoredServer
  /** The stored server with all definitions as they are at the upstream, held ones included. */
  readonly present: StoredServer
  readonly name: string
  readonly enabled: boolean
  /** True if `allow` policies believe the annotations of its tools. */
  readonly trustsAnnotations: boolean
  /** Items of the upstream's lists that are not served, if any. */
  readonly leftOut: LeftOut | undefined
  /** Stored items that are not in `items` because they break a rule. */
  readonly unusable: readonly UnusableItem[]
  /** Stored items that are not in `items` because their definitions are held (pinned-definitions.md#policies). */
  readonly held: readonly HeldItem[]
  /** Returns true if an item is held, by its name or URI at the upstream. */
  isHeld(kind: ItemKind, name: string): boolean
  /** Returns since when an item has been held, by its name or URI at the upstream, or by the alias that it would have. */
  heldSince(kind: ItemKind, name: string): string | undefined
  /** The server's instructions as they are served; null if there are none. */
  readonly instructions: string | null
  /** Error that occurred while the server was built from the stored record; it then has no items. */
  readonly fault: Fault | undefined
  /** Returns all items of a kind, including disabled ones, in the upstream's order. */
  items(kind: ItemKind): readonly Item[]
  /** Tools that name an interface, including disabled ones. */
  readonly appTools: readonly Item[]
  /** Finds an item by its name or URI at the upstream, or by its alias. */
  find(kind: ItemKind, name: string): Item | undefined
  /** Returns whether a URI belongs to an enabled skill, or only to disabled ones; undefined if to no listed skill. */
  skillStateOf(uri: string): 'enabled' | 'disabled' | undefined
  /** Returns the enabled items as MCP list entries. `isBare`: names and addresses without the server. */
  listing(kind: ItemKind, isBare?: boolean): Listing
}

/** Items of one server that a group contains. */
export interface ServerSelection extends Selection {
  /** Hash of the selection: equal for equal selections. */
  readonly contentHash: string
}

/** Resolved contents of a group. */
export interface ResolvedGroup {
  readonly isBare: boolean
  /** Undefined if its endpoint lists all tools. */
  readonly search: SearchMode | undefined
  /** Estimated tokens beyond which texts of results are cut; null for no limit. */
  readonly maxResultTokens: number | null
  /** Selections by server name; a server that a group names may not exist. */
  readonly selections: ReadonlyMap<string, ServerSelection>
  /** Overrides by `<server>__<tool>`; a tool that a group names may not exist. */
  readonly overrides: ReadonlyMap<string, OverrideSource>
  /** Text for the model, before the instructions of the servers; null for none. */
  readonly instructions: string | null
  /** Hash of all the above: equal for groups with the same contents. */
  readonly contentHash: string
}

/** A tool group. Built once per stored revision. */
export interface CatalogGroup extends ResolvedGroup {
  readonly stored: StoredGroup
}

/** An access token and the caller that it stands for. */
export interface Credential {
  readonly caller: Caller
  /** Milliseconds since 1970; null if the token does not expire. */
  readonly expiresAt: number | null
}

/** A user or client. Built once per stored revision. */
export interface Principal {
  readonly stored: StoredPrincipal
  /** One for each token; none for a suspended user. */
  readonly credentials: readonly Credential[]
}

/** Snapshot of the registry that all requests are served from. Immutable; replaced as a whole on each change. */
export interface Catalog {
  readonly version: string
  /** An object of its own for each catalog, to tell catalogs apart without keeping them in memory. */
  readonly identity: object
  /** True once enterprise mode has its first administrator. */
  readonly initialized: boolean
  /** Sorted by name. */
  readonly servers: readonly CatalogServer[]
  server(name: string): CatalogServer | undefined
  /** Sorted by name. */
  readonly groups: readonly CatalogGroup[]
  group(name: string): CatalogGroup | undefined
  /** Users, then clients, each sorted by name. */
  readonly principals: readonly Principal[]
  /** Credentials by the key of their caller, without tokens that had expired when the catalog was built. */
  readonly credentials: ReadonlyMap<string, Credential>
  /** Time at which the next token expires, in milliseconds since 1970. */
  readonly nextExpiry: number | undefined
  /** Finds a caller by the SHA-256 of an access token that has not expired. */
  caller(tokenHash: Buffer): Caller | undefined
  /**
   * Returns the caller in this catalog; undefined if the caller's token has expired or was revoked or replaced, if the
   * sign-in has ended, or if the role has changed.
   */
  currentCaller(caller: Caller): Caller | undefined
  /** Returns the caller of a verified token or browser session; undefined if it has ended, or if nobody may use it. */
  signedInCaller(signedIn: SignedIn): Caller | undefined
  /** Finds an MCP client by its name. */
  client(name: string): StoredClient | undefined
  /** People who sign in. */
  readonly people: People
  /** Public keys of the authorization server. */
  readonly signingKeys: readonly SigningKey[]
  readonly listings: ListingCache
  readonly faults: readonly Fault[]
  /** Serialised pages of this catalog's lists, over MCP and over REST. */
  readonly pages: PageCache
  /** In the order in which they were created, disabled ones included. */
  readonly policies: readonly StoredPolicy[]
  /** Permits of all callers in this catalog. */
  readonly permits: Permits
  /** Scopes of this catalog, by the hashes of their group and permit. */
  readonly scopes: LRUCache<string, Scope>
  /** Overrides of groups with this catalog's tools, by the hashes of the groups. */
  readonly parts: LRUCache<string, GroupParts>
  readonly overrides: OverrideCache
}

const uriMembers = { resource: 'uri', template: 'uriTemplate' } as const

/** Returns the change to the `_meta` of a tool that clients get, if any (mcp-proxy.md#apps). */
function metaChange({ stored, name }: CatalogServer, definition: string, isBare: boolean): { _meta?: string } {
  const isOn = stored.settings.apps !== false
  if (isOn && isBare) return {}
  const meta = rewrittenMeta(definition, isOn ? namingServer(name) : removeReference)
  return meta === undefined ? {} : { _meta: meta }
}

/** Returns a tool's definition with the references to interfaces that clients get (mcp-proxy.md#apps). */
export function definitionForClients({ stored: { definition }, server }: Item): string {
  const change = metaChange(server, definition, false)
  return Object.keys(change).length === 0 ? definition : withMembers(definition, change)
}

/**
 * Returns an item's entry in MCP lists as JSON text: the upstream's definition under the public name, without members
 * that clients reject (mcp-proxy.md#names, mcp-proxy.md#bare-names).
 */
export function listEntry({ kind, name: own, alias, stored, publicName, server }: Item, isBare = false): string {
  if (kind === 'resource' || kind === 'template') {
    const isShown = isBare || !hasNamedAddress(own)
    const address = isShown ? {} : { [uriMembers[kind]]: JSON.stringify(namedAddressOf(server.name, own)) }
    return definitionWith(kind, stored.definition, address)
  }
  if (kind === 'skill') return skillEntry({ stored, server }, isBare)
  // header annotations matter only over HTTP: on other transports an invalid one is removed
  const hasProblem = server.stored.transport !== 'streamable_http' && readParamHeaders(stored.definition).problem
  const definition = hasProblem ? withoutParamHeaders(stored.definition) : stored.definition
  const keepsName = isBare && alias === own
  const name = keepsName ? {} : { name: JSON.stringify(isBare ? alias : publicName) }
  if (kind === 'prompt') return definitionWith(kind, definition, name)
  const execution = withoutTaskSupport(definition)
  const meta = metaChange(server, definition, isBare)
  return definitionWith(kind, definition, { ...name, ...meta, ...(execution === undefined ? {} : { execution }) })
}

/** Returns a skill's entry for clients, with the address of each of its files that is shown. */
export const skillText = (definition: string, addressOf: (uri: string) => string, isShown?: FileTest): string =>
  definitionWith('skill', withSkillUris(definition, addressOf, isShown), {})

/** Returns a skill's entry in MCP lists, with the files that are shown. */
export const skillEntry = (
  { stored, server }: Pick<Item, 'stored' | 'server'>,
  isBare: boolean,
  isShown?: FileTest
): string =>
  skillText(
    stored.definition,
    (uri) => (isBare || !hasNamedAddress(uri) ? uri : namedAddressOf(server.name, uri)),
    isShown
  )

function definitionWith(kind: ItemKind, definition: string, changes: Readonly<Record<string, string | null>>): string {
  const all = { ...unlistedMembers(kind, definition), ...changes }
  return Object.keys(all).length === 0 ? definition : withMembers(definition, all)
}

/** All kinds of items, in the order of answers. */
export const kinds: readonly ItemKind[] = ['tool', 'prompt', 'resource', 'template', 'skill']

const isNamed = (kind: ItemKind) => kind === 'tool' || kind === 'prompt'

const problemOf = ({ problem }: ParamHeaders): Problem | undefined =>
  problem === undefined ? undefined : { code: 'parameters', reason: problem }

/** A server's stored record with what is served of it. */
interface ServerParts extends Pick<CatalogServer, 'stored' | 'present' | 'unusable' | 'held' | 'instructions'> {
  readonly fault?: Fault
}

/** Returns the times since when items have been held by their kinds with their names, and with their aliases. */
function heldTimes({ stored, held }: ServerParts, toolNames: ToolNames): ReadonlyMap<string, string> {
  const names = createItemNames(toolNames, stored.name, held)
  const byAlias = held.map(({ kind, name, since }) => [`${kind} ${names.publicPart(kind, name)}`, since] as const)
  return new Map([...byAlias, ...held.map(({ kind, name, since }) => [`${kind} ${name}`, since] as const)])
}

function createServer(parts: ServerParts, toolNames: ToolNames): CatalogServer {
  const { stored, held, fault } = parts
  const byKind = new Map<ItemKind, Item[]>()
  const byName = new Map<ItemKind, Map<string, Item>>()
  const listings = new Map<string, Listing>()
  let leftOut: LeftOut | undefined | null = null
  const appTools: Item[] = []
  /** Kinds that are listed otherwise in a bare group; most servers have no interfaces. */
  const kindsWithAddresses = new Set<ItemKind>()
  // the files of a held skill are as unreadable as those of a disabled one
  const folders = createSkillFolders([...stored.items, ...held])
  const heldNames = new Set(held.map(({ kind, name }) => `${kind} ${name}`))
  let lazyHeldTimes: ReadonlyMap<string, string> | undefined
  const items = (kind: ItemKind): readonly Item[] => byKind.get(kind) ?? []
  const server: CatalogServer = {
    ...parts,
    name: stored.name,
    enabled: stored.enabled,
    trustsAnnotations: stored.settings.trusted_annotations === true,
    get leftOut() {
      if (leftOut === null) leftOut = leftOutOf([...parts.unusable, ...kinds.flatMap(items)], stored.leftOut)
      return leftOut
    },
    fault,
    isHeld: (kind, name) => heldNames.has(`${kind} ${name}`),
    heldSince: (kind, name) => (lazyHeldTimes ??= heldTimes(parts, toolNames)).get(`${kind} ${name}`),
    items,
    appTools,
    find: (kind, name) => byName.get(kind)?.get(name),
    skillStateOf: folders.stateOf,
    listing(kind, isBare = false) {
      const key = isBare && (isNamed(kind) || kindsWithAddresses.has(kind)) ? `bare ${kind}` : kind
      let listing = listings.get(key)
      if (!listing) {
        const enabled = items(kind).filter((item) => item.enabled)
        listings.set(key, (listing = joinListing(enabled.map((item) => listEntry(item, isBare)))))
      }
      return listing
    }
  }
  const itemNames = createItemNames(toolNames, stored.name, stored.items)
  for (const item of stored.items) {
    const { kind, name } = item
    if (!byKind.has(kind)) {
      byKind.set(kind, [])
      byName.set(kind, new Map())
    }
    const entry = createItem(server, item, itemNames, folders)
    byKind.get(kind)!.push(entry)
    byName.get(kind)!.set(name, entry).set(entry.alias, entry)
    if (entry.appUris.length > 0) appTools.push(entry)
    if (!isNamed(kind) && hasNamedAddress(name)) kindsWithAddresses.add(kind)
  }
  return server
}

/** Settings of the gateway that decide what is served of servers. */
export interface ServingRules {
  /** Treatment of items whose names clients cannot use. */
  readonly toolNames: ToolNames
  /** Treatment of definitions that nobody has accepted, for servers without a policy of their own. */
  readonly definitions: DefinitionPolicy
}

const noUris: readonly string[] = []

function createItem(server: CatalogServer, item: ServedItem, names: ItemNames, folders: SkillFolders): Item {
  const { kind, name } = item
  const { stored } = server
  const isHttp = stored.transport === 'streamable_http'
  const alias = names.publicPart(kind, name)
  const publicName = isNamed(kind) ? qualifiedName(stored.name, alias) : name
  const paramHeaders = kind === 'tool' && isHttp ? readParamHeaders(item.definition) : noParamHeaders
  const problem =
    names.problem(kind, name) ??
    problemOf(paramHeaders) ??
    (kind === 'tool' ? taskProblem(item.definition, stored) : undefined)
  const isHidden = kind === 'resource' && folders.stateOf(name) === 'disabled'
  const enabled = item.enabled && stored.enabled && problem === undefined && !isHidden
  const appUris = kind === 'tool' && stored.settings.apps !== false ? appUrisOf(item.definition) : noUris
  return { kind, server, stored: item, name, alias, publicName, enabled, paramHeaders, appUris, problem }
}

function createServerOrFault(
  present: StoredServer,
  { toolNames, definitions }: ServingRules,
  checked: CheckedItems
): CatalogServer {
  try {
    const { stored, held, instructions } = withServedDefinitions(present, definitions)
    return createServer({ present, held, instructions, ...withUsableItems(stored, checked) }, toolNames)
  } catch (error) {
    // an error in one server must not stop the others, or a revocation, from taking effect
    const stored = { ...present, items: [] }
    const fault = { subject: `server "${present.name}"`, error }
    return createServer({ present: stored, stored, unusable: [], held: [], instructions: null, fault }, toolNames)
  }
}

const digest = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('base64url')

/** Returns the secrets in the locks of a stored group. Throws AppError if they cannot be decrypted. */
export type DecryptLocks = (group: StoredGroup) => LockSecrets

const noSecrets: Readonly<Record<string, string>> = {}

/** Returns the overrides of a group; `secrets` is called once, when a tool with a secret is used. */
function overridesOf({ tools }: GroupConfig, bindings: OverrideBindings, secrets: () => LockSecrets) {
  let known: LockSecrets | undefined
  const secretsOf = (tool: string) => () => {
    known ??= secrets()
    return Object.hasOwn(known, tool) ? known[tool]! : noSecrets
  }
  return new Map(
    Object.entries(tools).map(([tool, override]): [string, OverrideSource] => [
      tool,
      { override, binding: Object.hasOwn(bindings, tool) ? bindings[tool] : undefined, secrets: secretsOf(tool) }
    ])
  )
}

const searchModeOf = ({ tool_list, always_listed, search_limit: limit }: GroupConfig): SearchMode | undefined =>
  tool_list === 'search' ? { alwaysListed: new Set(always_listed), limit } : undefined

/** Resolves a group's configuration, which need not be stored, to its tools. */
export const resolveGroupConfig = (config: GroupConfig): ResolvedGroup =>
  resolve(config, {}, () => secretsOfLocks(config.tools), [])

function resolve(
  config: GroupConfig,
  bindings: OverrideBindings,
  secrets: () => LockSecrets,
  more: readonly unknown[]
): ResolvedGroup {
  const { tools, instructions } = config
  const isBare = config.tool_names === 'bare'
  const selections = new Map<string, ServerSelection>()
  for (const [server, selection] of [...resolveGroup(config)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { isWhole, names, without = [] } = selection
    selections.set(server, { ...selection, contentHash: digest([isWhole, [...names].sort(), [...without].sort()]) })
  }
  const shown = Object.keys(tools).length > 0 || instructions !== null ? [tools, bindings, instructions, ...more] : []
  const search = searchModeOf(config)
  const listed = search ? ['search', config.search_limit, config.always_listed] : []
  const { max_result_tokens: maxResultTokens } = config
  const cut = maxResultTokens === null ? [] : ['results', maxResultTokens]
  const picked = [...selections].map(([server, selection]) => [server, selection.contentHash])
  const overrides = overridesOf(config, bindings, secrets)
  const contentHash = digest([isBare, picked, ...shown, ...listed, ...cut])
  return { isBare, search, maxResultTokens, selections, overrides, instructions, contentHash }
}

/**
 * Parts of catalogs, passed from catalog to catalog: the same object for the same stored revision
 * (architecture.md#two-planes). A cache belongs to one set of serving rules.
 */
export interface CatalogCache {
  readonly servers: WeakMap<StoredServer, CatalogServer>
  readonly items: CheckedItems
  readonly groups: WeakMap<StoredGroup, CatalogGroup>
  readonly principals: WeakMap<StoredPrincipal, Principal>
  readonly listings: ListingCache
  readonly overrides: OverrideCache
  readonly permits: ReturnType<typeof createPermitsBuilder>
  readonly indexPrincipals: ReturnType<typeof createPrincipalIndexer>
  readonly indexPeople: ReturnType<typeof createPeopleIndexer>
}

export const createCatalogCache = (): CatalogCache => ({
  servers: new WeakMap(),
  items: new WeakMap(),
  groups: new WeakMap(),
  principals: new WeakMap(),
  listings: createListingCache(),
  overrides: new WeakMap(),
  permits: createPermitsBuilder(),
  indexPrincipals: createPrincipalIndexer(),
  indexPeople: createPeopleIndexer()
})

/** Returns a function that builds the catalog's part of a stored record unless the cache has it. */
const buildOnce =
  <S extends object, R>(cache: WeakMap<S, R>, build: (stored: S) => R) =>
  (stored: S): R => {
    const known = cache.get(stored)
    if (known !== undefined) return known
    const built = build(stored)
    cache.set(stored, built)
    return built
  }

const createGroup =
  (decrypt: DecryptLocks) =>
  (stored: StoredGroup): CatalogGroup => {
    const { bindings, sealed } = stored
    const secrets = sealed === null ? [] : [Buffer.from(sealed).toString('base64')]
    return { stored, ...resolve(stored, bindings, () => decrypt(stored), secrets) }
  }

/** Builds a value from each stored record; a record that fails is skipped and added to `faults`. */
function buildEach<S extends { readonly name: string }, R>(
  kind: string,
  all: readonly S[],
  build: (stored: S) => R,
  faults: Fault[]
): R[] {
  return all.flatMap((stored) => {
    try {
      return [build(stored)]
    } catch (error) {
      faults.push({ subject: `${kind} "${stored.name}"`, error })
      return []
    }
  })
}

/** Scopes depend on permits, of which there may be one for each client. */
const MAX_SCOPES = 1_000

/**
 * Builds a catalog; never throws. Reuses the parts in `cache`, and adds to it.
 */
export function buildCatalog(
  state: RegistryState,
  cache: CatalogCache = createCatalogCache(),
  rules: ServingRules = { toolNames: 'leave-out', definitions: 'follow' },
  policySettings: PolicySettings = { byDefault: 'allow', compileCondition: undefined },
  decryptLocks: DecryptLocks = () => ({})
): Catalog {
  const servers = state.servers.map(
    buildOnce(cache.servers, (stored) => createServerOrFault(stored, rules, cache.items))
  )
  const faults = servers.flatMap(({ fault }) => fault ?? [])
  const groups = buildEach('tool group', state.groups, buildOnce(cache.groups, createGroup(decryptLocks)), faults)
  const principals = buildEach('principal', state.principals, buildOnce(cache.principals, createPrincipal), faults)
  const { clients, ...index } = cache.indexPrincipals(principals)
  const people = cache.indexPeople(state.principals, state.teams, state.tombstones)
  const permits = cache.permits(state.policies, groups, policySettings, people)
  const byName = new Map(servers.map((server) => [server.name, server]))
  const groupsByName = new Map(groups.map((group) => [group.stored.name, group]))
  return {
    version: state.version,
    identity: {},
    initialized: state.initialized,
    principals,
    ...index,
    currentCaller(given) {
      if (!given.signIn) return index.currentCaller(given)
      if (given.signIn.kind === 'client') return clients.current(given)
      return people.isActive(given.signIn, given.kind) ? given : undefined
    },
    signedInCaller: (signedIn) => (signedIn.signIn.kind === 'client' ? clients : people).callerOf(signedIn),
    client: clients.byName,
    people,
    signingKeys: state.signingKeys,
    servers,
    server: (name) => byName.get(name),
    groups,
    group: (name) => groupsByName.get(name),
    listings: cache.listings,
    faults: [...faults, ...permits.faults],
    policies: state.policies,
    permits,
    pages: createPageCache(),
    scopes: new LRUCache({ max: MAX_SCOPES }),
    parts: new LRUCache({ max: MAX_SCOPES }),
    overrides: cache.overrides
  }
}

export const emptyCatalog: Catalog = buildCatalog({
  version: '0',
  initialized: false,
  servers: [],
  groups: [],
  principals: [],
  policies: [],
  teams: [],
  tombstones: [],
  signingKeys: []
})
