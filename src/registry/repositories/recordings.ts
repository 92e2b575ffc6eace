import { sql } from 'kysely'
import { isDeepStrictEqual } from 'node:util'
import type { ServerConfig } from '../model/model.ts'
import { findServer, revisionColumns, type WriteContext } from './context.ts'

/**
 * Records the contents of a server's calls for a number of minutes from now, by the clock of the database; 0 ends the
 * recording. Throws a 404 AppError if there is no such server.
 */
export async function setRecording({ db, version, recordEffect }: WriteContext, name: string, minutes: number) {
  const { id } = await findServer(db, name)
  const { recorded_until: before } = await db
    .selectFrom('servers')
    .select('recorded_until')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  if (!before && minutes === 0) return
  const { recorded_until: after } = await db
    .updateTable('servers')
    .set({
      recorded_until: minutes === 0 ? null : sql<Date>`clock_timestamp() + ${minutes}::float8 * interval '1 minute'`,
      ...revisionColumns(version)
    })
    .where('id', '=', id)
    .returning('recorded_until')
    .executeTakeFirstOrThrow()
  recordEffect({
    before: { recorded_until: before?.toISOString() ?? null },
    after: { recorded_until: after?.toISOString() ?? null }
  })
}

type Place = Pick<ServerConfig, 'transport' | 'url' | 'command' | 'args'>
const placeOf = ({ transport, url, command, args = [] }: Place) => [transport, url, command, args]

/** Returns true if calls still go to the same address or command, so that a recording may go on. */
export const isSamePlace = (before: Place, after: Place): boolean => isDeepStrictEqual(placeOf(before), placeOf(after))

/** Milliseconds until a recording ends, by the clock of the database; null without one. A column of `servers` */
export const recordingLeft = sql<number | null>`extract(epoch from (recorded_until - clock_timestamp()))::float8 * 1000`
