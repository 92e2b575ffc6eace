import { isExact, numberText, type ExactNumber } from './json.ts'
import { listOf, typeNames, type Keywords } from './schema.ts'

const isNumber = (value: unknown): value is number | ExactNumber => typeof value === 'number' || isExact(value)

/** Returns `1–100`, `≥ 0`, `< 5`, or '' without limits. */
function formatRange(low: unknown, high: unknown, above: unknown, below: unknown): string {
  const [from, to, over, under] = [low, high, above, below].map((each) =>
    isNumber(each) ? numberText(each) : undefined
  )
  if (from !== undefined && to !== undefined) return from === to ? from : `${from}–${to}`
  const parts = [
    from !== undefined ? `≥ ${from}` : over !== undefined ? `> ${over}` : '',
    to !== undefined ? `≤ ${to}` : under !== undefined ? `< ${under}` : ''
  ]
  return parts.filter(Boolean).join(', ')
}

const withUnit = (range: string, one: string, many: string): string =>
  range === '' ? '' : `${range} ${range === '1' || range.endsWith(' 1') ? one : many}`

/** Returns the limits of a value in a few words, to follow the name of its type. */
export function formatLimits(keywords: Keywords): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = keywords
  const parts = [
    formatRange(minimum, maximum, exclusiveMinimum, exclusiveMaximum),
    isNumber(multipleOf) ? `multiple of ${numberText(multipleOf)}` : '',
    withUnit(formatRange(keywords.minLength, keywords.maxLength, undefined, undefined), 'character', 'characters'),
    withUnit(formatRange(keywords.minItems, keywords.maxItems, undefined, undefined), 'item', 'items'),
    withUnit(formatRange(keywords.minProperties, keywords.maxProperties, undefined, undefined), 'member', 'members'),
    keywords.uniqueItems === true ? 'no duplicates' : ''
  ]
  return parts.filter(Boolean).join(', ')
}

/** Returns the type that the keywords imply; undefined if any value is allowed. */
export function typeOf(keywords: Keywords): string | undefined {
  const [name] = typeNames(keywords.type)
  if (name !== undefined) return name
  const has = (...names: string[]) => names.some((each) => keywords[each] !== undefined)
  if (has('properties', 'additionalProperties', 'patternProperties', 'required', 'minProperties')) return 'object'
  if (has('items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems')) return 'array'
  if (has('minLength', 'maxLength', 'pattern', 'format')) return 'string'
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return 'number'
  return undefined
}

/** Returns `alternatives`, which describe whole values, and alternatives that only require members ("one of these"). */
export function alternatives(keywords: Keywords): { keyword: 'oneOf' | 'anyOf'; list: readonly unknown[] } | undefined {
  for (const keyword of ['oneOf', 'anyOf'] as const) {
    const list = listOf(keywords[keyword])
    if (list.length > 0) return { keyword, list }
  }
  return undefined
}
