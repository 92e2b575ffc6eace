/** Facts about a failed contact with a server. */
export interface FailureFacts {
  /** `FailureReason` of the failure; if it is not known, it is read from the message. */
  readonly reason?: string | undefined
  readonly message: string
  /** HTTP status of the server's answer, if there was one. */
  readonly status?: number | undefined
  /** Error number (`ECONNREFUSED`) or one of `exit_0`, `html` and `sse`. */
  readonly code?: string | undefined
  /** Name of the program, without folders; undefined for a server that is reached over HTTP. */
  readonly command?: string | undefined
  /** Lines of the program's stderr, oldest first. */
  readonly stderr?: readonly string[] | undefined
}

/** A known cause of failures. */
export interface Cause {
  /** Machine-readable name, part of the REST interface. */
  readonly id: string
  /** The failure, as a sentence. */
  readonly summary: string
  /** The next step of the reader, as a sentence. */
  readonly nextStep: string
  /** Recognises the cause in a line of stderr, or in all lines. */
  readonly stderr?: RegExp
  /** Recognises the cause in what the gateway saw. */
  readonly when?: (facts: FailureFacts) => boolean
}

/** Recognises the error number of a failure, or `exit_0`, `html` and `sse`. */
export const hasCode = (code: RegExp) => (facts: FailureFacts) => code.test(facts.code ?? '')
