/** Whether the text holds no NUL and no half of a surrogate pair: PostgreSQL and UTF-8 can store neither. */
export const isStorable = (text: string): boolean => !text.includes('\0') && !/\p{Surrogate}/u.test(text)

/** At most so many UTF-16 units, and never half of a character. */
export const clipped = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).replace(/\p{Surrogate}$/u, '')}…`

const code = (character: string) => `\\u{${character.codePointAt(0)!.toString(16)}}`

/** Text from outside as one line that shows what it holds: no line, column or direction can be forged with it. */
export const escaped = (text: string, max: number): string =>
  clipped(text, max).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, code)

/** Years that the database's drivers can write: four digits, without 0000. */
const firstMoment = Date.parse('0001-01-01T00:00:00Z')
const lastMoment = Date.parse('9999-12-31T23:59:59.999Z')

/** ISO 8601: a date (midnight, UTC), or date and time with its zone. */
export function isMoment(text: string): boolean {
  if (!/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text))
    return false
  const at = Date.parse(text)
  return at >= firstMoment && at <= lastMoment
}
