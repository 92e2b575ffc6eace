import type { ArgumentOverride } from '../../domain/overrides/tool-overrides.ts'
import { hasInexactNumber } from '../../json/numbers.ts'
import { members, type Member } from '../../json/json.ts'
import { PROTOTYPE } from '../../protocol/ambiguity.ts'
import { createKeyFold, LongKeysError } from '../../protocol/jsonrpc.ts'

/** Names of arguments without a rule that are remembered for a tool, and their length. */
const MAX_OTHERS = 64
const MAX_OTHER_LENGTH = 64
const none: ReadonlySet<string> = new Set<string>()

/** The arguments of a call do not fit what the endpoint shows of the tool (groups.md#arguments). */
export class ArgumentsRefused extends Error {
  /** Name of the argument; undefined if none can be told. */
  readonly argument: string | undefined

  constructor(message: string, argument: string | undefined) {
    super(message)
    this.name = 'ArgumentsRefused'
    this.argument = argument
  }
}

const refuse = (argument: string, reason: string) =>
  new ArgumentsRefused(`argument ${JSON.stringify(argument)} ${reason}`, argument)

/** Returns the JSON text of the arguments to send. Throws ArgumentsRefused. `args`: JSON text as the caller sent it. */
export type EditArguments = (args: string | undefined) => string

/** An override of an argument that calls depend on. */
interface ArgumentRule {
  readonly isLocked: boolean
  readonly allowed: readonly unknown[] | undefined
  /** `"name":value` to add if the argument is absent; undefined for none. */
  readonly absent: string | undefined
}

function ruleOf(name: string, override: ArgumentOverride, lock: string | undefined): ArgumentRule | undefined {
  const pair = (json: string) => `${JSON.stringify(name)}:${json}`
  if (lock !== undefined) return { isLocked: true, allowed: undefined, absent: pair(lock) }
  const hasDefault = Object.hasOwn(override, 'default')
  if (!hasDefault && override.enum === undefined) return undefined
  const absent = hasDefault ? pair(JSON.stringify(override.default)) : undefined
  return { isLocked: false, allowed: override.enum, absent }
}

/** Throws ArgumentsRefused for a value that the endpoint does not take. */
function checkValue(name: string, { isLocked, allowed }: ArgumentRule, json: string): void {
  if (isLocked) throw refuse(name, 'is set by this endpoint and must not be sent')
  if (allowed === undefined) return
  // a number that is not exact here may be another one at the server
  const isAllowed = !hasInexactNumber(json) && allowed.some((value) => Object.is(value, JSON.parse(json)))
  if (!isAllowed) throw refuse(name, `must be one of ${JSON.stringify(allowed)}`)
}

/**
 * Compiles the function that applies locks, defaults and enums to the arguments of a call; undefined if the overrides
 * change only texts. `locks`: JSON texts of locked values by name.
 */
export function compileArguments(
  overrides: ReadonlyMap<string, ArgumentOverride>,
  locks: ReadonlyMap<string, string>
): EditArguments | undefined {
  const rules = new Map<string, ArgumentRule>()
  const folded = new Map<string, string>()
  const foldName = createKeyFold()
  for (const [name, override] of overrides) {
    const rule = ruleOf(name, override, locks.get(name))
    if (rule === undefined) continue
    rules.set(name, rule)
    folded.set(foldName(name), name)
  }
  if (rules.size === 0) return undefined

  /** Names that are no argument with a rule, and cannot be mistaken for one; callers send the same ones each time. */
  const others = new Set<string>()
  const refuseLookalike = (key: string, fold: (key: string) => string) => {
    if (key === PROTOTYPE) throw refuse(key, 'cannot be sent to this endpoint')
    const meant = folded.get(fold(key)) ?? folded.get(fold(key.split('\0', 1)[0]!))
    if (meant !== undefined) throw refuse(meant, `can be mistaken for ${JSON.stringify(key.slice(0, 80))}`)
    if (others.size < MAX_OTHERS && key.length <= MAX_OTHER_LENGTH) others.add(key)
  }
  /** Returns the names of the given arguments that have a rule. */
  const check = (text: string, found: readonly Member[]): ReadonlySet<string> => {
    let given: Set<string> | undefined
    let fold: ((key: string) => string) | undefined
    for (const { key, start, end } of found) {
      if (others.has(key)) continue
      const rule = rules.get(key)
      if (rule === undefined) {
        refuseLookalike(key, (fold ??= createKeyFold()))
        continue
      }
      checkValue(key, rule, text.slice(start, end))
      given ??= new Set()
      if (given.size === given.add(key).size) throw refuse(key, 'is given more than once')
    }
    return given ?? none
  }
  return (args = '{}') => {
    const found = members(args)
    let given: ReadonlySet<string>
    try {
      given = check(args, found)
    } catch (error) {
      if (error instanceof LongKeysError) throw new ArgumentsRefused(error.message, undefined)
      throw error
    }
    let added = ''
    for (const [name, { absent }] of rules) {
      if (absent === undefined || given.has(name)) continue
      added += added === '' && found.length === 0 ? absent : `,${absent}`
    }
    return added === '' ? args : `${args.slice(0, -1)}${added}}`
  }
}
