import {
  INSTRUCTIONS,
  definitionKinds,
  type DefinitionKind,
  type DefinitionPolicy
} from '../../domain/definitions/kinds.ts'
import { countedOf, spellFingerprint, type CountedMembers } from '../../domain/definitions/canonical.ts'
import { warningsOf } from '../../domain/definitions/warnings.ts'
import { splitName } from '../../domain/names.ts'
import { markedText } from '../../domain/text/hidden-characters.ts'
import type { Caller } from '../../catalog/caller.ts'
import type { Catalog, CatalogGroup, CatalogServer } from '../../catalog/catalog.ts'
import { groupOf } from '../../catalog/endpoint.ts'
import { splitNamedAddress } from '../../catalog/resource-uris.ts'
import { definitionPolicyOf } from '../../catalog/served-definitions.ts'
import { invalid, notFound } from '../../lib/errors.ts'
import { createTimeSlice } from '../../lib/time-slice.ts'
import type { CallObservation } from '../../observe/observation.ts'
import type { StoredDefinition } from '../../registry/model/model.ts'
import type { Registry } from '../../registry/registry.ts'
import type { SeenDefinition } from '../../registry/repositories/definitions.ts'
import { originOfServer } from '../../registry/repositories/pins.ts'
import type { Definition, DefinitionChange, DefinitionPage, Lock, StateFilter } from '../../schemas/definition.ts'
import { auditChange } from '../audit-change.ts'

/** Selection of definitions and the end of the page before. */
export interface DefinitionQuery {
  readonly state?: StateFilter | undefined
  readonly server?: string | undefined
  readonly cursor?: string | undefined
}

/** Numbers of definitions that nobody has accepted, by their state. */
export type HeldCounts = Readonly<Record<'new' | 'changed' | 'rejected', number>>

/** Review of definitions (pinned-definitions.md). Methods throw or reject with AppError. */
export interface Definitions {
  /** Resolves with a page of definitions, sorted by server, kind and name. 400 for a malformed cursor, 404 for a server. */
  list(query: DefinitionQuery): Promise<DefinitionPage>
  /** Accepts definitions, all or none. 404, 409 if one has changed since it was seen. */
  accept(caller: Caller, seen: readonly SeenDefinition[]): Promise<void>
  /** Takes definitions out of sight until they change again. 404, 409, also if one has been accepted since. */
  reject(caller: Caller, seen: readonly SeenDefinition[]): Promise<void>
  /** Sets the policy of a server, without contacting it; null: that of the gateway. 404. */
  setPolicy(caller: Caller, server: string, policy: DefinitionPolicy | null): Promise<void>
  /** Returns the fingerprints of all accepted definitions by server, as server files carry them. */
  lock(): Lock
  counts(): HeldCounts
  /**
   * Returns since when the definition of the item of a call has been held, as ISO time; undefined if it is not. `item`:
   * its name at the server, or the name in the request to `endpoint` if `server` is absent.
   */
  heldSince(call: HeldCall): string | undefined
}

/** Item of a call as the log names it. */
type HeldCall = Pick<CallObservation, 'kind' | 'server' | 'item' | 'endpoint'>

const PAGE_LENGTH = 100
/** A page ends early after an entry beyond this size, in UTF-16 units. */
const PAGE_SIZE = 4_194_304

interface Entry {
  readonly kind: DefinitionKind
  readonly name: string
  readonly stored: StoredDefinition
}

type Position = readonly [server: string, kind: number, name: string]

const compareTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const comparePositions = (a: Position, b: Position) =>
  compareTexts(a[0], b[0]) || a[1] - b[1] || compareTexts(a[2], b[2])
const positionOf = (server: string, { kind, name }: Entry): Position => [server, definitionKinds.indexOf(kind), name]

const encodeCursor = (position: Position) => Buffer.from(JSON.stringify(position)).toString('base64url')

function decodeCursor(cursor: string): Position {
  try {
    const [server, kind, name] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (typeof server === 'string' && typeof kind === 'number' && typeof name === 'string') return [server, kind, name]
  } catch {
    // fails like other values
  }
  throw invalid('"cursor" is not one that this list has given')
}

const entriesOf = ({ present: { items, instructions } }: CatalogServer): Entry[] => [
  ...items.map((stored) => ({ kind: stored.kind, name: stored.name, stored })),
  ...(instructions === null ? [] : [{ kind: INSTRUCTIONS, name: INSTRUCTIONS, stored: instructions } as const])
]

