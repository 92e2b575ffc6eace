import { createHmac } from 'node:crypto'
import { difference } from '../../domain/secrets/difference.ts'
import { toAuditRow, safeRow, type AuditRow } from './audit.ts'
import type { ContactAttempt, ContactResult, LaunchConfig } from '../model/model.ts'
import type { Db } from '../model/tables.ts'

/**
 * Returns a function that computes the fingerprint of a launch configuration. Keyed, so that secrets cannot be found by
 * brute force.
 */
const createFingerprint = (key: Buffer) => (launch: LaunchConfig) =>
  createHmac('sha256', key).update(canonicalText(launch)).digest('hex')

const sortedEntries = (entries: Readonly<Record<string, string>> = {}) =>
  Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Serialises a launch as a list of fixed length, so that different launches never have the same text. */
const canonicalText = ({ transport, command, args = [], env, url, headers, bearer_token }: LaunchConfig) =>
  JSON.stringify([
    transport,
    command ?? null,
    args,
    sortedEntries(env),
    url ?? null,
    sortedEntries(headers),
    bearer_token ?? null
  ])

const pickLaunchConfig = ({ transport, command, args, env, url, headers, bearer_token }: LaunchConfig): LaunchConfig =>
  ({ transport, command, args, env, url, headers, bearer_token }) as LaunchConfig

export interface AttemptRecorderOptions {
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
export function createAttemptRecorder({ db, key, withErrorTranslation, enqueue }: AttemptRecorderOptions) {
  const fingerprintOf = createFingerprint(key)
  const insert = (row: AuditRow) => db.insertInto('audit_log').values(row).returning('id').executeTakeFirstOrThrow()

  return async ({
    launch,
    purpose,
    ...auditedAction
  }: ContactAttempt): Promise<(end: ContactResult) => Promise<void>> => {
    const config = pickLaunchConfig(launch)
    const shared = { purpose, fingerprint: fingerprintOf(config) }
    const after = JSON.stringify(difference({}, { ...config }).after)
    const startRow = safeRow(toAuditRow({ ...auditedAction, action: 'server.attempt' }, 'begun'))
    const { id } = await withErrorTranslation(() => insert({ ...startRow, ...shared, after }))
    return async ({ outcome, failure = null, reason = null, durationMs }) => {
      const endRow = safeRow({
        ...toAuditRow({ ...auditedAction, action: 'server.contact' }, outcome),
        failure,
        reason
      })
      const row = { ...endRow, ...shared, attempt: id, duration_ms: Math.round(durationMs), at: new Date() }
      await withErrorTranslation(() => insert(row)).catch(() => enqueue(row))
    }
  }
}
