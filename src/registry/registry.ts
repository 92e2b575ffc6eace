import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { PRODUCT } from '../domain/product.ts'
import type { LockSecrets } from '../domain/overrides/tool-overrides.ts'
import type { CallCause, CallEntry, CausesQuery } from '../schemas/call.ts'
import { createAttemptRecorder } from './logs/attempts.ts'
import { auditExpiry, readAudit, insertAction, insertChange, insertRows } from './logs/audit.ts'
import { createFileStore, createRowStore, type CallStore } from './logs/call-store.ts'
import { readCauses } from './logs/call-causes.ts'
import { createCallStats, type CallStats, type Storing } from './logs/call-stats.ts'
import { readTallies } from './logs/call-tallies.ts'
import {
  type CallQuery,
  callExpiry,
  findCall,
  readCalls,
  readDecidedCalls,
  type DecidedCall,
  type CallRow,
  type Retention
} from './logs/calls.ts'
import { loadDatabaseIdentity, type DatabaseIdentity, type IdentityOptions } from './database-identity.ts'
import { createCatalogueStore, type CatalogueStore } from './repositories/catalogue.ts'
import type { Consequence, Effect, Hold, WriteContext } from './repositories/context.ts'
import { scheduleExpiry, type Expiry } from './logs/expiry.ts'
import { readNewest, type NewestRows } from './logs/newest.ts'
import { createPolicyCounts, type PolicyCounts } from './logs/policy-counts.ts'
import { withErrorTranslation } from './store/failures.ts'
import { createGroupRepository } from './repositories/groups.ts'
import { createIdentityRepository, findPerson, type KnownPerson } from './repositories/identities.ts'
import { createItemRepository, type ListDifference } from './repositories/items.ts'
import { deriveKey } from './crypto/master-key.ts'
import { CHANGES_CHANNEL } from './store/listen.ts'
import { migrateToLatest } from './store/migrate.ts'
import type {
  ContactAttempt,
  ContactResult,
  AuditedAction,
  AuditEntry,
  AuditQuery,
  Change,
  UpstreamOffer,
  Refusal,
  RegistryState,
  ServerConfig,
  ServerSecrets,
  StoredGroup,
  StoredServer
} from './model/model.ts'
import { createOAuthSessions, type OAuthSessions } from './repositories/oauth-sessions.ts'
import {
  createUsedAssertionRepository,
  createUsedAssertions,
  usedAssertionExpiry,
  type UsedAssertions
} from './used-assertions.ts'
import { approvalExpiry, createApprovals, type Approvals } from './approvals.ts'
import { approvalTaskExpiry, createApprovalTasks, type ApprovalTasks } from './approval-tasks.ts'
import { createEmbeddingStore, embeddingExpiry, type EmbeddingStore } from './embeddings.ts'
import { createResultStore, resultExpiry, type ResultStore } from './results.ts'
import { createOAuthRecords, oauthRecordExpiry, type OAuthRecords } from './oauth-records.ts'
import { createSigningKeyRepository, readPrivateKeys, type PrivateSigningKey } from './repositories/signing-keys.ts'
import {
  createLocalAccountRepository,
  createLocalAccountStore,
  signInFailureExpiry,
  type LocalAccountStore
} from './local-accounts.ts'
import { createScimUserRepository, readScimMemberships, readScimUsers } from './repositories/scim-users.ts'
import { createScimGroupRepository, readScimGroups, readScimMembers } from './repositories/scim-groups.ts'
import { createPolicyRepository } from './repositories/policies.ts'
import type { PoolStats } from './store/postgres.ts'
import { createRefusalLog } from './logs/refusals.ts'
import { rotateKeys, type Rotation } from './rotation.ts'
import { createCallBacklog } from './logs/call-lines.ts'
import { createRowQueue, type QueueState } from './logs/row-queue.ts'
import type { MasterKeys } from './crypto/envelope-encryption.ts'
import { databaseKeyId, requireEncryptionKeys } from './crypto/encryption-keys.ts'
import { decryptLocks } from './crypto/lock-secrets.ts'
import { decryptSecrets } from './crypto/server-secrets.ts'
import { readVersion } from './state.ts'
import {
  createAccessTokenRepository,
  createAccessTokenStore,
  requireValidToken,
  type AccessTokenStore
} from './repositories/access-tokens.ts'
import { createGrantReader, createOAuthGrantRepository } from './repositories/oauth-grants.ts'
import { createPrincipalRepository } from './repositories/principals.ts'
import type { ConnectionConfig } from './repositories/server-rows.ts'
import {
  nextListRead,
  tryStartRefresh,
  createServerRepository,
  hasPlainSecrets,
  readConfigs
} from './repositories/servers.ts'
import { openStore, type Store, type StoreOptions } from './store/store.ts'
import { scheduleVacuum } from './store/vacuum.ts'
import { AppError } from '../lib/errors.ts'
import { noop } from '../lib/noop.ts'
import { createSessionEnds, sessionEndExpiry, type SessionEnds } from './session-ends.ts'
import { createStateFollower } from './state-follower.ts'
import { createTeamRepository } from './repositories/teams.ts'
import { createDefinitionRepository } from './repositories/definitions.ts'
import { retiredPinExpiry } from './retired-pins.ts'
import { createTombstoneRepository, tombstoneExpiry } from './tombstones.ts'
import type { Db } from './model/tables.ts'
import { createTokenRepository, createTokenStore, type TokenStore } from './repositories/upstream-tokens.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** Repositories bound to one write transaction. Inside a write, only these may access the database. */
export interface Transaction {
  readonly servers: ReturnType<typeof createServerRepository>
  readonly items: ReturnType<typeof createItemRepository>
  readonly definitions: ReturnType<typeof createDefinitionRepository>
  readonly groups: ReturnType<typeof createGroupRepository>
  readonly principals: ReturnType<typeof createPrincipalRepository>
  readonly accessTokens: ReturnType<typeof createAccessTokenRepository>
  readonly tokens: ReturnType<typeof createTokenRepository>
  readonly policies: ReturnType<typeof createPolicyRepository>
  readonly teams: ReturnType<typeof createTeamRepository>
  readonly tombstones: ReturnType<typeof createTombstoneRepository>
  readonly usedAssertions: UsedAssertions
  readonly signingKeys: ReturnType<typeof createSigningKeyRepository>
  readonly oauthGrants: ReturnType<typeof createOAuthGrantRepository>
  readonly identities: ReturnType<typeof createIdentityRepository>
  readonly localAccounts: ReturnType<typeof createLocalAccountRepository>
  readonly scimUsers: ReturnType<typeof createScimUserRepository>
  readonly scimGroups: ReturnType<typeof createScimGroupRepository>
}

