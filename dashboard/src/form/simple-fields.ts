import type { Common, Field, Option } from './field.ts'
import { limits, typeOf } from './constraints.ts'
import { printJson, type Json } from './json.ts'
import type { Keywords } from './schema.ts'

export const textOr = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Names of members that usually hold more than one line. */
const longNames =
  /^(body|text|content|contents|message|description|comment|query|sql|code|script|prompt|html|markdown)$/i

/** Returns the common properties of a field. `type` begins the text beside its name. */
export function common(keywords: Keywords, type: string): Common {
  const pattern = textOr(keywords.pattern)
  return {
    title: textOr(keywords.title),
    description: textOr(keywords.description),
    type: [type, limits(keywords)].filter(Boolean).join(' '),
    hints: pattern === undefined ? [] : [`Matches ${pattern}`],
    nullable: false,
    fallback: keywords.default as Json | undefined,
    deprecated: keywords.deprecated === true
  }
}

/** Returns a value as text, strings without quotes. */
export const printed = (value: unknown): string => (typeof value === 'string' ? value : printJson(value as Json, 0))

/** Returns the label of a choice. */
export const label = (value: Json): string => (typeof value === 'string' && value !== '' ? value : printJson(value, 0))

/** Returns a field edited as JSON; `reason`: why there is no form for it. */
export const json = (keywords: Keywords, reason: string | undefined): Field => ({
  kind: 'json',
  ...common(keywords, typeOf(keywords) ?? 'any'),
  reason
})

export const fixed = (keywords: Keywords, value: Json): Field => ({
  kind: 'fixed',
  ...common(keywords, label(value)),
  value
})

export function choice(keywords: Keywords, options: readonly Option[]): Field {
  const kinds = new Set(options.map(({ value }) => (value === null ? 'null' : typeof value)))
  return { kind: 'choice', ...common(keywords, kinds.size === 1 ? [...kinds][0]! : 'choice'), options }
}

export const withNull = (inner: Field): Field => ({ ...inner, nullable: true, type: `${inner.type} | null` })

export const withHints = (inner: Field, hints: readonly string[]): Field => ({
  ...inner,
  hints: [...inner.hints, ...hints]
})

export function text(keywords: Keywords, name: string): Field {
  const format = textOr(keywords.format)
  const { maxLength, contentMediaType } = keywords
  const isLong =
    longNames.test(name) || contentMediaType !== undefined || (typeof maxLength === 'number' && maxLength > 400)
  return { kind: 'text', ...common(keywords, format ?? 'string'), format, isLong }
}
