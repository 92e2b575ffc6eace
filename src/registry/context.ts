import { sql } from 'kysely'
import type { Members } from '../domain/difference.ts'
import { notFound } from '../errors.ts'
import type { Keyring } from './sealed.ts'
import type { Db } from './tables.ts'

/** One writing transaction. */
export interface WriteContext {
  readonly db: Db
  /** What is stored is opened with these. */
  readonly keys: Keyring
  /** What is stored from now on is sealed with these. 503 AppError where this process has not the database's key. */
  readonly sealing: () => Keyring
  /** The registry's version once this commits, as text; becomes the revision of each server or group that is touched. */
  readonly version: string
  /** Says what differs now: without it the write leaves no audit row and the version stays. */
  readonly touch: (effect: Effect) => void
}

/** What every write sets that touches a server. */
export const touched = (version: string) => ({ revision: version, updated_at: sql<Date>`now()` })

/** What was and what is, secrets included: the audit log takes of it what differs and may be kept. */
export interface Effect {
  readonly before?: Members
  readonly after?: Members
}

/** 404 AppError when there is none. */
export async function findServer(db: Db, name: string): Promise<{ id: string; enabled: boolean }> {
  const row = await db.selectFrom('servers').select(['id', 'enabled']).where('name', '=', name).executeTakeFirst()
  if (!row) throw notFound('server', name)
  return row
}