/** Call log: calls, their callers and their outcomes (security-model.md#audit) */
export interface CallLog extends CallStats {
  /** Queues a row to be stored; returns at once and never throws. */
  record(row: CallRow): void
  /** Number of rows waiting to be stored */
  readonly queued: number
  /** Returns calls, newest first. */
  list(query: CallQuery): Promise<CallEntry[]>
  /** Returns what policies decide on, newest call first. `before`: only calls with lower ids. */
  decided(before: string | undefined, limit: number): Promise<DecidedCall[]>
  find(id: string): Promise<CallEntry | undefined>
  /** Returns the causes of the most recent failed calls, most frequent first. */
  causes(query: CausesQuery): Promise<CallCause[]>
  /** Called after rows have been stored, and again once statistics include them */
  onStored: (() => void) | null
}

/**
 * Control plane storage. Database failures become AppErrors: 503 if the database is unreachable, 400 for values that it
 * cannot store.
 */
export interface Registry {
  /**
   * Commits a change with its audit row, a new version and a NOTIFY in one transaction; writers run one at a time.
   * Resolves once this process's follower has applied the new version, or after the query timeout. If `work` throws,
   * nothing is changed; if it changes nothing, there is no audit row and no new version.
   */
  write<T>(change: Change, work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Returns the number of a read of an upstream's lists that begins now (UpstreamOffer.read). */
  beginRead(): Promise<string>
  /**
   * Runs `tx.servers.refresh` in its own write. Resolves when the catalog has these lists or later ones, whichever
   * replica stored them.
   */
  refresh(change: Change, id: string, offer: UpstreamOffer, expected?: ConnectionConfig): Promise<ListDifference>
  /**
   * Returns true if no replica has started a background refresh of the server in the last `withinMs` milliseconds; the
   * caller then refreshes it.
   */
  tryStartRefresh(id: string, withinMs: number): Promise<boolean>
  /**
   * Passes the state to `apply`, now and after each change by any replica. Only one follower is allowed; `apply` must
   * not throw.
   */
  follow(
    apply: (state: RegistryState) => void | Promise<void>,
    onAnnouncement?: (text: string) => void,
    onListening?: () => void,
    onApproval?: (id: string) => void
  ): Promise<void>
  /** Resolves once this process's follower has applied all that is committed now, or after the query timeout. */
  catchUp(): Promise<void>
  /** Decrypts a server's secrets. Throws a 503 AppError (`secrets_unreadable`) if they cannot be decrypted. */
  decryptSecrets(server: Pick<StoredServer, 'id' | 'name' | 'sealed'>): ServerSecrets
  /** Decrypts the secrets in the locks of a group. Throws an AppError if that fails. */
  decryptLocks(group: Pick<StoredGroup, 'name' | 'sealed'>): LockSecrets
  /**
   * Returns registration inputs with their secrets, ordered by name (http-contract.md#registration-input). `reader` is
   * recorded in the audit log.
   */
  configs(reader?: Change): Promise<ServerConfig[]>
  /**
   * Queues an audit row for a rejected request; returns at once and never throws. Rates are limited per principal and,
   * separately, per address of unauthenticated callers.
   */
  recordRefusal(refusal: Refusal): void
  /** Writes an audit row for an action that changes nothing in the registry. Rejects with a 503 AppError if it cannot. */
  recordAction(action: AuditedAction): Promise<void>
  /**
   * Writes an audit row before a server is contacted, and resolves with a function that writes the result and never
   * rejects. Rejects with a 503 AppError if the row cannot be written; the server must then not be contacted.
   */
  beginAttempt(attempt: ContactAttempt): Promise<(end: ContactResult) => Promise<void>>
  /** Tells of audit rows that come without a change, such as refusals: `onStored` is called after they are stored. */
  readonly auditRows: { onStored: (() => void) | null }
  /** `onHeld` is called after a write by this process has held definitions. It must not throw. */
  readonly definitionHolds: { onHeld: ((hold: Hold) => void) | null }
  /** Returns rows of the audit log, newest first. */
  audit(query: AuditQuery): Promise<AuditEntry[]>
  readonly calls: CallLog
  /** Calls that policies in mode `observe` match */
  readonly policyCounts: PolicyCounts
  /** Reads marks of what any replica added last; undefined with the embedded store, which has one process */
  readonly newest: (() => Promise<NewestRows>) | undefined
  /** Queue statistics of the call log, and of audit rows other than changes */
  readonly logs: Readonly<Record<'calls' | 'audit', QueueState>>
  /** Re-encrypts the data keys of all stored secrets with the current key. */
  rotateKeys(change: Change): Promise<Rotation>
  readonly oauthSessions: OAuthSessions
  /** Records of the authorization server. */
  readonly oauthRecords: OAuthRecords
  readonly oauthGrants: ReturnType<typeof createGrantReader>
  readonly usedAssertions: UsedAssertions
  /** Returns the private keys of the authorization server, the one that signs first. */
  signingKeys(): Promise<PrivateSigningKey[]>
  readonly sessionEnds: SessionEnds
  readonly tokens: TokenStore
  readonly accessTokens: AccessTokenStore
  readonly localAccounts: LocalAccountStore
  /** Finds the user of a person who has signed in before, with the groups that the person would have now. */
  findPerson(person: Parameters<typeof findPerson>[1]): Promise<KnownPerson | undefined>
  /** Users and groups of a SCIM client; each read rejects with a 503 AppError while the database is unreachable. */
  readonly scim: {
    users(query: Parameters<typeof readScimUsers>[1]): ReturnType<typeof readScimUsers>
    groups(query: Parameters<typeof readScimGroups>[1]): ReturnType<typeof readScimGroups>
    members(groupIds: readonly string[]): ReturnType<typeof readScimMembers>
    memberships(userIds: readonly string[]): ReturnType<typeof readScimMemberships>
  }
  readonly catalogue: CatalogueStore
  readonly approvals: Approvals
  readonly approvalTasks: ApprovalTasks
  readonly results: ResultStore
  /** Vectors for search. */
  readonly embeddings: EmbeddingStore
  /** Derives a 32-byte key for one purpose; every replica derives the same key, permanently. */
  deriveKey(label: string): Buffer
  /** Returns the milliseconds since the database last confirmed the follower's state. */
  unconfirmedMs(): number
  /** Returns statistics of the PostgreSQL connection pool; undefined with the embedded store. */
  poolStats(): PoolStats | undefined
  /** Resolves with the database's clock, in milliseconds since 1970. */
  ping(): Promise<number>
  /** Stops listening and polling, then closes the database. */
  close(): Promise<void>
}

export interface RegistryOptions extends StoreOptions, IdentityOptions {
  /** Age in days after which audit rows are deleted; undefined keeps all */
  readonly auditRetentionDays?: number | undefined
  /** Limits of the call log; undefined keeps all */
  readonly callRetention?: Retention | undefined
  /** Called once per outage of the database or of the change notifications */
  readonly onError: (error: unknown) => void
}

/**
 * Opens the database, migrates it, and checks its mode and key. Throws StartupError for problems that the operator must
 * resolve, and a 503 AppError while the database is unreachable; the same call may then succeed later.
 */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const store = await openStore(options)
  try {
    const identity = await withErrorTranslation(async () => {
      await migrateToLatest(store)
      const found = await loadDatabaseIdentity(store.db, options)
      await encryptPlainSecrets(store, found.keys, options.onError)
      return found
    })
    return createRegistry(store, identity, options)
  } catch (error) {
    await store.close()
    throw error
  }
}

