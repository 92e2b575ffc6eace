import { isLike } from './glob.ts'

/** Values that a condition sees. */
export interface ConditionValues {
  /** Arguments of the call, as parsed JSON. */
  readonly args: Readonly<Record<string, unknown>>
  /** The person; empty texts for an MCP client. */
  readonly user: { readonly name: string; readonly role: string }
  /** The MCP client; empty texts for a person. */
  readonly client: { readonly id: string; readonly kind: string }
  /** Server and name of the item; the name of a resource is its URI. */
  readonly tool: { readonly server: string; readonly name: string }
  readonly now: Date
}

/** A condition that has been checked. */
export interface Condition {
  /** True if evaluating it takes more than linear time in the length of the arguments. */
  readonly hasLoop: boolean
  /** Returns its value. Throws if a member is missing or has another type. */
  evaluate(values: ConditionValues): boolean
}

/** Compiles conditions. Throws ConditionError for a text that is no condition. */
export type CompileCondition = (text: string) => Condition

/** A condition that cannot be used; the message says where and why. */
export class ConditionError extends Error {
  constructor(message: string, at?: number) {
    super(at === undefined ? message : `${message} (at character ${at + 1})`)
    this.name = 'ConditionError'
  }
}

const MAX_NODES = 300
const MAX_DEPTH = 32

/** Functions that repeat an expression for each element of a list. */
const loops = new Set(['all', 'exists', 'exists_one', 'map', 'filter', 'transformList', 'transformMap'])
/** A regular expression can take forever, and a binding can double a text again and again. */
const forbidden: Readonly<Record<string, string>> = {
  matches: '"matches" cannot be used, because a regular expression can take forever; use "like"',
  bind: '"bind" cannot be used'
}

/** Returns the host of a URL in lower case, without its port. Throws for other texts. */
const hostOf = (url: string) => new URL(url).hostname

interface Node {
  readonly op: string
  readonly args: unknown
  readonly start?: number
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'op' in value

/** Throws ConditionError for a forbidden function or a loop in a loop; returns true if there is a loop. */
function checkCalls(value: unknown, isInLoop = false): boolean {
  if (Array.isArray(value)) return value.map((each) => checkCalls(each, isInLoop)).includes(true)
  if (!isNode(value)) return false
  if (value.op !== 'rcall' && value.op !== 'call') return checkCalls(value.args, isInLoop)
  const [name, ...rest] = value.args as [string, ...unknown[]]
  const problem = Object.hasOwn(forbidden, name) ? forbidden[name] : undefined
  if (problem !== undefined) throw new ConditionError(problem, value.start)
  if (!loops.has(name)) return checkCalls(rest, isInLoop)
  if (isInLoop) throw new ConditionError(`"${name}" cannot be used inside of another loop`, value.start)
  const [receiver, parameters] = rest
  checkCalls(receiver, isInLoop)
  checkCalls(parameters, true)
  return true
}

interface LanguageError extends Error {
  readonly summary?: string
  readonly range?: { readonly start: number }
}

const toConditionError = (error: LanguageError) =>
  error instanceof ConditionError ? error : new ConditionError(error.summary ?? error.message, error.range?.start)

/** Loads the expression language, which takes some milliseconds and is needed only for rules with a condition. */
export async function loadConditions(): Promise<CompileCondition> {
  const { Environment } = await import('@marcbachmann/cel-js')
  const limits = { maxAstNodes: MAX_NODES, maxDepth: MAX_DEPTH }
  const environment = new Environment({ limits })
    .registerVariable('args', 'map<string, dyn>')
    .registerVariable({ name: 'user', schema: { name: 'string', role: 'string' } })
    .registerVariable({ name: 'client', schema: { id: 'string', kind: 'string' } })
    .registerVariable({ name: 'tool', schema: { server: 'string', name: 'string' } })
    .registerVariable('now', 'google.protobuf.Timestamp')
    .registerFunction('like(string, string): bool', isLike)
    .registerFunction('host(string): string', hostOf)
  return (text) => {
    try {
      const run = environment.parse(text)
      const hasLoop = checkCalls(run.ast)
      const { valid, error, type } = run.check()
      if (!valid) throw error ?? new ConditionError('the condition is not valid')
      if (type !== 'bool') throw new ConditionError(`the value must be true or false, not ${String(type)}`)
      return { hasLoop, evaluate: (values) => run(values as unknown as Record<string, unknown>) === true }
    } catch (error) {
      throw toConditionError(error as LanguageError)
    }
  }
}
