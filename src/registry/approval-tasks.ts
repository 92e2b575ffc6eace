import { sql } from 'kysely'
import { requireEncryptionKeys, withKeyLock } from './crypto/encryption-keys.ts'
import type { MasterKeys } from './crypto/envelope-encryption.ts'
import { decryptJson, encryptJson } from './crypto/server-secrets.ts'
import { approvalColumns, fromRow } from './approval-reads.ts'
import { audit, type StoredApproval } from './approvals.ts'
import type { Expiry } from './logs/expiry.ts'
import type { Db } from './model/tables.ts'
import { withErrorTranslation } from './store/failures.ts'
import { APPROVALS_CHANNEL } from './store/listen.ts'

/** End of a task: the status and one of the members of MCP's `Task`, as JSON text. */
export interface TaskEnd {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly result?: string | undefined
  readonly error?: string | undefined
}

/** A task of the gateway: a call that it makes itself after a yes. */
export interface ApprovalTask {
  readonly approval: StoredApproval
  /** True once a replica has begun to make the call. */
  readonly isRunning: boolean
  readonly end: TaskEnd | undefined
  readonly endedAt: Date | undefined
  /** Clock of the database. */
  readonly now: Date
}

/** A call that this replica has to make now. */
export interface ClaimedTask {
  readonly approval: StoredApproval
  /** Facts that the request was made with. */
  readonly task: unknown
}

/** Calls that the gateway makes itself after a yes. Methods reject with a 503 AppError while the database is away. */
export interface ApprovalTasks {
  /** Returns the ids of tasks that have a yes and are not begun. */
  ready(): Promise<string[]>
  /** Takes the call of a task that has a yes, on one replica once; undefined if there is nothing to do. */
  claim(id: string, runner: string): Promise<ClaimedTask | undefined>
  /** Keeps the end of a task; false if it has ended already. `runner`: the replica that made the call, if one did. */
  finish(id: string, end: TaskEnd, runner: string): Promise<boolean>
  /** Ends a task for its caller: a waiting request with it. Returns false if the task has ended already. */
  cancel(id: string): Promise<boolean>
  /** Tells that the calls of a replica go on, and returns the ids of those that have ended otherwise. */
  keepAlive(runner: string, ids: readonly string[]): Promise<string[]>
  /** Ends the tasks whose replica is gone. Their calls may have run, and are never made again. */
  endInterrupted(): Promise<void>
  /** Returns a task until its answer is deleted. */
  read(id: string): Promise<ApprovalTask | undefined>
}

/** Time for which the end of a task is kept. */
export const TASK_KEPT_MS = 3_600_000
/** A replica that tells nothing for so long is gone. */
const LOST_AFTER_S = 15

/** -32603 is the internal error of JSON-RPC. */
const interrupted: TaskEnd = {
  status: 'failed',
  error: JSON.stringify({ code: -32603, message: 'interrupted; it may have run' })
}
const cancelled: TaskEnd = { status: 'cancelled' }

const now = sql<Date>`now()`
const sealedAt = (id: string) => ({ table: 'approvals', row: id, column: 'sealed' })
const resultAt = (id: string) => ({ table: 'approvals', row: id, column: 'task_result' })
const keptSince = sql<Date>`now() - make_interval(secs => ${TASK_KEPT_MS / 1_000}::float8)`
const lost = sql<boolean>`runner is not null and ended_at is null and runner_seen < now() - make_interval(secs => ${LOST_AFTER_S})`

