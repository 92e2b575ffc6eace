/** The end of what a server's processes wrote to stderr, for diagnostics. */
export interface StderrTail {
  append(chunk: Buffer): void
  /** The last bytes as text; an incomplete first character is replaced. */
  text(): string
  /** The non-empty lines of `text`, oldest first. */
  lines(): string[]
}

/** Keeps the last 64 KiB (security page 7.3). */
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

/** Takes the server's declared secrets out of what it printed. Values under 6 characters would hit by chance. */
export function createRedactor(env: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = Object.values(env).filter((value) => value.length >= 6)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}
