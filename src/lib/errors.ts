export type Status = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 429 | 502 | 503 | 504

/** Further members of an error body: they explain a failed contact, a body that is no registration, or a refusal. */
export interface FailureDetails {
  /** Name of the known cause. */
  readonly cause?: string
  /** The failure, as a sentence. */
  readonly summary?: string
  /** The next step of the reader, as a sentence. */
  readonly next_step?: string
  /** Last lines of the program's stderr, oldest first. */
  readonly stderr?: readonly string[]
  /** Kind of text that the body was recognised as. */
  readonly recognized?: string
  /** The caller's own input as bodies of registrations. */
  readonly registrations?: readonly object[]
  /** Why parts of the input cannot be registered; without values. */
  readonly problems?: readonly string[]
  /** Policy that refused the call, and the id of its decision. */
  readonly policy?: string
  readonly decision?: string
  /** Scopes with which the access token would be allowed. */
  readonly scopes?: readonly string[]
  /** Request for approval that the call waits for. */
  readonly approval?: { readonly id: string; readonly status: string; readonly expires_at: string }
}

export interface AppErrorOptions extends ErrorOptions {
  /** Machine-readable code in the error body. */
  readonly code?: string
  /** Seconds for the `Retry-After` header. */
  readonly retryAfter?: number
  readonly details?: FailureDetails
}

/**
 * A failure the caller can act on; the message is written for the caller. Any other error is a bug and becomes a 500.
 */
export class AppError extends Error {
  readonly statusCode: Status
  readonly code: string | undefined
  readonly retryAfter: number | undefined
  readonly details: FailureDetails

  constructor(statusCode: Status, message: string, options: AppErrorOptions = {}) {
    super(message, options)
    this.name = 'AppError'
    this.statusCode = statusCode
    this.code = options.code
    this.retryAfter = options.retryAfter
    this.details = options.details ?? {}
  }
}

export const invalid = (message: string) => new AppError(400, message)
export const unauthorized = (message: string) => new AppError(401, message)
export const forbidden = (message: string, code?: string) =>
  new AppError(403, message, code === undefined ? {} : { code })
export const notFound = (what: string, name: string) => new AppError(404, `${what} "${name}" does not exist`)
export const conflict = (what: string, name: string) => new AppError(409, `${what} "${name}" already exists`)
export const unavailable = (message: string, retryAfter = 1) => new AppError(503, message, { retryAfter })
