/** What the process ends with; docs/reference/cli.md lists them. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  conflict: 5,
  unreachable: 6,
  toolError: 7,
  interrupted: 130
} as const

export interface FailureOptions extends ErrorOptions {
  /** What to do about it, as a command where there is one. */
  readonly hint?: string | undefined
  /** For programs. */
  readonly code?: string | undefined
}

/** Why a command ends without having done its work; written for the one who typed it. */
export class Failure extends Error {
  readonly exitCode: number
  readonly hint: string | undefined
  readonly code: string | undefined

  constructor(exitCode: number, message: string, { hint, code, ...options }: FailureOptions = {}) {
    super(message, options)
    this.name = 'Failure'
    this.exitCode = exitCode
    this.hint = hint
    this.code = code
  }
}

export const usage = (message: string, hint?: string) => new Failure(EXIT.usage, message, { hint, code: 'usage' })

export const notFound = (message: string, hint?: string) =>
  new Failure(EXIT.notFound, message, { hint, code: 'not_found' })

const exits: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.notFound,
  409: EXIT.conflict
}

const hints: Readonly<Record<number, string>> = {
  401: 'sign in with `towpath login --token-stdin`, or set TOWPATH_TOKEN',
  503: 'try again in a moment; `towpath status` shows whether the gateway is ready'
}

/** The failure that an answer of the gateway stands for. */
export function answerFailure(status: number, message: string, code?: string): Failure {
  const isEmpty = status === 403 && /not initialized/.test(message)
  const hint = isEmpty ? 'make its first administrator with `towpath init-server`' : hints[status]
  return new Failure(exits[status] ?? EXIT.failed, message, { hint, code: code ?? `http_${status}` })
}
