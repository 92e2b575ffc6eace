import { StringDecoder } from 'node:string_decoder'

/** The last stderr output of a server's processes, for diagnostics. */
export interface StderrTail {
  append(chunk: Buffer): void
  /** Returns the last bytes as text; an incomplete first character is replaced. */
  text(): string
  /** Returns the non-empty lines of `text`, oldest first. */
  lines(): string[]
}

/** Returns the lines of a text that are not blank. */
export const nonEmptyLines = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')

/** Creates a tail of the last 64 KiB by default (security-model.md#child-process-isolation). */
export function createStderrTail(maxBytes = 65_536): StderrTail {
  let tail = Buffer.alloc(0)
  const text = () => tail.toString()
  return {
    append(chunk) {
      const both = Buffer.concat([tail, chunk.subarray(-maxBytes)])
      tail = Buffer.from(both.subarray(-maxBytes))
    },
    text,
    lines: () => nonEmptyLines(text())
  }
}

/** Returns one printable line of at most `max` characters. */
export const printable = (text: string, max: number): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, max)

/** Longest buffered line; longer lines are split. */
const MAX_BUFFERED = 8_192

/** Passes stderr on in whole lines, so that a secret split between two chunks is still redacted. */
export function createStderrReader(redact: (text: string) => string, tails: readonly StderrTail[]) {
  const decoder = new StringDecoder()
  let buffered = ''
  const flushUpTo = (end: number) => {
    const bytes = Buffer.from(redact(buffered.slice(0, end)))
    buffered = buffered.slice(end)
    for (const tail of tails) tail.append(bytes)
  }
  return {
    push(chunk: Buffer) {
      buffered += decoder.write(chunk)
      const end = buffered.length > MAX_BUFFERED ? buffered.length : buffered.lastIndexOf('\n') + 1
      if (end > 0) flushUpTo(end)
    },
    /** Passes on an unfinished line. */
    flush: () => flushUpTo(buffered.length)
  }
}
