import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { WriteContext } from './context.ts'
import { translating } from './failures.ts'
import type { Grant, Granted, StoredTokens, TokenSource, UpstreamTokens } from './model.ts'
import { openSealed, sealJson } from './secrets.ts'
import type { Keyring } from './sealed.ts'
import { sealingKeys, whileKeyStays } from './sealing.ts'
import type { Db } from './tables.ts'

/** Longer than a token request may take; a replica that died meanwhile is not waited for any longer. */
const CLAIM = sql<Date>`now() + interval '20 seconds'`
const LONGEST_SECONDS = 365 * 86_400

const placeOf = (serverId: string) => ({ table: 'upstream_tokens', row: serverId, column: 'sealed' })

const expiry = (lifetime: number | null) =>
  lifetime === null
    ? sql<null>`null`
    : sql<Date>`now() + make_interval(secs => ${Math.min(lifetime, LONGEST_SECONDS)}::float8)`

function columns(keys: Keyring, serverId: string, source: TokenSource, { access, refresh, lifetime }: Grant) {
  const tokens: UpstreamTokens = { access, ...(refresh === undefined ? {} : { refresh }), source }
  return {
    issuer: source.issuer,
    sealed: sealJson(keys, tokens, placeOf(serverId)),
    problem: null,
    issued_at: sql<Date>`now()`,
    expires_at: expiry(lifetime),
    claim: null,
    claimed_until: null
  }
}

/** What a write may do to the tokens of a server; together with a change of the server itself, which tells replicas. */
export function createTokens({ db, sealing, touch }: WriteContext) {
  return {
    /** In place of those before, whichever issuer they were from. */
    async put(serverId: string, source: TokenSource, grant: Grant): Promise<void> {
      const values = columns(sealing(), serverId, source, grant)
      await db
        .insertInto('upstream_tokens')
        .values({ server_id: serverId, ...values })
        .onConflict((conflict) => conflict.column('server_id').doUpdateSet(values))
        .execute()
      touch({ after: { oauth_issuer: source.issuer, access_token: grant.access } })
    },

    async remove(serverId: string): Promise<void> {
      await db.deleteFrom('upstream_tokens').where('server_id', '=', serverId).execute()
    }
  }
}

const shown = [
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

/** The right to renew the tokens of one server, which one replica has at a time. */
export interface TokenClaim {
  /** As they are stored now: another replica may have renewed them before. */
  readonly stored: StoredTokens
  /** New tokens in place of the claimed ones. False where these were replaced or removed meanwhile. */
  renewed(granted: Granted): Promise<boolean>
  /** They cannot be renewed any more. */
  failed(problem: string): Promise<void>
  release(): Promise<void>
}

/** The tokens of upstreams between writes of the registry: a renewal changes no configuration and has no version. */
export interface TokenStore {
  /** Undefined where the server has none. */
  read(serverId: string): Promise<StoredTokens | undefined>
  /** Undefined where another replica has the claim, or there is nothing to renew. */
  claim(serverId: string): Promise<TokenClaim | undefined>
}

export function createTokenStore(db: Db, keys: Keyring): TokenStore {
  const toStored = ({ server_id, sealed, problem, lifetime, left }: Row): StoredTokens => ({
    tokens: openSealed<UpstreamTokens>(keys, sealed, placeOf(server_id)),
    problem,
    lifetimeMs: lifetime,
    leftMs: left
  })
  const claimOf = (serverId: string, claim: string, row: Row): TokenClaim => {
    const stored = toStored(row)
    const end = async (values: object, on = db): Promise<boolean> => {
      const { numUpdatedRows } = await on
        .updateTable('upstream_tokens')
        .set({ claim: null, claimed_until: null, ...values })
        .where('server_id', '=', serverId)
        .where('claim', '=', claim)
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
    }
    /** The tokens before may be void by now: new ones are kept in any case, if need be for a change of keys to find. */
    const renew = ({ grant, source }: Granted) =>
      whileKeyStays(db, (trx, database) =>
        end(columns(sealingKeys(keys, database) ?? keys, serverId, source, grant), trx)
      )
    return {
      stored,
      renewed: (granted) => translating(() => renew(granted)),
      failed: (problem) => translating(async () => void (await end({ problem }))),
      release: () => translating(async () => void (await end({})))
    }
  }
  return {
    read: (serverId) =>
      translating(async () => {
        const row = await db
          .selectFrom('upstream_tokens')
          .select(shown)
          .where('server_id', '=', serverId)
          .executeTakeFirst()
        return row && toStored(row)
      }),

    claim: (serverId) =>
      translating(async () => {
        const claim = randomUUID()
        const row = await db
          .updateTable('upstream_tokens')
          .set({ claim, claimed_until: CLAIM })
          .where('server_id', '=', serverId)
          .where('problem', 'is', null)
          .where(sql<boolean>`(claimed_until is null or claimed_until < now())`)
          .returning(shown)
          .executeTakeFirst()
        return row && claimOf(serverId, claim, row)
      })
  }
}
