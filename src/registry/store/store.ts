import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import type pg from 'pg'
import { callFolderIn, openEmbedded } from './pglite.ts'
import { createListenerFactory, openPool, type PoolStats } from './postgres.ts'
import type { Db, Tables } from '../model/tables.ts'
import { withTimeout } from '../../lib/with-timeout.ts'

export interface StoreOptions {
  /** PostgreSQL connection URL; without it the embedded store in `dataDir` is opened */
  readonly databaseUrl?: string | undefined
  /** URL that bypasses a transaction-mode pooler, for LISTEN and migrations; default `databaseUrl` */
  readonly directDatabaseUrl?: string | undefined
  /** Absolute path; created with mode 0700 if needed */
  readonly dataDir: string
  readonly connectTimeoutMs: number
  readonly queryTimeoutMs: number
  readonly onIdleError: (error: Error) => void
  /** Called before an embedded store is created, which takes seconds */
  readonly onCreate?: () => void
}

export interface Store {
  readonly db: Db
  /** Folder for calls that are not stored yet; undefined with PostgreSQL */
  readonly callFolder: string | undefined
  /** Creates a client for LISTEN; undefined with the embedded store, where all changes come from this process */
  readonly listener: (() => pg.Client) | undefined
  /** Returns pool statistics, undefined with the embedded store. */
  poolStats(): PoolStats | undefined
  /** Runs work that may take long and holds session locks (migrations), over the direct connection. */
  runMaintenance<T>(work: (db: Db) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const MAINTENANCE_MS = 10 * 60_000
const POOL_SIZE = 10

/** Opens PostgreSQL or the embedded store; both speak one dialect. Throws StartupError for a directory in use. */
export function openStore(options: StoreOptions): Promise<Store> {
  return options.databaseUrl === undefined
    ? openEmbeddedStore(options)
    : openPostgresStore(options.databaseUrl, options)
}

async function openEmbeddedStore({ dataDir, connectTimeoutMs, onCreate, onIdleError }: StoreOptions): Promise<Store> {
  const db = createDb(await openEmbedded(dataDir, connectTimeoutMs, { onCreate, onStopped: onIdleError }))
  return {
    db,
    callFolder: callFolderIn(dataDir),
    listener: undefined,
    poolStats: () => undefined,
    runMaintenance: (work) => work(db),
    close: () => db.destroy()
  }
}

async function openPostgresStore(url: string, options: StoreOptions): Promise<Store> {
  const { connectTimeoutMs, queryTimeoutMs, onIdleError, directDatabaseUrl: direct = url } = options
  const open = (target: string, max: number, limitMs: number) =>
    openPool(target, {
      connectTimeoutMs,
      queryTimeoutMs: limitMs,
      max,
      sessionLimits: target === direct,
      onIdleError
    })
  const pool = await open(url, POOL_SIZE, queryTimeoutMs)
  const db = createDb(pool)
  return {
    db,
    callFolder: undefined,
    poolStats: pool.stats,
    listener: await createListenerFactory(direct, connectTimeoutMs),
    async runMaintenance(work) {
      const maintenanceDb = createDb(await open(direct, 1, MAINTENANCE_MS))
      try {
        return await work(maintenanceDb)
      } finally {
        await maintenanceDb.destroy()
      }
    },
    close: () => withTimeout(connectTimeoutMs, db.destroy())
  }
}

const createDb = (pool: PostgresPool): Db => new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
