import { loadConditions, type CompileCondition } from '../../domain/policy/condition.ts'
import { POLICY_IN_FILE } from '../../domain/error-codes.ts'
import { ruleRecord } from '../../domain/policy/input.ts'
import { problemsOf } from '../../domain/policy/problems.ts'
import { POLICY_LIMITS, type PolicyRule } from '../../domain/policy/rule.ts'
import { AppError, invalid, notFound } from '../../lib/errors.ts'
import type { StoredPolicy } from '../../registry/model/model.ts'
import type { PolicyCount } from '../../registry/logs/policy-counts.ts'
import type { Registry } from '../../registry/registry.ts'
import type { Caller } from '../../catalog/caller.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { ObservedCalls, Policy } from '../../schemas/policy.ts'
import { createPolicyReplays, type PolicyReplays } from './replay.ts'
import { createPolicyTrials, type PolicyTrials } from './trials.ts'
import { auditChange } from '../audit-change.ts'

/** Operations on policies (policies.md). Methods throw or reject with AppError. */
export interface Policies extends PolicyTrials, PolicyReplays {
  /** Returns all policies, in the order in which they were created. */
  list(): Policy[]
  /** Returns them with the calls that observed policies match. 503. */
  listCounted(): Promise<Policy[]>
  /** 404. */
  get(name: string): Policy
  /** 404, 503. */
  getCounted(name: string): Promise<Policy>
  /** Returns the scopes that enabled policies require: an OAuth client can ask its user for them. */
  scopes(): readonly string[]
  /** 400 names every problem, 409 also for the name of a policy of the policy file. */
  create(caller: Caller, rule: PolicyRule): Promise<Policy>
  /** Replaces a policy. 400, 404, 409 for a policy of the policy file. */
  replace(caller: Caller, rule: PolicyRule): Promise<Policy>
  /** 404, 409 for a policy of the policy file. */
  remove(caller: Caller, name: string): Promise<void>
  /** Resolves with the reasons why a policy cannot be stored; each begins with the path of a member. */
  problemsOf(rule: PolicyRule): Promise<string[]>
}

const policyRecord = (policy: PolicyRule & Pick<StoredPolicy, 'source'>): Policy =>
  ({ ...ruleRecord(policy), ...(policy.source && { source: policy.source }) }) as Policy

const isObserved = ({ mode, enabled }: PolicyRule) => mode === 'observe' && enabled

const observedCalls = (count: PolicyCount | undefined): ObservedCalls =>
  count
    ? {
        ...{ calls: count.calls, changed: count.changed },
        ...{ since: count.since.toISOString(), last_at: count.lastAt.toISOString() }
      }
    : { calls: 0, changed: 0 }

const inFile = (name: string) =>
  new AppError(409, `policy "${name}" is in the policy file of the gateway, and can be changed only there`, {
    code: POLICY_IN_FILE
  })

export function createPolicies(
  registry: Pick<Registry, 'write' | 'calls' | 'policyCounts'>,
  catalog: () => Catalog
): Policies {
  let loading: Promise<CompileCondition> | undefined
  const load = () => (loading ??= loadConditions())
  const find = (name: string) => catalog().policies.find((policy) => policy.name === name)
  const get = (name: string) => {
    const found = find(name)
    if (!found) throw notFound('policy', name)
    return found
  }
  const withCounts = async (policies: Catalog['policies']) => {
    const counts = await registry.policyCounts.read(policies.filter(isObserved))
    return policies.map((policy) => ({
      ...policyRecord(policy),
      ...(isObserved(policy) && { observed: observedCalls(counts.get(policy.name)) })
    }))
  }
  const requireStored = (name: string) => {
    if (find(name)?.source === 'file') throw inFile(name)
  }
  const scopesProblems = ({ name, requireScopes }: PolicyRule) => {
    const others = catalog().policies.filter((policy) => policy.name !== name)
    const all = new Set([...requireScopes, ...others.flatMap((policy) => policy.requireScopes)])
    const { scopesInAll } = POLICY_LIMITS
    const isTooMany = requireScopes.length > 0 && all.size > scopesInAll
    return isTooMany ? [`require_scopes: all policies together can require ${scopesInAll} scopes`] : []
  }
  const allProblems = async (rule: PolicyRule) => [...scopesProblems(rule), ...(await problemsOf(rule, load))]
  const check = async (rule: PolicyRule) => {
    const problems = await allProblems(rule)
    if (problems.length > 0) throw invalid(problems.join('; '))
  }
  return {
    list: () => catalog().policies.map(policyRecord),
    listCounted: () => withCounts(catalog().policies),
    getCounted: async (name) => (await withCounts([get(name)]))[0]!,
    get: (name) => policyRecord(get(name)),
    scopes: () => catalog().permits.policies.scopes,
    problemsOf: allProblems,
    ...createPolicyTrials({ catalog, load, check }),
    ...createPolicyReplays({ catalog, load, check, calls: registry.calls }),

    async create(caller, rule) {
      requireStored(rule.name)
      await check(rule)
      await registry.write(auditChange(caller, 'policy.create', rule.name), (tx) => tx.policies.create(rule))
      return policyRecord(rule)
    },

    async replace(caller, rule) {
      requireStored(get(rule.name).name)
      await check(rule)
      await registry.write(auditChange(caller, 'policy.replace', rule.name), (tx) => tx.policies.replace(rule))
      return policyRecord(rule)
    },

    async remove(caller, name) {
      requireStored(name)
      await registry.write(auditChange(caller, 'policy.remove', name), (tx) => tx.policies.remove(name))
    }
  }
}
