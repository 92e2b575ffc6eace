import { AppError } from '../../errors.ts'

/** Why a request to an upstream came to nothing (proxy page 4.5). `cancelled`: the caller ended it; `denied`: our own settings forbid it. */
export type Reason =
  'unreachable' | 'timeout' | 'crashed' | 'auth' | 'overloaded' | 'too_large' | 'bad_response' | 'cancelled' | 'denied'

export interface FailureOptions extends ErrorOptions {
  /** HTTP status that the upstream answered with, where it answered with one. */
  readonly status?: number
  /** False only where it is proven that the upstream did not take the request: then it may be sent again. */
  readonly taken?: boolean
}

/** A request to an upstream that failed below the protocol. The message names no URL, header, path or secret. */
export class UpstreamFailure extends Error {
  readonly reason: Reason
  readonly status: number | undefined
  readonly taken: boolean

  constructor(reason: Reason, message: string, options: FailureOptions = {}) {
    super(message, options)
    this.name = 'UpstreamFailure'
    this.reason = reason
    this.status = options.status
    this.taken = options.taken ?? true
  }
}

/** The same failure in words that others may read. */
export function redactFailure(failure: UpstreamFailure, redact: (text: string) => string): UpstreamFailure {
  const message = redact(failure.message)
  if (message === failure.message) return failure
  const { reason, status, taken } = failure
  return new UpstreamFailure(reason, message, { taken, ...(status === undefined ? {} : { status }) })
}

const statuses: Record<Reason, 502 | 503 | 504> = {
  unreachable: 502,
  timeout: 504,
  crashed: 502,
  auth: 502,
  overloaded: 503,
  too_large: 502,
  bad_response: 502,
  cancelled: 503,
  denied: 502
}

/** The one table from upstream failure to HTTP status (contract 7, decisions "Tools, prompts, resources"). */
export const toAppError = (failure: UpstreamFailure, server: string): AppError =>
  new AppError(statuses[failure.reason], `server "${server}": ${failure.message}`, {
    cause: failure,
    ...(failure.reason === 'overloaded' ? { retryAfter: 1 } : {})
  })
