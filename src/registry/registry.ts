import { sql } from 'kysely'
import { PRODUCT } from '../domain/product.ts'
import type { CallCause, CallEntry, CallFilter, CausesQuery } from '../schemas/call.ts'
import { createAttempts } from './attempts.ts'
import { auditExpiry, readAudit, recordAct, recordChange, recordRows } from './audit.ts'
import { readCauses } from './call-causes.ts'
import { createCallStats, type CallStats } from './call-stats.ts'
import { readTallies } from './call-tallies.ts'
import { callExpiry, findCall, readCalls, recordCalls, type CallRow, type Retention } from './calls.ts'
import { claim, type Claimed, type ClaimOptions } from './claim.ts'
import type { Effect, WriteContext } from './context.ts'
import { expireRegularly } from './expiry.ts'
import { translating } from './failures.ts'
import { createGroups } from './groups.ts'
import { createItems, type Difference } from './items.ts'
import { deriveKey } from './key.ts'
import { CHANNEL } from './listen.ts'
import { migrateToLatest } from './migrate.ts'
import type {
  Attempt,
  AttemptEnd,
  AuditEntry,
  AuditQuery,
  Change,
  Offer,
  Refusal,
  RegistryState,
  ServerConfig,
  ServerSecrets,
  StoredServer
} from './model.ts'
import { createOAuthSessions, type OAuthSessions } from './oauth-sessions.ts'
import type { PoolStats } from './postgres.ts'
import { createRefusals } from './refusals.ts'
import { rotateKeys, type Rotation } from './rotation.ts'
import { createRowQueue, type QueueState } from './row-queue.ts'
import type { Keyring } from './sealed.ts'
import { databaseKey, requireSealingKeys } from './sealing.ts'
import { openSecrets } from './secrets.ts'
import { createPrincipals, requireToken } from './principals.ts'
import { claimRefresh, createServers, hasReadableSecrets, readConfigs, type Configured } from './servers.ts'
import { openStore, type Store, type StoreOptions } from './store.ts'
import { createSessionEnds, sessionEndExpiry, type SessionEnds } from './session-ends.ts'
import { createSync } from './sync.ts'
import type { Db } from './tables.ts'
import { createTokens, createTokenStore, type TokenStore } from './upstream-tokens.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** A batch takes the embedded store some 5 ms, in which nothing is served. */
const CALLS_AT_ONCE = 250

/** What the work of a write gets. Only this may touch the database inside it. */
export interface Transaction {
  readonly servers: ReturnType<typeof createServers>
  readonly items: ReturnType<typeof createItems>
  readonly groups: ReturnType<typeof createGroups>
  readonly principals: ReturnType<typeof createPrincipals>
  readonly tokens: ReturnType<typeof createTokens>
}

/** What was called, by whom and how it went (security-model.md#audit). */
export interface CallLog extends CallStats {
  /** Stores it soon; returns at once and never throws. */
  record(row: CallRow): void
  /** Rows that wait to be stored. */
  readonly queued: number
  /** The newest first. */
  list(query: CallFilter & { readonly limit: number }): Promise<CallEntry[]>
  find(id: string): Promise<CallEntry | undefined>
  /** Why the newest of the failed calls failed, the most frequent first. */
  causes(query: CausesQuery): Promise<CallCause[]>
  /** Told when rows have been stored. */
  onStored: (() => void) | null
}

