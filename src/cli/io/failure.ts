import { NOT_INITIALIZED } from '../../domain/error-codes.ts'

/** Exit codes, listed in docs/reference/cli.md. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  conflict: 5,
  unreachable: 6,
  toolError: 7,
  held: 8,
  interrupted: 130
} as const

export interface FailureOptions extends ErrorOptions {
  /** Remedy, as a command if possible. */
  readonly hint?: string | undefined
  /** Machine-readable code. */
  readonly code?: string | undefined
  readonly details?: FailureDetails | undefined
  /** HTTP status of the gateway's answer. */
  readonly status?: number | undefined
}

/** Members of the gateway's error that explain a failed contact with a server. */
export interface FailureDetails {
  readonly cause?: string
  readonly summary?: string
  readonly next_step?: string
  /** Last lines of the program's stderr, oldest first. */
  readonly stderr?: readonly string[]
}

/** Expected failure of a command; the message is written for the person who ran it. */
export class Failure extends Error {
  readonly exitCode: number
  readonly hint: string | undefined
  readonly code: string | undefined
  readonly details: FailureDetails
  readonly status: number | undefined

  constructor(
    exitCode: number,
    message: string,
    { hint, code, details = {}, status, ...options }: FailureOptions = {}
  ) {
    super(message, options)
    this.name = 'Failure'
    this.exitCode = exitCode
    this.hint = hint
    this.code = code
    this.details = details
    this.status = status
  }
}

export const usage = (message: string, hint?: string) => new Failure(EXIT.usage, message, { hint, code: 'usage' })

export const notFound = (message: string, hint?: string) =>
  new Failure(EXIT.notFound, message, { hint, code: 'not_found' })

const exitCodes: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.notFound,
  409: EXIT.conflict
}

const hints: Readonly<Record<number, string>> = {
  401: 'sign in with `towpath login`, or set TOWPATH_TOKEN',
  503: 'try again in a moment; `towpath status` shows whether the gateway is ready'
}

const nextStep = ({ summary, next_step: step }: FailureDetails): string | undefined =>
  step === undefined ? undefined : [summary, step].filter(Boolean).join(' ')

/** Creates the Failure for an error response of the gateway. The known next step is the hint. */
export function answerFailure(status: number, message: string, code?: string, details: FailureDetails = {}): Failure {
  const hint =
    code === NOT_INITIALIZED
      ? 'create the first administrator with `towpath init-server`'
      : (nextStep(details) ?? hints[status])
  return new Failure(exitCodes[status] ?? EXIT.failed, message, {
    hint,
    code: code ?? `http_${status}`,
    details,
    status
  })
}
