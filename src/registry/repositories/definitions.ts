import { sql } from 'kysely'
import { AppError } from '../../lib/errors.ts'
import type { DefinitionPolicy, DefinitionState } from '../../domain/definitions/kinds.ts'
import { spellFingerprint } from '../../domain/definitions/canonical.ts'
import type { Negotiation, ServerSettings } from '../model/model.ts'
import type { Db } from '../model/tables.ts'
import { findServer, revisionColumns, type WriteContext } from './context.ts'
import { keyOf, originOfServer, type DefinitionRef } from './pins.ts'

/** A definition that an administrator has seen */
export interface SeenDefinition extends DefinitionRef {
  readonly server: string
  /** Fingerprint that it had */
  readonly fingerprint: string
}

/** A definition that was decided on, with the fingerprint of the one that was accepted before */
interface Decided extends DefinitionRef {
  readonly pinned: string | null
}

/** Stores a decision on definitions of one server, and returns those on which it differs from the one before. */
type Decide = (serverId: string, items: readonly SeenDefinition[]) => Promise<readonly Decided[]>

const labelOf = ({ server, kind, name }: SeenDefinition) => `${server} ${kind} ${name}`

const changedMeanwhile = (stale: readonly SeenDefinition[]) =>
  new AppError(409, `the server has changed these again, or lists them no longer: ${stale.map(labelOf).join(', ')}`, {
    code: 'definition_changed'
  })

const acceptedMeanwhile = (accepted: readonly SeenDefinition[]) =>
  new AppError(409, `these have been accepted meanwhile: ${accepted.map(labelOf).join(', ')}`, {
    code: 'definition_accepted'
  })

const listed = (items: readonly SeenDefinition[]) =>
  sql`unnest(${items.map(({ kind }) => kind)}::text[], ${items.map(({ name }) => name)}::text[]) as seen (kind, name)`

/** Returns the definitions that are no longer as they were seen, and of the others those that are accepted. */
async function readDecided(db: Db, serverId: string, items: readonly SeenDefinition[]) {
  const { rows } = await sql<DefinitionRef & { canonical: string; state: DefinitionState }>`
    select items.kind, items.name, items.canonical, items.state from items join ${listed(items)}
      on items.kind = seen.kind and items.name = seen.name
    where items.server_id = ${serverId}::uuid and items.position is not null`.execute(db)
  const present = new Map(rows.map((row) => [keyOf(row), row]))
  const isStale = (item: SeenDefinition) => present.get(keyOf(item))?.canonical !== item.fingerprint
  return {
    stale: items.filter(isStale),
    accepted: items.filter((item) => !isStale(item) && present.get(keyOf(item))!.state === 'accepted')
  }
}

const acceptIn =
  (db: Db, actor: string): Decide =>
  async (serverId, items) => {
    const { rows } = await sql<Decided>`
      update items set
        pinned = items.canonical, accepted = null, state = 'accepted', accepted_by = ${actor}::text, accepted_at = now()
      from items as old join ${listed(items)} on old.kind = seen.kind and old.name = seen.name
      where old.server_id = ${serverId}::uuid and items.server_id = old.server_id and items.kind = old.kind
        and items.name = old.name and items.state <> 'accepted'
      returning items.kind, items.name, old.pinned`.execute(db)
    if (rows.length > 0) await noteOrigin(db, serverId)
    return rows
  }

const rejectIn =
  (db: Db): Decide =>
  async (serverId, items) => {
    const { rows } = await sql<Decided>`
      update items set state = 'rejected' from ${listed(items)}
      where items.server_id = ${serverId}::uuid and items.kind = seen.kind and items.name = seen.name
        and items.state in ('new', 'changed')
      returning items.kind, items.name, items.pinned`.execute(db)
    return rows
  }

