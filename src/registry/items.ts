import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { findServer, touched, type WriteContext } from './context.ts'
import type { ItemKind, OfferedItem } from './model.ts'
import type { Db } from './tables.ts'

/** One item of a server: own name of a tool or prompt, `uri` of a resource, `uriTemplate` of a template. */
export interface ItemRef {
  readonly kind: ItemKind
  readonly name: string
}

/** How an offer differs from what is stored, in the upstream's order; `unchanged` also says that no item has moved. */
export interface Difference {
  readonly added: readonly ItemRef[]
  readonly removed: readonly ItemRef[]
  readonly changed: readonly ItemRef[]
  readonly unchanged: boolean
}

/** By kind and name; what an audit row tells of definitions. */
export type Fingerprints = Readonly<Record<string, string>>

/** A difference with the fingerprints of what differs. */
export interface StoredDifference extends Difference {
  readonly before: Fingerprints
  readonly after: Fingerprints
}

interface Placed extends OfferedItem {
  readonly position: number
  readonly fingerprint: string
}

type Known = Awaited<ReturnType<typeof readKnown>>[number]

/**
 * Makes a server's stored items those of the offer. Items that stay keep their switch, as does a disabled one that goes; of
 * one that comes back it is known what it was.
 */
export async function storeItems(db: Db, serverId: string, offered: readonly OfferedItem[]): Promise<StoredDifference> {
  const known = new Map((await readKnown(db, serverId)).map((item) => [keyOf(item), item]))
  const placed = place(offered)
  const isHere = (item: Known | undefined) => item !== undefined && item.position !== null
  const before = (item: Placed) => known.get(keyOf(item))

  const removed = [...known.values()].filter((item) => isHere(item) && !placed.has(keyOf(item)))
  const added = [...placed.values()].filter((item) => !isHere(before(item)))
  const changed = [...placed.values()].filter((item) => isHere(before(item)) && isAltered(before(item)!, item))
  const moved = [...placed.values()].filter((item) => isMoved(before(item), item))

  await retire(db, serverId, removed)
  await upsert(db, serverId, [...added, ...changed, ...moved])
  const count = removed.length + added.length + changed.length + moved.length
  return {
    added: refs(added),
    removed: refs(removed),
    changed: refs(changed),
    unchanged: count === 0,
    before: fingerprints([...removed, ...changed.map((item) => before(item)!)]),
    after: fingerprints([...added, ...changed])
  }
}

/** Of everything that a server offers at present. */
export async function readFingerprints(db: Db, serverId: string): Promise<Fingerprints> {
  return fingerprints((await readKnown(db, serverId)).filter(({ position }) => position !== null))
}

const fingerprints = (items: readonly (ItemRef & { fingerprint: string })[]): Fingerprints =>
  Object.fromEntries(items.map((item) => [keyOf(item), item.fingerprint]))

/** What a write may do to the items of a server. */
export function createItems({ db, version, touch }: WriteContext) {
  return {
    /**
     * Switches the named items, or all of a kind (null). Returns own names of those that the server offers at present,
     * in the upstream's order, whether or not their switch differed. 404 AppError for an unknown server.
     */
    async setEnabled(serverName: string, kind: ItemKind, names: string[] | null, enabled: boolean): Promise<string[]> {
      const { id } = await findServer(db, serverName)
      const affected = await readSwitches(db, id, kind, names)
      const differing = affected.filter((item) => item.enabled !== enabled).map((item) => item.name)
      await setSwitches(db, id, kind, differing, enabled)
      const freed = names === null && enabled ? await enableAbsent(db, id, kind) : 0n
      if (differing.length > 0 || freed > 0n) {
        await db.updateTable('servers').set(touched(version)).where('id', '=', id).execute()
        touch({ before: states(kind, differing, !enabled), after: states(kind, differing, enabled) })
      }
      return affected.map((item) => item.name)
    },

    /** What the server says of this item now is what somebody has looked at. 404 AppError for an unknown server. */
    async accept(serverName: string, { kind, name }: ItemRef): Promise<void> {
      const { id } = await findServer(db, serverName)
      const accepted = await db
        .updateTable('items')
        .set({ accepted: null })
        .where('server_id', '=', id)
        .where('kind', '=', kind)
        .where('name', '=', name)
        .where('accepted', 'is not', null)
        .returning('fingerprint')
        .executeTakeFirst()
      if (!accepted) return
      await db.updateTable('servers').set(touched(version)).where('id', '=', id).execute()
      touch({ after: { accepted: fingerprints([{ kind, name, ...accepted }]) } })
    }
  }
}

const states = (kind: ItemKind, names: readonly string[], enabled: boolean) => ({
  [`${kind}s_enabled`]: Object.fromEntries(names.map((name) => [name, enabled]))
})

