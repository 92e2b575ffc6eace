import { serverError } from '../domain/server-error.ts'
import { AppError } from '../lib/errors.ts'

/**
 * Reason why a request to an upstream failed (mcp-proxy.md#upstream-errors). `cancelled`: the caller ended it;
 * `denied`: the gateway's own settings forbid it; `limited`: the caller has too many calls in flight; `unreadable`: the
 * server's secrets cannot be decrypted.
 */
export type FailureReason =
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
  /** HTTP status of the upstream's answer, if there was one. */
  readonly status?: number
  /** False only if the upstream provably did not process the request, which makes a retry safe. Default: true. */
  readonly maybeProcessed?: boolean
  /** Seconds after which a retry makes sense. */
  readonly retryAfter?: number
}

/** Reasons of passing overload. */
const overloadReasons: ReadonlySet<FailureReason> = new Set<FailureReason>(['overloaded', 'limited'])

/** A request to an upstream that failed below the MCP protocol. The message contains no URL, header, path or secret. */
export class UpstreamFailure extends Error {
  readonly reason: FailureReason
  readonly status: number | undefined
  readonly maybeProcessed: boolean
  readonly retryAfter: number | undefined

  constructor(reason: FailureReason, message: string, options: FailureOptions = {}) {
    super(message, options)
    this.name = 'UpstreamFailure'
    this.reason = reason
    this.status = options.status
    this.maybeProcessed = options.maybeProcessed ?? true
    this.retryAfter = options.retryAfter ?? (overloadReasons.has(reason) ? 1 : undefined)
  }
}

export const badResponse = (message: string) => new UpstreamFailure('bad_response', message)
export const connectionClosed = () =>
  new UpstreamFailure('cancelled', 'connection was closed', { maybeProcessed: false })
export const callerDisconnected = () => new UpstreamFailure('cancelled', 'the caller has disconnected')

/** Returns the failure with its message redacted. */
export function redactFailure(failure: UpstreamFailure, redact: (text: string) => string): UpstreamFailure {
  const message = redact(failure.message)
  if (message === failure.message) return failure
  const { reason, status, maybeProcessed, retryAfter } = failure
  return new UpstreamFailure(reason, message, {
    maybeProcessed,
    ...(status === undefined ? {} : { status }),
    ...(retryAfter === undefined ? {} : { retryAfter })
  })
}

export const httpStatuses: Record<FailureReason, 429 | 502 | 503 | 504> = {
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

/** The only mapping from upstream failure to HTTP status (http-contract.md#errors, http-contract.md#tool-record). */
export function toAppError(failure: UpstreamFailure, server: string): AppError {
  const { reason, message, retryAfter } = failure
  const own = httpStatuses[reason]
  const status = own === 502 && retryAfter !== undefined ? 503 : own
  const text = reason === 'limited' ? message : serverError(server, message)
  return new AppError(status, text, { cause: failure, ...(retryAfter === undefined ? {} : { retryAfter }) })
}