/** Notes where a server is, once nothing of it is held. */
async function noteOrigin(db: Db, serverId: string): Promise<void> {
  const held = await db
    .selectFrom('items')
    .select('name')
    .where('server_id', '=', serverId)
    .where('position', 'is not', null)
    .where('state', '<>', 'accepted')
    .limit(1)
    .executeTakeFirst()
  if (held) return
  const { settings, negotiation } = await db
    .selectFrom('servers')
    .select(['settings', 'negotiation'])
    .where('id', '=', serverId)
    .executeTakeFirstOrThrow()
  const origin = originOfServer(
    JSON.parse(settings) as ServerSettings,
    negotiation === null ? null : (JSON.parse(negotiation) as Negotiation)
  )
  await db
    .updateTable('servers')
    .set({ accepted_origin: JSON.stringify(origin) })
    .where('id', '=', serverId)
    .execute()
}

/**
 * Sets the policy of a server for definitions; null: that of the gateway. The server is not contacted. Throws a 404
 * AppError for an unknown server.
 */
async function setPolicy(
  { db, version, recordEffect }: Pick<WriteContext, 'db' | 'version' | 'recordEffect'>,
  name: string,
  policy: DefinitionPolicy | null
): Promise<void> {
  const { id } = await findServer(db, name)
  const row = await db.selectFrom('servers').select('settings').where('id', '=', id).executeTakeFirstOrThrow()
  const { definitions: before = null, ...rest } = JSON.parse(row.settings) as ServerSettings
  if (before === policy) return
  const settings: ServerSettings = { ...rest, ...(policy === null ? {} : { definitions: policy }) }
  await db
    .updateTable('servers')
    .set({ settings: JSON.stringify(settings), ...revisionColumns(version) })
    .where('id', '=', id)
    .execute()
  recordEffect({ before: { definitions: before }, after: { definitions: policy } })
}

/**
 * Creates the repository of decisions on definitions for a write. Each decides on all or none: if the server has changed
 * one of them since it was seen, or somebody has accepted one that is rejected, a 409 AppError names it. Throws a 404
 * AppError for an unknown server.
 */
export function createDefinitionRepository({ db, version, actor, recordEffect }: WriteContext) {
  const decide = async (seen: readonly SeenDefinition[], work: Decide, isAccepted: boolean) => {
    const names = [...new Set(seen.map(({ server }) => server))]
    const found: { readonly id: string; readonly items: readonly SeenDefinition[] }[] = []
    for (const name of names) {
      const { id } = await findServer(db, name)
      found.push({ id, items: seen.filter(({ server }) => server === name) })
    }
    const stale: SeenDefinition[] = []
    const accepted: SeenDefinition[] = []
    for (const { id, items } of found) {
      const read = await readDecided(db, id, items)
      stale.push(...read.stale)
      accepted.push(...read.accepted)
    }
    if (stale.length > 0) throw changedMeanwhile(stale)
    // nothing would be held although the answer says so
    if (!isAccepted && accepted.length > 0) throw acceptedMeanwhile(accepted)
    const before: [string, string][] = []
    const after: [string, string][] = []
    for (const { id, items } of found) {
      const decided = new Map((await work(id, items)).map((item) => [keyOf(item), item]))
      if (decided.size === 0) continue
      await db.updateTable('servers').set(revisionColumns(version)).where('id', '=', id).execute()
      for (const item of items.filter((each) => decided.has(keyOf(each)))) {
        const { pinned } = decided.get(keyOf(item))!
        if (pinned !== null) before.push([labelOf(item), spellFingerprint(pinned)])
        after.push([labelOf(item), spellFingerprint(item.fingerprint)])
      }
    }
    if (after.length === 0) return
    const member = isAccepted ? 'accepted' : 'rejected'
    recordEffect({ before: { [member]: Object.fromEntries(before) }, after: { [member]: Object.fromEntries(after) } })
  }
  return {
    setPolicy: (server: string, policy: DefinitionPolicy | null) =>
      setPolicy({ db, version, recordEffect }, server, policy),
    /** The present definitions become the accepted ones. */
    accept: (seen: readonly SeenDefinition[]) => decide(seen, acceptIn(db, actor), true),
    /** The definitions stay held, and need no attention until the server changes them again. */
    reject: (seen: readonly SeenDefinition[]) => decide(seen, rejectIn(db), false)
  }
}
