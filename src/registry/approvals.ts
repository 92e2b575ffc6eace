import { sql } from 'kysely'
import { APPROVAL_LIMITS, type ApprovalStatus } from '../domain/approvals.ts'
import { PRODUCT } from '../domain/product.ts'
import { AppError, notFound } from '../lib/errors.ts'
import { requireEncryptionKeys, withKeyLock } from './crypto/encryption-keys.ts'
import type { MasterKeys } from './crypto/envelope-encryption.ts'
import { approvalColumns, fromRow, readList, selectByIds, type ApprovalRow } from './approval-reads.ts'
import { decryptJson, encryptJson } from './crypto/server-secrets.ts'
import { insertRows, safeRow, toAuditRow } from './logs/audit.ts'
import type { Expiry } from './logs/expiry.ts'
import type { Actor, AuditedAction, Change } from './model/model.ts'
import type { Db } from './model/tables.ts'
import { requireValidToken } from './repositories/access-tokens.ts'
import { withErrorTranslation } from './store/failures.ts'
import { APPROVALS_CHANNEL } from './store/listen.ts'

/** A call for which somebody has to say yes. */
export interface ApprovalRequest {
  readonly id: string
  readonly rule: string
  /** Changes with the rule: a yes under another revision does not count. */
  readonly ruleHash: string
  readonly actor: Actor
  readonly callerKey: string
  readonly callerCredential: Uint8Array | undefined
  readonly endpoint: string
  readonly server: string
  /** Name of the tool without its server. */
  readonly item: string
  /** SHA-256 that equal calls share. */
  readonly digest: Uint8Array
  /** Fingerprint of the tool's definition. */
  readonly definition: string
  /** JSON text of the arguments object. */
  readonly args: string
  /** Names of arguments that nobody may read. */
  readonly secretArguments: readonly string[]
  readonly validMs: number
  readonly uses: number
  /** Facts with which the gateway makes the call itself after a yes; absent if the caller makes it. */
  readonly task?: object | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

/** Stored request for approval, without the arguments. */
export interface StoredApproval {
  readonly id: string
  readonly at: Date
  readonly expiresAt: Date
  readonly status: ApprovalStatus
  readonly rule: string
  readonly ruleHash: string
  readonly callerKind: Actor['kind']
  readonly caller: string
  readonly callerKey: string
  readonly callerCredential: Uint8Array | null
  readonly endpoint: string
  readonly server: string
  readonly item: string
  readonly digest: Buffer
  readonly definition: string
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly reason: string | null
  /** True if the gateway makes the call after a yes. */
  readonly isTask: boolean
}

/** A request with its arguments as JSON text. */
export interface ApprovalWithArguments extends StoredApproval {
  readonly args: string
  /** Names of arguments that nobody may read. */
  readonly secretArguments: readonly string[]
}

/** What is encrypted of a request; older ones have no list. */
interface SealedRequest {
  readonly args: string
  readonly secretArguments?: readonly string[]
  readonly task?: object | undefined
}

/** Decision on a request. */
export interface ApprovalDecision {
  readonly id: string
  /** Digest that the decider was shown. */
  readonly digest: Uint8Array
  readonly isYes: boolean
  readonly reason: string | null
}

/** Reason why a request is not stored. */
export type ApprovalLimit = 'gateway' | 'caller'

/** Requests for approval, shared by all replicas. Methods reject with a 503 AppError while the database is away. */
export interface Approvals {
  /** Uses a yes for a call, once per permitted use on all replicas; undefined if there is none. */
  use(request: ApprovalRequest): Promise<StoredApproval | undefined>
  /** Stores a request, or returns the pending or denied one of an equal call; `isNew` tells them apart. */
  request(request: ApprovalRequest): Promise<{ approval: StoredApproval; isNew: boolean } | ApprovalLimit>
  /** Returns requests by their ids. */
  find(ids: readonly string[]): Promise<StoredApproval[]>
  /** Returns the requests that wait, without their arguments. */
  pending(): Promise<StoredApproval[]>
  /** Returns a request with its arguments. */
  get(id: string): Promise<ApprovalWithArguments | undefined>
  /**
   * Returns requests, the newest first. Together they have at most some MB of arguments: the later ones have none.
   * `isSeen`: those to return, of the newest thousand; absent for all.
   */
  list(filter: {
    readonly status?: ApprovalStatus | undefined
    readonly limit: number
    readonly isSeen?: (approval: StoredApproval) => boolean
  }): Promise<(StoredApproval & Partial<ApprovalWithArguments>)[]>
  /** Decides on a pending request. 404; 409 if it is decided, expired, or not the one that was shown. */
  decide(change: Change, decision: ApprovalDecision): Promise<StoredApproval>
  /**
   * Ends requests whose time is over, or whose rule is not the current one, and returns their ids and the number of
   * those that wait or can be used. `rules`: hashes by name.
   */
  expire(rules: ReadonlyMap<string, string>): Promise<{ readonly ended: string[]; readonly open: number }>
}

/** Serialises new requests, so that the limits are exact. */
const LIMITS_LOCK = 7_203_410
/** Time for which a request that its caller has cancelled counts as one that waits: it stays in the database for long. */
const CANCELLED_S = 900
/** A replica may not know a new rule yet. */
const RULE_GRACE_S = 10

const sealedPart = ({ args, secretArguments, task }: ApprovalRequest): SealedRequest => ({
  args,
  secretArguments,
  task
})

const locationOf = (id: string) => ({ table: 'approvals', row: id, column: 'sealed' })
const now = sql<Date>`now()`
const after = (ms: number) => sql<Date>`now() + make_interval(secs => ${ms / 1_000}::float8)`

type Audited = Pick<ApprovalRow, 'id' | 'rule' | 'server' | 'item' | 'endpoint'>

/** Records what happened to a request; `decision` of the audit log is the id of the request. */
export const audit = (
  db: Db,
  verb: string,
  change: Pick<AuditedAction, 'actor' | 'address' | 'requestId'>,
  row: Audited
) =>
  insertRows(db, [
    safeRow({
      ...toAuditRow({ ...change, action: `approval.${verb}`, target: `${row.server}__${row.item}` }, 'ok'),
      endpoint: row.endpoint,
      policy: row.rule,
      decision: row.id
    })
  ])

/** Finds a request of an equal call that waits, or was denied. A task is its own request: its yes is for its own call. */
const findEqual = (db: Db, { digest, ruleHash, task }: ApprovalRequest): Promise<ApprovalRow | undefined> =>
  db
    .selectFrom('approvals')
    .select(approvalColumns)
    .where('digest', '=', digest)
    .where('rule_hash', '=', ruleHash)
    .where((where) =>
      where.or([
        where('status', '=', 'denied'),
        where.and([where('status', '=', 'pending'), where('task', '=', task !== undefined)])
      ])
    )
    .where('expires_at', '>', now)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst()

/** Ends requests with a row in the audit log each. Returns their ids. */
async function end(trx: Db, condition: ReturnType<typeof sql<boolean>>): Promise<string[]> {
  const rows = await trx
    .updateTable('approvals')
    .set({ status: 'expired' })
    .where(condition)
    .returning(approvalColumns)
    .execute()
  const actor = { kind: 'system', name: PRODUCT } as const
  for (const row of rows) await audit(trx, 'expire', { actor }, row)
  return rows.map(({ id }) => id)
}

async function limitReached(db: Db, { kind, name }: Actor): Promise<ApprovalLimit | undefined> {
  const { rows } = await sql<{ own: number; total: number; cancelled: number }>`
    select count(*) filter (where caller_kind = ${kind} and caller = ${name})::int as own, count(*)::int as total, (
      select count(*)::int from approvals
      where caller_kind = ${kind} and caller = ${name} and status = 'expired' and task and runner is null
        and ended_at is not null and at > now() - make_interval(secs => ${CANCELLED_S})
    ) as cancelled
    from approvals where status = 'pending' and expires_at > now()`.execute(db)
  const { own, total, cancelled } = rows[0]!
  if (own + cancelled >= APPROVAL_LIMITS.pendingPerCaller) return 'caller'
  return total >= APPROVAL_LIMITS.pending ? 'gateway' : undefined
}

/** Uses a yes: one statement takes it, so that no two calls can. */
async function useYes(trx: Db, request: ApprovalRequest): Promise<StoredApproval | undefined> {
  const { digest, ruleHash } = request
  const row = await trx
    .updateTable('approvals')
    .set({
      uses_left: sql<number>`uses_left - 1`,
      status: sql<ApprovalStatus>`case when uses_left = 1 then 'consumed' else status end`
    })
    .where(
      'id',
      '=',
      sql<string>`(
        select id from approvals
        where digest = ${digest} and status = 'approved' and rule_hash = ${ruleHash} and expires_at > now()
          and (not task or runner is not null)
        order by decided_at limit 1 for update)`
    )
    .where('status', '=', 'approved')
    .returning(approvalColumns)
    .executeTakeFirst()
  if (!row) return undefined
  await audit(trx, 'use', request, row)
  return fromRow(row)
}

/** Creates the store. `shouldNotify`: other processes are told of decisions and uses. */
export function createApprovals(db: Db, keys: MasterKeys, shouldNotify: boolean): Approvals {
  const notify = (trx: Db, id: string) =>
    shouldNotify ? sql`select pg_notify(${APPROVALS_CHANNEL}, ${id})`.execute(trx) : undefined
  const open = ({ sealed, ...row }: ApprovalRow & { readonly sealed: Uint8Array }): ApprovalWithArguments => {
    const opened = decryptJson<SealedRequest>(keys, sealed, locationOf(row.id), 'a request for approval')
    const { args, secretArguments = [] } = opened
    return { ...fromRow(row), args, secretArguments }
  }
  const store = async (trx: Db, database: string, request: ApprovalRequest): Promise<ApprovalRow> => {
    const { id, rule, ruleHash, actor, callerKey, callerCredential, endpoint, server, item, digest, definition } =
      request
    const { task } = request
    return trx
      .insertInto('approvals')
      .values({
        ...{ id, at: now, expires_at: after(request.validMs), status: 'pending' as const, rule, rule_hash: ruleHash },
        ...{ caller_kind: actor.kind, caller: actor.name, caller_key: callerKey },
        ...{ caller_credential: callerCredential ?? null, endpoint, server, item, digest, definition },
        sealed: encryptJson(requireEncryptionKeys(keys, database), sealedPart(request), locationOf(id)),
        uses_left: request.uses,
        task: task !== undefined
      })
      .returning(approvalColumns)
      .executeTakeFirstOrThrow()
  }
  return {
    use: (request) =>
      withErrorTranslation(() =>
        db.transaction().execute(async (trx) => {
          const approval = await useYes(trx, request)
          if (approval) await notify(trx, approval.id)
          return approval
        })
      ),
    request: (request) =>
      withErrorTranslation(async () => {
        // a client that repeats its call needs no lock
        const known = await findEqual(db, request)
        if (known) return { approval: fromRow(known), isNew: false }
        return withKeyLock(db, async (trx, database) => {
          await sql`select pg_advisory_xact_lock(${LIMITS_LOCK})`.execute(trx)
          const { digest, ruleHash } = request
          await end(
            trx,
            sql<boolean>`digest = ${digest} and status = 'pending' and (expires_at <= now() or rule_hash <> ${ruleHash})`
          )
          const equal = await findEqual(trx, request)
          if (equal) return { approval: fromRow(equal), isNew: false }
          const limit = await limitReached(trx, request.actor)
          if (limit) return limit
          const row = await store(trx, database, request)
          await audit(trx, 'request', request, row)
          await notify(trx, row.id)
          return { approval: fromRow(row), isNew: true }
        })
      }),
    find: (ids) => withErrorTranslation(async () => (await selectByIds(db, ids)).map(fromRow)),
    pending: () =>
      withErrorTranslation(async () => {
        const query = db.selectFrom('approvals').select(approvalColumns).where('status', '=', 'pending')
        return (await query.where('expires_at', '>', now).limit(APPROVAL_LIMITS.pending).execute()).map(fromRow)
      }),
    get: (id) =>
      withErrorTranslation(async () => {
        const row = await db
          .selectFrom('approvals')
          .select([...approvalColumns, 'sealed'])
          .where('id', '=', id)
          .executeTakeFirst()
        return row && open(row)
      }),
    list: (filter) => withErrorTranslation(() => readList(db, filter, open)),
    decide: (change, { id, digest, isYes, reason }) =>
      withErrorTranslation(() =>
        db.transaction().execute(async (trx) => {
          await requireValidToken(trx, change)
          const row = await trx
            .updateTable('approvals')
            .set({
              ...{ status: isYes ? 'approved' : 'denied', reason, decided_by: change.actor.name, decided_at: now },
              // a yes and a no count as long as the request could wait
              expires_at: sql<Date>`now() + (expires_at - at)`
            })
            .where('id', '=', id)
            .where('digest', '=', digest)
            .where('status', '=', 'pending')
            .where('expires_at', '>', now)
            .returning(approvalColumns)
            .executeTakeFirst()
          if (!row) throw await whyNot(trx, id, digest)
          await audit(trx, isYes ? 'approve' : 'deny', change, row)
          await notify(trx, id)
          return fromRow(row)
        })
      ),
    expire: (rules) =>
      withErrorTranslation(() =>
        db.transaction().execute(async (trx) => {
          const hashes = [...rules].map(([name, hash]) => `${name} ${hash}`)
          const ended = await end(
            trx,
            sql<boolean>`status in ('pending', 'approved') and (expires_at <= now()
              or (at < now() - make_interval(secs => ${RULE_GRACE_S})
                and not (rule || ' ' || rule_hash) = any(${hashes}::text[])))`
          )
          for (const id of ended) await notify(trx, id)
          const { rows } = await sql<{ open: number }>`
            select count(*)::int as open from approvals where status in ('pending', 'approved')`.execute(trx)
          return { ended, open: rows[0]!.open }
        })
      )
  }
}

/** Returns the error of a decision that changed nothing. */
async function whyNot(db: Db, id: string, digest: Uint8Array): Promise<AppError> {
  const [row] = await selectByIds(db, [id])
  if (!row) return notFound('approval', id)
  if (Buffer.compare(row.digest, digest) !== 0)
    return new AppError(409, 'the fingerprint is not that of this request; look at it again')
  const status = row.status === 'pending' ? 'expired' : row.status
  return new AppError(409, `the request is not pending any more: it is ${status}`)
}

/** Deletes requests as old as the audit rows that are deleted. */
export const approvalExpiry = (days: number): Expiry => ({
  advisoryLock: 7_203_411,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from approvals where id in (
        select id from approvals where at < now() - make_interval(days => ${days}) and status <> 'pending'
        order by at limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
})
