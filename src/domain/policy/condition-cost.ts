import { ConditionError } from './condition-error.ts'

/** Node of a parsed expression. */
interface Node {
  readonly op: string
  readonly args: unknown
  readonly start?: number
}

/**
 * Characters of arguments that a condition may read: its time is quadratic in them if it searches for a text that
 * arguments give or has a loop, and much longer if a loop reads other arguments for each element.
 */
export const ARGUMENT_BOUNDS = { search: 65_536, repeated: 8_192 } as const

/** Functions that repeat an expression for each element of a list. */
const loops = new Set(['all', 'exists', 'exists_one', 'map', 'filter', 'transformList', 'transformMap'])
/** Loops whose results can be longer than the list. */
const growing = new Set(['map', 'transformList', 'transformMap'])
/** Functions whose time is linear only for a literal text. */
const searches = new Set(['contains', 'indexOf', 'lastIndexOf', 'split', 'join'])
/** Functions whose time grows with the cube of their text: one of 2,000 digits holds the gateway for seconds. */
const literalOnly = new Set(['duration'])
/** Functions that look up a time zone if they get one, which takes a tenth of a millisecond. */
const zoned = new Set([
  ...['getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getFullYear'],
  ...['getHours', 'getMinutes', 'getMonth', 'getSeconds']
])
/** A regular expression can take forever, and a binding can double a text again and again. */
const forbidden: Readonly<Record<string, string>> = {
  matches: '"matches" cannot be used, because a regular expression can take forever; use "like"',
  bind: '"bind" cannot be used'
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'op' in value
const isLiteral = (value: unknown) => isNode(value) && value.op === 'value'
const areLiterals = (parameters: unknown) => Array.isArray(parameters) && parameters.every(isLiteral)

/** Throws ConditionError for a call that no bound of the arguments makes fast. */
function checkCall(name: string, parameters: unknown, loop: string | undefined, start: number | undefined): void {
  const problem = Object.hasOwn(forbidden, name) ? forbidden[name] : undefined
  if (problem !== undefined) throw new ConditionError(problem, start)
  if (literalOnly.has(name) && !areLiterals(parameters))
    throw new ConditionError(`"${name}" can only be used with a literal text`, start)
  if (loop !== undefined && zoned.has(name) && Array.isArray(parameters) && parameters.length > 0)
    throw new ConditionError(`"${name}" cannot be used with a time zone inside of a loop`, start)
}

/** Returns the bound for a function that is called with other texts than literals. Throws ConditionError in a loop. */
function boundOfSearch(name: string, parameters: unknown, loop: string | undefined, start: number | undefined) {
  if (!searches.has(name) || areLiterals(parameters)) return Infinity
  if (loop !== undefined)
    throw new ConditionError(`"${name}" can only be used with a literal text inside of a loop`, start)
  return name === 'join' ? ARGUMENT_BOUNDS.repeated : ARGUMENT_BOUNDS.search
}

/**
 * Returns how many characters of arguments a condition may read; Infinity if its time is linear in them. Throws
 * ConditionError for what cannot be bounded. `loop`: function that repeats the expression.
 */
export function argumentBound(value: unknown, loop?: string): number {
  if (Array.isArray(value)) return Math.min(Infinity, ...value.map((each) => argumentBound(each, loop)))
  if (!isNode(value)) return Infinity
  const { op, args, start } = value
  if (op === 'id' && args === 'args' && loop !== undefined) {
    if (growing.has(loop)) throw new ConditionError(`"args" cannot be used inside of "${loop}"`, start)
    return ARGUMENT_BOUNDS.repeated
  }
  if (op !== 'rcall' && op !== 'call') return argumentBound(args, loop)
  const [name, ...rest] = args as [string, ...unknown[]]
  const parameters = rest.at(-1)
  checkCall(name, parameters, loop, start)
  if (!loops.has(name)) return Math.min(boundOfSearch(name, parameters, loop, start), argumentBound(rest, loop))
  if (loop !== undefined) throw new ConditionError(`"${name}" cannot be used inside of another loop`, start)
  const [receiver] = rest
  return Math.min(ARGUMENT_BOUNDS.search, argumentBound(receiver), argumentBound(parameters, name))
}
