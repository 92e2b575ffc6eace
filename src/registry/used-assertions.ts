import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Expiry } from './logs/expiry.ts'
import type { Db } from './model/tables.ts'
import { withErrorTranslation } from './store/failures.ts'
import type { WriteContext } from './repositories/context.ts'

/** Signed assertion, or state of a sign-in, that counts once */
export interface Assertion {
  /** Kind of the assertion: ids of one kind say nothing about those of another */
  readonly purpose: string
  readonly issuer: string
  readonly id: string
  /** Seconds since 1970 after which the assertion is refused anyway */
  readonly expiresAt: number
}

/** Assertions that were used, on any replica */
export interface UsedAssertions {
  /** Records an assertion. Returns true for the first of all callers on all replicas. */
  use(assertion: Assertion): Promise<boolean>
}

const hashOf = ({ purpose, issuer, id }: Assertion) =>
  createHash('sha256')
    .update(JSON.stringify([purpose, issuer, id]))
    .digest()

export const createUsedAssertions = (db: Db): UsedAssertions => ({
  use: (assertion) =>
    withErrorTranslation(async () => {
      const expires_at = sql<Date>`to_timestamp(${assertion.expiresAt}::float8)`
      const { numInsertedOrUpdatedRows: count } = await db
        .insertInto('used_assertions')
        .values({ hash: hashOf(assertion), expires_at })
        .onConflict((conflict) =>
          conflict
            .column('hash')
            .doUpdateSet({ expires_at })
            .where('used_assertions.expires_at', '<=', sql<Date>`now()`)
        )
        .executeTakeFirstOrThrow()
      return count === 1n
    })
})

/** Creates the same for a write, which fails or succeeds with what the assertion is used for. */
export const createUsedAssertionRepository = ({ db, recordEffect }: WriteContext): UsedAssertions => ({
  async use(assertion) {
    const isFirst = await createUsedAssertions(db).use(assertion)
    if (isFirst) recordEffect({ after: { used: assertion.purpose } })
    return isFirst
  }
})

/** Deletes expired rows. */
export const usedAssertionExpiry: Expiry = {
  advisoryLock: 7_203_407,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from used_assertions where hash in
        (select hash from used_assertions where expires_at <= now() limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
}
