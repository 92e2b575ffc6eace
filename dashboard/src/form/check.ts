import { Validator, type OutputUnit, type Schema, type SchemaDraft } from '@cfworker/json-schema'
import { plainJson, type Json } from './json.ts'
import type { Problem } from './problems.ts'

const drafts: readonly [RegExp, SchemaDraft][] = [
  [/draft-0[0-4]/, '4'],
  [/draft-0[67]/, '7'],
  [/2019-09/, '2019-09']
]

const draftOf = (schema: object): SchemaDraft => {
  const dialect = '$schema' in schema ? String(schema.$schema) : ''
  return drafts.find(([pattern]) => pattern.test(dialect))?.[1] ?? '2020-12'
}

/** Returns the problems of a value under a schema, each with its path. Throws if the schema is invalid. */
export function check(schema: object, value: Json): Problem[] {
  // The validator modifies the schema.
  const validator = new Validator(structuredClone(schema) as Schema, draftOf(schema), false)
  return problemsOf(validator.validate(plainJson(value)).errors)
}

/** Keywords that only repeat nested errors; the innermost errors name the problem. */
const wrapperKeywords = new Set([
  ...['$ref', '$recursiveRef', 'allOf', 'if', 'properties', 'patternProperties', 'additionalProperties', 'items'],
  ...[
    'prefixItems',
    'unevaluatedProperties',
    'unevaluatedItems',
    'additionalItems',
    'dependentSchemas',
    'propertyNames'
  ]
])

function problemsOf(errors: readonly OutputUnit[]): Problem[] {
  const told = withoutBranches(errors).filter(({ keyword }) => !wrapperKeywords.has(keyword))
  const problems = told.map(problemOf)
  const seen = new Set<string>()
  return problems.filter(({ path, message }) => {
    const key = JSON.stringify([path, message])
    return !seen.has(key) && seen.add(key)
  })
}

const isAtOrBelow = (location: string, place: string): boolean => location === place || location.startsWith(`${place}/`)

const isUnder = (parent: OutputUnit) => (error: OutputUnit) =>
  error.keywordLocation.startsWith(`${parent.keywordLocation}/`) &&
  isAtOrBelow(error.instanceLocation, parent.instanceLocation)

/** Reduces the errors of failed alternatives to those of the nearest one, and drops those of `contains`. */
function withoutBranches(errors: readonly OutputUnit[]): OutputUnit[] {
  const parent = errors.find(({ keyword }) => branching.has(keyword))
  if (!parent) return [...errors]
  const rest = errors.filter((error) => error !== parent)
  const inner = new Set(rest.filter(isUnder(parent)))
  const others = rest.filter((error) => !inner.has(error))
  return withoutBranches([...others, ...nearestAlternative(parent, [...inner])])
}

const branching = new Set(['oneOf', 'anyOf', 'contains'])

/** Returns the errors of the alternative that the value most likely meant, or one error that none matches. */
function nearestAlternative(parent: OutputUnit, inner: readonly OutputUnit[]): OutputUnit[] {
  const own = { ...parent, keyword: `no ${parent.keyword}` }
  const matchesSeveral = /\([^0]\d* matches\)/.test(parent.error)
  if (parent.keyword === 'contains' || matchesSeveral) return [own]
  const branches = branchesOf(parent, inner)
  const isMissing = (error: OutputUnit) =>
    error.keyword === 'required' && error.instanceLocation === parent.instanceLocation
  if (branches.length > 1 && inner.every(isMissing)) {
    const names = branches.map((list) => list.map(({ error }) => quoted(error)).join(' and '))
    return [{ ...parent, keyword: 'no member', error: names.join(', or ') }]
  }
  const isOther = (error: OutputUnit) =>
    error.keyword === 'const' ||
    (error.instanceLocation === parent.instanceLocation && ['type', 'enum', 'false'].includes(error.keyword))
  const near = branches.filter((list) => !list.some(isOther)).toSorted((a, b) => a.length - b.length)
  return near[0] ?? [own]
}

