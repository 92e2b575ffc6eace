import type { Field, Option, Variant } from './field.ts'
import { typeOf } from './constraints.ts'
import type { Json } from './json.ts'
import { once, type Place } from './position.ts'
import { flatten, keywordsOf, listOf, merge, typeNames, type Keywords } from './schema.ts'
import { choiceField, fieldBase, choiceLabel, printValue, textOr, withHints, withNull } from './simple-fields.ts'

const MAX_VARIANTS = 50

/** Returns the options of a `oneOf` of constants, the usual way to write labelled choices. */
function constants(list: readonly Keywords[]): Option[] | undefined {
  const options: Option[] = []
  for (const each of list) {
    if (each.const !== undefined)
      options.push({ value: each.const as Json, label: textOr(each.title) ?? choiceLabel(each.const as Json) })
    else if (Array.isArray(each.enum))
      options.push(...each.enum.map((value: Json) => ({ value, label: choiceLabel(value) })))
    else return undefined
  }
  return options
}

const isNull = ({ type, const: value, enum: values }: Keywords): boolean =>
  type === 'null' || value === null || (Array.isArray(values) && values.length === 1 && values[0] === null)

/** Returns true if the keywords only constrain a value without describing it: `{required: ['a']}`, `{not: …}`. */
const isConstraint = (keywords: Keywords): boolean =>
  Object.keys(keywords).every((keyword) =>
    ['required', 'not', 'title', 'description', 'minProperties'].includes(keyword)
  )

/** Returns the field of a place with `oneOf` or `anyOf`. */
export function alternative(
  keywords: Keywords,
  keyword: 'oneOf' | 'anyOf',
  list: readonly unknown[],
  place: Place
): Field {
  const { [keyword]: _alternatives, ...base } = keywords
  const flat = list.slice(0, MAX_VARIANTS).map((each) => flatten(each, place.root))
  if (flat.every(isConstraint)) return withHints(place.build(base, place), requirementHints(keyword, flat))
  const options = constants(flat)
  if (options) return choiceField(base, options)
  const rest = flat.filter((each) => !isNull(each))
  if (rest.length === 1) return withNull(place.build(merge(base, rest[0]!), place))
  const variants = once(() => rest.map((each, i) => variantOf(base, each, i, place)))
  const union: Field = { kind: 'union', ...fieldBase(base, typesOf(rest)), variants }
  return rest.length < flat.length ? withNull(union) : union
}

function requirementHints(keyword: 'oneOf' | 'anyOf', list: readonly Keywords[]): string[] {
  const names = list.map(({ required }) => listOf(required).map(printValue).join(' and ')).filter(Boolean)
  if (names.length < 2) return []
  return [`${keyword === 'oneOf' ? 'Needs exactly one of' : 'Needs at least one of'}: ${names.join(', or ')}`]
}

const typesOf = (list: readonly Keywords[]): string => {
  const names = [
    ...new Set(
      list.flatMap((each) => (typeNames(each.type).length > 0 ? typeNames(each.type) : (typeOf(each) ?? 'any')))
    )
  ]
  return names.length === 1 ? `${names[0]}, ${list.length} forms` : names.join(' | ')
}

/** Returns the name of the constant member that identifies a variant: `kind` in `kind: "file"`. */
function discriminator(keywords: Keywords, root: unknown): string | undefined {
  for (const [name, schema] of Object.entries(keywordsOf(keywords.properties))) {
    const { const: value, enum: values } = flatten(schema, root)
    const only = value ?? (Array.isArray(values) && values.length === 1 ? (values[0] as unknown) : undefined)
    if (only !== undefined) return `${name}: ${printValue(only)}`
  }
  return undefined
}

function variantOf(base: Keywords, keywords: Keywords, index: number, place: Place): Variant {
  const { title: _title, description: _description, default: _default, ...shared } = base
  const inner = place.build(merge(keywords, shared), { ...place, depth: place.depth + 1 })
  const name = textOr(keywords.title) ?? discriminator(keywords, place.root)
  return {
    label: name ?? (keywords.type === undefined && inner.kind === 'object' ? `Form ${index + 1}` : inner.type),
    field: inner
  }
}

/** Returns the field of a place that allows several types. */
export function severalTypes(keywords: Keywords, names: readonly string[], place: Place): Field {
  const rest = names.filter((name) => name !== 'null')
  if (rest.length === 1) return withNull(place.build({ ...keywords, type: rest[0] }, place))
  const { title: _title, description: _description, default: _default, ...shared } = keywords
  const variants = once(() =>
    rest.map((type): Variant => ({
      label: type,
      field: place.build({ ...shared, type }, { ...place, depth: place.depth + 1 })
    }))
  )
  const union: Field = { kind: 'union', ...fieldBase({ ...keywords, ...noLimits }, rest.join(' | ')), variants }
  return rest.length < names.length ? withNull(union) : union
}

/** Limits apply to one type only. */
const noLimits = {
  minimum: undefined,
  maximum: undefined,
  minLength: undefined,
  maxLength: undefined,
  pattern: undefined
}
