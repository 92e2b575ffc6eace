import { equalJson, printJson, type Json } from './json.ts'
import { alternatives, limits, typeOf } from './constraints.ts'
import { flatten, keywordsOf, listOf, merge, typeNames, type Keywords } from './schema.ts'

interface Common {
  readonly title: string | undefined
  readonly description: string | undefined
  /** Type and limits in few words: `integer ≥ 0`, `string[]`. */
  readonly type: string
  /** More that a caller has to know: a pattern, which members go together. */
  readonly hints: readonly string[]
  /** null is a value, too. */
  readonly nullable: boolean
  readonly fallback: Json | undefined
  readonly deprecated: boolean
}

export interface Option {
  readonly label: string
  readonly value: Json
}

/** One named part of an object. */
export interface Member {
  readonly name: string
  readonly required: boolean
  readonly field: Field
}

export interface Variant {
  readonly label: string
  readonly field: Field
}

/** What a form draws for one place. Parts are made when they are asked for: a schema can hold itself. */
export type Field = Common &
  (
    | { readonly kind: 'text'; readonly format: string | undefined; readonly isLong: boolean }
    | { readonly kind: 'number' }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly options: readonly Option[] }
    | { readonly kind: 'fixed'; readonly value: Json }
    | {
        readonly kind: 'object'
        readonly members: () => readonly Member[]
        /** Values of names that the schema does not list; undefined where there may be none. */
        readonly extra: (() => Field) | undefined
      }
    | {
        readonly kind: 'list'
        /** Fields of the first items, where each position has its own. */
        readonly lead: () => readonly Field[]
        /** Field of all other items; undefined where there may be none. */
        readonly item: (() => Field) | undefined
        /** Items are short texts or numbers. */
        readonly isTags: boolean
      }
    | { readonly kind: 'union'; readonly variants: () => readonly Variant[] }
    | { readonly kind: 'json'; readonly reason: string | undefined }
  )

export type FieldOf<Kind extends Field['kind']> = Extract<Field, { kind: Kind }>

/** Deeper parts are written as JSON. */
const MAX_DEPTH = 10
const MAX_VARIANTS = 50
/** With more members than a person would look through the form takes seconds to draw: they are written as JSON. */
const MAX_MEMBERS = 300

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

const textOr = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Names of fields that mostly hold more than a line. */
const longNames =
  /^(body|text|content|contents|message|description|comment|query|sql|code|script|prompt|html|markdown)$/i

/** The field of a place of a schema; `name` is that of the member, if it is one. */
export function fieldOf(schema: unknown, root: unknown = schema, name = '', depth = 0): Field {
  return field(flatten(schema, root), { root, name, depth })
}

interface Place {
  readonly root: unknown
  readonly name: string
  readonly depth: number
}