const matches = (filter: StateFilter, { state }: StoredDefinition) =>
  filter === 'all' || (filter === 'held' ? state === 'new' || state === 'changed' : state === filter)

const none: CountedMembers = new Map()

/** Returns the members of a definition, none if it cannot be read. */
function membersOf(kind: DefinitionKind, definition: string): CountedMembers {
  try {
    return countedOf(kind, definition)
  } catch {
    return none
  }
}

/** Returns a member for people: a text as it is, other values as JSON; hidden characters are marked. */
function shownText(json: string | undefined): string | null {
  if (json === undefined) return null
  const value: unknown = json.startsWith('"') ? JSON.parse(json) : json
  return markedText(value as string)
}

function changesOf(before: CountedMembers, after: CountedMembers): DefinitionChange[] {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return names.flatMap((member) => {
    const [old, now] = [before.get(member), after.get(member)]
    return old === now ? [] : [{ member: markedText(member), before: shownText(old), after: shownText(now) }]
  })
}

/** Returns what differs between where a server is and where it was when its definitions were accepted. */
function originChanges({ present }: CatalogServer): DefinitionChange[] {
  const { acceptedOrigin, settings, negotiation } = present
  if (acceptedOrigin === null) return []
  const origin = originOfServer(settings, negotiation)
  return (['server_info_name', 'command', 'url'] as const).flatMap((member) => {
    const [before, after] = [acceptedOrigin[member], origin[member]]
    const shown = (text: string | null) => (text === null ? null : markedText(text))
    return before === after ? [] : [{ member, before: shown(before), after: shown(after) }]
  })
}

const ownersByCatalog = new WeakMap<Catalog, Map<string, string | null>>()

/** Returns the server of each tool's name, qualified and bare; null for a name that several servers use. */
function toolOwners(catalog: Catalog): Map<string, string | null> {
  const known = ownersByCatalog.get(catalog)
  if (known) return known
  const owners = new Map<string, string | null>()
  for (const server of catalog.servers) {
    for (const { name, publicName } of server.items('tool')) {
      for (const each of new Set([name, publicName])) {
        const owner = owners.get(each)
        owners.set(each, owner === undefined || owner === server.name ? server.name : null)
      }
    }
  }
  ownersByCatalog.set(catalog, owners)
  return owners
}

/** Returns the names of tools that only other servers have. */
function otherTools(catalog: Catalog, own: CatalogServer) {
  const owners = toolOwners(catalog)
  return {
    has: (name: string) => owners.has(name) && owners.get(name) !== own.name && own.find('tool', name) === undefined
  }
}

function definitionOf(catalog: Catalog, server: CatalogServer, entry: Entry, byDefault: DefinitionPolicy): Definition {
  const { kind, name, stored } = entry
  const { state, changedAt, canonical, pinned, accepted } = stored
  const common = {
    ...{ server: server.name, kind, name, state, since: changedAt },
    policy: definitionPolicyOf(server.present, byDefault),
    fingerprint: spellFingerprint(canonical),
    ...(pinned === null ? {} : { pinned_fingerprint: spellFingerprint(pinned) })
  }
  if (state === 'accepted') return { ...common, changes: [], warnings: [] }
  const present = membersOf(kind, stored.definition)
  const pin = accepted === null ? undefined : membersOf(kind, accepted)
  const origin = originChanges(server)
  return {
    ...common,
    changes: changesOf(pin ?? none, present),
    warnings: warningsOf(kind, present, pin, otherTools(catalog, server)).map(({ rule, member }) => ({
      rule,
      member: markedText(member)
    })),
    ...(origin.length === 0 ? {} : { origin })
  }
}

/** Server and name at the server, perhaps an alias, of the item of a call. Without a server it may be that of any. */
interface CalledItem {
  readonly server: string | undefined
  readonly name: string
}

/** Returns the tool to which a group gives a name, held or not. */
function renamedIn({ overrides }: CatalogGroup, name: string): CalledItem | undefined {
  const found = [...overrides].find(([, { override }]) => override.name === name)
  return found && splitName(found[0])
}

/** Returns the item of a call, which the caller need not be able to use. */
function itemOf(catalog: Catalog, { kind, server, item = '', endpoint }: HeldCall): CalledItem {
  if (server !== undefined) return { server, name: item }
  const group = catalog.group(groupOf(endpoint) ?? '')
  const renamed = kind === 'tool' ? group && renamedIn(group, item) : undefined
  if (renamed) return renamed
  if (group?.isBare) return { server: [...group.selections.keys()][0], name: item }
  const split = kind === 'resource' ? splitNamedAddress(item) : splitName(item)
  if (split === undefined) return { server: undefined, name: item }
  return { server: split.server, name: 'uri' in split ? split.uri : split.name }
}

