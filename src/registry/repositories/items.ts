import { INSTRUCTIONS } from '../../domain/definitions/kinds.ts'
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { findServer, revisionColumns, type WriteContext } from './context.ts'
import { instructionsDefinition } from '../../domain/definitions/canonical.ts'
import { createTimeSlice, type TimeSlice } from '../../lib/time-slice.ts'
import { createTurns } from '../../lib/turn-queue.ts'
import type { ItemKind, OfferedItem, UpstreamOffer } from '../model/model.ts'
import type { Db } from '../model/tables.ts'
import {
  canonicalOf,
  createComparison,
  isNewlyHeld,
  keyOf,
  seedPins,
  type DefinitionRef,
  type Pins,
  type ReadDefinition
} from './pins.ts'

/**
 * Item of a server, identified by its kind and its name in the upstream: a tool's or prompt's name, a resource's `uri`,
 * a template's `uriTemplate`
 */
export interface ItemRef {
  readonly kind: ItemKind
  readonly name: string
}

/** Difference between listed and stored items, in the upstream's order; `unchanged` is false if items only moved */
export interface ListDifference {
  readonly added: readonly ItemRef[]
  readonly removed: readonly ItemRef[]
  readonly changed: readonly ItemRef[]
  readonly unchanged: boolean
}

/** Fingerprints of definitions by kind and name, for audit rows */
export type Fingerprints = Readonly<Record<string, string>>

/** Difference with the fingerprints of the differing items, and with those of accepted and newly held definitions */
export interface StoredListDifference extends ListDifference {
  readonly before: Fingerprints
  readonly after: Fingerprints
  /** Undefined if no definition is held that was not held before */
  readonly held: { readonly before: Fingerprints; readonly after: Fingerprints } | undefined
  /** True if nothing of the server was known before */
  readonly isFirst: boolean
}

interface PositionedItem extends DefinitionRef {
  readonly definition: string
  readonly position: number
  readonly fingerprint: string
}

type StoredItemRow = Awaited<ReturnType<typeof readStoredItems>>[number]

/**
 * Synchronises a server's stored items with the listed ones. Remaining items keep their enabled flag and their accepted
 * definition, and so does a disabled item that disappears; the definitions of a disappeared item are kept in case it
 * returns. `pins`: fingerprints to accept, in place of what a first read accepts.
 */
export async function storeItems(
  { db, actor }: Pick<WriteContext, 'db' | 'actor'>,
  serverId: string,
  { items, negotiation }: Pick<UpstreamOffer, 'items' | 'negotiation'>,
  pins?: Pins
): Promise<StoredListDifference> {
  const known = new Map((await readStoredItems(db, serverId)).map((item) => [keyOf(item), item]))
  const definition = instructionsDefinition(negotiation.instructions)
  // all writers wait for this one: it shares its turns with no other queue, and passes none
  const slice = createTimeSlice(() => performance.now(), createTurns(0)())
  const positioned = await assignPositions([...items, { kind: INSTRUCTIONS, name: INSTRUCTIONS, definition }], slice)
  const isListed = (item: StoredItemRow | undefined) => item !== undefined && item.position !== null
  const before = (item: DefinitionRef) => known.get(keyOf(item))
  const compare = createComparison(known.size === 0, pins)
  const read = await compareAll(positioned, slice, (key, item) => compare(item, known.get(key)))
  const readOf = (item: DefinitionRef) => read.get(keyOf(item))!
  const isSettled = (item: PositionedItem) =>
    before(item)!.state === readOf(item).state && before(item)!.pinned === readOf(item).pinned

  const removed = [...known.values()].filter((item) => isListed(item) && !positioned.has(keyOf(item)))
  const added = [...positioned.values()].filter((item) => !isListed(before(item)))
  const present = [...positioned.values()].filter((item) => isListed(before(item)))
  const changed = present.filter((item) => isAltered(before(item)!, item))
  const decided = present.filter((item) => !isAltered(before(item)!, item) && !isSettled(item))
  const moved = present.filter((item) => isMoved(before(item), item) && isSettled(item))
  const held = [...positioned.values()].filter((item) => isNewlyHeld(before(item), readOf(item)))

  await markUnlisted(db, serverId, removed)
  await upsertItems(
    db,
    serverId,
    [...added, ...changed, ...decided, ...moved].map((item) => ({ ...item, ...readOf(item) })),
    actor
  )
  if (pins) await seedAbsent(db, serverId, pins, positioned)
  const count = removed.length + added.length + changed.length + decided.length + moved.length
  return {
    added: toRefs(added),
    removed: toRefs(removed),
    changed: toRefs(changed),
    unchanged: count === 0,
    before: toFingerprints([...removed, ...changed.map((item) => before(item)!)]),
    after: toFingerprints([...added, ...changed]),
    held:
      held.length === 0
        ? undefined
        : {
            before: Object.fromEntries(
              held.flatMap((item) => {
                const { pinned } = readOf(item)
                return pinned === null ? [] : [[keyOf(item), pinned]]
              })
            ),
            after: Object.fromEntries(held.map((item) => [keyOf(item), readOf(item).canonical]))
          },
    isFirst: known.size === 0
  }
}

