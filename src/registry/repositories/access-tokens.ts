import { sql } from 'kysely'
import { isTokenScope, type TokenScope } from '../../domain/access/access.ts'
import { AppError, conflict, notFound, unauthorized } from '../../lib/errors.ts'
import type { Change, SignIn, StoredToken, TokenKind } from '../model/model.ts'
import type { Db } from '../model/tables.ts'
import { isUniqueViolation, withErrorTranslation } from '../store/failures.ts'
import type { WriteContext } from './context.ts'

/** Tokens of one user, expired ones included */
const MAX_PER_USER = 50

/** Personal access token to create */
export interface PersonalToken {
  readonly name: string
  readonly hash: Uint8Array
  readonly scopes: readonly TokenScope[]
  /** Null if it does not expire */
  readonly expiresAt: Date | null
}

/** Access token as its owner sees it */
export interface TokenRecord {
  readonly id: string
  /** Absent for static tokens */
  readonly name?: string
  readonly kind: TokenKind
  /** Absent: all rights of the user */
  readonly scopes?: readonly TokenScope[]
  /** ISO time; absent if it does not expire */
  readonly expires_at?: string
  /** ISO time. */
  readonly created_at: string
  /** ISO date; absent if it was never used */
  readonly last_used_on?: string
}

type TokenOwner = { readonly user_id: string } | { readonly client_id: string }

const parseScopes = (text: string | null): readonly TokenScope[] | null =>
  text === null ? null : (JSON.parse(text) as string[]).filter(isTokenScope)

interface TokenColumns extends Pick<StoredToken, 'id' | 'hash' | 'kind'> {
  readonly scopes: string | null
  readonly expires_at: Date | null
}

export const tokenColumns = [
  'access_tokens.id as id',
  'access_tokens.hash as hash',
  'access_tokens.kind as kind',
  'access_tokens.scopes as scopes',
  'access_tokens.expires_at as expires_at'
] as const

export const toStoredToken = ({ id, hash, kind, scopes, expires_at }: TokenColumns): StoredToken => ({
  id,
  hash,
  kind,
  scopes: parseScopes(scopes),
  expiresAt: expires_at?.getTime() ?? null
})

/** Adds a token. A hash belongs to one user or client: throws a 409 AppError. */
export async function addToken(db: Db, owner: TokenOwner, hash: Uint8Array, personal?: PersonalToken): Promise<string> {
  const { name, scopes, expiresAt } = personal ?? {}
  const limits = personal
    ? { kind: 'personal' as const, name, scopes: JSON.stringify(scopes), expires_at: expiresAt }
    : {}
  try {
    const { id } = await db
      .insertInto('access_tokens')
      .values({ hash, ...owner, ...limits })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  } catch (error) {
    if (isUniqueViolation(error, 'access_tokens_name')) throw conflict('access token', name!)
    throw isUniqueViolation(error, 'access_tokens_pkey')
      ? new AppError(409, 'the access token belongs to another user or client')
      : error
  }
}

/** Throws a 401 AppError if the caller's sign-in has ended, or the role has changed. */
async function requireSignIn(
  db: Db,
  { principalId, kind, credential, validFrom, providerSession, staticToken }: SignIn,
  role: string
): Promise<void> {
  if (kind === 'client') throw unauthorized('an MCP client cannot change anything')
  const found = await db
    .selectFrom('users')
    .select(['role', 'active', 'sessions_valid_from'])
    .select((users) =>
      users
        .exists(
          users
            .selectFrom('tombstones')
            .select('until')
            .where((each) =>
              each.or([
                each.and({ kind, hash: credential }),
                ...(providerSession ? [each.and({ kind: 'idp_sid' as const, hash: providerSession })] : [])
              ])
            )
        )
        .as('ended')
    )
    .where('id', '=', principalId)
    .$if(staticToken !== undefined, (users) =>
      users.where((user) =>
        user.exists(
          user
            .selectFrom('access_tokens')
            .select('access_tokens.id')
            .whereRef('user_id', '=', 'users.id')
            .where('access_tokens.kind', '=', 'static')
            .where('hash', '=', staticToken!)
        )
      )
    )
    .executeTakeFirst()
  const from = found?.sessions_valid_from?.getTime() ?? 0
  if (found?.active && !found.ended && found.role === role && from <= validFrom) return
  throw unauthorized('the sign-in has ended')
}