function heldSince(catalog: Catalog, call: HeldCall): string | undefined {
  const { server, name } = itemOf(catalog, call)
  const kind = call.kind === 'completion' ? 'prompt' : call.kind
  for (const each of catalog.servers) {
    if (server !== undefined && each.name !== server) continue
    const since = each.heldSince(kind, name) ?? each.find(kind, name)?.stored.present?.changedAt
    if (since !== undefined) return since
  }
  return undefined
}

const heldCounts = new WeakMap<CatalogServer, HeldCounts>()

/** Counts the definitions of a server that nobody has accepted. */
export function heldCountsOf(server: CatalogServer): HeldCounts {
  const known = heldCounts.get(server)
  if (known) return known
  const counts = { new: 0, changed: 0, rejected: 0 }
  for (const { stored } of entriesOf(server)) if (stored.state !== 'accepted') counts[stored.state]++
  heldCounts.set(server, counts)
  return counts
}

/** Creates the review of definitions. `byDefault`: policy of servers without one of their own. */
export function createDefinitions(
  registry: Pick<Registry, 'write'>,
  catalog: () => Catalog,
  byDefault: DefinitionPolicy
): Definitions {
  const serversOf = (name: string | undefined): readonly CatalogServer[] => {
    if (name === undefined) return catalog().servers
    const server = catalog().server(name)
    if (!server) throw notFound('server', name)
    return [server]
  }
  const targetOf = (seen: readonly SeenDefinition[]) => [...new Set(seen.map(({ server }) => server))].join(', ')

  return {
    async list({ state = 'held', server: only, cursor }) {
      const after = cursor === undefined ? undefined : decodeCursor(cursor)
      const current = catalog()
      const slice = createTimeSlice()
      const items: Definition[] = []
      let size = 0
      for (const server of serversOf(only)) {
        if (after && server.name < after[0]) continue
        const matching = entriesOf(server)
          .filter(({ stored }) => matches(state, stored))
          .map((entry) => ({ entry, position: positionOf(server.name, entry) }))
          .filter(({ position }) => !after || comparePositions(position, after) > 0)
          .sort((a, b) => comparePositions(a.position, b.position))
        for (const { entry } of matching) {
          const last = items.at(-1)
          if (last && (items.length === PAGE_LENGTH || size > PAGE_SIZE)) {
            const end: Position = [last.server, definitionKinds.indexOf(last.kind), last.name]
            return { items, next_cursor: encodeCursor(end) }
          }
          // texts of servers are searched, which takes long for long ones
          if (slice.isOver) await slice.next()
          const definition = definitionOf(current, server, entry, byDefault)
          size += JSON.stringify(definition).length
          items.push(definition)
        }
      }
      return { items }
    },
    async accept(caller, seen) {
      await registry.write(auditChange(caller, 'definition.accept', targetOf(seen)), (tx) =>
        tx.definitions.accept(seen)
      )
    },
    async reject(caller, seen) {
      await registry.write(auditChange(caller, 'definition.reject', targetOf(seen)), (tx) =>
        tx.definitions.reject(seen)
      )
    },
    async setPolicy(caller, server, policy) {
      const change = auditChange(caller, 'server.definitions', server)
      await registry.write(change, (tx) => tx.definitions.setPolicy(server, policy))
    },
    lock: () => ({
      servers: Object.fromEntries(
        catalog().servers.map((server) => [
          server.name,
          {
            pins: Object.fromEntries(
              entriesOf(server)
                .filter(({ stored }) => stored.pinned !== null)
                .toSorted((a, b) => comparePositions(positionOf('', a), positionOf('', b)))
                .map(({ kind, name, stored }) => [`${kind} ${name}`, spellFingerprint(stored.pinned!)])
            )
          }
        ])
      )
    }),
    heldSince: (call) => heldSince(catalog(), call),
    counts() {
      const all = catalog().servers.map(heldCountsOf)
      const sum = (state: keyof HeldCounts) => all.reduce((total, counts) => total + counts[state], 0)
      return { new: sum('new'), changed: sum('changed'), rejected: sum('rejected') }
    }
  }
}
