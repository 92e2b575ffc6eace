import { AppError, invalid, unavailable } from '../../lib/errors.ts'

/** Error code: a query asked for the embedded store's only connection while a transaction holds it. */
export const STORE_BUSY = 'STORE_BUSY'

/** Error code: the embedded store has stopped and has not been reopened yet. */
export const STORE_STOPPED = 'STORE_STOPPED'

/** SQLSTATE: disk full */
export const DISK_FULL = '53100'

const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT'
])
/** Messages of errors that pg reports without a code */
const clientMessages =
  /^(Query read timeout|timeout e(xceeded|xpired)|Connection terminated|Client (was closed|has encountered))/
/**
 * SQLSTATE: connection errors, shutdown and start-up, too many connections, idle in transaction too long, read-only
 * standby
 */
const lostConnection = /^(08...|57P0.|53300|25P0[34]|25006)$/
/** SQLSTATE: statement or lock timeout, serialization failure, deadlock; the same request may succeed later */
const contention = /^(57014|55P03|40001|40P01)$/
/** No disk space for the database or the data directory, as SQLSTATE and as Node.js codes */
const diskFull = /^(53100|ENOSPC|EDQUOT)$/
/** SQLSTATE: out of memory, a configured limit of the server exceeded, I/O error */
const outOfResources = /^(53200|53400|58030)$/
/** SQLSTATE: a character that cannot be stored, a value too long for an index */
const unstorable = /^(22021|22P05|54000)$/

/** Creates an error with a code that this module translates. */
export const codedError = (code: string, message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code })

const codeOf = (error: unknown) => (error as { code?: unknown } | null)?.code
const matches = (error: unknown, pattern: RegExp) => {
  const code = codeOf(error)
  return typeof code === 'string' && pattern.test(code)
}

export const isUniqueViolation = (error: unknown, constraint: string) =>
  codeOf(error) === '23505' && (error as { constraint?: unknown }).constraint === constraint

/** Returns true if the database has never been migrated. */
export const isMissingTable = (error: unknown) => codeOf(error) === '42P01'

/** Returns true if the connection that the error came from must not be reused. */
export const isConnectionLoss = (error: unknown): boolean =>
  matches(error, lostConnection) ||
  socketCodes.has(String(codeOf(error))) ||
  (error instanceof Error && clientMessages.test(error.message))

/** Maps database failures to AppErrors; the only place that does. Returns unknown errors unchanged. */
function translateError(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (codeOf(error) === STORE_BUSY) return unavailable('the registry database is busy')
  if (codeOf(error) === STORE_STOPPED) return unavailable('the registry database has stopped and is being reopened')
  if (matches(error, diskFull)) return storeFull(error)
  if (matches(error, outOfResources))
    return new AppError(503, 'the registry database is out of resources', { retryAfter: 5, cause: error })
  if (isConnectionLoss(error) || matches(error, contention)) return unreachable(error)
  if (matches(error, unstorable)) return invalid('a text is too long or contains a character that cannot be stored')
  return error
}

const storeFull = (cause: unknown) =>
  new AppError(503, 'the registry database has no disk space left: nothing can be changed until there is', {
    code: 'store_full',
    retryAfter: 30,
    cause
  })

const unreachable = (cause: unknown) =>
  new AppError(503, 'the registry database is not reachable', { retryAfter: 1, cause })

/** Runs database work and maps the errors that it throws. */
export async function withErrorTranslation<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translateError(error)
  }
}

/**
 * Throws an AppError if a text contains a lone surrogate. PostgreSQL would store it as U+FFFD without an error, and the
 * name or definition would change.
 */
export function requireStorable(parameters: readonly unknown[]): void {
  for (const value of parameters) {
    if (Array.isArray(value)) requireStorable(value)
    else if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) {
      throw invalid('a text contains a lone surrogate, which cannot be stored')
    }
  }
}
