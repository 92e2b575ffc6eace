import { sql } from 'kysely'
import { isObject } from '../../domain/is-object.ts'
import type { MasterKeys } from '../crypto/envelope-encryption.ts'
import { decryptJson } from '../crypto/server-secrets.ts'
import { notFound } from '../../lib/errors.ts'
import type { Db } from '../model/tables.ts'
import { locationOf, rowId } from '../model/oauth-record-ids.ts'
import { withErrorTranslation } from '../store/failures.ts'
import type { WriteContext } from './context.ts'

/** Grants of a user that are read; the newest count. */
const MAX_GRANTS = 1_000
/** Records of the clients that an administrator has approved, by client id. */
export const APPROVAL = 'ClientApproval'
const GRANTS_AT_ONCE = 500
/** Grants that one page of a list may decrypt: which client a grant is for is encrypted. */
const MAX_SCANNED = 2_000

/** Grant that a user gave to an OAuth client */
export interface StoredGrant {
  /** SHA-256 of the grant's id */
  readonly hash: Uint8Array
  readonly clientId: string
  /** Scopes, separated by spaces, by endpoint */
  readonly resources: Readonly<Record<string, string>>
  readonly createdAt: Date
  /** Time at which the client got its refresh token, which each renewal replaces; undefined if it has none */
  readonly renewedAt: Date | undefined
}

/** Grant of any user */
export interface OwnedGrant extends StoredGrant {
  readonly userId: string
}

/** Position in the list of all grants, which is sorted by time and id, the newest first */
export interface GrantPlace {
  /** ISO 8601 in UTC with microseconds */
  readonly at: string
  readonly id: string
}

export interface GrantFilter {
  readonly userId?: string
  readonly clientId?: string
  readonly limit: number
  /** Place of the last grant of the page before; undefined for the first page */
  readonly after?: GrantPlace
}

/** Page of the list of all grants; `next`: undefined on the last page. A filter may leave fewer grants than asked for. */
export interface GrantPage {
  readonly grants: readonly OwnedGrant[]
  readonly next: GrantPlace | undefined
}

/**
 * Longest life of an access token, an hour, with the difference of clocks at which one still counts: until then it must
 * be refused on every replica.
 */
const ACCESS_TOKENS_END = sql<Date>`now() + interval '2 hours'`

/** Creates the repository of grants for a write. */
export const createOAuthGrantRepository = ({ db, recordEffect }: WriteContext) => {
  const end = async (hashes: readonly Uint8Array[]): Promise<void> => {
    for (let from = 0; from < hashes.length; from += GRANTS_AT_ONCE) {
      const some = hashes.slice(from, from + GRANTS_AT_ONCE)
      await db.deleteFrom('oauth_records').where('grant_hash', 'in', some).execute()
      await db
        .insertInto('tombstones')
        .values(some.map((hash) => ({ kind: 'grant', hash, until: ACCESS_TOKENS_END })))
        .onConflict((conflict) => conflict.columns(['kind', 'hash']).doNothing())
        .execute()
    }
  }
  return {
    /** Ends grants with everything that came from them: codes, refresh tokens, and access tokens on every replica. */
    async end(hashes: readonly Uint8Array[]): Promise<void> {
      await end(hashes)
      recordEffect({ after: { ended_grants: hashes.length } })
    },

    /** Deletes a client that registered itself, and ends these grants of it. Throws a 404 AppError. */
    async removeClient(id: string, hashes: readonly Uint8Array[]): Promise<void> {
      const client = await db.deleteFrom('oauth_records').where('id', '=', rowId('Client', id)).executeTakeFirst()
      if (client.numDeletedRows === 0n) throw notFound('OAuth client', id)
      await db.deleteFrom('oauth_records').where('id', '=', rowId(APPROVAL, id)).execute()
      await end(hashes)
      recordEffect({ before: { client: id }, after: { ended_grants: hashes.length } })
    }
  }
}

/** Decrypts a grant, as the library of the authorization server writes it. */
const openGrant = (keys: MasterKeys, { id, sealed }: { readonly id: string; readonly sealed: Uint8Array }) =>
  decryptJson<Readonly<Record<string, unknown>>>(keys, sealed, locationOf(id), 'the authorization server')

/** Returns the hashes of all grants of a client, of whichever user. Their contents are encrypted: it reads every grant. */
const readGrantsOfClient = (db: Db, keys: MasterKeys, clientId: string): Promise<Uint8Array[]> =>
  withErrorTranslation(async () => {
    const found: Uint8Array[] = []
    let after = ''
    for (;;) {
      const rows = await db
        .selectFrom('oauth_records')
        .select(['id', 'sealed', 'grant_hash'])
        .where('model', '=', 'Grant')
        .where('id', '>', after)
        .orderBy('id')
        .limit(GRANTS_AT_ONCE)
        .execute()
      for (const row of rows) {
        if (row.grant_hash && openGrant(keys, row)['clientId'] === clientId) found.push(row.grant_hash)
      }
      if (rows.length < GRANTS_AT_ONCE) return found
      after = rows.at(-1)!.id
    }
  })

