import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { WriteContext } from './context.ts'
import { withErrorTranslation } from '../store/failures.ts'
import type { TokenGrant, TokenGrantResult, StoredTokens, TokenSource, UpstreamTokens } from '../model/model.ts'
import { decryptJson, encryptJson } from '../crypto/server-secrets.ts'
import type { MasterKeys } from '../crypto/envelope-encryption.ts'
import { findEncryptionKeys, withKeyLock } from '../crypto/encryption-keys.ts'
import type { Db } from '../model/tables.ts'

/** Exclusive right to renew; longer than a token request may take, so that the claim of a crashed replica expires */
const CLAIM_EXPIRY = sql<Date>`now() + interval '20 seconds'`
const LONGEST_SECONDS = 365 * 86_400

const locationOf = (serverId: string) => ({ table: 'upstream_tokens', row: serverId, column: 'sealed' })

const expiryOf = (lifetime: number | null) =>
  lifetime === null
    ? sql<null>`null`
    : sql<Date>`now() + make_interval(secs => ${Math.min(lifetime, LONGEST_SECONDS)}::float8)`

function columns(keys: MasterKeys, serverId: string, source: TokenSource, { access, refresh, lifetime }: TokenGrant) {
  const tokens: UpstreamTokens = { access, ...(refresh === undefined ? {} : { refresh }), source }
  return {
    issuer: source.issuer,
    sealed: encryptJson(keys, tokens, locationOf(serverId)),
    problem: null,
    issued_at: sql<Date>`now()`,
    expires_at: expiryOf(lifetime),
    claim: null,
    claimed_until: null
  }
}

/**
 * Creates the repository of a server's tokens for a write. Used together with a change of the server itself, which
 * notifies replicas.
 */
export function createTokenRepository({ db, encryptionKeys, recordEffect }: WriteContext) {
  return {
    /** Replaces the stored tokens, whichever issuer they were from. */
    async upsert(serverId: string, source: TokenSource, grant: TokenGrant): Promise<void> {
      const values = columns(encryptionKeys(), serverId, source, grant)
      await db
        .insertInto('upstream_tokens')
        .values({ server_id: serverId, ...values })
        .onConflict((conflict) => conflict.column('server_id').doUpdateSet(values))
        .execute()
      recordEffect({ after: { oauth_issuer: source.issuer, access_token: grant.access } })
    },

    async remove(serverId: string): Promise<void> {
      await db.deleteFrom('upstream_tokens').where('server_id', '=', serverId).execute()
    }
  }
}

const tokenColumns = [
  'server_id',
  'sealed',
  'problem',
  sql<number | null>`(extract(epoch from expires_at - issued_at) * 1000)::float8`.as('lifetime'),
  sql<number | null>`(extract(epoch from expires_at - now()) * 1000)::float8`.as('left')
] as const

interface Row {
  readonly server_id: string
  readonly sealed: Uint8Array
  readonly problem: string | null
  readonly lifetime: number | null
  readonly left: number | null
}

/** Right to renew the tokens of one server, held by one replica at a time */
export interface TokenClaim {
  /** Currently stored tokens; another replica may have renewed them before */
  readonly current: StoredTokens
  /** Replaces the claimed tokens. Returns false if they were replaced or removed in the meantime. */
  storeRenewed(granted: TokenGrantResult): Promise<boolean>
  /** Records why the tokens can no longer be renewed. */
  recordProblem(problem: string): Promise<void>
  release(): Promise<void>
}

/** Tokens of upstreams, accessed outside registry writes: a renewal changes no configuration and has no version */
export interface TokenStore {
  /** Returns a server's tokens, undefined if it has none. */
  read(serverId: string): Promise<StoredTokens | undefined>
  /** Claims the right to renew; undefined if another replica holds it, or there is nothing to renew. */
  tryClaim(serverId: string): Promise<TokenClaim | undefined>
}

export function createTokenStore(db: Db, keys: MasterKeys): TokenStore {
  const toStored = ({ server_id, sealed, problem, lifetime, left }: Row): StoredTokens => ({
    tokens: decryptJson<UpstreamTokens>(keys, sealed, locationOf(server_id)),
    problem,
    lifetimeMs: lifetime,
    leftMs: left
  })
  const createClaim = (serverId: string, claim: string, row: Row): TokenClaim => {
    const current = toStored(row)
    const endClaim = async (values: object, executor = db): Promise<boolean> => {
      const { numUpdatedRows } = await executor
        .updateTable('upstream_tokens')
        .set({ claim: null, claimed_until: null, ...values })
        .where('server_id', '=', serverId)
        .where('claim', '=', claim)
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
    }
    /**
     * The previous tokens may be void already, so new ones are stored in any case, even with a key that only a later
     * rotation replaces.
     */
    const renew = ({ grant, source }: TokenGrantResult) =>
      withKeyLock(db, (trx, database) =>
        endClaim(columns(findEncryptionKeys(keys, database) ?? keys, serverId, source, grant), trx)
      )
    return {
      current,
      storeRenewed: (granted) => withErrorTranslation(() => renew(granted)),
      recordProblem: (problem) => withErrorTranslation(async () => void (await endClaim({ problem }))),
      release: () => withErrorTranslation(async () => void (await endClaim({})))
    }
  }
  return {
    read: (serverId) =>
      withErrorTranslation(async () => {
        const row = await db
          .selectFrom('upstream_tokens')
          .select(tokenColumns)
          .where('server_id', '=', serverId)
          .executeTakeFirst()
        return row && toStored(row)
      }),

    tryClaim: (serverId) =>
      withErrorTranslation(async () => {
        const claim = randomUUID()
        const row = await db
          .updateTable('upstream_tokens')
          .set({ claim, claimed_until: CLAIM_EXPIRY })
          .where('server_id', '=', serverId)
          .where('problem', 'is', null)
          .where(sql<boolean>`(claimed_until is null or claimed_until < now())`)
          .returning(tokenColumns)
          .executeTakeFirst()
        return row && createClaim(serverId, claim, row)
      })
  }
}