/** Condition on a token and its user: personal tokens are not accepted while the person may not sign in. */
const ofAdmitted = sql<boolean>`(kind = 'static' or refused_at is null)`

/** Throws a 401 AppError if the caller's token or role has been revoked while the write was being prepared. */
export async function requireValidToken(db: Db, { tokenHash, signIn, actor }: Change): Promise<void> {
  if (signIn) return requireSignIn(db, signIn, actor.kind)
  if (!tokenHash) return
  const found = await db
    .selectFrom('access_tokens')
    .innerJoin('users', 'users.id', 'user_id')
    .select(['role', 'active', sql<boolean>`expires_at <= now() or not ${ofAdmitted}`.as('expired')])
    .where('hash', '=', tokenHash)
    .executeTakeFirst()
  if (found?.active && !found.expired && found.role === actor.kind) return
  throw unauthorized('the access token is no longer valid')
}

/**
 * Throws a 409 AppError unless some active administrator has a token with all rights that never expires, since nobody
 * could administer the gateway otherwise. `refusal`: what is refused.
 */
export async function requireAdministrator(db: Db, refusal: string): Promise<void> {
  const found = await db
    .selectFrom('users')
    .innerJoin('access_tokens', 'user_id', 'users.id')
    .select('users.id')
    .where('role', '=', 'admin')
    .where('active', '=', true)
    .where('expires_at', 'is', null)
    .where(ofAdmitted)
    .where(sql<boolean>`(scopes is null or scopes::jsonb @> '["towpath:admin"]')`)
    .limit(1)
    .executeTakeFirst()
  if (!found) throw new AppError(409, refusal)
}

/** Creates the repository of personal access tokens for a write. `userId`: id of the owner. */
export function createAccessTokenRepository({ db, version, recordEffect }: WriteContext) {
  const touchUser = (userId: string) =>
    db
      .updateTable('users')
      .set({ revision: version })
      .where('id', '=', userId)
      .returning('role')
      .executeTakeFirstOrThrow()
  return {
    /** Creates a token and returns it. 409 if the name is taken or the user has too many tokens. */
    async create(userId: string, token: PersonalToken): Promise<TokenRecord> {
      const { count } = await db
        .selectFrom('access_tokens')
        .select((tokens) => tokens.fn.countAll<string>().as('count'))
        .where('user_id', '=', userId)
        .executeTakeFirstOrThrow()
      if (Number(count) >= MAX_PER_USER) throw new AppError(409, `a user can have ${MAX_PER_USER} access tokens`)
      const id = await addToken(db, { user_id: userId }, token.hash, token)
      await touchUser(userId)
      const { name, scopes, expiresAt } = token
      recordEffect({ after: { token_name: name, scopes, expires_at: expiresAt?.toISOString() ?? null } })
      return (await readTokens(db, userId)).find((each) => each.id === id)!
    },

    /** Revokes a token. 404; 409 if it is the last one that can administer the gateway. */
    async revoke(userId: string, id: string): Promise<void> {
      const removed = await db
        .deleteFrom('access_tokens')
        .where('user_id', '=', userId)
        .where(sql<boolean>`id::text = ${id}`)
        .returning(['kind', 'name', 'scopes'])
        .executeTakeFirst()
      if (!removed) throw notFound('access token', id)
      const { role } = await touchUser(userId)
      if (role === 'admin') {
        await requireAdministrator(db, 'the last access token of the last administrator cannot be revoked')
      }
      const { kind, name, scopes } = removed
      recordEffect({ before: { token_name: name ?? kind, scopes: parseScopes(scopes) } })
    }
  }
}

