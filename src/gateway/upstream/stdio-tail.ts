import { StringDecoder } from 'node:string_decoder'

/** The end of what a server's processes wrote to stderr, for diagnostics. */
export interface StderrTail {
  append(chunk: Buffer): void
  /** The last bytes as text; an incomplete first character is replaced. */
  text(): string
  /** The non-empty lines of `text`, oldest first. */
  lines(): string[]
}

/** Keeps the last 64 KiB (security-model.md#child-process-isolation). */
export function createStderrTail(maxBytes = 65_536): StderrTail {
  let kept = Buffer.alloc(0)
  const text = () => kept.toString()
  return {
    append(chunk) {
      const both = Buffer.concat([kept, chunk.subarray(-maxBytes)])
      kept = Buffer.from(both.subarray(-maxBytes))
    },
    text,
    lines: () =>
      text()
        .split('\n')
        .filter((line) => line.trim() !== '')
  }
}

/** One printable line of at most `max` characters. */
export const printable = (text: string, max: number): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, max)

/** Longest line that is held back; what is longer is cut there. */
const MAX_HELD = 8_192

/** Hands stderr on in whole lines, so that no secret escapes the redactor by coming in two pieces. */
export function createStderrReader(redact: (text: string) => string, tails: readonly StderrTail[]) {
  const decoder = new StringDecoder()
  let held = ''
  const give = (end: number) => {
    const bytes = Buffer.from(redact(held.slice(0, end)))
    held = held.slice(end)
    for (const tail of tails) tail.append(bytes)
  }
  return {
    push(chunk: Buffer) {
      held += decoder.write(chunk)
      const end = held.length > MAX_HELD ? held.length : held.lastIndexOf('\n') + 1
      if (end > 0) give(end)
    },
    /** What has no line end yet. */
    flush: () => give(held.length)
  }
}