/** The control plane. Database failures are AppErrors: 503 when it is not reachable, 400 for what it cannot store. */
export interface Registry {
  /**
   * Change, audit row, version and NOTIFY in one transaction, one writer at a time; resolves when this process's
   * follower has the new version, or after as long as a query may take. If `work` throws, nothing has happened; if it
   * changes nothing, there is no audit row and no new version.
   */
  write<T>(change: Change, work: (tx: Transaction) => Promise<T>): Promise<T>
  /** `tx.servers.refresh` in a write of its own. */
  refresh(change: Change, id: string, offer: Offer, seen?: Configured): Promise<Difference>
  /** Whether nobody, in any replica, has begun a background refresh of the server within so many milliseconds: it is ours. */
  claimRefresh(id: string, withinMs: number): Promise<boolean>
  /** Hands the state to `apply`, now and at each change from anywhere. One follower; it must not throw. */
  follow(
    apply: (state: RegistryState) => void,
    onAnnouncement?: (text: string) => void,
    onListening?: () => void
  ): Promise<void>
  /** Opens a server's sealed part. 503 AppError (`secrets_unreadable`) when it does not open. */
  secrets(server: Pick<StoredServer, 'id' | 'name' | 'sealed'>): ServerSecrets
  /**
   * Registration inputs with their secrets, ordered by name (http-contract.md#registration-input). `reader` is recorded
   * in the audit log.
   */
  configs(reader?: Change): Promise<ServerConfig[]>
  /** Leaves a row soon; returns at once and never throws. Bounded for each principal and, apart from them, for
   * each address of unknown callers. */
  recordRefusal(refusal: Refusal): void
  /**
   * Writes that a server is about to be contacted, and resolves with what writes how it went, which never rejects. Rejects
   * with a 503 AppError: then nothing may be contacted.
   */
  beginAttempt(attempt: Attempt): Promise<(end: AttemptEnd) => Promise<void>>
  /** Rows of the audit log, the newest first. */
  audit(query: AuditQuery): Promise<AuditEntry[]>
  readonly calls: CallLog
  /** Of the call log, and of what the audit log holds beside changes. */
  readonly logs: Readonly<Record<'calls' | 'audit', QueueState>>
  /** Moves what is sealed to the current key. */
  rotateKeys(change: Change): Promise<Rotation>
  readonly oauthSessions: OAuthSessions
  readonly sessionEnds: SessionEnds
  readonly tokens: TokenStore
  /** A key of 32 bytes for one purpose, the same in every replica and for ever. */
  deriveKey(label: string): Buffer
  /** For how long the database has not confirmed what was handed to the follower. */
  silentMs(): number
  /** Connections to PostgreSQL; undefined with the embedded store. */
  pool(): PoolStats | undefined
  /** Resolves when the database answers: with its clock, in milliseconds since 1970. */
  ping(): Promise<number>
  /** Ends listening and polling, then closes the database. */
  close(): Promise<void>
}

export interface RegistryOptions extends StoreOptions, ClaimOptions {
  /** Rows of the audit log that are older are deleted; undefined: none. */
  readonly auditRetentionDays?: number | undefined
  /** Which calls are kept; undefined: all. */
  readonly callRetention?: Retention | undefined
  /** Told once per outage of the database or of following it. */
  readonly onError: (error: unknown) => void
}

/**
 * Opens the database, migrates it, checks mode and key. Throws StartRefusal for what the operator has to settle, and a
 * 503 AppError while the database is not reachable: then the same call may succeed later.
 */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const store = await openStore(options)
  try {
    const claimed = await translating(async () => {
      await migrateToLatest(store)
      const found = await claim(store.db, options)
      await sealSettings(store, found.keys, options.onError)
      return found
    })
    return createRegistry(store, claimed, options)
  } catch (error) {
    await store.close()
    throw error
  }
}

/**
 * What version 0.1 stored readable is sealed, once, by whichever process comes first. The table is written anew then, so that
 * its files do not keep the old rows either.
 */
async function sealSettings(store: Store, keys: Keyring, onError: (error: unknown) => void): Promise<void> {
  if (!(await hasReadableSecrets(store.db))) return
  const change = { actor: { kind: 'system', name: PRODUCT }, action: 'server.seal', target: '*' } as const
  const { result } = await commit(store.db, keys, change, (tx) => tx.servers.sealSettings())
  if (result.length === 0) return
  try {
    await store.maintain((db) => sql`vacuum full servers`.execute(db))
  } catch (error) {
    onError(error)
  }
}

