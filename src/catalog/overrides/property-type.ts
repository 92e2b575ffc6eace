import { canonicalText, readCanonical } from '../../domain/definitions/canonical-json.ts'
import { isObject } from '../../domain/is-object.ts'

/** Keywords that decide which values a property takes. */
const typeKeywords = ['type', 'anyOf', 'oneOf', 'allOf', 'not', '$ref', 'const', 'items', 'format']
/** Keywords for people. */
const textKeywords = new Set(['title', 'description', 'default', 'examples', '$comment', 'deprecated'])

/** Nesting up to which schemas are read. */
const MAX_LEVELS = 64

type Schema = Readonly<Record<string, unknown>>

/** Returns the schema that a local reference names; undefined if there is none. */
export function resolveReference(root: Schema, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
  const steps = reference.slice(1).split('/').slice(1)
  return steps.reduce<unknown>((schema, step) => {
    const key = decodeStep(step)
    return typeof schema === 'object' && schema !== null && Object.hasOwn(schema, key)
      ? (schema as Schema)[key]
      : undefined
  }, root)
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

/** Reads the type of one property: follows each reference once, so that a schema cannot grow by them. */
function createReader(root: Schema) {
  const followed = new Set<unknown>()
  const read = (schema: unknown, level: number): unknown => {
    if (level > MAX_LEVELS) return null
    if (Array.isArray(schema)) return schema.map((part) => read(part, level + 1))
    if (!isObject(schema)) return schema
    const kept = Object.entries(schema).filter(([key]) => !textKeywords.has(key))
    return Object.fromEntries(
      kept.map(([key, part]) => [key, key === '$ref' ? readReference(part, level) : read(part, level + 1)])
    )
  }
  const readReference = (reference: unknown, level: number): unknown => {
    if (followed.has(reference)) return reference
    followed.add(reference)
    return [reference, read(resolveReference(root, reference) ?? null, level + 1)]
  }
  return read
}

/** Returns the canonical type of a property: equal for schemas that take values of the same types. */
export function typeOfProperty(root: Schema, schema: unknown): string {
  if (!isObject(schema)) return JSON.stringify(schema)
  const own = typeKeywords.filter((key) => Object.hasOwn(schema, key)).map((key) => [key, schema[key]])
  return canonicalText(readCanonical(JSON.stringify(createReader(root)(Object.fromEntries(own), 0))))
}
