import { createHmac } from 'node:crypto'
import { difference } from '../domain/difference.ts'
import { rowOf, safeRow, type AuditRow } from './audit.ts'
import type { Attempt, AttemptEnd, Launch } from './model.ts'
import type { Db } from './tables.ts'

/**
 * Returns a function that computes the fingerprint of a launch configuration. Keyed, so that secrets cannot be found by
 * brute force.
 */
export const createFingerprint = (key: Buffer) => (launch: Launch) =>
  createHmac('sha256', key).update(canonical(launch)).digest('hex')

const inOrder = (entries: Readonly<Record<string, string>> = {}) =>
  Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Serialises a launch as a list of fixed length, so that different launches never have the same text. */
const canonical = ({ transport, command, args = [], env, url, headers, bearer_token }: Launch) =>
  JSON.stringify([transport, command ?? null, args, inOrder(env), url ?? null, inOrder(headers), bearer_token ?? null])

const pick = ({ transport, command, args, env, url, headers, bearer_token }: Launch): Launch =>
  ({ transport, command, args, env, url, headers, bearer_token }) as Launch

export interface AttemptsOptions {
  readonly db: Db
  readonly key: Buffer
  withErrorTranslation<T>(work: () => Promise<T>): Promise<T>
  /** Queues a row that could not be written immediately. */
  enqueue(row: AuditRow): void
}

/**
 * Returns a function that writes an audit row before a server is contacted and rejects with a 503 AppError if it
 * cannot. It resolves with a function that writes the result, which never rejects: a result that cannot be written is
 * queued.
 */
export function createAttempts({ db, key, withErrorTranslation, enqueue }: AttemptsOptions) {
  const fingerprintOf = createFingerprint(key)
  const insert = (row: AuditRow) => db.insertInto('audit_log').values(row).returning('id').executeTakeFirstOrThrow()

  return async ({ launch, purpose, ...act }: Attempt): Promise<(end: AttemptEnd) => Promise<void>> => {
    const whole = pick(launch)
    const shared = { purpose, fingerprint: fingerprintOf(whole) }
    const after = JSON.stringify(difference({}, { ...whole }).after)
    const begun = safeRow(rowOf({ ...act, action: 'server.attempt' }, 'begun'))
    const { id } = await withErrorTranslation(() => insert({ ...begun, ...shared, after }))
    return async ({ outcome, failure = null, reason = null, durationMs }) => {
      const ended = safeRow({ ...rowOf({ ...act, action: 'server.contact' }, outcome), failure, reason })
      const row = { ...ended, ...shared, attempt: id, duration_ms: Math.round(durationMs), at: new Date() }
      await withErrorTranslation(() => insert(row)).catch(() => enqueue(row))
    }
  }
}
