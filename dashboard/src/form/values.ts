import { optionOf, type Field, type FieldOf, type Member, type Variant } from './field.ts'
import { getAt, equalJson, isExact, isJsonObject, isList, type Json } from './json.ts'

/** Limit of values created at once: a schema can require itself without end. */
const MAX_VALUES = 500

/**
 * Returns the initial value of a field: required members whose value is known. Optional members stay absent, so that
 * the upstream's own defaults apply.
 */
export function initialValue(field: Field, budget = { left: MAX_VALUES }): Json | undefined {
  if (budget.left-- <= 0) return undefined
  if (field.fallback !== undefined) return field.fallback
  switch (field.kind) {
    case 'fixed':
      return field.value
    case 'choice':
      return field.options.length === 1 ? field.options[0]!.value : undefined
    case 'object':
      return Object.fromEntries(requiredOf(field.members()).flatMap((member) => entry(member, budget)))
    case 'list':
      return []
    case 'union':
      return field.variants()[0] && initialValue(field.variants()[0]!.field, budget)
    default:
      return undefined
  }
}

const requiredOf = (members: readonly Member[]): Member[] => members.filter(({ required }) => required)

const entry = ({ name, field }: Member, budget: { left: number }): [string, Json][] => {
  const value = initialValue(field, budget)
  return value === undefined ? [] : [[name, value]]
}

/** Returns the value of a part added by hand; never undefined. */
export function blankValue(field: Field): Json {
  const value = initialValue(field)
  if (value !== undefined) return value
  switch (field.kind) {
    case 'text':
      return ''
    case 'number':
      return 0
    case 'boolean':
      return false
    case 'choice':
      return field.options[0]?.value ?? null
    case 'union':
      return field.variants()[0] ? blankValue(field.variants()[0]!.field) : null
    default:
      return null
  }
}

/** Returns how well a value fits a field: -1 not at all, higher is better. Looks one level deep. */
export function fitScore(field: Field, value: Json | undefined): number {
  if (value === undefined) return -1
  if (field.nullable && value === null) return 1
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? 1 : -1
    case 'number':
      return isFitNumber(field, value) ? 1 : -1
    case 'boolean':
      return typeof value === 'boolean' ? 1 : -1
    case 'choice':
      return optionOf(field.options, value) >= 0 ? 2 : -1
    case 'fixed':
      return equalJson(field.value, value) ? 3 : -1
    case 'list':
      return isList(value) ? listScore(field, value) : -1
    case 'object':
      return objectScore(field, value)
    case 'union':
      return Math.max(-1, ...field.variants().map((variant) => fitScore(variant.field, value)))
    case 'json':
      return 0
  }
}

function isFitNumber({ type }: FieldOf<'number'>, value: Json): boolean {
  if (isExact(value)) return true
  return typeof value === 'number' && (!type.startsWith('integer') || Number.isInteger(value))
}

function listScore(field: FieldOf<'list'>, value: readonly Json[]): number {
  const [first] = value
  if (first === undefined) return 1
  const inner = field.lead()[0] ?? field.item?.()
  return inner === undefined || inner.kind === 'list' ? 1 : 1 + fitScore(inner, first)
}

/**
 * Returns the score of an object: listed members that are present count for the field; missing ones and wrong constants
 * count against it.
 */
function objectScore(field: FieldOf<'object'>, value: Json): number {
  if (!isJsonObject(value)) return -1
  let score = 1
  for (const { name, required, field: inner } of field.members()) {
    const member = getAt(value, [name])
    if (member === undefined) score -= required ? 0.5 : 0
    else if (inner.kind === 'fixed' || inner.kind === 'choice') {
      const fit = fitScore(inner, member)
      if (fit < 0) return inner.kind === 'fixed' ? -1 : 0
      score += fit
    } else score += 1
  }
  return Math.max(score, 0)
}

/** Returns the variant to show: the chosen one while the value fits it, else the best match; -1 without a value. */
export function variantFor(variants: readonly Variant[], value: Json | undefined, chosen: number | undefined): number {
  if (chosen !== undefined && chosen < variants.length) {
    if (value === undefined || fitScore(variants[chosen]!.field, value) >= 0) return chosen
  }
  if (value === undefined) return -1
  const scores = variants.map(({ field }) => fitScore(field, value))
  return scores.indexOf(Math.max(...scores))
}

/** Converts a value to another variant: members with the same name stay, constants come from the new variant. */
export function convertTo(field: Field, value: Json | undefined): Json | undefined {
  if (field.kind !== 'object' || !isJsonObject(value)) return fitScore(field, value) > 0 ? value : initialValue(field)
  const start = initialValue(field)
  const kept = field.members().flatMap(({ name, field: inner }): [string, Json][] => {
    const member = getAt(value, [name])
    return member !== undefined && inner.kind !== 'fixed' && fitScore(inner, member) >= 0 ? [[name, member]] : []
  })
  return { ...(isJsonObject(start) ? start : {}), ...Object.fromEntries(kept) }
}

/** Returns the members of a value that the schema does not list. */
export function extraNames(field: FieldOf<'object'>, value: Json | undefined): string[] {
  if (!isJsonObject(value)) return []
  const listed = new Set(field.members().map(({ name }) => name))
  return Object.keys(value).filter((name) => !listed.has(name))
}

/** Returns true if the field can show the value. Other values are edited as JSON, so nothing is lost. */
export const canShow = (field: Field, value: Json | undefined): boolean =>
  value === undefined || field.kind === 'json' || field.kind === 'union' || fitScore(field, value) >= 0
