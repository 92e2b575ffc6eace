import { serverError } from '../../domain/server-error.ts'
import { AppError } from '../../errors.ts'

/**
 * Why a request to an upstream came to nothing (mcp-proxy.md#upstream-errors). `cancelled`: the caller ended it;
 * `denied`: our own
 * settings forbid it; `limited`: the caller has too many under way; `unreadable`: its secrets do not
 * open.
 */
export type Reason =
  | 'unreachable'
  | 'timeout'
  | 'crashed'
  | 'auth'
  | 'overloaded'
  | 'too_large'
  | 'bad_response'
  | 'cancelled'
  | 'denied'
  | 'limited'
  | 'unreadable'

export interface FailureOptions extends ErrorOptions {
  /** HTTP status that the upstream answered with, where it answered with one. */
  readonly status?: number
  /** False only where it is proven that the upstream did not take the request: then it may be sent again. */
  readonly taken?: boolean
  /** Seconds after which it is worth another try. */
  readonly retryAfter?: number
}

/** Too much is under way, which passes. */
const isFull: ReadonlySet<Reason> = new Set<Reason>(['overloaded', 'limited'])

/** A request to an upstream that failed below the protocol. The message names no URL, header, path or secret. */
export class UpstreamFailure extends Error {
  readonly reason: Reason
  readonly status: number | undefined
  readonly taken: boolean
  readonly retryAfter: number | undefined

  constructor(reason: Reason, message: string, options: FailureOptions = {}) {
    super(message, options)
    this.name = 'UpstreamFailure'
    this.reason = reason
    this.status = options.status
    this.taken = options.taken ?? true
    this.retryAfter = options.retryAfter ?? (isFull.has(reason) ? 1 : undefined)
  }
}

/** The same failure in words that others may read. */
export function redactFailure(failure: UpstreamFailure, redact: (text: string) => string): UpstreamFailure {
  const message = redact(failure.message)
  if (message === failure.message) return failure
  const { reason, status, taken, retryAfter } = failure
  return new UpstreamFailure(reason, message, {
    taken,
    ...(status === undefined ? {} : { status }),
    ...(retryAfter === undefined ? {} : { retryAfter })
  })
}

export const statuses: Record<Reason, 429 | 502 | 503 | 504> = {
  unreachable: 502,
  timeout: 504,
  crashed: 502,
  auth: 502,
  overloaded: 503,
  too_large: 502,
  bad_response: 502,
  cancelled: 503,
  denied: 502,
  limited: 429,
  unreadable: 503
}

/** The one table from upstream failure to HTTP status (http-contract.md#errors, http-contract.md#tool-record). */
export function toAppError(failure: UpstreamFailure, server: string): AppError {
  const { reason, message, retryAfter } = failure
  const own = statuses[reason]
  const status = own === 502 && retryAfter !== undefined ? 503 : own
  const text = reason === 'limited' ? message : serverError(server, message)
  return new AppError(status, text, { cause: failure, ...(retryAfter === undefined ? {} : { retryAfter }) })
}
