import { sql } from 'kysely'
import type { WriteContext } from './context.ts'

/** Ends all sign-ins of a user: browser sessions, grants of OAuth clients and what they have open. */
export async function endSignIns({ db, version }: Pick<WriteContext, 'db' | 'version'>, userId: string): Promise<void> {
  await db.deleteFrom('oauth_records').where('user_id', '=', userId).execute()
  await db
    .updateTable('users')
    .set({ sessions_valid_from: sql<Date>`now()`, revision: version })
    .where('id', '=', userId)
    .execute()
}
