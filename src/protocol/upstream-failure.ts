import { explain } from '../domain/failures/explain.ts'
import { bestLine, lastLines } from '../domain/failures/stderr-line.ts'
import { serverError } from '../domain/server-error.ts'
import { AppError, type FailureDetails } from '../lib/errors.ts'

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
  /** Error number of the socket, or one of `exit_0`, `html` and `sse`: tells causes apart. */
  readonly code?: string
  /** The program that failed; only of stdio servers. */
  readonly program?: ProgramOutput
}

/** Name and last output of a program that failed. */
export interface ProgramOutput {
  /** Name of the program, without folders. */
  readonly command: string
  /** Its last lines on stderr, oldest first, without the secrets of its server. */
  readonly stderr: readonly string[]
}

/** Reasons of passing overload. */
const overloadReasons: ReadonlySet<FailureReason> = new Set<FailureReason>(['overloaded', 'limited'])

/**
 * A request to an upstream that failed below the MCP protocol. The message contains no URL, header, path or secret, and
 * nothing that the program wrote: see `messageOf`.
 */
export class UpstreamFailure extends Error {
  readonly reason: FailureReason
  readonly status: number | undefined
  readonly maybeProcessed: boolean
  readonly retryAfter: number | undefined
  readonly code: string | undefined
  readonly program: ProgramOutput | undefined

  constructor(reason: FailureReason, message: string, options: FailureOptions = {}) {
    super(message, options)
    this.name = 'UpstreamFailure'
    this.reason = reason
    this.status = options.status
    this.maybeProcessed = options.maybeProcessed ?? true
    this.retryAfter = options.retryAfter ?? (overloadReasons.has(reason) ? 1 : undefined)
    this.code = options.code
    this.program = options.program
  }
}

export const badResponse = (message: string) => new UpstreamFailure('bad_response', message)
export const connectionClosed = () =>
  new UpstreamFailure('cancelled', 'connection was closed', { maybeProcessed: false })
export const callerDisconnected = () => new UpstreamFailure('cancelled', 'the caller has disconnected')

/** Returns a copy of the failure without its cause. */
function copyFailure(failure: UpstreamFailure, message: string, program = failure.program): UpstreamFailure {
  const { reason, status, maybeProcessed, retryAfter, code } = failure
  return new UpstreamFailure(reason, message, {
    maybeProcessed,
    ...(status === undefined ? {} : { status }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(code === undefined ? {} : { code }),
    ...(program === undefined ? {} : { program })
  })
}

/** Returns the failure with the output of the program that it happened to, unless it has one already. */
export const withProgram = (failure: UpstreamFailure, program: ProgramOutput): UpstreamFailure =>
  failure.program ? failure : copyFailure(failure, failure.message, program)

/** Returns the failure with its message and the output of its program redacted. */
export function redactFailure(failure: UpstreamFailure, redact: (text: string) => string): UpstreamFailure {
  const message = redact(failure.message)
  const { program } = failure
  if (message === failure.message && !program?.stderr.length) return failure
  return copyFailure(failure, message, program && { ...program, stderr: program.stderr.map(redact) })
}

/**
 * Reader of a failure: with the output that the program wrote on stderr, or without. A program that serves several callers may quote
 * their calls there, so only administrators and development mode do (`isAdministrator`).
 */
export interface Audience {
  readonly withOutput: boolean
}

/** Audience of logs and of routes for administrators. */
export const administrators: Audience = { withOutput: true }

/** Returns the message of a failure. With output it ends with the line of stderr that says best why the program ended. */
export function messageOf({ reason, message, program }: UpstreamFailure, { withOutput }: Audience): string {
  const line = withOutput && reason === 'crashed' && program ? bestLine(program.stderr) : ''
  return line === '' ? message : `${message}: ${line}`
}

/** Returns the members of an error body that explain a failure; with output also the last lines of stderr. */
export function detailsOf(failure: UpstreamFailure, { withOutput }: Audience): FailureDetails {
  const { reason, message, status, code, program } = failure
  const stderr = program ? lastLines(program.stderr) : []
  return {
    ...explain({ reason, message, status, code, command: program?.command, stderr: program?.stderr }),
    ...(withOutput && stderr.length > 0 ? { stderr } : {})
  }
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
export function toAppError(failure: UpstreamFailure, server: string, audience: Audience): AppError {
  const { reason, retryAfter } = failure
  const message = messageOf(failure, audience)
  const own = httpStatuses[reason]
  const status = own === 502 && retryAfter !== undefined ? 503 : own
  const text = reason === 'limited' ? message : serverError(server, message)
  const details = detailsOf(failure, audience)
  return new AppError(status, text, { cause: failure, details, ...(retryAfter === undefined ? {} : { retryAfter }) })
}