function createRegistry(store: Store, { keys, root }: Claimed, options: RegistryOptions): Registry {
  const { onError, auditRetentionDays, callRetention, queryTimeoutMs } = options
  const { db } = store
  const sync = createSync({ store, onError })
  const refusals = createRefusals({
    write: (rows) => translating(() => recordRows(db, rows)),
    onError
  })
  /** What does not open is told once, not at each use. */
  const reported = new WeakSet<Uint8Array>()
  const calls = createRowQueue<CallRow>({
    async write(rows) {
      await translating(() => recordCalls(db, rows))
      callLog.onStored?.()
    },
    onError,
    onDropped: (count) => refusals.confess('calls.dropped', count),
    batch: CALLS_AT_ONCE
  })
  const closeCalls = async () => {
    const lost = await calls.close()
    if (lost > 0) onError(new Error(`${lost} calls could not be stored in the call log`))
  }
  const expiries = [
    expireRegularly(db, sessionEndExpiry, { everyMs: MINUTE_MS, onError }),
    auditRetentionDays && expireRegularly(db, auditExpiry(auditRetentionDays), { everyMs: HOUR_MS, onError }),
    callRetention && expireRegularly(db, callExpiry(callRetention), { everyMs: MINUTE_MS, onError })
  ]
  const callLog: CallLog = {
    record: calls.push,
    get queued() {
      return calls.length
    },
    onStored: null,
    list: (query) => translating(() => readCalls(db, query)),
    find: (id) => translating(() => findCall(db, id)),
    causes: (query) => translating(() => readCauses(db, query)),
    ...createCallStats((from, seconds) => translating(() => readTallies(db, from, seconds)))
  }

  const write: Registry['write'] = async (change, work) => {
    const { result, version } = await translating(() => commit(db, keys, change, work))
    // as long as a reading may take; what is committed is then answered as done all the same
    if (version !== undefined) await sync.reached(version, queryTimeoutMs)
    return result
  }
  return {
    write,
    refresh: (change, id, offer, seen) => write(change, (tx) => tx.servers.refresh(id, offer, seen)),
    claimRefresh: (id, withinMs) => translating(() => claimRefresh(db, id, withinMs)),
    follow: (...followers) => translating(() => sync.follow(...followers)),
    secrets(server) {
      try {
        return openSecrets(keys, server)
      } catch (error) {
        if (server.sealed && !reported.has(server.sealed)) {
          reported.add(server.sealed)
          refusals.fail('secrets.unreadable', server.name, (error as Error).message)
        }
        throw error
      }
    },
    configs: (reader) =>
      translating(async () => {
        if (reader) await recordAct(db, reader)
        return readConfigs(db, keys)
      }),
    recordRefusal: refusals.record,
    beginAttempt: createAttempts({
      db,
      key: deriveKey(root, 'launch fingerprints'),
      translating,
      later: refusals.later
    }),
    audit: (query) => translating(() => readAudit(db, query)),
    calls: callLog,
    logs: { calls, audit: refusals.state },
    oauthSessions: createOAuthSessions(db, keys),
    sessionEnds: createSessionEnds(db, store.listener !== undefined),
    tokens: createTokenStore(db, keys),
    rotateKeys: (change) => translating(() => rotateKeys(db, keys, change)),
    deriveKey: (label) => deriveKey(root, label),
    silentMs: () => sync.silentMs(),
    pool: store.pool,
    ping: () =>
      translating(async () => {
        const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
        return rows[0]!.now.getTime()
      }),
    async close() {
      for (const expiry of expiries) if (expiry) expiry.stop()
      await Promise.all([closeCalls(), refusals.close()])
      await sync.close()
      await store.close()
    }
  }
}

async function commit<T>(db: Db, keys: Keyring, change: Change, work: (tx: Transaction) => Promise<T>) {
  return db.transaction().execute(async (trx) => {
    const { version, key } = await lockHead(trx)
    if (change.tokenHash) await requireToken(trx, change.tokenHash)
    const effects: Effect[] = []
    const touch = (effect: Effect) => void effects.push(effect)
    const sealing = () => requireSealingKeys(keys, key)
    const context: WriteContext = { db: trx, keys, sealing, version, touch }
    const result = await work({
      servers: createServers(context),
      items: createItems(context),
      groups: createGroups(context),
      principals: createPrincipals(context),
      tokens: createTokens(context)
    })
    if (effects.length === 0) return { result, version: undefined }
    await recordChange(trx, change, version, effects)
    await trx.updateTable('gateway').set({ version }).execute()
    await sql`select pg_notify(${CHANNEL}, ${version})`.execute(trx)
    return { result, version }
  })
}

/** The row lock serialises writers, so versions and revisions appear in the order of their numbers. */
const lockHead = (db: Db): Promise<{ version: string; key: string }> =>
  db
    .selectFrom('gateway')
    .select([sql<string>`(version + 1)::text`.as('version'), databaseKey.as('key')])
    .where('id', '=', 1)
    .forUpdate()
    .executeTakeFirstOrThrow()