/** Compares each item, a few milliseconds per turn of the event loop: the lists of a server may have megabytes. */
async function compareAll(
  items: ReadonlyMap<string, PositionedItem>,
  slice: TimeSlice,
  compare: (key: string, item: PositionedItem) => ReadDefinition
): Promise<Map<string, ReadDefinition>> {
  const read = new Map<string, ReadDefinition>()
  for (const [key, item] of items) {
    if (slice.isOver) await slice.next()
    read.set(key, compare(key, item))
  }
  return read
}

/** Returns the fingerprints of all currently listed items. */
export async function readFingerprints(db: Db, serverId: string): Promise<Fingerprints> {
  return toFingerprints((await readStoredItems(db, serverId)).filter(({ position }) => position !== null))
}

/** The audit log shows changed instructions itself. */
const isItem = ({ kind }: DefinitionRef) => kind !== INSTRUCTIONS

const toFingerprints = (items: readonly (DefinitionRef & { fingerprint: string })[]): Fingerprints =>
  Object.fromEntries(items.filter(isItem).map((item) => [keyOf(item), item.fingerprint]))

/** Creates the repository of a server's items for a write. */
export function createItemRepository({ db, version, recordEffect }: WriteContext) {
  return {
    /**
     * Enables or disables the named items, or all of a kind (null). Returns the upstream's names of those currently
     * listed, in the upstream's order, including items whose flag did not change. Throws a 404 AppError for an unknown
     * server.
     */
    async setEnabled(serverName: string, kind: ItemKind, names: string[] | null, enabled: boolean): Promise<string[]> {
      const { id } = await findServer(db, serverName)
      const affected = await readEnabledFlags(db, id, kind, names)
      const differing = affected.filter((item) => item.enabled !== enabled).map((item) => item.name)
      await setEnabledFlags(db, id, kind, differing, enabled)
      const enabledUnlisted = names === null && enabled ? await enableUnlisted(db, id, kind) : 0n
      if (differing.length > 0 || enabledUnlisted > 0n) {
        await db.updateTable('servers').set(revisionColumns(version)).where('id', '=', id).execute()
        recordEffect({ before: enabledFlags(kind, differing, !enabled), after: enabledFlags(kind, differing, enabled) })
      }
      return affected.map((item) => item.name)
    }
  }
}

const enabledFlags = (kind: ItemKind, names: readonly string[], enabled: boolean) => ({
  [`${kind}s_enabled`]: Object.fromEntries(names.map((name) => [name, enabled]))
})

/** Returns the names of a server's enabled and listed items, in the upstream's order. */
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

const readEnabledFlags = (db: Db, serverId: string, kind: ItemKind, names: string[] | null) =>
  db
    .selectFrom('items')
    .select(['name', 'enabled'])
    .where('server_id', '=', serverId)
    .where('kind', '=', kind)
    .where('position', 'is not', null)
    .$if(names !== null, (query) => query.where(sql<boolean>`name = any(${names}::text[])`))
    .orderBy('position')
    .execute()

async function setEnabledFlags(
  db: Db,
  serverId: string,
  kind: ItemKind,
  names: string[],
  enabled: boolean
): Promise<void> {
  if (names.length === 0) return
  await sql`update items set enabled = ${enabled}
    where server_id = ${serverId} and kind = ${kind} and name = any(${names}::text[])`.execute(db)
}