function common(keywords: Keywords, type: string): Common {
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

function field(keywords: Keywords, place: Place): Field {
  if (keywords.$ref !== undefined) return json(keywords, `${printed(keywords.$ref)} is not part of this schema`)
  if (place.depth > MAX_DEPTH) return json(keywords, undefined)
  if (keywords.const !== undefined) return fixed(keywords, keywords.const as Json)
  if (Array.isArray(keywords.enum))
    return choice(
      keywords,
      keywords.enum.map((value: Json) => ({ label: label(value), value }))
    )
  const either = alternatives(keywords)
  if (either) return alternative(keywords, either.keyword, either.list, place)
  const names = typeNames(keywords.type)
  if (names.length > 1) return severalTypes(keywords, names, place)
  return byType(keywords, place)
}

const printed = (value: unknown): string => (typeof value === 'string' ? value : printJson(value as Json, 0))

const label = (value: Json): string => (typeof value === 'string' && value !== '' ? value : printJson(value, 0))

const json = (keywords: Keywords, reason: string | undefined): Field => ({
  kind: 'json',
  ...common(keywords, typeOf(keywords) ?? 'any'),
  reason
})

const fixed = (keywords: Keywords, value: Json): Field => ({ kind: 'fixed', ...common(keywords, label(value)), value })

function choice(keywords: Keywords, options: readonly Option[]): Field {
  const kinds = new Set(options.map(({ value }) => (value === null ? 'null' : typeof value)))
  return { kind: 'choice', ...common(keywords, kinds.size === 1 ? [...kinds][0]! : 'choice'), options }
}

/** Draft 2020-12 has no `oneOf` with one constant each in its vocabulary of choices, but everybody writes them so. */
function constants(list: readonly Keywords[]): Option[] | undefined {
  const options: Option[] = []
  for (const each of list) {
    if (each.const !== undefined)
      options.push({ value: each.const as Json, label: textOr(each.title) ?? label(each.const as Json) })
    else if (Array.isArray(each.enum)) options.push(...each.enum.map((value: Json) => ({ value, label: label(value) })))
    else return undefined
  }
  return options
}

const isNull = ({ type, const: value, enum: values }: Keywords): boolean =>
  type === 'null' || value === null || (Array.isArray(values) && values.length === 1 && values[0] === null)

/** Says nothing about what the value is: `{required: ['a']}`, `{not: …}`. */
const isConstraint = (keywords: Keywords): boolean =>
  Object.keys(keywords).every((keyword) =>
    ['required', 'not', 'title', 'description', 'minProperties'].includes(keyword)
  )

const withNull = (inner: Field): Field => ({ ...inner, nullable: true, type: `${inner.type} | null` })

function alternative(keywords: Keywords, keyword: 'oneOf' | 'anyOf', list: readonly unknown[], place: Place): Field {
  const { [keyword]: _alternatives, ...base } = keywords
  const flat = list.slice(0, MAX_VARIANTS).map((each) => flatten(each, place.root))
  if (flat.every(isConstraint)) return withHints(field(base, place), needs(keyword, flat))
  const options = constants(flat)
  if (options) return choice(base, options)
  const rest = flat.filter((each) => !isNull(each))
  if (rest.length === 1) return withNull(field(merge(base, rest[0]!), place))
  const variants = once(() => rest.map((each, i) => variantOf(base, each, i, place)))
  const union: Field = { kind: 'union', ...common(base, typesOf(rest)), variants }
  return rest.length < flat.length ? withNull(union) : union
}

const withHints = (inner: Field, hints: readonly string[]): Field => ({ ...inner, hints: [...inner.hints, ...hints] })

function needs(keyword: 'oneOf' | 'anyOf', list: readonly Keywords[]): string[] {
  const names = list.map(({ required }) => listOf(required).map(printed).join(' and ')).filter(Boolean)
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

/** The constant member by which a variant tells itself from the others: `kind: "file"`. */
function discriminator(keywords: Keywords, root: unknown): string | undefined {
  for (const [name, schema] of Object.entries(keywordsOf(keywords.properties))) {
    const { const: value, enum: values } = flatten(schema, root)
    const only = value ?? (Array.isArray(values) && values.length === 1 ? (values[0] as unknown) : undefined)
    if (only !== undefined) return `${name}: ${printed(only)}`
  }
  return undefined
}

function variantOf(base: Keywords, keywords: Keywords, index: number, place: Place): Variant {
  const { title: _title, description: _description, default: _default, ...shared } = base
  const inner = field(merge(keywords, shared), { ...place, depth: place.depth + 1 })
  const name = textOr(keywords.title) ?? discriminator(keywords, place.root)
  return {
    label: name ?? (keywords.type === undefined && inner.kind === 'object' ? `Form ${index + 1}` : inner.type),
    field: inner
  }
}

function severalTypes(keywords: Keywords, names: readonly string[], place: Place): Field {
  const rest = names.filter((name) => name !== 'null')
  if (rest.length === 1) return withNull(byType({ ...keywords, type: rest[0] }, place))
  const { title: _title, description: _description, default: _default, ...shared } = keywords
  const variants = once(() =>
    rest.map((type): Variant => ({
      label: type,
      field: byType({ ...shared, type }, { ...place, depth: place.depth + 1 })
    }))
  )
  const union: Field = { kind: 'union', ...common({ ...keywords, ...noLimits }, rest.join(' | ')), variants }
  return rest.length < names.length ? withNull(union) : union
}

/** Of several types no limit holds for all. */
const noLimits = {
  minimum: undefined,
  maximum: undefined,
  minLength: undefined,
  maxLength: undefined,
  pattern: undefined
}

function byType(keywords: Keywords, place: Place): Field {
  const type = typeOf(keywords)
  switch (type) {
    case 'string':
      return text(keywords, place.name)
    case 'number':
    case 'integer':
      return { kind: 'number', ...common(keywords, type) }
    case 'boolean':
      return { kind: 'boolean', ...common(keywords, type) }
    case 'null':
      return fixed(keywords, null)
    case 'object':
      return object(keywords, place)
    case 'array':
      return list(keywords, place)
    default:
      return json(keywords, undefined)
  }
}

function text(keywords: Keywords, name: string): Field {
  const format = textOr(keywords.format)
  const { maxLength, contentMediaType } = keywords
  const isLong =
    longNames.test(name) || contentMediaType !== undefined || (typeof maxLength === 'number' && maxLength > 400)
  return { kind: 'text', ...common(keywords, format ?? 'string'), format, isLong }
}

function object(keywords: Keywords, place: Place): Field {
  const { properties, required, additionalProperties, patternProperties } = keywords
  const wanted = new Set(listOf(required))
  const count = Math.max(Object.keys(keywordsOf(properties)).length, wanted.size)
  if (count > MAX_MEMBERS) return json(keywords, `A form of ${count} members would be too long`)
  const below = { root: place.root, depth: place.depth + 1 }
  const members = once(() => {
    const listed = Object.entries(keywordsOf(properties))
    // Required, but described nowhere: still asked for.
    const bare = [...wanted].filter((name) => typeof name === 'string' && !Object.hasOwn(keywordsOf(properties), name))
    return [...listed, ...bare.map((name) => [name as string, true] as const)].map(([name, schema]): Member => ({
      name,
      required: wanted.has(name),
      field: fieldOf(schema, below.root, name, below.depth)
    }))
  })
  return {
    kind: 'object',
    ...common(keywords, 'object'),
    members,
    extra: extraOf(properties, additionalProperties, patternProperties, below)
  }
}

type Below = Pick<Place, 'root' | 'depth'>

/** Rows of names and values, where the schema speaks of them. An object of which nothing is said may hold anything, but a
 * tool of which nothing is said has no parameters. */
function extraOf(properties: unknown, additional: unknown, patterns: unknown, below: Below): (() => Field) | undefined {
  const [pattern] = Object.values(keywordsOf(patterns))
  const isOpen = additional === undefined && below.depth > 1 && Object.keys(keywordsOf(properties)).length === 0
  const schema = additional === undefined || additional === false ? pattern : additional
  if (schema === undefined && !isOpen) return undefined
  return once(() => fieldOf(schema ?? true, below.root, '', below.depth))
}

const isShort = ({ kind, nullable }: Field): boolean => !nullable && (kind === 'number' || kind === 'text')

function list(keywords: Keywords, place: Place): Field {
  const { items, prefixItems, additionalItems } = keywords
  const first = listOf(prefixItems ?? (Array.isArray(items) ? items : undefined))
  const rest = Array.isArray(items) ? additionalItems : items
  const below = (schema: unknown) => fieldOf(schema, place.root, '', place.depth + 1)
  const item = rest === false ? undefined : once(() => below(rest ?? true))
  const isTags = first.length === 0 && item !== undefined && place.depth < MAX_DEPTH && isShort(item())
  const type = item === undefined || first.length > 0 ? 'array' : `${bracketed(item())}[]`
  return { kind: 'list', ...common(keywords, type), lead: once(() => first.map(below)), item, isTags }
}

const bracketed = ({ type }: Field): string => (/[ |]/.test(type) ? type.split(' ')[0]! : type)

/** Whether there is nothing to fill in. */
export const isEmptyObject = (root: Field): boolean =>
  root.kind === 'object' && root.members().length === 0 && root.extra === undefined

/** The option that a value is, or -1. */
export const optionOf = (options: readonly Option[], value: Json | undefined): number =>
  options.findIndex((option) => equalJson(option.value, value))