/** Names of the enabled items that a server offers, in the upstream's order. */
export async function enabledNames(db: Db, serverId: string, kind: ItemKind): Promise<string[]> {
  const rows = await db
    .selectFrom('items')
    .select('name')
    .where('server_id', '=', serverId)
    .where('kind', '=', kind)
    .where('position', 'is not', null)
    .where('enabled', '=', true)
    .orderBy('position')
    .execute()
  return rows.map((row) => row.name)
}

const readSwitches = (db: Db, serverId: string, kind: ItemKind, names: string[] | null) =>
  db
    .selectFrom('items')
    .select(['name', 'enabled'])
    .where('server_id', '=', serverId)
    .where('kind', '=', kind)
    .where('position', 'is not', null)
    .$if(names !== null, (query) => query.where(sql<boolean>`name = any(${names}::text[])`))
    .orderBy('position')
    .execute()

async function setSwitches(db: Db, serverId: string, kind: ItemKind, names: string[], enabled: boolean): Promise<void> {
  if (names.length === 0) return
  await sql`update items set enabled = ${enabled}
    where server_id = ${serverId} and kind = ${kind} and name = any(${names}::text[])`.execute(db)
}

/** Enabling everything ends the remembered choices about items that are away. */
async function enableAbsent(db: Db, serverId: string, kind: ItemKind): Promise<bigint> {
  const { numUpdatedRows } = await db
    .updateTable('items')
    .set({ enabled: true })
    .where('server_id', '=', serverId)
    .where('kind', '=', kind)
    .where('position', 'is', null)
    .where('enabled', '=', false)
    .executeTakeFirstOrThrow()
  return numUpdatedRows
}

const readKnown = (db: Db, serverId: string) =>
  db
    .selectFrom('items')
    .select(['kind', 'name', 'position', 'enabled', 'fingerprint'])
    .where('server_id', '=', serverId)
    .orderBy('kind')
    .orderBy('position')
    .execute()

/** Positions count per kind. Of two items of one kind and name the first counts. */
function place(offered: readonly OfferedItem[]): Map<string, Placed> {
  const placed = new Map<string, Placed>()
  const counts = new Map<ItemKind, number>()
  for (const item of offered) {
    if (placed.has(keyOf(item))) continue
    const position = counts.get(item.kind) ?? 0
    counts.set(item.kind, position + 1)
    const fingerprint = createHash('sha256').update(item.definition).digest('hex')
    placed.set(keyOf(item), { ...item, position, fingerprint })
  }
  return placed
}

const keyOf = ({ kind, name }: ItemRef) => `${kind} ${name}`
const isAltered = (known: Known, item: Placed) => known.fingerprint !== item.fingerprint
const isMoved = (known: Known | undefined, item: Placed) =>
  known !== undefined && known.position !== null && known.position !== item.position && !isAltered(known, item)
const refs = (items: readonly ItemRef[]): ItemRef[] => items.map(({ kind, name }) => ({ kind, name }))

/** Enabled items of a server that are away: more are forgotten, the longest gone first. */
const MAX_ABSENT = 1_000

/** They stay as what they were: one that comes back under other words must not pass for the one that was accepted. */
async function retire(db: Db, serverId: string, items: readonly ItemRef[]): Promise<void> {
  if (items.length === 0) return
  const gone = sql`unnest(${items.map((item) => item.kind)}::text[], ${items.map((item) => item.name)}::text[]) as gone (kind, name)`
  await sql`update items set position = null, changed_at = now() from ${gone}
    where items.server_id = ${serverId} and items.kind = gone.kind and items.name = gone.name`.execute(db)
  await sql`delete from items using (
      select kind, name from items where server_id = ${serverId} and position is null and enabled
      order by changed_at desc, kind, name offset ${MAX_ABSENT}
    ) as old
    where items.server_id = ${serverId} and items.kind = old.kind and items.name = old.name`.execute(db)
}

/** One array a column: a statement takes at most 65,535 parameters. */
async function upsert(db: Db, serverId: string, items: readonly Placed[]): Promise<void> {
  if (items.length === 0) return
  await sql`
    insert into items (server_id, kind, name, position, definition, fingerprint)
    select ${serverId}::uuid, offered.* from unnest(
      ${items.map((item) => item.kind)}::text[],
      ${items.map((item) => item.name)}::text[],
      ${items.map((item) => item.position)}::integer[],
      ${items.map((item) => item.definition)}::text[],
      ${items.map((item) => item.fingerprint)}::text[]
    ) as offered
    on conflict (server_id, kind, name) do update set
      position = excluded.position,
      definition = excluded.definition,
      fingerprint = excluded.fingerprint,
      changed_at = case when items.fingerprint = excluded.fingerprint then items.changed_at else now() end,
      accepted = nullif(coalesce(items.accepted, items.definition), excluded.definition)
  `.execute(db)
}