/**
 * Encrypts secrets that version 0.1 stored in plain text; the first process to start does so once. The table is then
 * rewritten, so that its files no longer contain the old rows.
 */
async function encryptPlainSecrets(store: Store, keys: MasterKeys, onError: (error: unknown) => void): Promise<void> {
  if (!(await hasPlainSecrets(store.db))) return
  const change = { actor: { kind: 'system', name: PRODUCT }, action: 'server.seal', target: '*' } as const
  const { result } = await commit(store.db, keys, change, (tx) => tx.servers.encryptPlainSecrets())
  if (result.length === 0) return
  try {
    await store.runMaintenance((db) => sql`vacuum full servers`.execute(db))
  } catch (error) {
    onError(error)
  }
}

/** Starts deleting what has expired. */
function startExpiries(db: Db, calls: CallStore, { auditRetentionDays, callRetention, onError }: RegistryOptions) {
  const every: readonly (readonly [Expiry, everyMs: number])[] = [
    [sessionEndExpiry, MINUTE_MS],
    [oauthRecordExpiry, MINUTE_MS],
    [usedAssertionExpiry, MINUTE_MS],
    [resultExpiry, MINUTE_MS],
    [approvalTaskExpiry, MINUTE_MS],
    [tombstoneExpiry, HOUR_MS],
    [signInFailureExpiry, HOUR_MS],
    [embeddingExpiry, HOUR_MS],
    ...(auditRetentionDays
      ? [auditExpiry, approvalExpiry, retiredPinExpiry].map((expiry) => [expiry(auditRetentionDays), HOUR_MS] as const)
      : []),
    ...(callRetention ? [[callExpiry(callRetention, () => calls.waiting), MINUTE_MS] as const] : [])
  ]
  return every.map(([expiry, everyMs]) => scheduleExpiry(db, expiry, { everyMs, onError }))
}