/** Returns the tokens of a user, oldest first. */
async function readTokens(db: Db, userId: string): Promise<TokenRecord[]> {
  const rows = await db
    .selectFrom('access_tokens')
    .select(['id', 'kind', 'name', 'scopes', 'expires_at', 'created_at'])
    .select(sql<string | null>`last_used_on::text`.as('last_used_on'))
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(({ id, kind, name, scopes, expires_at, created_at, last_used_on }) => ({
    id,
    ...(name === null ? {} : { name }),
    kind,
    ...(scopes === null ? {} : { scopes: parseScopes(scopes)! }),
    ...(expires_at === null ? {} : { expires_at: expires_at.toISOString() }),
    created_at: created_at.toISOString(),
    ...(last_used_on === null ? {} : { last_used_on })
  }))
}

/**
 * Returns the last day on which each user was seen: a token was used, a client was connected or renewed, the identity
 * provider was asked, or somebody signed in with a password. Users of whom nothing is known are absent.
 */
async function readLastDays(db: Db): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ user_id: string; day: string }>`
    select user_id, max(day)::text as day from (
      select user_id, last_used_on as day from access_tokens where user_id is not null and last_used_on is not null
      union all select user_id, created_at::date from oauth_records where user_id is not null
      union all select id, claims_at::date from users where claims_at is not null
      union all select id, started.at::date from users cross join lateral (
        select at from audit_log where target = users.name and action = 'session.start' order by id desc limit 1
      ) as started where users.source = 'local'
    ) as seen group by user_id`.execute(db)
  return new Map(rows.map(({ user_id, day }) => [user_id, day]))
}

/** Access tokens outside of writes */
export interface AccessTokenStore {
  /** Returns the tokens of a user, oldest first. */
  list(userId: string): Promise<TokenRecord[]>
  /** Returns the last day (ISO) on which each user was seen, by id; users of whom nothing is known are absent. */
  lastDays(): Promise<ReadonlyMap<string, string>>
  /** Queues the day of the last use of a token to be stored; returns at once and never throws. */
  recordUse(tokenId: string): void
  /** Stores the queued uses and stops. */
  close(): Promise<void>
}

const FLUSH_MS = 60_000
/** Ids that are remembered, so that each token is stored once a day */
const MAX_REMEMBERED = 100_000

const dayOf = (ms: number) => Math.floor(ms / 86_400_000)

/** Creates the store. The days of last use are written once a minute. */
export function createAccessTokenStore(db: Db, onError: (error: unknown) => void): AccessTokenStore {
  const stored = new Set<string>()
  let queued = new Set<string>()
  let day = dayOf(Date.now())
  const flush = async () => {
    if (queued.size === 0) return
    const ids = [...queued]
    queued = new Set()
    // locked rows are being stored by another replica; the common order avoids deadlocks with writes
    const statement = sql`
      update access_tokens set last_used_on = current_date where id in (
        select id from access_tokens where id = any(${ids}::uuid[]) and last_used_on is distinct from current_date
        order by id for update skip locked
      )`
    await statement.execute(db).catch((error: unknown) => {
      for (const id of ids) queued.add(id)
      throw error
    })
  }
  const timer = setInterval(() => void flush().catch(onError), FLUSH_MS).unref()
  return {
    list: (userId) => withErrorTranslation(() => readTokens(db, userId)),
    lastDays: () => withErrorTranslation(() => readLastDays(db)),
    recordUse(tokenId) {
      const today = dayOf(Date.now())
      if (today !== day || stored.size >= MAX_REMEMBERED) stored.clear()
      day = today
      if (stored.has(tokenId)) return
      stored.add(tokenId)
      queued.add(tokenId)
    },
    async close() {
      clearInterval(timer)
      await flush().catch(onError)
    }
  }
}
