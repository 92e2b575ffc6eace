/** Formats numbers and times for people. Pure functions; `—` means unknown. */

const whole = new Intl.NumberFormat('en-US')
const UNKNOWN = '—'

export const count = (value: number | undefined): string => (value === undefined ? UNKNOWN : whole.format(value))

/** Formats a duration as number and unit, three significant digits: `412 ms`, `1.4 s`, `3 min`. */
export function durationParts(ms: number | undefined): readonly [number: string, unit: string] {
  if (ms === undefined) return [UNKNOWN, '']
  if (ms < 1) return ['<1', 'ms']
  if (ms < 1_000) return [String(Math.round(ms)), 'ms']
  if (ms < 10_000) return [(ms / 1_000).toFixed(1), 's']
  if (ms < 120_000) return [String(Math.round(ms / 1_000)), 's']
  return [whole.format(Math.round(ms / 60_000)), 'min']
}

export const duration = (ms: number | undefined): string => durationParts(ms).join(' ').trim()

export function bytes(value: number | undefined): string {
  if (value === undefined) return UNKNOWN
  if (value < 1_000) return `${value} B`
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 10_000 ? 1 : 0)} kB`
  return `${(value / 1_000_000).toFixed(1)} MB`
}

/** Formats a share; `0%` and `100%` are exact, never rounded. */
export function percent(part: number, all: number): string {
  if (all === 0) return UNKNOWN
  const value = (part / all) * 100
  if (part === 0) return '0%'
  if (value < 0.1) return '<0.1%'
  if (value < 10) return `${value.toFixed(1)}%`
  return part === all ? '100%' : `${Math.min(Math.round(value), 99)}%`
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${whole.format(value)} ${value === 1 ? one : many}`

const steps: readonly (readonly [limit: number, unit: string, size: number])[] = [
  [60_000, 's', 1_000],
  [3_600_000, 'min', 60_000],
  [86_400_000, 'h', 3_600_000],
  [Infinity, 'd', 86_400_000]
]

/** Formats a time in milliseconds since the epoch as relative: `just now`, `4 min ago`, `in 9 min`. */
export function relative(at: number, now: number): string {
  const distance = Math.abs(now - at)
  if (distance < 5_000) return 'just now'
  const [, unit, size] = steps.find(([limit]) => distance < limit)!
  const text = `${Math.floor(distance / size)} ${unit}`
  return at > now ? `in ${text}` : `${text} ago`
}

const two = (value: number) => String(value).padStart(2, '0')

/** Formats local time with seconds. */
export const clock = (at: number): string => {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

export const shortClock = (at: number): string => clock(at).slice(0, 5)

/** Formats a local date: `20 Nov`. */
export const dayOf = (at: number): string =>
  new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })

/** Formats a local date with its day of the week: `Fri 20 Nov`. */
export const weekdayOf = (at: number): string =>
  `${new Date(at).toLocaleDateString('en-GB', { weekday: 'short' })} ${dayOf(at)}`

/** Formats local date, time and zone, for tooltips. */
export const absolute = (at: number): string =>
  new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'long' })

/** Formats `9:41`; never negative. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`
}

/** Formats a gateway message as a sentence: such messages start in lower case and have no full stop. */
export const sentence = (message: string): string => {
  const text = message.trim()
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
}
