import type { Field, Member } from './field.ts'
import { alternatives, typeOf } from './constraints.ts'
import type { Json } from './json.ts'
import { once, type Place } from './position.ts'
import { flatten, keywordsOf, listOf, typeNames, type Keywords } from './schema.ts'
import { choiceField, fieldBase, fixedField, jsonField, choiceLabel, printValue, textField } from './simple-fields.ts'
import { alternative, severalTypes } from './variants.ts'

/** Nesting depth from which values are edited as JSON. */
const MAX_DEPTH = 10
/** Number of members above which an object is edited as JSON: drawing the form would take seconds. */
const MAX_MEMBERS = 300

/** Returns the field of a place in a schema; `name` is the member's name, or ''. */
export function fieldOf(schema: unknown, root: unknown = schema, name = '', depth = 0): Field {
  return field(flatten(schema, root), { root, name, depth, build: field })
}

function field(keywords: Keywords, place: Place): Field {
  if (keywords.$ref !== undefined) return jsonField(keywords, `${printValue(keywords.$ref)} is not part of this schema`)
  if (place.depth > MAX_DEPTH) return jsonField(keywords, undefined)
  if (keywords.const !== undefined) return fixedField(keywords, keywords.const as Json)
  if (Array.isArray(keywords.enum))
    return choiceField(
      keywords,
      keywords.enum.map((value: Json) => ({ label: choiceLabel(value), value }))
    )
  const either = alternatives(keywords)
  if (either) return alternative(keywords, either.keyword, either.list, place)
  const names = typeNames(keywords.type)
  if (names.length > 1) return severalTypes(keywords, names, place)
  return byType(keywords, place)
}

function byType(keywords: Keywords, place: Place): Field {
  const type = typeOf(keywords)
  switch (type) {
    case 'string':
      return textField(keywords, place.name)
    case 'number':
    case 'integer':
      return { kind: 'number', ...fieldBase(keywords, type) }
    case 'boolean':
      return { kind: 'boolean', ...fieldBase(keywords, type) }
    case 'null':
      return fixedField(keywords, null)
    case 'object':
      return object(keywords, place)
    case 'array':
      return list(keywords, place)
    default:
      return jsonField(keywords, undefined)
  }
}

function object(keywords: Keywords, place: Place): Field {
  const { properties, required, additionalProperties, patternProperties } = keywords
  const wanted = new Set(listOf(required))
  const count = Math.max(Object.keys(keywordsOf(properties)).length, wanted.size)
  if (count > MAX_MEMBERS) return jsonField(keywords, `A form of ${count} members would be too long`)
  const below = { root: place.root, depth: place.depth + 1 }
  const members = once(() => {
    const listed = Object.entries(keywordsOf(properties))
    // Required but not described: the form shows an input all the same.
    const bare = [...wanted].filter((name) => typeof name === 'string' && !Object.hasOwn(keywordsOf(properties), name))
    return [...listed, ...bare.map((name) => [name as string, true] as const)].map(([name, schema]): Member => ({
      name,
      required: wanted.has(name),
      field: fieldOf(schema, below.root, name, below.depth)
    }))
  })
  return {
    kind: 'object',
    ...fieldBase(keywords, 'object'),
    members,
    extra: extraOf(properties, additionalProperties, patternProperties, below)
  }
}

type Parent = Pick<Place, 'root' | 'depth'>

/**
 * Returns the field for additional members, if the schema allows them. An object without any keywords may hold
 * anything, but a tool without any keywords has no parameters.
 */
function extraOf(
  properties: unknown,
  additional: unknown,
  patterns: unknown,
  below: Parent
): (() => Field) | undefined {
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
  return { kind: 'list', ...fieldBase(keywords, type), lead: once(() => first.map(below)), item, isTags }
}

const bracketed = ({ type }: Field): string => (/[ |]/.test(type) ? type.split(' ')[0]! : type)
