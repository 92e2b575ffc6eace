import { argumentBound } from './condition-cost.ts'
import { ConditionError } from './condition-error.ts'
import { isLike } from './glob.ts'
import { hostOf } from './host.ts'

export { ConditionError } from './condition-error.ts'

/** Values that a condition sees. */
export interface ConditionValues {
  /** Arguments of the call, as parsed JSON. */
  readonly args: Readonly<Record<string, unknown>>
  /** The person; empty for an MCP client. */
  readonly user: {
    readonly name: string
    readonly role: string
    readonly groups: readonly string[]
    readonly teams: readonly string[]
  }
  /** The MCP client (`static`), or the OAuth client through which a person calls (`oauth`); empty texts for neither. */
  readonly client: { readonly id: string; readonly kind: string }
  /** Server and name of the item; the name of a resource is its URI. */
  readonly tool: { readonly server: string; readonly name: string }
  readonly now: Date
}

/** A condition that has been checked. */
export interface Condition {
  /** Characters of arguments that it may read; Infinity if its time is linear in them. */
  readonly maxCharacters: number
  /** Returns its value. Throws if a member is missing or has another type. */
  evaluate(values: ConditionValues): boolean
}

/** Compiles conditions. Throws ConditionError for a text that is no condition. */
export type CompileCondition = (text: string) => Condition

const MAX_NODES = 300
const MAX_DEPTH = 32

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
    .registerVariable({
      name: 'user',
      schema: { name: 'string', role: 'string', groups: 'list<string>', teams: 'list<string>' }
    })
    .registerVariable({ name: 'client', schema: { id: 'string', kind: 'string' } })
    .registerVariable({ name: 'tool', schema: { server: 'string', name: 'string' } })
    .registerVariable('now', 'google.protobuf.Timestamp')
    .registerFunction('like(string, string): bool', isLike)
    .registerFunction('host(string): string', hostOf)
  return (text) => {
    try {
      const run = environment.parse(text)
      const maxCharacters = argumentBound(run.ast)
      const { valid, error, type } = run.check()
      if (!valid) throw error ?? new ConditionError('the condition is not valid')
      if (type !== 'bool') throw new ConditionError(`the value must be true or false, not ${String(type)}`)
      return { maxCharacters, evaluate: (values) => run(values as unknown as Record<string, unknown>) === true }
    } catch (error) {
      throw toConditionError(error as LanguageError)
    }
  }
}
