import { createHash } from 'node:crypto'
import type { CompileCondition, Condition } from './condition.ts'
import { createPermit, type CompiledRule, type Permit } from './permit.ts'
import { compileSubjects, type Subject } from './subject.ts'
import { compileTargets, type GroupContents, type PolicyItem } from './target.ts'
import { isAsking, POLICY_LIMITS, type PolicyRule } from './rule.ts'

/** All policies of a gateway, compiled. Immutable. */
export interface PolicySet {
  /** False if no policy is enabled: permits are then their fallbacks. */
  readonly hasRules: boolean
  /** True if groups or teams of people can decide. */
  readonly usesMemberships: boolean
  /** Short key, equal for sets that decide alike. */
  readonly contentHash: string
  /** Returns the indices of the rules that apply to a caller: callers with equal indices are of one class. */
  classOf(subject: Subject): readonly number[]
  /** Returns the permit of a class. */
  permitOf(indices: readonly number[], fallback: Permit): Permit
  /** Returns all rules whose subjects and targets match, whatever their conditions. */
  matching(subject: Subject, item: PolicyItem): readonly CompiledRule[]
  /** Scopes that the rules require, without repetition; at most POLICY_LIMITS.scopesInAll. */
  readonly scopes: readonly string[]
  /** Hashes of the rules that ask for a yes, by name. */
  readonly asking: ReadonlyMap<string, string>
  /** Conditions that cannot be compiled, by the names of their policies. Such a rule always fails. */
  readonly faults: readonly { readonly policy: string; readonly error: unknown }[]
}

/** Input of the compilation of policies besides the policies. */
export interface PolicyContext {
  /** Contents of the tool groups that policies can name, with a hash for each group. */
  readonly groups: GroupContents
  readonly groupHashes: ReadonlyMap<string, string>
  /** Undefined if no policy has a condition. */
  readonly compileCondition: CompileCondition | undefined
}

const digest = (texts: readonly string[]) => createHash('sha256').update(JSON.stringify(texts)).digest('base64url')

const brokenCondition = (error: unknown): Condition => ({
  maxCharacters: Infinity,
  evaluate() {
    throw error
  }
})

function contentHashOf({ name, ...rule }: PolicyRule, { groupHashes }: PolicyContext): string {
  // any group may match a glob, so that a rule with one depends on all of them
  const groups = rule.targets.groups?.length ? [...groupHashes].flat() : []
  return digest([name, JSON.stringify(rule), ...groups])
}

/** Compiles the enabled rules. Never throws: a rule whose condition is broken refuses what it can. */
export function compilePolicies(all: readonly PolicyRule[], context: PolicyContext): PolicySet {
  const faults: { policy: string; error: unknown }[] = []
  const rules = all.filter(({ enabled }) => enabled)
  const conditionOf = ({ name, when }: PolicyRule): Condition | null => {
    if (when === null) return null
    try {
      if (!context.compileCondition) throw new Error('conditions are not loaded')
      return context.compileCondition(when)
    } catch (error) {
      faults.push({ policy: name, error })
      return brokenCondition(error)
    }
  }
  const compiled = rules.map((rule): CompiledRule => {
    const targets = compileTargets(rule, context.groups)
    return { ...targets, rule, condition: conditionOf(rule), contentHash: contentHashOf(rule, context) }
  })
  const selectors = rules.map(({ subjects }) => compileSubjects(subjects))
  return {
    hasRules: rules.length > 0,
    usesMemberships: rules.some(({ subjects: { groups, teams } }) => (groups ?? []).length + (teams ?? []).length > 0),
    contentHash: rules.length === 0 ? '' : digest(compiled.map((each) => each.contentHash)),
    classOf: (subject) => selectors.flatMap((selects, index) => (selects(subject) ? [index] : [])),
    matching: (subject, item) =>
      compiled.filter(
        (each, index) =>
          selectors[index]!(subject) &&
          each.reaches(item.server.name) &&
          (each.rule.effect === 'deny' ? each.mayMatch(item) : each.matches(item))
      ),
    permitOf(indices, fallback) {
      if (indices.length === 0) return fallback
      const chosen = indices.map((index) => compiled[index]!)
      const contentHash = digest([fallback.contentHash, ...chosen.map((each) => each.contentHash)])
      return createPermit(chosen, fallback, contentHash)
    },
    scopes: [...new Set(rules.flatMap(({ requireScopes }) => requireScopes))].slice(0, POLICY_LIMITS.scopesInAll),
    asking: new Map(
      compiled.filter(({ rule }) => isAsking(rule.effect)).map(({ rule, contentHash }) => [rule.name, contentHash])
    ),
    faults
  }
}
