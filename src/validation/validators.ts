import AjvCompiler from '@fastify/ajv-compiler'
import { isTokenScope, SCOPE_PATTERN, SCOPE_RULE } from '../domain/access/access.ts'
import { isName, isServerName, NAME_RULE, SERVER_NAME_RULE } from '../domain/names.ts'
import { isTimestamp, isStorable } from '../domain/text/text.ts'
import { isToken, TOKEN_RULE } from '../domain/tokens.ts'
import { invalid } from '../lib/errors.ts'

interface Format {
  readonly validate: (text: string) => boolean
  /** Message for callers. */
  readonly rule: string
  /** Equivalent JSON Schema for the OpenAPI document. */
  readonly pattern: { readonly pattern: string; readonly minLength?: number; readonly maxLength?: number }
}

/** Custom formats of the schemas. */
const formats: Readonly<Record<string, Format>> = {
  text: {
    validate: isStorable,
    rule: 'must not contain NUL characters or lone surrogates',
    pattern: { pattern: '^[^\\u0000\\ud800-\\udfff]*$' }
  },
  name: { validate: isName, rule: NAME_RULE, pattern: { pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$' } },
  token: { validate: isToken, rule: TOKEN_RULE, pattern: { pattern: '^[\\x21-\\x7e]{16,1024}$' } },
  'server-name': {
    validate: isServerName,
    rule: SERVER_NAME_RULE,
    pattern: { pattern: '^[A-Za-z0-9](_?[A-Za-z0-9-])*$', maxLength: 64 }
  },
  scope: { validate: isTokenScope, rule: SCOPE_RULE, pattern: { pattern: SCOPE_PATTERN } },
  moment: {
    validate: isTimestamp,
    rule: 'must be an ISO 8601 date, or date and time with zone',
    pattern: {
      pattern:
        '^([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])' +
        '(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$'
    }
  },
  'row-id': {
    validate: (text) => /^\d{1,18}$/.test(text),
    rule: 'must be the id of a row',
    pattern: { pattern: '^[0-9]{1,18}$' }
  }
}

/** Returns the JSON Schema pattern of a custom format; undefined for any other format. */
export const patternOf = (format: string): Format['pattern'] | undefined => formats[format]?.pattern

const checks = Object.fromEntries(Object.entries(formats).map(([name, { validate }]) => [name, validate]))

/** Skips the validation of schemas themselves: compiling the meta-schema costs more than the rest of a validator. */
const options = { removeAdditional: false, validateSchema: false, formats: checks } as const

/** Compiled validator. */
interface ValidateFunction {
  (value: unknown): boolean
  readonly errors?: readonly Finding[] | null | undefined
}

/** Validation error of Ajv, as Fastify passes it on. */
interface Finding {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string | undefined
}

/** Rejects infinite numbers: Ajv coerces the query text `Infinity` to a number and then applies no limit to it. */
function refuseInfinite(validate: ValidateFunction): ValidateFunction {
  const check = (value: unknown): boolean => {
    const isValid = validate(value)
    const infinite = Object.entries(value as object).find(([, one]) => one === Infinity || one === -Infinity)
    check.errors =
      isValid && infinite
        ? [{ keyword: 'type', instancePath: `/${infinite[0]}`, params: { type: 'number' } }]
        : validate.errors
    return isValid && !infinite
  }
  check.errors = undefined as ValidateFunction['errors']
  return check
}

/** Coerces query strings and paths, which carry only text, but not JSON bodies. */
export const buildValidator: AjvCompiler.BuildCompilerFromPool = (shared, { plugins = [] } = {}) => {
  const compiler = (coerceTypes: boolean) =>
    AjvCompiler()(shared, { plugins, customOptions: { ...options, coerceTypes } })
  let body: ReturnType<typeof compiler> | undefined
  let coerced: ReturnType<typeof compiler> | undefined
  return (route) => {
    if ((route as { httpPart?: string }).httpPart === 'body') return (body ??= compiler(false))(route)
    const validate = (coerced ??= compiler(true))(route)
    return refuseInfinite(validate as unknown as ValidateFunction) as unknown as typeof validate
  }
}

const quote = (name: unknown) => JSON.stringify(String(name).slice(0, 64))
const unescape = (segment: string) => segment.replaceAll('~1', '/').replaceAll('~0', '~')

/** Names the invalid part: `/env/A` → `"env.A"`; an empty path is the whole part. */
function subject(instancePath: string, part: string): string {
  if (instancePath === '') return part === 'body' ? 'the body' : `the ${part === 'params' ? 'path' : 'query'}`
  return quote(instancePath.slice(1).split('/').map(unescape).join('.'))
}

const typeNames: Readonly<Record<string, string>> = { array: 'an array', object: 'an object', integer: 'an integer' }

function rule({ keyword, params, message }: Finding): string {
  if (keyword === 'format') return formats[String(params.format)]?.rule ?? 'has the wrong format'
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as string[]).join(', ')}`
  if (keyword === 'type') return `must be ${typeNames[String(params.type)] ?? `a ${String(params.type)}`}`
  if (keyword === 'minLength') return 'must not be empty'
  if (keyword === 'maxLength') return `must not be longer than ${String(params.limit)} characters`
  return message ?? 'is not valid'
}

/** Returns one sentence for the caller. Names members and rules, never a value: it may be a secret. */
export function formatFindings(findings: readonly Finding[], part: string): Error {
  const [first] = findings
  if (!first) return new Error('the request is not valid')
  const { keyword, params } = first
  if (keyword === 'required') {
    return new Error(`${quote(params.missingProperty)} is required`)
  }
  if (keyword === 'additionalProperties') return new Error(`unknown member ${quote(params.additionalProperty)}`)
  return new Error(`${subject(first.instancePath, part)} ${rule(first)}`)
}

/** Refuses a repeated query parameter: one reader may take the first value and another the last. */
export function refuseRepeatedQuery(query: unknown): void {
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (Array.isArray(value)) throw invalid(`query parameter ${quote(name)} is given more than once`)
  }
}

/** Refuses query parameters that the route does not declare, like unknown members of a body: they may be misspelled. */
export function refuseUnknownQuery(query: unknown, schema: unknown): void {
  const { properties = {} } = (schema ?? {}) as { properties?: object }
  for (const name of Object.keys(query as object)) {
    if (!Object.hasOwn(properties, name)) throw invalid(`unknown query parameter ${quote(name)}`)
  }
}

/**
 * Returns a function that checks a body against the schema: the error message, or undefined if valid. The schema is
 * compiled on the first call.
 */
export function createBodyCheck(schema: object): (body: unknown) => string | undefined {
  let validate: ValidateFunction | undefined
  const compile = () => {
    const build = buildValidator({}, {}) as unknown as (route: object) => ValidateFunction
    return build({ schema, httpPart: 'body' })
  }
  return (body) => {
    validate ??= compile()
    return validate(body) ? undefined : formatFindings(validate.errors ?? [], 'body').message
  }
}
