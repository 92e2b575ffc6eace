import { isJsonObject, printJson, type Json } from './json.ts'

/** JSON Schema, or a subschema. */
export type Keywords = Readonly<Record<string, unknown>>

export const keywordsOf = (schema: unknown): Keywords => (isJsonObject(schema) ? schema : {})

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Subschemas examined per place: malicious schemas expand without end. */
const MAX_PARTS = 400

const decoded = (token: string): string => {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return token
  }
}

const ownMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

/** Finds the subschema with `$anchor` equal to `anchor`. */
function findAnchor(schema: unknown, anchor: string, budget = { left: 5_000 }): unknown {
  if (typeof schema !== 'object' || schema === null || budget.left-- <= 0) return undefined
  if (ownMember(schema, '$anchor') === anchor || ownMember(schema, '$id') === `#${anchor}`) return schema
  for (const part of Object.values(schema)) {
    const found = findAnchor(part, anchor, budget)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the target of a `$ref` within its document, or undefined. Nothing is fetched. */
function resolveRef(ref: unknown, root: unknown): unknown {
  if (typeof ref !== 'string') return undefined
  const id = ownMember(root, '$id')
  const local = typeof id === 'string' && id !== '' && ref.startsWith(`${id}#`) ? ref.slice(id.length) : ref
  if (local === '#' || local === id) return root
  if (!local.startsWith('#')) return undefined
  if (!local.startsWith('#/')) return findAnchor(root, decoded(local.slice(1)))
  return local.slice(2).split('/').map(decoded).reduce<unknown>(ownMember, root)
}

/**
 * Returns the effective keywords of a place: references resolved, `allOf`, `then` and `else` merged. A `$ref` that
 * cannot be resolved, or is circular, stays.
 */
export function flatten(schema: unknown, root: unknown): Keywords {
  return parts(schema, root, new Set(), { left: MAX_PARTS }).reduce(merge, {})
}

function parts(schema: unknown, root: unknown, seen: ReadonlySet<unknown>, budget: { left: number }): Keywords[] {
  if (schema === false) return [{ not: {} }]
  const { $ref, allOf, if: condition, then, else: otherwise, ...rest } = keywordsOf(schema)
  if (budget.left-- <= 0) return [rest]
  const more: Keywords[] = []
  for (const part of listOf(allOf)) more.push(...parts(part, root, seen, budget))
  if (condition !== undefined) {
    for (const part of [then, otherwise]) more.push(...parts(part, root, seen, budget).map(withoutRequired))
  }
  if ($ref === undefined) return [rest, ...more]
  const found = resolveRef($ref, root)
  if (found === undefined || seen.has(found)) return [{ ...rest, $ref }, ...more]
  return [rest, ...parts(found, root, new Set([...seen, found]), budget), ...more]
}

/** Drops `required`: members that depend on a condition are shown but optional. */
const withoutRequired = ({ required: _required, ...rest }: Keywords): Keywords => rest

const isNumber = (value: unknown): value is number => typeof value === 'number'

const both = (a: unknown, b: unknown): unknown => ({ allOf: [a, b] })

const eitherOr =
  (choose: (a: unknown, b: unknown) => unknown) =>
  (a: unknown, b: unknown): unknown =>
    a === undefined ? b : b === undefined ? a : choose(a, b)

const highest = eitherOr((a, b) => (isNumber(a) && isNumber(b) ? Math.max(a, b) : a))
const lowest = eitherOr((a, b) => (isNumber(a) && isNumber(b) ? Math.min(a, b) : a))
const union = eitherOr((a, b) => [...new Set([...listOf(a), ...listOf(b)])])
const intersection = eitherOr((a, b) => {
  const text = (value: unknown) => printJson(value as Json, 0)
  const others = new Set(listOf(b).map(text))
  return listOf(a).filter((value) => others.has(text(value)))
})

const mergedMembers = eitherOr((a, b) => {
  const names = new Set([...Object.keys(keywordsOf(a)), ...Object.keys(keywordsOf(b))])
  return Object.fromEntries([...names].map((name) => [name, eitherOr(both)(ownMember(a, name), ownMember(b, name))]))
})

const types = eitherOr((a, b) => {
  const [first, second] = [typeNames(a), typeNames(b)]
  const narrow = (name: string, others: readonly string[]) =>
    others.includes(name)
      ? [name]
      : name === 'number' && others.includes('integer')
        ? ['integer']
        : isInteger(name, others)
  const common = first.flatMap((name) => narrow(name, second))
  return common.length === 1 ? common[0] : common
})

const isInteger = (name: string, others: readonly string[]): string[] =>
  name === 'integer' && others.includes('number') ? ['integer'] : []

const mergedAdditional = eitherOr((a, b) =>
  a === false || b === false ? false : a === true ? b : b === true ? a : both(a, b)
)

/** Merge functions by keyword. For other keywords the first value wins. */
const mergers: Readonly<Record<string, (a: unknown, b: unknown) => unknown>> = {
  type: types,
  enum: intersection,
  required: union,
  properties: mergedMembers,
  patternProperties: mergedMembers,
  $defs: mergedMembers,
  additionalProperties: mergedAdditional,
  items: eitherOr(both),
  minimum: highest,
  exclusiveMinimum: highest,
  minLength: highest,
  minItems: highest,
  maximum: lowest,
  exclusiveMaximum: lowest,
  maxLength: lowest,
  maxItems: lowest
}

export const typeNames = (type: unknown): readonly string[] =>
  (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string')

/** Merges two subschemas as `allOf` does, as far as a form can show it. The validator uses the full schema. */
export function merge(a: Keywords, b: Keywords): Keywords {
  const merged: Record<string, unknown> = { ...b, ...a }
  for (const [keyword, join] of Object.entries(mergers)) {
    if (keyword in a && keyword in b) merged[keyword] = join(a[keyword], b[keyword])
  }
  // Two lists of alternatives cannot be merged. A form treats `oneOf` and `anyOf` alike, so the unused keyword takes
  // one.
  for (const [keyword, other] of [['anyOf', 'oneOf'] as const, ['oneOf', 'anyOf'] as const]) {
    if (keyword in a && keyword in b && !(other in a) && !(other in b)) merged[other] = b[keyword]
  }
  return merged
}
