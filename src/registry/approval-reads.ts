import { sql } from 'kysely'
import type { ApprovalWithArguments, Approvals, StoredApproval } from './approvals.ts'
import type { Db } from './model/tables.ts'

/** Requests that a list is made of. */
const MAX_READ = 1_000
/** Encrypted arguments that one list reads. */
const LIST_BYTES = 1_048_576

/** Columns of a request without what is encrypted. */
export const approvalColumns = [
  'id',
  'at',
  'expires_at',
  'status',
  'rule',
  'rule_hash',
  'caller_kind',
  'caller',
  'caller_key',
  'caller_credential',
  'endpoint',
  'server',
  'item',
  'digest',
  'definition',
  'decided_by',
  'decided_at',
  'reason',
  'task'
] as const

export type ApprovalRow = Awaited<ReturnType<typeof selectByIds>>[number]

/** Reads requests by their ids. */
export const selectByIds = (db: Db, ids: readonly string[]) =>
  db
    .selectFrom('approvals')
    .select(approvalColumns)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()

/** Returns a request as it is read. */
export const fromRow = (row: ApprovalRow): StoredApproval => ({
  id: row.id,
  at: row.at,
  expiresAt: row.expires_at,
  status: row.status,
  rule: row.rule,
  ruleHash: row.rule_hash,
  callerKind: row.caller_kind,
  caller: row.caller,
  callerKey: row.caller_key,
  callerCredential: row.caller_credential,
  endpoint: row.endpoint,
  server: row.server,
  item: row.item,
  digest: Buffer.from(row.digest),
  definition: row.definition,
  decidedBy: row.decided_by,
  decidedAt: row.decided_at,
  reason: row.reason,
  isTask: row.task
})

/** Returns requests, the newest first; beyond about 1 MB in all without their arguments. */
export async function readList(
  db: Db,
  { status, limit, isSeen = () => true }: Parameters<Approvals['list']>[0],
  open: (row: ApprovalRow & { readonly sealed: Uint8Array }) => ApprovalWithArguments
): ReturnType<Approvals['list']> {
  const query = db
    .selectFrom('approvals')
    .select([...approvalColumns, sql<number>`octet_length(sealed)`.as('size')])
    .orderBy('at', 'desc')
    .orderBy('id')
    .limit(MAX_READ)
  const found = await (status ? query.where('status', '=', status) : query).execute()
  const rows = found.filter((row) => isSeen(fromRow(row))).slice(0, limit)
  let left = LIST_BYTES
  const wanted = rows.filter(({ size }) => (left -= size) >= 0).map(({ id }) => id)
  const sealed = await db
    .selectFrom('approvals')
    .select([...approvalColumns, 'sealed'])
    .where(sql<boolean>`id = any(${wanted}::uuid[])`)
    .execute()
  const opened = new Map(sealed.map((row) => [row.id, open(row)]))
  return rows.map((row) => opened.get(row.id) ?? fromRow(row))
}
