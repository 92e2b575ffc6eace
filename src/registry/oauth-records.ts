import { sql } from 'kysely'
import { AppError } from '../lib/errors.ts'
import { decryptJson, encryptJson } from './crypto/server-secrets.ts'
import { requireEncryptionKeys, withKeyLock } from './crypto/encryption-keys.ts'
import type { MasterKeys } from './crypto/envelope-encryption.ts'
import type { Expiry } from './logs/expiry.ts'
import { hashId, locationOf, rowId } from './model/oauth-record-ids.ts'
import type { Db } from './model/tables.ts'
import { withErrorTranslation } from './store/failures.ts'

/** Record of the authorization server, as its library hands it over. */
export interface OAuthRecord {
  readonly [member: string]: unknown
  readonly grantId?: unknown
  readonly uid?: unknown
  readonly userCode?: unknown
  readonly accountId?: unknown
}

/** Stored record: `consumedAt` in milliseconds since 1970, undefined if it was not used */
export interface StoredOAuthRecord {
  readonly payload: OAuthRecord
  readonly consumedAt: number | undefined
}

/** Only records that have more seconds left */
export interface LeftLife {
  readonly ifLeftS: number
}

/** Part of a list: at most `limit` entries after the first `offset` */
export interface Page {
  readonly limit: number
  readonly offset: number
}

/** Store of the authorization server, shared by all replicas. Ids are stored as hashes, payloads encrypted. */
export interface OAuthRecords {
  /** `seconds`: life of the record; undefined: until it is deleted. Throws a 413 AppError for a huge one. */
  upsert(model: string, id: string, payload: OAuthRecord, seconds: number | undefined): Promise<void>
  /** Returns an unexpired record. */
  find(model: string, id: string): Promise<StoredOAuthRecord | undefined>
  /** Returns the unexpired records with these ids, by id. */
  findAll(model: string, ids: readonly string[]): Promise<ReadonlyMap<string, OAuthRecord>>
  findByUid(model: string, uid: string): Promise<StoredOAuthRecord | undefined>
  findByUserCode(model: string, code: string): Promise<StoredOAuthRecord | undefined>
  /** Marks a record as used. Returns true for the call that did so, on all replicas. */
  consume(model: string, id: string): Promise<boolean>
  destroy(model: string, id: string): Promise<void>
  /** Deletes all records of a grant. */
  destroyGrant(grantId: string): Promise<void>
  /** Returns unexpired records of a model, the newest first. */
  list(model: string, page: Page): Promise<{ readonly payload: OAuthRecord; readonly createdAt: Date }[]>
  /** Returns the number of unexpired records of a model. */
  count(model: string): Promise<number>
  /** Prolongs the life of a record. */
  touch(model: string, id: string, seconds: number, condition?: LeftLife): Promise<void>
  /** Deletes the oldest record of a model that has less life left. Resolves with false if there is none. */
  deleteOldest(model: string, leftS: number): Promise<boolean>
}

/** Longest life, whatever a client asked for: longer than that of any grant. */
const MAX_LIFE_S = 366 * 86_400
const MAX_PAYLOAD_BYTES = 65_536

const hashOf = (value: unknown) => (typeof value === 'string' ? hashId(value) : null)
const expiryOf = (seconds: number | undefined) =>
  seconds === undefined
    ? sql<null>`null`
    : sql<Date>`now() + make_interval(secs => ${Math.min(seconds, MAX_LIFE_S)}::float8)`
const isUuid = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value)

const isUnexpired = sql<boolean>`(expires_at is null or expires_at > now())`

/** Operations on how many records there are and how long they live. */
const createLives = (db: Db): Pick<OAuthRecords, 'count' | 'touch' | 'deleteOldest'> => ({
  async count(model) {
    const { count } = await withErrorTranslation(() =>
      db
        .selectFrom('oauth_records')
        .select((records) => records.fn.countAll<string>().as('count'))
        .where('model', '=', model)
        .where(isUnexpired)
        .executeTakeFirstOrThrow()
    )
    return Number(count)
  },
  async touch(model, id, seconds, { ifLeftS } = { ifLeftS: 0 }) {
    await withErrorTranslation(() =>
      db
        .updateTable('oauth_records')
        .set({ expires_at: expiryOf(seconds) })
        .where('id', '=', rowId(model, id))
        .where('expires_at', '>', sql<Date>`now() + make_interval(secs => ${ifLeftS}::float8)`)
        .execute()
    )
  },
  async deleteOldest(model, leftS) {
    const { numAffectedRows } = await withErrorTranslation(() =>
      sql`
        delete from oauth_records where id in (
          select id from oauth_records where model = ${model}
            and expires_at <= now() + make_interval(secs => ${leftS}::float8)
          order by created_at limit 1 for update skip locked)`.execute(db)
    )
    return numAffectedRows === 1n
  }
})