const createCallStore = ({ db, callFolder: folder }: Store, { callRetention, onError }: RegistryOptions): CallStore =>
  folder === undefined
    ? createRowStore(db)
    : createFileStore(db, { folder, keep: callRetention?.rows ?? Infinity, onError })

/** Calls that cannot become rows now are left out of what is read: a full disk stops no reader. */
const ignoreUnavailable = (error: unknown) => {
  if (!(error instanceof AppError && error.statusCode === 503)) throw error
}

/** Creates the functions that read the call log. */
function createCallReads(db: Db, { flush }: CallStore, storing: Storing) {
  const read = async <T>(work: () => Promise<T>): Promise<T> => {
    await flush().catch(ignoreUnavailable)
    return withErrorTranslation(work)
  }
  return {
    list: (query: CallQuery) => read(() => readCalls(db, query)),
    decided: (before: string | undefined, limit: number) => read(() => readDecidedCalls(db, before, limit)),
    find: (id: string) => read(() => findCall(db, id)),
    causes: (query: CausesQuery) => read(() => readCauses(db, query)),
    ...createCallStats((from, seconds) => read(() => readTallies(db, from, seconds)), storing)
  } satisfies Omit<CallLog, 'record' | 'queued' | 'onStored'>
}

/** Creates the call log, the state of its queue, and the function that stores what is queued. */
function createCallLog(
  db: Db,
  store: CallStore,
  { onError }: Pick<RegistryOptions, 'onError'>,
  onDropped: (count: number) => void
) {
  let timesStored = 0
  const queue = createRowQueue({
    async write(lines) {
      await store.record(lines)
      timesStored += 1
      log.onStored?.()
    },
    onError,
    onDropped,
    backlog: createCallBacklog(store.batch)
  })
  const log: CallLog = {
    record: queue.push,
    get queued() {
      return queue.length
    },
    onStored: null,
    ...createCallReads(db, store, { times: () => timesStored, onOutdated: () => log.onStored?.() })
  }
  return {
    log,
    state: queue as QueueState,
    async close() {
      const lost = await queue.close()
      await store.close()
      if (lost > 0) onError(new Error(`${lost} calls could not be stored in the call log`))
    }
  }
}

