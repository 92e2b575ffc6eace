import { usage } from './failure.ts'

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Reads a moment: a time span before now (`30m`, `2h`, `7d`), or an ISO 8601 time. Returns ISO 8601, undefined for no
 * text. Throws a usage Failure.
 */
export function momentOf(text: string | undefined, flag: string, now = Date.now()): string | undefined {
  if (text === undefined) return undefined
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const ms = count === undefined ? Date.parse(text) : now - Number(count) * UNIT_MS[unit!]!
  if (!Number.isFinite(ms)) throw usage(`${flag} accepts 30m, 2h, 7d or an ISO 8601 time, not "${text}"`)
  return new Date(ms).toISOString()
}

const two = (number: number) => String(number).padStart(2, '0')

/** Formats an ISO 8601 time in the local time zone, to the second. Returns other texts unchanged. */
export function localTime(text: string): string {
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) return text
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}
