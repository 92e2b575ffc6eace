import assert from 'node:assert/strict'
import fc from 'fast-check'
import { isTokenScope } from '../../src/domain/access/access.ts'
import { isName, isServerName } from '../../src/domain/names.ts'
import { isTimestamp, isStorable } from '../../src/domain/text/text.ts'
import { isToken } from '../../src/domain/tokens.ts'
import { patternOf } from '../../src/validation/validators.ts'
import { holds } from './property.ts'

const any = fc.string({ unit: 'binary' })
const likely = fc.string({ unit: fc.constantFrom('_', '_', 'a', '7', '-', '\n', '\0', '\ud800', 'ü'), maxLength: 20 })
const long = fc.integer({ min: 14, max: 1_026 }).map((length) => 'a'.repeat(length))
const scope = fc.string({ unit: fc.constantFrom('mcp', ':', 'a', '.', '-', '_', 'A', '\n'), maxLength: 70 })
const text = fc.oneof(any, likely, long, scope)

/** Returns true if a JSON Schema validator accepts the candidate: lengths count characters. */
function fits(format: string, candidate: string): boolean {
  const { pattern, minLength = 0, maxLength = Infinity } = patternOf(format)!
  const { length } = Array.from(candidate)
  return new RegExp(pattern, 'u').test(candidate) && length >= minLength && length <= maxLength
}

const validators = { text: isStorable, name: isName, token: isToken, 'server-name': isServerName, scope: isTokenScope }

holds('CR-F10: the patterns of the OpenAPI document take what the gateway takes', [text], (candidate) => {
  for (const [format, validate] of Object.entries(validators)) {
    assert.equal(fits(format, candidate), validate(candidate), `${format} of ${JSON.stringify(candidate)}`)
  }
})

const twoDigits = fc.integer({ min: 0, max: 61 }).map((value) => String(value).padStart(2, '0'))
const time = fc
  .tuple(twoDigits, twoDigits, twoDigits, fc.constantFrom('Z', '+01:00', '-23:59', '+24:00', ''))
  .map(([hours, minutes, seconds, zone]) => `T${hours}:${minutes}:${seconds}${zone}`)
const moment = fc
  .tuple(
    fc.integer({ min: 0, max: 9_998 }).map((year) => String(year).padStart(4, '0')),
    twoDigits,
    twoDigits,
    fc.oneof(fc.constant(''), time)
  )
  .map(([year, month, day, rest]) => `${year}-${month}-${day}${rest}`)

holds('CR-F10: a moment that fits the pattern is taken', [fc.oneof(text, moment)], (candidate) => {
  if (fits('moment', candidate)) assert.ok(isTimestamp(candidate), `${candidate} is refused`)
  // the end of a day may be written as 24:00
  else assert.ok(!isTimestamp(candidate) || candidate.includes('T24:00'), `${candidate} is taken`)
})