/** Returns a function that decrypts secrets and reports a row that it cannot decrypt, once. */
function reportUnreadable(refusals: Pick<ReturnType<typeof createRefusalLog>, 'recordFailure'>) {
  const reported = new WeakSet<Uint8Array>()
  return <T>(owner: Pick<StoredServer, 'name' | 'sealed'>, decrypt: () => T): T => {
    try {
      return decrypt()
    } catch (error) {
      if (owner.sealed && !reported.has(owner.sealed)) {
        reported.add(owner.sealed)
        refusals.recordFailure('secrets.unreadable', owner.name, (error as Error).message)
      }
      throw error
    }
  }
}

function createRegistry(store: Store, { keys, rootKey }: DatabaseIdentity, options: RegistryOptions): Registry {
  const { onError, queryTimeoutMs } = options
  const { db } = store
  const sync = createStateFollower({ store, onError })
  const auditRows: Registry['auditRows'] = { onStored: null }
  const definitionHolds: Registry['definitionHolds'] = { onHeld: null }
  const refusalLog = createRefusalLog({
    async write(rows) {
      await withErrorTranslation(() => insertRows(db, rows))
      auditRows.onStored?.()
    },
    onError
  })
  const reportingUnreadable = reportUnreadable(refusalLog)
  const callStore = createCallStore(store, options)
  const calls = createCallLog(db, callStore, options, (count) => refusalLog.recordDropped('calls.dropped', count))
  const accessTokens = createAccessTokenStore(db, onError)
  const policyCounts = createPolicyCounts(db, onError)
  const expiries = startExpiries(db, callStore, options)
  const stopVacuum = store.callFolder === undefined ? noop : scheduleVacuum(db, onError)

  const write: Registry['write'] = async (change, work) => {
    const { result, version, holds } = await withErrorTranslation(() => commit(db, keys, change, work))
    for (const hold of holds) definitionHolds.onHeld?.(hold)
    // Waits at most as long as one state query may take; the write is committed and reported as successful either way.
    if (version !== undefined) await sync.waitForVersion(version, queryTimeoutMs)
    return result
  }
  const catchUp = async () => {
    const version = await withErrorTranslation(() => readVersion(db))
    await sync.waitForVersion(version, queryTimeoutMs)
  }
  return {
    write,
    beginRead: () => withErrorTranslation(() => nextListRead(db)),
    async refresh(change, id, offer, expected) {
      const difference = await write(change, (tx) => tx.servers.refresh(id, offer, expected))
      if (difference.unchanged) await catchUp()
      return difference
    },
    tryStartRefresh: (id, withinMs) => withErrorTranslation(() => tryStartRefresh(db, id, withinMs)),
    follow: (...followers) => withErrorTranslation(() => sync.follow(...followers)),
    catchUp,
    decryptSecrets: (server) => reportingUnreadable(server, () => decryptSecrets(keys, server)),
    decryptLocks: (group) => reportingUnreadable(group, () => decryptLocks(keys, group)),
    configs: (reader) =>
      withErrorTranslation(async () => {
        if (reader) await insertAction(db, reader)
        return readConfigs(db, keys)
      }),
    recordRefusal: refusalLog.record,
    recordAction: (action) => withErrorTranslation(() => insertAction(db, action)),
    beginAttempt: createAttemptRecorder({
      db,
      key: deriveKey(rootKey, 'launch fingerprints'),
      withErrorTranslation,
      enqueue: refusalLog.enqueue
    }),
    auditRows,
    definitionHolds,
    audit: (query) => withErrorTranslation(() => readAudit(db, query)),
    calls: calls.log,
    policyCounts,
    newest: store.listener && (() => withErrorTranslation(() => readNewest(db))),
    logs: { calls: calls.state, audit: refusalLog.state },
    oauthSessions: createOAuthSessions(db, keys),
    oauthRecords: createOAuthRecords(db, keys),
    oauthGrants: createGrantReader(db, keys),
    usedAssertions: createUsedAssertions(db),
    signingKeys: () => readPrivateKeys(db, keys),
    sessionEnds: createSessionEnds(db, store.listener !== undefined),
    tokens: createTokenStore(db, keys),
    accessTokens,
    localAccounts: createLocalAccountStore(db),
    findPerson: (person) => withErrorTranslation(() => findPerson(db, person)),
    scim: {
      users: (query) => readScimUsers(db, query),
      groups: (query) => readScimGroups(db, query),
      members: (groupIds) => readScimMembers(db, groupIds),
      memberships: (userIds) => readScimMemberships(db, userIds)
    },
    catalogue: createCatalogueStore(db),
    approvals: createApprovals(db, keys, store.listener !== undefined),
    results: createResultStore(db),
    embeddings: createEmbeddingStore(db),
    approvalTasks: createApprovalTasks(db, keys, store.listener !== undefined),
    rotateKeys: (change) => withErrorTranslation(() => rotateKeys(db, keys, change)),
    deriveKey: (label) => deriveKey(rootKey, label),
    unconfirmedMs: () => sync.unconfirmedMs(),
    poolStats: store.poolStats,
    ping: () =>
      withErrorTranslation(async () => {
        const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
        return rows[0]!.now.getTime()
      }),
    async close() {
      for (const expiry of expiries) expiry.stop()
      stopVacuum()
      // rows of calls that were answered in this turn of the event loop come in the next one (observe/call-log.ts)
      await nextTurn()
      await Promise.all([calls.close(), refusalLog.close(), accessTokens.close(), policyCounts.close()])
      await sync.close()
      await store.close()
    }
  }
}