/** Selects the grants that can be renewed or are younger than an hour, as access tokens are; the newest first. */
const selectCurrentGrants = (db: Db) =>
  db
    .selectFrom('oauth_records as found')
    .leftJoinLateral(
      (query) =>
        query
          .selectFrom('oauth_records as token')
          .select((token) => token.fn.max('token.created_at').as('at'))
          .whereRef('token.grant_hash', '=', 'found.grant_hash')
          .where('token.model', '=', 'RefreshToken')
          .where('token.consumed_at', 'is', null)
          .where('token.expires_at', '>', sql<Date>`now()`)
          .as('renewal'),
      (join) => join.onTrue()
    )
    .select(['found.id', 'found.sealed', 'found.grant_hash', 'found.created_at', 'renewal.at as renewed_at'])
    .where('found.model', '=', 'Grant')
    .where('found.expires_at', '>', sql<Date>`now()`)
    .where((grant) =>
      grant.or([
        grant('renewal.at', 'is not', null),
        grant('found.created_at', '>', sql<Date>`now() - interval '1 hour'`)
      ])
    )
    .orderBy('found.created_at', 'desc')
    .orderBy('found.id', 'desc')

type GrantRow = Awaited<ReturnType<ReturnType<typeof selectCurrentGrants>['execute']>>[number]

/** Returns a grant without its encryption; undefined if it names no client. */
function readGrant(keys: MasterKeys, { id, sealed, grant_hash, created_at, renewed_at }: GrantRow) {
  const { clientId, resources } = openGrant(keys, { id, sealed })
  if (typeof clientId !== 'string' || !grant_hash) return undefined
  const known = isObject(resources) ? Object.entries(resources) : []
  return {
    hash: grant_hash,
    clientId,
    resources: Object.fromEntries(known.map(([resource, scope]) => [resource, String(scope)])),
    createdAt: created_at,
    renewedAt: renewed_at ?? undefined
  } satisfies StoredGrant
}

const readGrants = (db: Db, keys: MasterKeys, userId: string): Promise<StoredGrant[]> =>
  withErrorTranslation(async () => {
    const rows = await selectCurrentGrants(db).where('found.user_id', '=', userId).limit(MAX_GRANTS).execute()
    return rows.flatMap((row) => readGrant(keys, row) ?? [])
  })

// milliseconds would skip or repeat grants of the same one
const preciseTime = sql<string>`to_char(found.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

function selectGrantsAfter(db: Db, { userId }: GrantFilter, after: GrantPlace | undefined) {
  let query = selectCurrentGrants(db)
    .select(['found.user_id', preciseTime.as('at')])
    .where('found.user_id', 'is not', null)
  if (userId !== undefined) query = query.where('found.user_id', '=', userId)
  if (after)
    query = query.where(sql<boolean>`(found.created_at, found.id) < (${after.at}::timestamptz, ${after.id}::text)`)
  return query
}

const readGrantPage = (db: Db, keys: MasterKeys, filter: GrantFilter): Promise<GrantPage> =>
  withErrorTranslation(async () => {
    const { clientId, limit } = filter
    const grants: OwnedGrant[] = []
    let { after } = filter
    for (let scanned = 0; scanned < MAX_SCANNED; scanned += GRANTS_AT_ONCE) {
      const rows = await selectGrantsAfter(db, filter, after).limit(GRANTS_AT_ONCE).execute()
      for (const [i, row] of rows.entries()) {
        after = { at: row.at, id: row.id }
        const grant = readGrant(keys, row)
        if (!grant || (clientId !== undefined && grant.clientId !== clientId)) continue
        grants.push({ ...grant, userId: row.user_id! })
        if (grants.length < limit) continue
        const isLast = i === rows.length - 1 && rows.length < GRANTS_AT_ONCE
        return { grants, next: isLast ? undefined : after }
      }
      if (rows.length < GRANTS_AT_ONCE) return { grants, next: undefined }
    }
    return { grants, next: after }
  })

/** Reads the grants of OAuth clients. Each rejects with a 503 AppError while the database is unreachable. */
export const createGrantReader = (db: Db, keys: MasterKeys) => ({
  /** Returns what a user gave to clients, the newest first. */
  ofUser: (userId: string) => readGrants(db, keys, userId),
  /** Returns a page of what all users gave to clients, the newest first. */
  page: (filter: GrantFilter) => readGrantPage(db, keys, filter),
  /** Returns the hashes of everything that users gave to a client. */
  ofClient: (clientId: string) => readGrantsOfClient(db, keys, clientId)
})
