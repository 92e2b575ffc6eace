import { skipString } from './json.ts'

/** Longer numbers have more digits than a double, or needless ones. */
const MAX_LENGTH = 64
const numberAt = /[-+.\deE]+/y
const parts = /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i

/** Returns the digits of a number without zeros at the ends, with their exponent. */
function decimalOf(text: string): string | undefined {
  const [, whole, fraction = '', exponent = '0'] = parts.exec(text) ?? []
  if (whole === undefined) return undefined
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

function isExact(text: string): boolean {
  if (text.length > MAX_LENGTH) return false
  const value = Number(text)
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER && decimalOf(text) === decimalOf(String(value))
}

/** Returns true if valid JSON text has a number with more digits than a double keeps, or beyond its safe integers. */
export function hasInexactNumber(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '"') at = skipString(text, at) - 1
    else if (character === '-' || (character >= '0' && character <= '9')) {
      numberAt.lastIndex = at
      const [found] = numberAt.exec(text)!
      if (!isExact(found)) return true
      at += found.length - 1
    }
  }
  return false
}
