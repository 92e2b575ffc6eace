import { AppError, invalid, unavailable } from '../errors.ts'

/** A query asked for the one connection of the embedded store while a transaction holds it. */
export const STORE_BUSY = 'STORE_BUSY'

/** The embedded store has ended and is not open again yet. */
export const STORE_STOPPED = 'STORE_STOPPED'

/** SQLSTATE: disk full. */
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
/** pg reports these without a code. */
const clientMessages =
  /^(Query read timeout|timeout e(xceeded|xpired)|Connection terminated|Client (was closed|has encountered))/
/** SQLSTATE: connection, shutdown and start-up, too many connections, idle in transaction too long, read-only standby. */
const lostConnection = /^(08...|57P0.|53300|25P0[34]|25006)$/
/** SQLSTATE: statement or lock timeout, serialization failure, deadlock: the same request may succeed again. */
const contention = /^(57014|55P03|40001|40P01)$/
/** Errors of the file system behind a database or a data directory, by SQLSTATE and by Node's codes. */
const noRoom = /^(53100|ENOSPC|EDQUOT)$/
/** SQLSTATE: out of memory, a limit of the server's configuration; an error of its disk. */
const exhausted = /^(53200|53400|58030)$/
/** SQLSTATE: a character that cannot be stored, a name too long for the index. */
const unstorable = /^(22021|22P05|54000)$/

const codeOf = (error: unknown) => (error as { code?: unknown } | null)?.code
const matches = (error: unknown, pattern: RegExp) => {
  const code = codeOf(error)
  return typeof code === 'string' && pattern.test(code)
}

export const isUniqueViolation = (error: unknown, constraint: string) =>
  codeOf(error) === '23505' && (error as { constraint?: unknown }).constraint === constraint

/** A database that nothing was ever made in. */
export const isMissingTable = (error: unknown) => codeOf(error) === '42P01'

/** Whether the connection that the error came from must not be used again. */
export const isConnectionLoss = (error: unknown): boolean =>
  matches(error, lostConnection) ||
  socketCodes.has(String(codeOf(error))) ||
  (error instanceof Error && clientMessages.test(error.message))

/** The one map from database failures to what a caller is told; anything unknown stays as it is. */
export function translate(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (codeOf(error) === STORE_BUSY) return unavailable('the registry database is busy')
  if (codeOf(error) === STORE_STOPPED) return unavailable('the registry database has stopped and is opened again')
  if (matches(error, noRoom)) return storeFull(error)
  if (matches(error, exhausted))
    return new AppError(503, 'the registry database is out of resources', { retryAfter: 5, cause: error })
  if (isConnectionLoss(error) || matches(error, contention)) return unreachable(error)
  if (matches(error, unstorable)) return invalid('a text is too long or holds a character that cannot be stored')
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

/** Runs database work and translates what it throws. */
export async function translating<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(error)
  }
}

/** Lone surrogates would be stored as U+FFFD without an error: a name would change and its definition would differ. */
export function refuseUnstorable(parameters: readonly unknown[]): void {
  for (const value of parameters) {
    if (Array.isArray(value)) refuseUnstorable(value)
    else if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) {
      throw invalid('a text holds a lone surrogate, which cannot be stored')
    }
  }
}