/** Creates the store. `shouldNotify`: other processes are told of changes. */
export function createApprovalTasks(db: Db, keys: MasterKeys, shouldNotify: boolean): ApprovalTasks {
  const notify = (trx: Db, id: string) =>
    shouldNotify ? sql`select pg_notify(${APPROVALS_CHANNEL}, ${id})`.execute(trx) : undefined
  const endIn = (trx: Db, database: string, id: string, end: TaskEnd) =>
    trx
      .updateTable('approvals')
      .set({ task_result: encryptJson(requireEncryptionKeys(keys, database), end, resultAt(id)), ended_at: now })
      .where('id', '=', id)
      .where('task', '=', true)
      .where('ended_at', 'is', null)
  const write = <T>(work: (trx: Db, database: string) => Promise<T>) =>
    withErrorTranslation(() => withKeyLock(db, work))
  return {
    ready: () =>
      withErrorTranslation(async () => {
        const rows = await db
          .selectFrom('approvals')
          .select('id')
          .where('task', '=', true)
          .where('status', '=', 'approved')
          .where('runner', 'is', null)
          .where('ended_at', 'is', null)
          .where('expires_at', '>', now)
          .orderBy('decided_at')
          .limit(100)
          .execute()
        return rows.map(({ id }) => id)
      }),
    claim: (id, runner) =>
      withErrorTranslation(() =>
        db.transaction().execute(async (trx) => {
          const row = await trx
            .updateTable('approvals')
            .set({
              ...{ runner, runner_seen: now, uses_left: sql<number>`uses_left - 1` },
              status: sql`case when uses_left = 1 then 'consumed' else status end`
            })
            .where('id', '=', id)
            .where('task', '=', true)
            .where('status', '=', 'approved')
            .where('runner', 'is', null)
            .where('ended_at', 'is', null)
            .where('expires_at', '>', now)
            .returning([...approvalColumns, 'sealed'])
            .executeTakeFirst()
          if (!row) return undefined
          const actor = { kind: row.caller_kind, name: row.caller }
          await audit(trx, 'use', { actor }, row)
          const owner = 'a request for approval'
          const { task } = decryptJson<{ task: unknown }>(keys, row.sealed, sealedAt(id), owner)
          return { approval: fromRow(row), task }
        })
      ),
    finish: (id, end, runner) =>
      write(async (trx, database) => {
        const { numUpdatedRows } = await endIn(trx, database, id, end)
          .where('runner', '=', runner)
          .executeTakeFirstOrThrow()
        return numUpdatedRows > 0n
      }),
    cancel: (id) =>
      write(async (trx, database) => {
        const row = await endIn(trx, database, id, cancelled)
          .where('status', '<>', 'denied')
          .returning([...approvalColumns, 'runner'])
          .executeTakeFirst()
        if (!row) return false
        if (row.runner === null && (row.status === 'pending' || row.status === 'approved')) {
          await trx.updateTable('approvals').set({ status: 'expired' }).where('id', '=', id).execute()
          await audit(trx, 'expire', { actor: { kind: row.caller_kind, name: row.caller } }, row)
        }
        await notify(trx, id)
        return true
      }),
    keepAlive: (runner, ids) =>
      withErrorTranslation(async () => {
        const alive = await db
          .updateTable('approvals')
          .set({ runner_seen: now })
          .where(sql<boolean>`id = any(${ids}::uuid[])`)
          .where('runner', '=', runner)
          .where('ended_at', 'is', null)
          .returning('id')
          .execute()
        const known = new Set(alive.map(({ id }) => id))
        return ids.filter((id) => !known.has(id))
      }),
    async endInterrupted() {
      const rows = await withErrorTranslation(() => db.selectFrom('approvals').select('id').where(lost).execute())
      for (const { id } of rows)
        await write((trx, database) => endIn(trx, database, id, interrupted).where(lost).execute())
    },
    read: (id) =>
      withErrorTranslation(async () => {
        const row = await db
          .selectFrom('approvals')
          .select([...approvalColumns, 'runner', 'task_result', 'ended_at', now.as('now')])
          .where('id', '=', id)
          .where('task', '=', true)
          .where(
            sql<boolean>`coalesce(ended_at, case when runner is null then expires_at else now() end) > ${keptSince}`
          )
          .executeTakeFirst()
        if (!row) return undefined
        const { task_result: sealed } = row
        const end = sealed ? decryptJson<TaskEnd>(keys, sealed, resultAt(id), 'a task') : undefined
        return {
          approval: fromRow(row),
          isRunning: row.runner !== null,
          end,
          endedAt: row.ended_at ?? undefined,
          now: row.now
        }
      })
  }
}

/** Deletes the ends of tasks after their time. */
export const approvalTaskExpiry: Expiry = {
  advisoryLock: 7_203_412,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      update approvals set task_result = null where id in (
        select id from approvals where task_result is not null and ended_at <= ${keptSince} limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
}
