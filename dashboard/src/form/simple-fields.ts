import type { FieldBase, Field, Option } from './field.ts'
import { formatLimits, typeOf } from './constraints.ts'
import { printJson, type Json } from './json.ts'
import type { Keywords } from './schema.ts'

export const textOr = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Names of members that usually hold more than one line. */
const longNames =
  /^(body|text|content|contents|message|description|comment|query|sql|code|script|prompt|html|markdown)$/i

/** Returns the common properties of a field. `type` begins the text beside its name. */
export function fieldBase(keywords: Keywords, type: string): FieldBase {
  const pattern = textOr(keywords.pattern)
  return {
    title: textOr(keywords.title),
    description: textOr(keywords.description),
    type: [type, formatLimits(keywords)].filter(Boolean).join(' '),
    hints: pattern === undefined ? [] : [`Matches ${pattern}`],
    nullable: false,
    fallback: keywords.default as Json | undefined,
    deprecated: keywords.deprecated === true
  }
}

/** Returns a value as text, strings without quotes. */
export const printValue = (value: unknown): string => (typeof value === 'string' ? value : printJson(value as Json, 0))

/** Returns the label of a choice. */
export const choiceLabel = (value: Json): string =>
  typeof value === 'string' && value !== '' ? value : printJson(value, 0)

/** Returns a field edited as JSON; `reason`: why there is no form for it. */
export const jsonField = (keywords: Keywords, reason: string | undefined): Field => ({
  kind: 'json',
  ...fieldBase(keywords, typeOf(keywords) ?? 'any'),
  reason
})

export const fixedField = (keywords: Keywords, value: Json): Field => ({
  kind: 'fixed',
  ...fieldBase(keywords, choiceLabel(value)),
  value
})

export function choiceField(keywords: Keywords, options: readonly Option[]): Field {
  const kinds = new Set(options.map(({ value }) => (value === null ? 'null' : typeof value)))
  return { kind: 'choice', ...fieldBase(keywords, kinds.size === 1 ? [...kinds][0]! : 'choice'), options }
}

export const withNull = (inner: Field): Field => ({ ...inner, nullable: true, type: `${inner.type} | null` })

export const withHints = (inner: Field, hints: readonly string[]): Field => ({
  ...inner,
  hints: [...inner.hints, ...hints]
})

export function textField(keywords: Keywords, name: string): Field {
  const format = textOr(keywords.format)
  const { maxLength, contentMediaType } = keywords
  const isLong =
    longNames.test(name) || contentMediaType !== undefined || (typeof maxLength === 'number' && maxLength > 400)
  return { kind: 'text', ...fieldBase(keywords, format ?? 'string'), format, isLong }
}
