import { ConditionError, loadConditions, type CompileCondition } from '../domain/policy/condition.ts'
import { ruleProblems, type PolicyRule } from '../domain/policy/rule.ts'
import { invalid, notFound } from '../lib/errors.ts'
import type { Registry } from '../registry/registry.ts'
import type { Caller } from '../catalog/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Policy, PolicyReplacement } from '../schemas/policy.ts'
import { createPolicyTrials, type PolicyTrials } from './policy-trials.ts'
import { auditChange } from './audit-change.ts'

/** Operations on policies (policies.md). Methods throw or reject with AppError. */
export interface Policies extends PolicyTrials {
  /** Returns all policies, in the order in which they were created. */
  list(): Policy[]
  /** 404. */
  get(name: string): Policy
  /** 400 names every problem, 409. */
  create(caller: Caller, rule: PolicyRule): Promise<Policy>
  /** Replaces a policy. 400, 404. */
  replace(caller: Caller, rule: PolicyRule): Promise<Policy>
  /** 404. */
  remove(caller: Caller, name: string): Promise<void>
  /** Resolves with the reasons why a policy cannot be stored; each begins with the path of a member. */
  problemsOf(rule: PolicyRule): Promise<string[]>
}

/** Returns the rule of an input, with the defaults of its absent members. */
export const toRule = (name: string, input: Omit<PolicyReplacement, 'name'>): PolicyRule => ({
  name,
  effect: input.effect,
  mode: input.mode ?? 'enforce',
  enabled: input.enabled ?? true,
  everyone: input.everyone ?? false,
  subjects: input.subjects ?? {},
  targets: input.targets ?? {},
  when: input.when ?? null,
  reason: input.reason || null
})

/** Returns the rule as the API answers it. */
export const policyRecord = (rule: PolicyRule): Policy => {
  const { name, effect, mode, enabled, everyone, subjects, targets, when, reason } = rule
  return {
    ...{ name, effect, mode, enabled },
    ...(everyone && { everyone }),
    ...{ subjects, targets },
    ...(when !== null && { when }),
    ...(reason !== null && { reason })
  } as Policy
}

/** Returns a function that tells why a condition cannot be used. */
function createConditionCheck(load: () => Promise<CompileCondition>) {
  return async (when: string | null): Promise<string[]> => {
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
}

export function createPolicies(registry: Pick<Registry, 'write'>, catalog: () => Catalog): Policies {
  let loading: Promise<CompileCondition> | undefined
  const load = () => (loading ??= loadConditions())
  const conditionProblems = createConditionCheck(load)
  const find = (name: string) => {
    const found = catalog().policies.find((policy) => policy.name === name)
    if (!found) throw notFound('policy', name)
    return found
  }
  const problemsOf = async (rule: PolicyRule) => [...ruleProblems(rule), ...(await conditionProblems(rule.when))]
  const check = async (rule: PolicyRule) => {
    const problems = await problemsOf(rule)
    if (problems.length > 0) throw invalid(problems.join('; '))
  }
  return {
    list: () => catalog().policies.map(policyRecord),
    get: (name) => policyRecord(find(name)),
    problemsOf,
    ...createPolicyTrials({ catalog, load, check }),

    async create(caller, rule) {
      await check(rule)
      await registry.write(auditChange(caller, 'policy.create', rule.name), (tx) => tx.policies.create(rule))
      return policyRecord(rule)
    },

    async replace(caller, rule) {
      find(rule.name)
      await check(rule)
      await registry.write(auditChange(caller, 'policy.replace', rule.name), (tx) => tx.policies.replace(rule))
      return policyRecord(rule)
    },

    async remove(caller, name) {
      await registry.write(auditChange(caller, 'policy.remove', name), (tx) => tx.policies.remove(name))
    }
  }
}
