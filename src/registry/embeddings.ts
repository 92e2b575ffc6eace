import { sql } from 'kysely'
import type { Expiry } from './logs/expiry.ts'
import type { Db } from './model/tables.ts'
import { withErrorTranslation } from './store/failures.ts'

/** Vectors of one model by the fingerprints of their texts: a signed byte per dimension. */
export type EncodedVectors = ReadonlyMap<string, Uint8Array>

/** Vectors for search, shared by all replicas. Reject with AppError if the database is unreachable. */
export interface EmbeddingStore {
  /** Returns the vectors that there are. */
  load(model: string, fingerprints: readonly string[]): Promise<EncodedVectors>
  /** Returns the texts that this replica is to ask for; another one asks for the rest, or has their vectors. */
  claim(model: string, fingerprints: readonly string[]): Promise<string[]>
  /** Stores vectors that this replica has asked for. */
  save(model: string, vectors: EncodedVectors): Promise<void>
  /** Deletes vectors, and claims without one. */
  remove(model: string, fingerprints: readonly string[]): Promise<void>
}

/** Age at which a claim without a vector is void: its replica has gone */
const CLAIM_SECONDS = 60
/** Days after which a vector that no gateway has loaded is deleted */
const UNUSED_DAYS = 30

/** Creates the store of vectors; each call takes at most some hundred fingerprints. */
export const createEmbeddingStore = (db: Db): EmbeddingStore => ({
  load: (model, fingerprints) =>
    withErrorTranslation(async () => {
      if (fingerprints.length === 0) return new Map()
      const rows = await db
        .selectFrom('embeddings')
        .select(['fingerprint', 'vector', sql<boolean>`used_at < now() - interval '1 day'`.as('isOld')])
        .where('model', '=', model)
        .where('fingerprint', 'in', fingerprints)
        .where('vector', 'is not', null)
        .execute()
      const old = rows.filter(({ isOld }) => isOld).map(({ fingerprint }) => fingerprint)
      if (old.length > 0) {
        await db
          .updateTable('embeddings')
          .set({ used_at: sql<Date>`now()` })
          .where('model', '=', model)
          .where('fingerprint', 'in', old)
          .execute()
      }
      return new Map(rows.map(({ fingerprint, vector }) => [fingerprint, vector!]))
    }),
  claim: (model, fingerprints) =>
    withErrorTranslation(async () => {
      if (fingerprints.length === 0) return []
      const rows = await db
        .insertInto('embeddings')
        .values(fingerprints.map((fingerprint) => ({ model, fingerprint, vector: null })))
        .onConflict((conflict) =>
          conflict
            .columns(['model', 'fingerprint'])
            .doUpdateSet({ claimed_at: sql<Date>`now()` })
            .where('embeddings.vector', 'is', null)
            .where('embeddings.claimed_at', '<', sql<Date>`now() - make_interval(secs => ${CLAIM_SECONDS})`)
        )
        .returning('fingerprint')
        .execute()
      return rows.map(({ fingerprint }) => fingerprint)
    }),
  save: (model, vectors) =>
    withErrorTranslation(async () => {
      if (vectors.size === 0) return
      const rows = [...vectors].map(([fingerprint, vector]) => ({ model, fingerprint, vector: Buffer.from(vector) }))
      await db
        .insertInto('embeddings')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['model', 'fingerprint']).doUpdateSet({ vector: sql`excluded.vector` })
        )
        .execute()
    }),
  remove: (model, fingerprints) =>
    withErrorTranslation(async () => {
      if (fingerprints.length === 0) return
      await db.deleteFrom('embeddings').where('model', '=', model).where('fingerprint', 'in', fingerprints).execute()
    })
})

/** Deletes vectors that no gateway uses any more. */
export const embeddingExpiry: Expiry = {
  advisoryLock: 7_203_414,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from embeddings where (model, fingerprint) in (
        select model, fingerprint from embeddings
        where used_at < now() - make_interval(days => ${UNUSED_DAYS}) limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
}
