import { difference } from '../domain/difference.ts'
import { sql, type Insertable } from 'kysely'
import type { Effect } from './context.ts'
import type { Act, AuditEntry, AuditQuery, Change, Outcome } from './model.ts'
import type { Db, Tables } from './tables.ts'

export type AuditRow = Insertable<Tables['audit_log']>

/** An act as a row, without what came of it. */
export const rowOf = ({ actor, action, target, address, requestId }: Act, outcome: Outcome) => ({
  actor_kind: actor.kind,
  actor: actor.name,
  action,
  target,
  outcome,
  address: address ?? null,
  request_id: requestId ?? null
})

/** For what changes nothing and is still to be known of. */
export async function recordAct(db: Db, act: Act): Promise<void> {
  await db.insertInto('audit_log').values(rowOf(act, 'ok')).execute()
}

export async function recordRows(db: Db, rows: readonly AuditRow[]): Promise<void> {
  await db.insertInto('audit_log').values(rows).execute()
}

/** One row for everything that a write did. */
export async function recordChange(db: Db, change: Change, version: string, effects: readonly Effect[]): Promise<void> {
  const { changed, before, after } = difference(
    Object.assign({}, ...effects.map((effect) => effect.before)),
    Object.assign({}, ...effects.map((effect) => effect.after))
  )
  const what = {
    changed: JSON.stringify(changed),
    before: JSON.stringify(before),
    after: JSON.stringify(after),
    version
  }
  await db
    .insertInto('audit_log')
    .values({ ...rowOf(change, 'ok'), ...what })
    .execute()
}

const columns = [
  'id',
  'at',
  'actor_kind',
  'actor',
  'action',
  'target',
  'outcome',
  'reason',
  'endpoint',
  'address',
  'request_id',
  'count',
  'changed',
  'before',
  'after',
  'version'
] as const

/** The newest first. */
export async function readAudit(db: Db, query: AuditQuery): Promise<AuditEntry[]> {
  const { actor, action, target, outcome, from, to, before, limit } = query
  let rows = db.selectFrom('audit_log').select(columns)
  if (actor !== undefined) rows = rows.where('actor', '=', actor)
  if (action !== undefined) rows = rows.where('action', '=', action)
  if (target !== undefined) rows = rows.where('target', '=', target)
  if (outcome !== undefined) rows = rows.where('outcome', '=', outcome)
  if (from !== undefined) rows = rows.where('at', '>=', new Date(from))
  if (to !== undefined) rows = rows.where('at', '<', new Date(to))
  if (before !== undefined) rows = rows.where('id', '<', before)
  return (await rows.orderBy('id', 'desc').limit(limit).execute()).map(toEntry)
}

type Selected = Record<(typeof columns)[number], unknown>

const json = (text: unknown): unknown => (text === null ? null : JSON.parse(text as string))

/** Members that a row does not have are absent, not null. */
function toEntry({ at, changed, before, after, ...row }: Selected): AuditEntry {
  const entry = {
    ...row,
    at: (at as Date).toISOString(),
    changed: json(changed),
    before: json(before),
    after: json(after)
  }
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null)) as unknown as AuditEntry
}

/** Rows that one statement deletes: it must not hold up others. */
const DELETED_AT_ONCE = 5_000
const ROUNDS = 20
/** Any number that nothing else locks. */
const EXPIRY_LOCK = 7_203_401

/** Deletes what is older than so many days, a bounded number of rows; one process at a time does. How many it were. */
export async function expireAudit(db: Db, days: number): Promise<number> {
  let deleted = 0
  for (let round = 0; round < ROUNDS; round++) {
    const count = await db.transaction().execute((trx) => deleteSome(trx, days))
    deleted += count
    if (count < DELETED_AT_ONCE) break
  }
  return deleted
}

async function deleteSome(db: Db, days: number): Promise<number> {
  const { rows } = await sql<{ free: boolean }>`select pg_try_advisory_xact_lock(${EXPIRY_LOCK}) as free`.execute(db)
  if (!rows[0]!.free) return 0
  const result = await sql`
    delete from audit_log where id in (
      select id from audit_log where at < now() - make_interval(days => ${days}) order by at limit ${DELETED_AT_ONCE}
    )`.execute(db)
  return Number(result.numAffectedRows ?? 0n)
}

const HOUR_MS = 3_600_000

/** The first time soon, for a process that never lives an hour; not at once, for one that must start quickly. */
export function expireHourly(db: Db, days: number, onError: (error: unknown) => void): { stop(): void } {
  const run = () => {
    expireAudit(db, days).catch(onError)
  }
  const first = setTimeout(run, HOUR_MS / 60).unref()
  const hourly = setInterval(run, HOUR_MS).unref()
  return {
    stop() {
      clearTimeout(first)
      clearInterval(hourly)
    }
  }
}
