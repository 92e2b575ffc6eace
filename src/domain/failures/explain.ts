import type { Cause, FailureFacts } from './cause.ts'
import { causes } from './causes.ts'
import { bestLine } from './stderr-line.ts'

/** Characters of a line that are looked at. */
const MAX_READ = 1_000
const mayQuoteStderr = new Set(['crashed', 'timeout', 'bad_response'])

const reasonTexts: readonly (readonly [RegExp, string])[] = [
  [/^the process (exited|was ended|closed)/, 'crashed'],
  [/\bin time$|timed out/, 'timeout'],
  [/\(HTTP 40[13]\)$/, 'auth']
]
const codeTexts: readonly (readonly [RegExp, string])[] = [
  [/^connection refused$/, 'ECONNREFUSED'],
  [/^host name does not resolve$/, 'ENOTFOUND'],
  [/exited with code 0$/, 'exit_0'],
  [/answers over HTTP\+SSE/, 'sse']
]
const matching = (texts: readonly (readonly [RegExp, string])[], message: string) =>
  texts.find(([pattern]) => pattern.test(message))?.[1]

/** Reads what is not given from the message: stored failures keep nothing else. */
function completeFacts(facts: FailureFacts): FailureFacts {
  const { message, status, reason, code } = facts
  const told = /\bHTTP (\d{3})\b/.exec(message)?.[1]
  return {
    ...facts,
    reason: reason ?? matching(reasonTexts, message),
    status: status ?? (told === undefined ? undefined : Number(told)),
    code: code ?? /^no connection \((\w+)\)$/.exec(message)?.[1] ?? matching(codeTexts, message)
  }
}

/**
 * Returns the known cause of a failure. The most telling line of stderr is looked up first, then all its lines, then
 * what the gateway saw itself.
 */
export function findCause(given: FailureFacts): Cause | undefined {
  // the sign-in has its own messages, which say what to do
  if (given.message.startsWith('the authorization server')) return undefined
  const facts = completeFacts(given)
  const { reason = '', stderr = [], command } = facts
  const isProgram = command !== undefined || stderr.length > 0
  const byLine = (lines: readonly string[]) =>
    causes.find((cause) => cause.stderr && lines.some((line) => cause.stderr!.test(line.slice(0, MAX_READ).trim())))
  if (isProgram && mayQuoteStderr.has(reason)) {
    const found = byLine([bestLine(stderr)]) ?? byLine(stderr)
    if (found) return found
  }
  return causes.find((cause) => cause.when?.(facts))
}

/** Members of an error body that explain a failure. */
export interface Explanation {
  readonly cause: string
  readonly summary: string
  readonly next_step: string
}

/** Returns the explanation of a failure for people; undefined if its cause is not known. */
export function explain(facts: FailureFacts): Explanation | undefined {
  const cause = findCause(facts)
  return cause && { cause: cause.id, summary: cause.summary, next_step: cause.nextStep }
}
