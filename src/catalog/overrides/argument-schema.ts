import { isObject } from '../../domain/is-object.ts'
import { isSecretLock, type ArgumentOverride } from '../../domain/overrides/tool-overrides.ts'
import { editMembers, members, valueOf } from '../../json/json.ts'
import { createKeyFold, LongKeysError } from '../../protocol/jsonrpc.ts'
import { resolveReference, typeOfProperty } from './property-type.ts'

type Schema = Readonly<Record<string, unknown>>

/** Input schema of a tool, as text and parsed. */
export interface InputSchema {
  readonly text: string
  readonly value: Schema
  /** Schemas of the top-level properties. */
  readonly properties: Schema
  /** Root keywords beside `properties` and `required` that say something about a property, by its name. */
  readonly keywords: ReadonlyMap<string, string>
  /** Names of properties that lenient servers read as the same one, by what they read. */
  readonly byFolded: ReadonlyMap<string, readonly string[]>
}

/** Root keywords through which a schema can say more about a property than `properties` and `required` do. */
const rootKeywords = [
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
  ...['dependentRequired', 'dependentSchemas', 'dependencies']
]

/** Adds all keys and strings of a value, at any depth. */
function addNames(value: unknown, keyword: string, names: Map<string, string>): void {
  if (typeof value === 'string' && !names.has(value)) names.set(value, keyword)
  if (typeof value !== 'object' || value === null) return
  for (const [key, part] of Object.entries(value)) {
    if (!names.has(key)) names.set(key, keyword)
    addNames(part, keyword, names)
  }
}

function keywordsOf(schema: Schema): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const key of rootKeywords) if (Object.hasOwn(schema, key)) addNames(schema[key], key, names)
  addNames(resolveReference(schema, schema.$ref), '$ref', names)
  return names
}

function foldNames(properties: Schema): ReadonlyMap<string, readonly string[]> {
  const fold = createKeyFold()
  const folded = new Map<string, string[]>()
  for (const name of Object.keys(properties)) {
    const key = fold(name)
    const known = folded.get(key)
    if (known) known.push(name)
    else folded.set(key, [name])
  }
  return folded
}

/** Reads the input schema of a definition; the reason instead if its properties cannot be changed. */
export function inputSchemaOf(definition: string): InputSchema | string {
  const text = valueOf(definition, members(definition), 'inputSchema')
  const value = text === undefined ? undefined : (JSON.parse(text) as unknown)
  if (text === undefined || !isObject(value) || !isObject(value.properties)) {
    return 'cannot be changed: the input schema has no "properties"'
  }
  const { properties } = value
  if (Object.hasOwn(value, '$ref') && resolveReference(value, value.$ref) === undefined) {
    return 'cannot be changed: the input schema has a "$ref" that cannot be followed'
  }
  try {
    return { text, value, properties, keywords: keywordsOf(value), byFolded: foldNames(properties) }
  } catch (error) {
    if (!(error instanceof LongKeysError)) throw error
    return `cannot be changed: the input schema's ${error.message}`
  }
}

const ownMember = (object: Schema, key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined)

/** Returns another property that a lenient server reads as the same one, if any. */
const lookalikeOf = ({ byFolded }: InputSchema, name: string): string | undefined =>
  byFolded.get(createKeyFold()(name))?.find((other) => other !== name)

const typeOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** Returns true unless the property's own `type` or `enum` excludes the value. */
function takes(schema: Schema, value: unknown): boolean {
  const { type, enum: allowed } = schema
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : undefined
  const own = typeOf(value)
  if (types && !types.includes(own) && !(own === 'integer' && types.includes('number'))) return false
  const isScalar = typeof value !== 'object' || value === null
  return !isScalar || !Array.isArray(allowed) || allowed.some((each) => Object.is(each, value))
}

const isScalar = (value: unknown) => typeof value !== 'object' || value === null

/** Returns why the values of an override do not fit the property, if any. */
function valueProblem(schema: unknown, override: ArgumentOverride): string | undefined {
  const { enum: allowed } = override
  const own = isObject(schema) ? schema : {}
  if (schema === false) return 'takes no value at all'
  if (Object.hasOwn(override, 'lock')) {
    const lock = isSecretLock(override.lock) ? override.lock.secret : override.lock
    return takes(own, lock) ? undefined : 'does not take the locked value'
  }
  if (!isObject(schema)) return 'has no schema that could be changed'
  if (allowed !== undefined) {
    if (allowed.length === 0 || !allowed.every(isScalar)) return 'needs an enum of strings, numbers, booleans or null'
    if (new Set(allowed).size < allowed.length) return 'has a value twice in its enum'
    const other = allowed.find((value) => !takes(own, value))
    if (other !== undefined) return `does not take ${JSON.stringify(other)} of its enum`
  }
  if (!Object.hasOwn(override, 'default')) return undefined
  if (!takes(own, override.default)) return 'does not take the default'
  if (allowed && !allowed.some((value) => Object.is(value, override.default)))
    return 'has a default outside of its enum'
  return undefined
}

/** Returns why an override of a property is not possible, if any. */
export function argumentProblem(schema: InputSchema | string, name: string, override: ArgumentOverride) {
  if (typeof schema === 'string') return schema
  if (!Object.hasOwn(schema.properties, name)) return 'is no property of the input schema'
  const keyword = schema.keywords.get(name)
  if (keyword !== undefined) return `cannot be changed: the input schema also names it in "${keyword}"`
  const other = lookalikeOf(schema, name)
  if (other !== undefined) return `can be mistaken for ${JSON.stringify(other)}`
  return valueProblem(ownMember(schema.properties, name), override)
}

/** Returns the canonical type of a property. */
export const propertyType = ({ value, properties }: InputSchema, name: string): string =>
  typeOfProperty(value, ownMember(properties, name))

const required = (override: ArgumentOverride) => !Object.hasOwn(override, 'lock') && !Object.hasOwn(override, 'default')

/** Returns a property's schema with the override's members. */
function editProperty(text: string, override: ArgumentOverride): string {
  const changes = new Map<string, string>()
  if (override.description !== undefined) changes.set('description', JSON.stringify(override.description))
  if (override.enum !== undefined) changes.set('enum', JSON.stringify(override.enum))
  if (Object.hasOwn(override, 'default')) changes.set('default', JSON.stringify(override.default))
  return editMembers(text, changes)
}

/**
 * Returns the text of an input schema without locked properties, and with the other changes; everything else stays
 * byte for byte. `argumentProblem` must have found no problem with any of them.
 */
export function editInputSchema({ text }: InputSchema, overrides: ReadonlyMap<string, ArgumentOverride>): string {
  const found = members(text)
  const properties = valueOf(text, found, 'properties')!
  const own = members(properties)
  const changes = new Map<string, string | null>()
  for (const { key, start, end } of own) {
    const override = overrides.get(key)
    if (override === undefined) continue
    changes.set(key, Object.hasOwn(override, 'lock') ? null : editProperty(properties.slice(start, end), override))
  }
  const edited = new Map<string, string | null>([['properties', editMembers(properties, changes, own)]])
  const list = valueOf(text, found, 'required')
  if (list?.startsWith('[')) {
    const names = JSON.parse(list) as unknown[]
    const kept = names.filter((name) => {
      const override = typeof name === 'string' ? overrides.get(name) : undefined
      return override === undefined || required(override)
    })
    if (kept.length < names.length) edited.set('required', kept.length === 0 ? null : JSON.stringify(kept))
  }
  return editMembers(text, edited, found)
}
