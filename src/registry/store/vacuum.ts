import { sql } from 'kysely'
import { oneAtATime } from '../../lib/one-at-a-time.ts'
import type { Db } from '../model/tables.ts'

const EVERY_MS = 60_000

/**
 * Makes the space of deleted and replaced rows available to new ones, in tables with many of them. The rule is that of
 * PostgreSQL's autovacuum, with 200 rows instead of 50. Returns the names of the tables.
 */
export async function vacuumTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name
    from pg_class c
    join pg_stat_all_tables s on s.relid in (c.oid, c.reltoastrelid)
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and s.n_dead_tup > 200 + 0.2 * s.n_live_tup
    group by c.relname`.execute(db)
  for (const { name } of rows) await sql`vacuum ${sql.table(name)}`.execute(db)
  return rows.map(({ name }) => name)
}

/** Runs `vacuumTables` every minute: the embedded store has no autovacuum. Returns a function that stops it. */
export function scheduleVacuum(db: Db, onError: (error: unknown) => void): () => void {
  const timer = setInterval(
    oneAtATime(() => vacuumTables(db), onError),
    EVERY_MS
  ).unref()
  return () => clearInterval(timer)
}
