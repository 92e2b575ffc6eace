import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Expiry } from './logs/expiry.ts'
import type { Tombstone, TombstoneKind } from './model/model.ts'
import type { Db } from './model/tables.ts'
import type { WriteContext } from './repositories/context.ts'

/** Creates the repository of ended credentials for a write. */
export const createTombstoneRepository = ({ db, recordEffect }: WriteContext) => ({
  /**
   * Marks a credential as ended until the time at which it would have expired. Returns false if it was marked before,
   * and writes nothing then. `hash`: SHA-256 of the credential's id.
   */
  async add(kind: TombstoneKind, hash: Uint8Array, until: Date): Promise<boolean> {
    const { numInsertedOrUpdatedRows: count } = await db
      .insertInto('tombstones')
      .values({ kind, hash, until })
      .onConflict((conflict) => conflict.columns(['kind', 'hash']).doNothing())
      .executeTakeFirst()
    const isNew = count === 1n
    if (isNew) recordEffect({ after: { ended: kind } })
    return isNew
  }
})

/** Returns the unexpired ones; the same array as `known` if nothing differs. */
export async function readTombstones(db: Db, known: readonly Tombstone[] = []): Promise<readonly Tombstone[]> {
  const rows = await db
    .selectFrom('tombstones')
    .select(['kind', 'hash', 'until'])
    .where('until', '>', sql<Date>`now()`)
    .orderBy('kind')
    .orderBy('hash')
    .execute()
  const read = rows.map(({ kind, hash, until }) => ({
    kind,
    hash: Buffer.from(hash).toString('hex'),
    until: until.getTime()
  }))
  return isDeepStrictEqual(read, known) ? known : read
}

/** Deletes rows of credentials that have expired by themselves. */
export const tombstoneExpiry: Expiry = {
  advisoryLock: 7_203_404,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from tombstones where (kind, hash) in
        (select kind, hash from tombstones where until < now() limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
}
