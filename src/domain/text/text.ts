/** Returns true if the text contains neither NUL nor a lone surrogate, which PostgreSQL and UTF-8 cannot store. */
export const isStorable = (text: string): boolean => !text.includes('\0') && !/\p{Surrogate}/u.test(text)

/** Truncates a text to `max` UTF-16 units without splitting a character. */
export const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).replace(/\p{Surrogate}$/u, '')}…`

const code = (character: string) => `\\u{${character.codePointAt(0)!.toString(16)}}`

/**
 * Truncates untrusted text and escapes its invisible characters, so that it cannot forge lines, columns or text
 * direction.
 */
export const escapeText = (text: string, max: number): string =>
  truncate(text, max).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, code)

/** Range that the database drivers can write: years of four digits, without 0000 */
const firstTimestamp = Date.parse('0001-01-01T00:00:00Z')
const lastTimestamp = Date.parse('9999-12-31T23:59:59.999Z')

/** Tests for an ISO 8601 date (midnight, UTC), or date and time with a zone. */
export function isTimestamp(text: string): boolean {
  if (!/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text))
    return false
  const at = Date.parse(text)
  return at >= firstTimestamp && at <= lastTimestamp
}