async function commit<T>(db: Db, keys: MasterKeys, change: Change, work: (tx: Transaction) => Promise<T>) {
  return db.transaction().execute(async (trx) => {
    const { version, key } = await lockGatewayRow(trx)
    await requireValidToken(trx, change)
    const effects: Effect[] = []
    const recordEffect = (effect: Effect) => void effects.push(effect)
    const encryptionKeys = () => requireEncryptionKeys(keys, key)
    const consequences: Consequence[] = []
    const recordConsequence = (consequence: Consequence) => void consequences.push(consequence)
    const holds: Hold[] = []
    const recordHold = (hold: Hold) => void holds.push(hold)
    const actor = change.actor.name
    const context: WriteContext = {
      ...{ db: trx, keys, encryptionKeys, version, recordEffect },
      ...{ actor, recordConsequence, recordHold }
    }
    const result = await work({
      servers: createServerRepository(context),
      items: createItemRepository(context),
      definitions: createDefinitionRepository(context),
      groups: createGroupRepository(context),
      principals: createPrincipalRepository(context),
      accessTokens: createAccessTokenRepository(context),
      tokens: createTokenRepository(context),
      policies: createPolicyRepository(context),
      teams: createTeamRepository(context),
      tombstones: createTombstoneRepository(context),
      usedAssertions: createUsedAssertionRepository(context),
      signingKeys: createSigningKeyRepository(context),
      oauthGrants: createOAuthGrantRepository(context),
      identities: createIdentityRepository(context),
      localAccounts: createLocalAccountRepository(context),
      scimUsers: createScimUserRepository(context),
      scimGroups: createScimGroupRepository(context)
    })
    if (effects.length === 0) return { result, version: undefined, holds: [] }
    await insertChange(trx, change, version, effects)
    for (const { effect, ...of } of consequences) await insertChange(trx, { ...change, ...of }, version, [effect])
    await trx.updateTable('gateway').set({ version }).execute()
    await sql`select pg_notify(${CHANGES_CHANNEL}, ${version})`.execute(trx)
    return { result, version, holds }
  })
}

/** Locks the gateway row, which serialises writers: versions and revisions become visible in numerical order. */
const lockGatewayRow = (db: Db): Promise<{ version: string; key: string }> =>
  db
    .selectFrom('gateway')
    .select([sql<string>`(version + 1)::text`.as('version'), databaseKeyId.as('key')])
    .where('id', '=', 1)
    .forUpdate()
    .executeTakeFirstOrThrow()
