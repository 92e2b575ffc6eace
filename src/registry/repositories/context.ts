import { sql } from 'kysely'
import type { Members } from '../../domain/secrets/difference.ts'
import { notFound } from '../../lib/errors.ts'
import type { MasterKeys } from '../crypto/envelope-encryption.ts'
import type { Db } from '../model/tables.ts'

/** Context of one write transaction. */
export interface WriteContext {
  readonly db: Db
  /** Keys that decrypt stored secrets */
  readonly keys: MasterKeys
  /**
   * Returns the keys to encrypt new secrets with. Throws a 503 AppError if this process does not have the
   * database's current key.
   */
  readonly encryptionKeys: () => MasterKeys
  /**
   * Registry version that this transaction will commit, as text; also the new revision of every changed server and
   * group
   */
  readonly version: string
  /** Records the change for the audit log. A write that never calls it adds no audit row and commits no new version. */
  readonly recordEffect: (effect: Effect) => void
  /** Name of the person or program that makes the change */
  readonly actor: string
  /** Adds an audit row of its own for a consequence of the change, which must have an effect. */
  readonly recordConsequence: (consequence: Consequence) => void
  /** Tells of definitions that are held since this write, once it is committed. */
  readonly recordHold: (hold: Hold) => void
}

/** Definitions of a server that are held since a write: fingerprints by kind and name */
export interface Hold {
  readonly server: string
  /** Of accepted definitions */
  readonly before: Readonly<Record<string, string>>
  /** Of present definitions */
  readonly after: Readonly<Record<string, string>>
}

/** A consequence of a change, with its own action and target in the audit log */
export interface Consequence {
  readonly action: string
  readonly target: string
  readonly effect: Effect
}

/** Columns that every change of a server sets */
export const revisionColumns = (version: string) => ({ revision: version, updated_at: sql<Date>`now()` })

/**
 * Values before and after a change, secrets included. The audit log stores only the differences, with secrets removed.
 */
export interface Effect {
  readonly before?: Members
  readonly after?: Members
}

interface FoundServer {
  readonly id: string
  readonly enabled: boolean
  /** False for a server that was saved disabled and has not answered yet */
  readonly hasLists: boolean
}

/** Finds a server by its exact name. Throws a 404 AppError if there is none. */
export async function findServer(db: Db, name: string): Promise<FoundServer> {
  const row = await db
    .selectFrom('servers')
    .select(['id', 'enabled', sql<boolean>`negotiation is not null`.as('hasLists')])
    .where('name', '=', name)
    .executeTakeFirst()
  if (!row) throw notFound('server', name)
  return row
}
