import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { withErrorTranslation } from '../store/failures.ts'
import type { OAuthSession, OAuthSessionStatus, PendingSignIn } from '../model/model.ts'
import { decryptJson, encryptJson } from '../crypto/server-secrets.ts'
import type { MasterKeys } from '../crypto/envelope-encryption.ts'
import { requireEncryptionKeys, withKeyLock } from '../crypto/encryption-keys.ts'
import type { Db } from '../model/tables.ts'

export interface NewOAuthSession {
  readonly id: string
  /** `state` parameter returned by the authorization server; only its hash is stored */
  readonly state: string
  readonly lifetimeMs: number
  readonly pending: PendingSignIn
}

/** Pending sign-ins at authorization servers. Any replica can complete a sign-in that another one started. */
export interface OAuthSessions {
  create(session: NewOAuthSession): Promise<OAuthSession>
  find(id: string): Promise<OAuthSession | undefined>
  findByState(state: string): Promise<OAuthSession | undefined>
  /** Returns the data of a pending sign-in without changing it, undefined if it is not pending. */
  getPending(id: string): Promise<PendingSignIn | undefined>
  /** Returns the data of a pending sign-in once: of several callers, on any replica, only one receives it. */
  takePending(id: string): Promise<PendingSignIn | undefined>
  finish(id: string, status: 'completed' | 'failed', error?: string): Promise<void>
  /** Deletes sign-ins that expired more than `retentionMs` ago, and the encrypted data of all expired ones. */
  deleteExpired(retentionMs: number): Promise<void>
}

const locationOf = (id: string) => ({ table: 'upstream_oauth_sessions', row: id, column: 'sealed' })
const hashOf = (state: string) => createHash('sha256').update(state).digest()
const interval = (ms: number) => sql`make_interval(secs => ${ms / 1000}::float8)`

const publicColumns = [
  'id',
  'server_name',
  'issuer',
  'status',
  'error',
  'expires_at',
  sql<boolean>`expires_at <= now()`.as('has_expired')
] as const

interface Row {
  readonly id: string
  readonly server_name: string
  readonly issuer: string
  readonly status: OAuthSessionStatus
  readonly error: string | null
  readonly expires_at: Date
  readonly has_expired: boolean
}

function statusOf({ status, has_expired }: Row): OAuthSession['status'] {
  if (status === 'completed' || status === 'failed') return status
  return has_expired ? 'expired' : 'pending'
}

const toSession = (row: Row): OAuthSession => ({
  id: row.id,
  server: row.server_name,
  issuer: row.issuer,
  status: statusOf(row),
  error: row.error,
  expiresAt: row.expires_at.toISOString()
})

export function createOAuthSessions(db: Db, keys: MasterKeys): OAuthSessions {
  const isPending = sql<boolean>`upstream_oauth_sessions.status = 'pending' and upstream_oauth_sessions.expires_at > now()`
  const decryptPending = (id: string, sealed: Uint8Array | null) =>
    sealed === null ? undefined : decryptJson<PendingSignIn>(keys, sealed, locationOf(id))
  const findBy = async (column: 'id' | 'state_hash', value: string | Buffer) => {
    const row = await db
      .selectFrom('upstream_oauth_sessions')
      .select(publicColumns)
      .where(column, '=', value as never)
      .executeTakeFirst()
    return row && toSession(row)
  }
  return {
    create: ({ id, state, lifetimeMs, pending }) =>
      withErrorTranslation(() =>
        withKeyLock(db, async (trx, database) => {
          const row = await trx
            .insertInto('upstream_oauth_sessions')
            .values({
              id,
              state_hash: hashOf(state),
              server_name: pending.config.name,
              issuer: pending.source.issuer,
              sealed: encryptJson(requireEncryptionKeys(keys, database), pending, locationOf(id)),
              expires_at: sql<Date>`now() + ${interval(lifetimeMs)}`
            })
            .returning(publicColumns)
            .executeTakeFirstOrThrow()
          return toSession(row)
        })
      ),

    find: (id) => withErrorTranslation(() => findBy('id', id)),
    findByState: (state) => withErrorTranslation(() => findBy('state_hash', hashOf(state))),

    getPending: (id) =>
      withErrorTranslation(async () => {
        const row = await db
          .selectFrom('upstream_oauth_sessions')
          .select('sealed')
          .where('id', '=', id)
          .where(isPending)
          .executeTakeFirst()
        return row && decryptPending(id, row.sealed)
      }),

    takePending: (id) =>
      withErrorTranslation(async () => {
        // The inner query's row lock lets one caller through and returns the encrypted data before it is cleared.
        const row = await db
          .updateTable('upstream_oauth_sessions')
          .from((from) =>
            from
              .selectFrom('upstream_oauth_sessions')
              .select(['id', 'sealed'])
              .where('id', '=', id)
              .forUpdate()
              .as('old')
          )
          .set({ status: 'completing', sealed: null })
          .whereRef('upstream_oauth_sessions.id', '=', 'old.id')
          .where(isPending)
          .returning('old.sealed')
          .executeTakeFirst()
        return row && decryptPending(id, row.sealed)
      }),

    finish: (id, status, error) =>
      withErrorTranslation(async () => {
        await db
          .updateTable('upstream_oauth_sessions')
          .set({ status, error: error ?? null, sealed: null })
          .where('id', '=', id)
          .execute()
      }),

    deleteExpired: (retentionMs) =>
      withErrorTranslation(async () => {
        await db
          .deleteFrom('upstream_oauth_sessions')
          .where(sql<boolean>`expires_at < now() - ${interval(retentionMs)}`)
          .execute()
        await db
          .updateTable('upstream_oauth_sessions')
          .set({ sealed: null })
          .where('sealed', 'is not', null)
          .where(sql<boolean>`expires_at <= now()`)
          .execute()
      })
  }
}