/** Groups errors by alternative. */
function branchesOf(parent: OutputUnit, inner: readonly OutputUnit[]): OutputUnit[][] {
  const branches = new Map<string, OutputUnit[]>()
  for (const error of inner) {
    const index = error.keywordLocation.slice(parent.keywordLocation.length + 1).split('/', 1)[0]!
    branches.set(index, [...(branches.get(index) ?? []), error])
  }
  return [...branches.values()]
}

const quoted = (error: string): string => /"(.*)"/s.exec(error)?.[1] ?? ''

/** Converts `#/a~1b/0` to a path. An index and a numeric name look alike, so paths are compared as text. */
const pathOf = (location: string): string[] =>
  location
    .split('/')
    .slice(1)
    .map((token) => decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~'))

function problemOf({ keyword, instanceLocation, error }: OutputUnit): Problem {
  const path = pathOf(instanceLocation)
  if (keyword === 'required') return { path: [...path, quoted(error)], message: `${quoted(error)} is required` }
  if (keyword === 'dependentRequired' || keyword === 'dependencies') {
    const [, given = '', wanted = ''] = /^Instance has "(.*)" but does not have "(.*)"\.$/s.exec(error) ?? []
    if (wanted) return { path: [...path, wanted], message: `${wanted} is required when ${given} is given` }
  }
  return { path, message: messages[keyword]?.(error) ?? error.replace(/\.$/, '') }
}

const firstGroup = (pattern: RegExp, error: string): string => pattern.exec(error)?.[1] ?? ''

const amount = (number: string, one: string, many = `${one}s`): string => `${number} ${number === '1' ? one : many}`

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array'
}

const messages: Readonly<Record<string, (error: string) => string>> = {
  type: (error) =>
    `Must be ${firstGroup(/Expected "(.*)"\.$/s, error)
      .split('", "')
      .map((name) => typeNames[name] ?? name)
      .join(' or ')}`,
  const: (error) => `Must be ${firstGroup(/^Instance does not match (.*)\.$/s, error)}`,
  enum: (error) => `Must be one of ${firstGroup(/^Instance does not match any of \[(.*)\]\.$/s, error)}`,
  not: () => 'This value is excluded by the schema',
  false: () => 'The schema does not allow this property',
  minimum: (error) => `Must be at least ${firstGroup(/than\s+(.*)\.$/, error)}`,
  maximum: (error) => `Must be at most ${firstGroup(/than\s+(.*)\.$/, error)}`,
  exclusiveMinimum: (error) => `Must be more than ${firstGroup(/than\s+(.*)\.$/, error)}`,
  exclusiveMaximum: (error) => `Must be less than ${firstGroup(/equal to\s+(.*)\.$/, error)}`,
  multipleOf: (error) => `Must be a multiple of ${firstGroup(/of\s+(\S*)\.$/, error)}`,
  minLength: (error) => `Needs at least ${amount(firstGroup(/< (\d+)/, error), 'character')}`,
  maxLength: (error) => `At most ${amount(firstGroup(/> (\d+)/, error), 'character')} allowed`,
  minItems: (error) => `Add at least ${amount(firstGroup(/< (\d+)/, error), 'item')}`,
  maxItems: (error) => `At most ${amount(firstGroup(/> (\d+)/, error), 'item')} allowed`,
  minProperties: (error) => `Add at least ${amount(firstGroup(/least (\d+)/, error), 'property', 'properties')}`,
  maxProperties: (error) => `At most ${amount(firstGroup(/least (\d+)/, error), 'property', 'properties')} allowed`,
  uniqueItems: () => 'Contains duplicate items',
  format: (error) => `Not a valid ${firstGroup(/format "(.*)"\.$/, error)}`,
  pattern: () => 'Does not match the pattern',
  'no member': (error) => `Needs ${error}`,
  'no oneOf': (error) =>
    error.includes('(0 matches)') ? 'Matches none of the forms' : 'Matches more than one of the forms',
  'no anyOf': () => 'Matches none of the forms',
  'no contains': () => 'Missing an item that the schema requires'
}
