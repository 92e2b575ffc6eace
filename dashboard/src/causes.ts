import type { CallEntry } from '../../src/schemas/call.ts'

/** Failures of one kind: the same server, and the same error but for its numbers and names. */
export interface Cause {
  readonly server: string
  readonly text: string
  readonly count: number
}

const words: Readonly<Partial<Record<CallEntry['outcome'], string>>> = {
  tool_error: 'the tool says that it failed',
  timeout: 'no answer in time'
}

/** What differs from call to call: quoted texts, numbers, ids. */
const normalised = (error: string): string =>
  error
    .replaceAll(/"[^"]*"|'[^']*'/g, '…')
    .replaceAll(/\b[\da-f]{8,}(?:-[\da-f]{4,})*\b/gi, '…')
    .replaceAll(/\d+/g, 'n')

/** Failed calls by cause, the most frequent first. The text is that of the newest one. */
export function causesOf(calls: readonly CallEntry[]): Cause[] {
  const causes = new Map<string, { server: string; text: string; count: number }>()
  for (const { server = '', error, outcome } of calls) {
    // the server stands beside it
    const text = (error ?? words[outcome])?.replace(/^server "[^"]*": /, '')
    if (text === undefined) continue
    const key = `${server}\n${normalised(text)}`
    const known = causes.get(key) ?? { server, text, count: 0 }
    known.count += 1
    causes.set(key, known)
  }
  return [...causes.values()].toSorted((a, b) => b.count - a.count)
}