export function createOAuthRecords(db: Db, keys: MasterKeys): OAuthRecords {
  const open = ({ id, sealed }: { readonly id: string; readonly sealed: Uint8Array }) =>
    decryptJson<OAuthRecord>(keys, sealed, locationOf(id), 'the authorization server')
  const findBy = async (
    model: string,
    column: 'id' | 'uid_hash' | 'user_code_hash',
    value: string | Buffer
  ): Promise<StoredOAuthRecord | undefined> => {
    const row = await db
      .selectFrom('oauth_records')
      .select(['id', 'sealed', 'consumed_at'])
      .where('model', '=', model)
      .where(column, '=', value as never)
      .where(isUnexpired)
      .executeTakeFirst()
    if (!row) return undefined
    return { payload: open(row), consumedAt: row.consumed_at?.getTime() }
  }
  return {
    upsert: (model, id, payload, seconds) =>
      withErrorTranslation(() =>
        withKeyLock(db, async (trx, database) => {
          const row = rowId(model, id)
          const sealed = encryptJson(requireEncryptionKeys(keys, database), payload, locationOf(row))
          if (sealed.length > MAX_PAYLOAD_BYTES) throw new AppError(413, 'the request is too large to be stored')
          const values = {
            sealed,
            // a grant is found by its own id, everything else by that of its grant
            grant_hash: model === 'Grant' ? hashId(id) : hashOf(payload.grantId),
            uid_hash: hashOf(payload.uid),
            user_code_hash: hashOf(payload.userCode),
            user_id: isUuid(payload.accountId) ? payload.accountId : null,
            expires_at: expiryOf(seconds)
          }
          await trx
            .insertInto('oauth_records')
            .values({ id: row, model, ...values })
            .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
            .execute()
        })
      ),
    find: (model, id) => withErrorTranslation(() => findBy(model, 'id', rowId(model, id))),
    findAll: (model, ids) =>
      withErrorTranslation(async () => {
        const idOf = new Map(ids.map((id) => [rowId(model, id), id]))
        if (idOf.size === 0) return new Map()
        const rows = await db
          .selectFrom('oauth_records')
          .select(['id', 'sealed'])
          .where('id', 'in', [...idOf.keys()])
          .where(isUnexpired)
          .execute()
        return new Map(rows.map((row) => [idOf.get(row.id)!, open(row)]))
      }),
    findByUid: (model, uid) => withErrorTranslation(() => findBy(model, 'uid_hash', hashId(uid))),
    findByUserCode: (model, code) => withErrorTranslation(() => findBy(model, 'user_code_hash', hashId(code))),
    async consume(model, id) {
      const { numUpdatedRows } = await withErrorTranslation(() =>
        db
          .updateTable('oauth_records')
          .set({ consumed_at: sql<Date>`now()` })
          .where('id', '=', rowId(model, id))
          .where('consumed_at', 'is', null)
          .executeTakeFirst()
      )
      return numUpdatedRows === 1n
    },
    async destroy(model, id) {
      await withErrorTranslation(() => db.deleteFrom('oauth_records').where('id', '=', rowId(model, id)).execute())
    },
    async destroyGrant(grantId) {
      await withErrorTranslation(() =>
        db.deleteFrom('oauth_records').where('grant_hash', '=', hashId(grantId)).execute()
      )
    },
    list: (model, { limit, offset }) =>
      withErrorTranslation(async () => {
        const rows = await db
          .selectFrom('oauth_records')
          .select(['id', 'sealed', 'created_at'])
          .where('model', '=', model)
          .where(isUnexpired)
          .orderBy('created_at', 'desc')
          .orderBy('id')
          .limit(limit)
          .offset(offset)
          .execute()
        return rows.map((row) => ({ payload: open(row), createdAt: row.created_at }))
      }),
    ...createLives(db)
  }
}

/** Deletes expired records. */
export const oauthRecordExpiry: Expiry = {
  advisoryLock: 7_203_405,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from oauth_records where id in
        (select id from oauth_records where expires_at < now() limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
}
