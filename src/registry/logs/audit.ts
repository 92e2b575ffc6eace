import { difference } from '../../domain/secrets/difference.ts'
import { escapeText } from '../../domain/text/text.ts'
import { sql, type Insertable } from 'kysely'
import type { Effect } from '../repositories/context.ts'
import type { Expiry } from './expiry.ts'
import type { AuditedAction, AuditEntry, AuditQuery, Change, Outcome } from '../model/model.ts'
import type { Db, Tables } from '../model/tables.ts'

/**
 * Maximum length of texts in a row. They may come from outside, so they are truncated and invisible characters are
 * escaped.
 */
const MAX_TEXT = 200

export type AuditRow = Insertable<Tables['audit_log']>

/** Converts an audited action to a row, without its result. */
export const toAuditRow = ({ actor, action, target, address, requestId }: AuditedAction, outcome: Outcome) => ({
  actor_kind: actor.kind,
  actor: actor.name,
  action,
  target,
  outcome,
  address: address || null,
  request_id: requestId ?? null
})

/** Returns the row with its texts truncated and invisible characters escaped. */
export const safeRow = <T extends object>(row: T): T =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? escapeText(value, MAX_TEXT) : value])
  ) as T

/** Records an action that changes nothing but has to be audited. */
export async function insertAction(db: Db, auditedAction: AuditedAction): Promise<void> {
  await db.insertInto('audit_log').values(toAuditRow(auditedAction, 'ok')).execute()
}

export async function insertRows(db: Db, rows: readonly AuditRow[]): Promise<void> {
  await db.insertInto('audit_log').values(rows).execute()
}

/** Writes one audit row for all changes of a write. */
export async function insertChange(db: Db, change: Change, version: string, effects: readonly Effect[]): Promise<void> {
  const { changed, before, after } = difference(
    Object.assign({}, ...effects.map((effect) => effect.before)),
    Object.assign({}, ...effects.map((effect) => effect.after))
  )
  const details = {
    changed: JSON.stringify(changed),
    before: JSON.stringify(before),
    after: JSON.stringify(after),
    version
  }
  await db
    .insertInto('audit_log')
    .values({ ...toAuditRow(change, 'ok'), ...details })
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
  'policy',
  'decision',
  'address',
  'request_id',
  'count',
  'changed',
  'before',
  'after',
  'version',
  'purpose',
  'fingerprint',
  'failure',
  'duration_ms',
  'attempt'
] as const

/** Returns matching rows, newest first. */
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

type SelectedRow = Record<(typeof columns)[number], unknown>

const parseJson = (text: unknown): unknown => (text === null ? null : JSON.parse(text as string))

/** Converts a row to an entry; null members are omitted. */
function toEntry({ at, changed, before, after, ...row }: SelectedRow): AuditEntry {
  const entry = {
    ...row,
    at: (at as Date).toISOString(),
    changed: parseJson(changed),
    before: parseJson(before),
    after: parseJson(after)
  }
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null)) as unknown as AuditEntry
}

export const auditExpiry = (days: number): Expiry => ({
  advisoryLock: 7_203_401,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const result = await sql`
      delete from audit_log where id in (
        select id from audit_log where at < now() - make_interval(days => ${days}) order by at limit ${limit}
      )`.execute(db)
    return Number(result.numAffectedRows ?? 0n)
  }
})
