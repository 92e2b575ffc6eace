import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import { PRODUCT } from '../../domain/product.ts'
import { isConnectionLoss, requireStorable } from './failures.ts'

export interface PoolOptions {
  readonly connectTimeoutMs: number
  /** Timeout of one statement; 0: none */
  readonly queryTimeoutMs: number
  readonly max: number
  /** True if session settings may be sent at connect, which a transaction-mode pooler rejects */
  readonly sessionLimits: boolean
  readonly onIdleError: (error: Error) => void
}

/** Connection counts of a pool */
export interface PoolStats {
  readonly size: number
  readonly idle: number
  /** Callers waiting for a connection */
  readonly waiting: number
}

export interface PoolWithStats extends PostgresPool {
  stats(): PoolStats
}

/** Opens a `pg.Pool` for Kysely that never reuses a connection which failed or still has an open transaction. */
export async function openPool(url: string, options: PoolOptions): Promise<PoolWithStats> {
  const { default: driver } = await import('pg')
  const pool = new driver.Pool({
    connectionString: url,
    application_name: PRODUCT,
    max: options.max,
    keepAlive: true,
    connectionTimeoutMillis: options.connectTimeoutMs,
    query_timeout: options.queryTimeoutMs,
    ...(options.sessionLimits && {
      statement_timeout: options.queryTimeoutMs,
      idle_in_transaction_session_timeout: 2 * options.queryTimeoutMs
    })
  })
  pool.on('error', options.onIdleError)
  return {
    connect: async () => guardClient(await pool.connect()),
    end: () => pool.end(),
    stats: () => ({ size: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount })
  }
}

/** Returns a function that creates clients for LISTEN, bypassing the pool and any pooler. */
export async function createListenerFactory(url: string, connectTimeoutMs: number): Promise<() => pg.Client> {
  const { default: driver } = await import('pg')
  return () =>
    new driver.Client({
      connectionString: url,
      application_name: `${PRODUCT} listener`,
      keepAlive: true,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: connectTimeoutMs
    })
}

function guardClient(client: pg.PoolClient): PostgresPoolClient {
  let failure: Error | undefined
  // Between two statements of a transaction nothing else handles errors, and a database restart would end the process.
  const onError = (error: Error) => {
    failure ??= error
  }
  client.on('error', onError)

  const query = async (text: string, parameters: readonly unknown[]) => {
    // A statement on a hung connection has already waited for its timeout; the rollback must not wait again.
    if (failure) throw failure
    requireStorable(parameters)
    try {
      const { command, rowCount, rows } = await client.query(text, parameters as unknown[])
      return { command, rowCount: rowCount ?? 0, rows }
    } catch (error) {
      if (isConnectionLoss(error)) failure ??= error as Error
      throw error
    }
  }
  const release = () => {
    client.off('error', onError)
    client.release(failure ?? client.getTransactionStatus() !== 'I')
  }
  return { query: query as PostgresPoolClient['query'], release }
}
