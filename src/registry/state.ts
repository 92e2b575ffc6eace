import { INSTRUCTIONS, type DefinitionKind } from '../domain/definitions/kinds.ts'
import { sql } from 'kysely'
import { readGroups } from './repositories/groups.ts'
import { readPolicies } from './repositories/policies.ts'
import { readPrincipals } from './repositories/principals.ts'
import { readSigningKeys } from './repositories/signing-keys.ts'
import { readTeams } from './repositories/teams.ts'
import { readTombstones } from './tombstones.ts'
import type {
  DefinitionOrigin,
  LeftOut,
  Negotiation,
  RegistryState,
  ServerSettings,
  StoredItem,
  StoredServer
} from './model/model.ts'
import { serverColumns } from './repositories/server-rows.ts'
import { recordingLeft } from './repositories/recordings.ts'
import type { Db } from './model/tables.ts'

/** Servers whose rows are read by one statement, so that no query is unbounded */
const CHUNK_SIZE = 100

const serverStateColumns = [
  ...serverColumns,
  'left_out',
  'save_failure',
  'recorded_until',
  'accepted_origin',
  'revision',
  'registered_at',
  'updated_at'
] as const

/**
 * Returns the current state. Only rows whose revision differs from `previous` are read; all other objects are reused.
 */
export function loadState(db: Db, previous?: RegistryState): Promise<RegistryState> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const { version, initialized } = await readGatewayRow(trx)
      if (version === previous?.version) return previous
      const reusable = wasRestored(previous, version) ? undefined : previous
      const known = new Map(reusable?.servers.map((server) => [server.id, server]))
      const groups = await readGroups(trx, reusable?.groups)
      const principals = await readPrincipals(trx, reusable?.principals)
      const policies = await readPolicies(trx, reusable?.policies)
      const teams = await readTeams(trx, reusable?.teams)
      const tombstones = await readTombstones(trx, reusable?.tombstones)
      const signingKeys = await readSigningKeys(trx, reusable?.signingKeys)
      const revisions = await trx.selectFrom('servers').select(['id', 'revision']).execute()
      const stale = revisions.filter(({ id, revision }) => known.get(id)?.revision !== revision)
      const staleIds = stale.map((head) => head.id)
      const read = await readServers(trx, staleIds, known)
      const servers = revisions.map(({ id }) => read.get(id) ?? known.get(id)!)
      const sorted = servers.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      return { version, initialized, servers: sorted, groups, principals, policies, teams, tombstones, signingKeys }
    })
}

async function readGatewayRow(db: Db): Promise<{ version: string; initialized: boolean }> {
  const { version, initialized_at } = await db
    .selectFrom('gateway')
    .select(['version', 'initialized_at'])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  return { version, initialized: initialized_at !== null }
}

export async function readVersion(db: Db): Promise<string> {
  const { version } = await db.selectFrom('gateway').select('version').where('id', '=', 1).executeTakeFirstOrThrow()
  return version
}

/** Detects a database restored from a backup, which assigns known revisions again to other contents. */
const wasRestored = (previous: RegistryState | undefined, version: string) =>
  previous !== undefined && BigInt(version) < BigInt(previous.version)

type KnownServers = ReadonlyMap<string, StoredServer>

async function readServers(db: Db, ids: readonly string[], known: KnownServers): Promise<Map<string, StoredServer>> {
  const servers = new Map<string, StoredServer>()
  for (let at = 0; at < ids.length; at += CHUNK_SIZE) {
    for (const server of await readChunk(db, ids.slice(at, at + CHUNK_SIZE), known)) servers.set(server.id, server)
  }
  return servers
}

async function readChunk(db: Db, ids: readonly string[], known: KnownServers): Promise<StoredServer[]> {
  const rows = await db
    .selectFrom('servers')
    .select(serverStateColumns)
    .select(recordingLeft.as('recording_left'))
    .select((servers) =>
      servers.selectFrom('upstream_tokens').select('issuer').whereRef('server_id', '=', 'servers.id').as('issuer')
    )
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  const items = await readItems(db, ids, known)
  return rows.map(
    ({
      registered_at,
      updated_at,
      settings,
      negotiation,
      left_out,
      recorded_until,
      recording_left,
      save_failure,
      accepted_origin,
      ...row
    }) => {
      const read = items.get(row.id) ?? []
      const server: StoredServer = {
        ...row,
        settings: JSON.parse(settings) as ServerSettings,
        negotiation: negotiation === null ? null : (JSON.parse(negotiation) as Negotiation),
        ...(left_out === null ? {} : { leftOut: JSON.parse(left_out) as LeftOut }),
        saveFailure: save_failure,
        recording: recorded_until && {
          until: recorded_until.toISOString(),
          endsAt: performance.now() + (recording_left ?? 0)
        },
        registeredAt: registered_at.toISOString(),
        updatedAt: updated_at.toISOString(),
        acceptedOrigin: accepted_origin === null ? null : (JSON.parse(accepted_origin) as DefinitionOrigin),
        items: read.flatMap(({ item }) => (isListItem(item) ? [item] : [])),
        instructions: read.find(({ item }) => item.kind === INSTRUCTIONS)?.item ?? null
      }
      itemsRead.set(server, read)
      return server
    }
  )
}

