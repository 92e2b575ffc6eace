import AjvCompiler from '@fastify/ajv-compiler'
import { isName, isServerName, NAME_RULE, SERVER_NAME_RULE } from './domain/names.ts'
import { isMoment, isStorable } from './domain/text.ts'
import { isToken, TOKEN_RULE } from './domain/tokens.ts'
import { invalid } from './errors.ts'

/** Formats of our schemas; the rule is what the caller is told. */
const formats: Readonly<Record<string, { validate: (text: string) => boolean; rule: string }>> = {
  text: { validate: isStorable, rule: 'must not hold NUL characters or lone surrogates' },
  name: { validate: isName, rule: NAME_RULE },
  token: { validate: isToken, rule: TOKEN_RULE },
  'server-name': { validate: isServerName, rule: SERVER_NAME_RULE },
  moment: { validate: isMoment, rule: 'must be an ISO 8601 date, or date and time with zone' },
  'row-id': { validate: (text) => /^\d{1,18}$/.test(text), rule: 'must be the id of a row' }
}

const checks = Object.fromEntries(Object.entries(formats).map(([name, { validate }]) => [name, validate]))

/** Schemas are not held against their own schema: compiling that one costs more than all the rest of a validator. */
const options = { removeAdditional: false, validateSchema: false, formats: checks } as const

/** Query strings and paths carry only text, so they are coerced; JSON bodies say what they mean, so they are not. */
export const buildValidator: AjvCompiler.BuildCompilerFromPool = (shared, { plugins = [] } = {}) => {
  const compiler = (coerceTypes: boolean) =>
    AjvCompiler()(shared, { plugins, customOptions: { ...options, coerceTypes } })
  let body: ReturnType<typeof compiler> | undefined
  let rest: ReturnType<typeof compiler> | undefined
  return (route) => {
    if ((route as { httpPart?: string }).httpPart === 'body') return (body ??= compiler(false))(route)
    return (rest ??= compiler(true))(route)
  }
}

/** What the compiler makes. */
interface ValidateFunction {
  (value: unknown): boolean
  readonly errors?: readonly Finding[] | null
}

/** What Ajv found, in the shape that Fastify hands on. */
interface Finding {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string | undefined
}

const quote = (name: unknown) => JSON.stringify(String(name).slice(0, 64))
const unescape = (segment: string) => segment.replaceAll('~1', '/').replaceAll('~0', '~')

/** `/env/A` → `"env.A"`; the empty path is the part as a whole. */
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

/** One sentence for the caller. Names members and rules, never a value: it may be a secret. */
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

/** A query parameter that is given twice is refused: no reader may take the first where another takes the last. */
export function refuseRepeatedQuery(query: unknown): void {
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (Array.isArray(value)) throw invalid(`query parameter ${quote(name)} is given more than once`)
  }
}

/**
 * Says what a request with a body would be refused for, where the schema is its own; undefined if it would be taken. The
 * schema is compiled when the first body comes, which takes milliseconds, and once.
 */
export function createCheck(schema: object): (body: unknown) => string | undefined {
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
