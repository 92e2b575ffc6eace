import { ConditionError, type CompileCondition } from './condition.ts'
import { ruleProblems, type PolicyRule } from './rule.ts'

async function conditionProblems(when: string | null, load: () => Promise<CompileCondition>): Promise<string[]> {
  if (when === null) return []
  const compile = await load()
  try {
    compile(when)
    return []
  } catch (error) {
    if (error instanceof ConditionError) return [`when: ${error.message}`]
    throw error
  }
}

/**
 * Resolves with the reasons why a rule cannot be stored, whatever else is; each begins with the path of a member.
 * `load`: called for rules with a condition.
 */
export const problemsOf = async (rule: PolicyRule, load: () => Promise<CompileCondition>): Promise<string[]> => [
  ...ruleProblems(rule),
  ...(await conditionProblems(rule.when, load))
]