/** An item or the instructions of a server, with the transaction that wrote the row: each content has another. */
interface ReadItem {
  readonly item: Omit<StoredItem, 'kind'> & { readonly kind: DefinitionKind }
  readonly writer: string
}

type Key = Pick<ReadItem['item'], 'kind' | 'name'>

const isListItem = (item: ReadItem['item']): item is StoredItem => item.kind !== INSTRUCTIONS

/** Items of each server as they were last read, in order. */
const itemsRead = new WeakMap<StoredServer, readonly ReadItem[]>()

const headColumns = ['server_id', 'kind', 'name', sql<string>`xmin::text`.as('writer')] as const
const itemColumns = [
  ...headColumns,
  ...(['enabled', 'definition', 'fingerprint', 'changed_at', 'accepted', 'state', 'canonical', 'pinned'] as const)
] as const

const itemKey = ({ kind, name }: Key) => `${kind} ${name}`

const isSame = (one: ReadItem['item'], other: ReadItem['item']) =>
  one.enabled === other.enabled &&
  one.fingerprint === other.fingerprint &&
  one.definition === other.definition &&
  one.changedAt === other.changedAt &&
  one.state === other.state &&
  one.canonical === other.canonical &&
  one.pinned === other.pinned &&
  one.accepted === other.accepted

/** Returns a function that is called for each item in order, and returns it as it was read before. */
function createFinder(server: StoredServer | undefined) {
  const known = (server && itemsRead.get(server)) ?? []
  let at = 0
  let byKey: ReadonlyMap<string, ReadItem> | undefined
  return (key: Key): ReadItem | undefined => {
    // most lists keep their order
    const next = known[at++]
    if (next?.item.name === key.name && next.item.kind === key.kind) return next
    byKey ??= new Map(known.map((each) => [itemKey(each.item), each]))
    return byKey.get(itemKey(key))
  }
}

const listedItems = (db: Db, ids: readonly string[]) =>
  db
    .selectFrom('items')
    .where(sql<boolean>`server_id = any(${ids}::uuid[])`)
    .where('position', 'is not', null)
    .orderBy('server_id')
    .orderBy('kind')
    .orderBy('position')

interface Head extends Key {
  readonly server_id: string
}

/** An item in its place in the lists, and as it was read before. */
interface Place {
  readonly head: Head & Pick<ReadItem, 'writer'>
  readonly before: ReadItem | undefined
}

const rowKey = (head: Head) => `${head.server_id} ${itemKey(head)}`

/** Reads the rows of all items of servers, or of these. */
function readRows(db: Db, ids: readonly string[], heads?: readonly Head[]) {
  const rows = listedItems(db, ids).select(itemColumns)
  if (!heads) return rows.execute()
  const keys = heads.map(rowKey)
  return rows.where(sql<boolean>`server_id || ' ' || kind || ' ' || name = any(${keys}::text[])`).execute()
}

/**
 * Returns the item of a row. Of the same content it is the object of `before`: what the catalog made of an item is kept
 * with its object.
 */
function toItem(row: Awaited<ReturnType<typeof readRows>>[number], before?: ReadItem): ReadItem {
  const { server_id: _, writer, changed_at, ...item } = row
  const read = { ...item, changedAt: changed_at.toISOString() }
  return { item: before && isSame(read, before.item) ? before.item : read, writer }
}

/** Reads the rows of the places whose row another transaction has written since, by `rowKey`. */
async function readChanged(db: Db, ids: readonly string[], places: readonly Place[]) {
  const changed = places.flatMap(({ head, before }) => (before?.writer === head.writer ? [] : [head]))
  const rows = changed.length === 0 ? [] : await readRows(db, ids, changed)
  return new Map(rows.map((row) => [rowKey(row), row]))
}

/**
 * Reads the items of servers, by server. Definitions are long: of an item that was read before, the row is read only if
 * another transaction has written it since.
 */
async function readItems(db: Db, ids: readonly string[], known: KnownServers): Promise<Map<string, ReadItem[]>> {
  const items = new Map<string, ReadItem[]>(ids.map((id) => [id, []]))
  if (!ids.some((id) => known.has(id))) {
    for (const row of await readRows(db, ids)) items.get(row.server_id)!.push(toItem(row))
    return items
  }
  const finders = new Map(ids.map((id) => [id, createFinder(known.get(id))]))
  const heads = await listedItems(db, ids).select(headColumns).execute()
  const places = heads.map((head) => ({ head, before: finders.get(head.server_id)!(head) }))
  const rows = await readChanged(db, ids, places)
  for (const { head, before } of places) {
    const row = rows.get(rowKey(head))
    items.get(head.server_id)!.push(row ? toItem(row, before) : before!)
  }
  return items
}