/** Enables unlisted items too, when all items of a kind are enabled. */
async function enableUnlisted(db: Db, serverId: string, kind: ItemKind): Promise<bigint> {
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

const readStoredItems = (db: Db, serverId: string) =>
  db
    .selectFrom('items')
    .select(['kind', 'name', 'position', 'enabled', 'fingerprint', 'canonical', 'pinned', 'state'])
    .where('server_id', '=', serverId)
    .orderBy('kind')
    .orderBy('position')
    .execute()

const digestOf = (definition: string) => createHash('sha256').update(definition).digest('hex')

/**
 * Makes the fingerprints of a definition before it is stored: lists can have megabytes, and other writers wait while
 * they are stored.
 */
export const prepareItem = ({ kind, definition }: OfferedItem): void =>
  void canonicalOf(kind, definition, digestOf(definition))

/**
 * Assigns positions, counted per kind, and fingerprints, a few milliseconds per turn of the event loop. Of items with the
 * same kind and name, the first is used.
 */
async function assignPositions(
  offered: readonly (OfferedItem | Omit<PositionedItem, 'position' | 'fingerprint'>)[],
  slice: TimeSlice
): Promise<Map<string, PositionedItem>> {
  const positioned = new Map<string, PositionedItem>()
  const counts = new Map<string, number>()
  for (const item of offered) {
    if (slice.isOver) await slice.next()
    const key = keyOf(item)
    if (positioned.has(key)) continue
    const position = counts.get(item.kind) ?? 0
    counts.set(item.kind, position + 1)
    const fingerprint = digestOf(item.definition)
    positioned.set(key, { ...item, position, fingerprint })
  }
  return positioned
}

const isAltered = (known: StoredItemRow, item: PositionedItem) => known.fingerprint !== item.fingerprint
const isMoved = (known: StoredItemRow | undefined, item: PositionedItem) =>
  known !== undefined && known.position !== null && known.position !== item.position && !isAltered(known, item)
const toRefs = (items: readonly DefinitionRef[]): ItemRef[] =>
  items.flatMap(({ kind, name }) => (kind === INSTRUCTIONS ? [] : [{ kind, name }]))

/** Maximum number of enabled, unlisted items kept per server; beyond it, the earliest to disappear are deleted */
const MAX_UNLISTED = 1_000

/**
 * Marks items as unlisted but keeps their definitions: an item that returns with another definition must not pass for
 * the accepted one. An item that was deleted here is new when it returns.
 */
async function markUnlisted(db: Db, serverId: string, items: readonly DefinitionRef[]): Promise<void> {
  if (items.length === 0) return
  const gone = sql`unnest(${items.map((item) => item.kind)}::text[], ${items.map((item) => item.name)}::text[]) as gone (kind, name)`
  await sql`update items set position = null, changed_at = now() from ${gone}
    where items.server_id = ${serverId} and items.kind = gone.kind and items.name = gone.name`.execute(db)
  await forgetOldest(db, serverId)
}

/** Deletes the unlisted items of a server that disappeared first. */
async function forgetOldest(db: Db, serverId: string): Promise<void> {
  await sql`delete from items using (
      select kind, name from items where server_id = ${serverId} and position is null and enabled
      order by changed_at desc, kind, name offset ${MAX_UNLISTED}
    ) as old
    where items.server_id = ${serverId} and items.kind = old.kind and items.name = old.name`.execute(db)
}

/** Keeps the pins of items that the upstream does not list, in case they come. */
async function seedAbsent(
  db: Db,
  serverId: string,
  pins: Pins,
  listed: { readonly has: (key: string) => boolean }
): Promise<void> {
  await seedPins(db, serverId, Object.fromEntries(Object.entries(pins).filter(([key]) => !listed.has(key))))
  await forgetOldest(db, serverId)
}

/** Inserts or updates items, passing one array per column because a statement takes at most 65,535 parameters. */
async function upsertItems(
  db: Db,
  serverId: string,
  items: readonly (PositionedItem & ReadDefinition)[],
  actor: string
): Promise<void> {
  if (items.length === 0) return
  await sql`
    insert into items (
      server_id, kind, name, position, definition, fingerprint, canonical, pinned, state, accepted_by, accepted_at
    )
    select ${serverId}::uuid, offered.*,
      case when offered.state = 'accepted' then ${actor}::text end,
      case when offered.state = 'accepted' then now() end
    from unnest(
      ${items.map((item) => item.kind)}::text[],
      ${items.map((item) => item.name)}::text[],
      ${items.map((item) => item.position)}::integer[],
      ${items.map((item) => item.definition)}::text[],
      ${items.map((item) => item.fingerprint)}::text[],
      ${items.map((item) => item.canonical)}::text[],
      ${items.map((item) => item.pinned)}::text[],
      ${items.map((item) => item.state)}::text[]
    ) as offered (kind, name, position, definition, fingerprint, canonical, pinned, state)
    on conflict (server_id, kind, name) do update set
      position = excluded.position,
      definition = excluded.definition,
      fingerprint = excluded.fingerprint,
      canonical = excluded.canonical,
      pinned = excluded.pinned,
      state = excluded.state,
      changed_at = case when items.canonical = excluded.canonical then items.changed_at else now() end,
      accepted = case
        when excluded.state = 'accepted' then null
        when items.canonical = excluded.pinned then items.definition
        when items.pinned = excluded.pinned then items.accepted
      end,
      accepted_by = case when items.pinned = excluded.pinned then items.accepted_by else excluded.accepted_by end,
      accepted_at = case when items.pinned = excluded.pinned then items.accepted_at else excluded.accepted_at end
  `.execute(db)
}
