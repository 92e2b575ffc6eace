import type { Condition } from './condition.ts'
import type { PolicyRule } from './rule.ts'
import type { PolicyItem, TargetTest } from './target.ts'

/** A rule that is ready for decisions. */
export interface CompiledRule extends TargetTest {
  readonly rule: PolicyRule
  readonly condition: Condition | null
  /** Hash of the rule and of the groups that it names. */
  readonly contentHash: string
}

/** Decision on an item before its arguments are known. */
export interface Decision {
  /** `residual`: the conditions of `denies` and `allows` decide. */
  readonly verdict: 'yes' | 'no' | 'residual'
  /** Rule that decided a `yes` or `no`; undefined if the default did. */
  readonly rule: PolicyRule | undefined
  /** Enforced deny rules with a condition. */
  readonly denies: readonly CompiledRule[]
  /** Enforced allow rules with a condition; empty if the item is allowed without them. */
  readonly allows: readonly CompiledRule[]
  /** Rules in mode `observe`. */
  readonly observed: readonly CompiledRule[]
}

const none: readonly CompiledRule[] = []

/** Decisions by the default, without any rule. */
export const allowedByDefault: Decision = {
  verdict: 'yes',
  rule: undefined,
  denies: none,
  allows: none,
  observed: none
}
export const refusedByDefault: Decision = { ...allowedByDefault, verdict: 'no' }

/** What a class of callers may use. Immutable; shared by all callers to whom the same rules and default apply. */
export interface Permit {
  /** True if everything is allowed, and no rule is involved. */
  readonly isAll: boolean
  /** Short key, equal for permits that allow the same. */
  readonly contentHash: string
  /** Tells which items of a server can be seen: `some` means that each has to be decided. */
  reach(server: string): 'all' | 'some' | 'none'
  /** Decides on an item. */
  decide(item: PolicyItem): Decision
}

const isEnforced = ({ rule }: CompiledRule) => rule.mode === 'enforce'

/** Decides by these rules, which apply to the item, in any order: a deny wins over an allow, an allow over the default. */
function decideBy(rules: readonly CompiledRule[], byDefault: Decision): Decision {
  if (rules.length === 0) return byDefault
  const observed = rules.filter((each) => !isEnforced(each))
  const enforced = rules.filter(isEnforced)
  const denies = enforced.filter(({ rule }) => rule.effect === 'deny')
  const deny = denies.find(({ condition }) => condition === null)
  if (deny) return { verdict: 'no', rule: deny.rule, denies: none, allows: none, observed }
  const allows = enforced.filter(({ rule }) => rule.effect === 'allow')
  const allow = allows.find(({ condition }) => condition === null)
  const isAllowed = allow !== undefined || byDefault.verdict === 'yes'
  const open = isAllowed ? none : allows
  if (denies.length === 0 && open.length === 0)
    return { verdict: isAllowed ? 'yes' : 'no', rule: allow?.rule, denies, allows: open, observed }
  if (open.length === 0 && !isAllowed) return { verdict: 'no', rule: undefined, denies: none, allows: none, observed }
  return { verdict: 'residual', rule: allow?.rule, denies, allows: open, observed }
}

/**
 * Creates the permit of the callers to whom exactly these rules apply. `fallback`: permit that decides where no rule
 * does, such as an allow list.
 */
export function createPermit(rules: readonly CompiledRule[], fallback: Permit, contentHash: string): Permit {
  const byServer = new Map<string, readonly CompiledRule[]>()
  const known = new WeakMap<PolicyItem, Decision>()
  const rulesFor = (server: string) => {
    let found = byServer.get(server)
    if (!found) {
      found = rules.filter((each) => each.reaches(server))
      // names come from servers that exist, and from no caller
      byServer.set(server, found)
    }
    return found
  }
  return {
    isAll: false,
    contentHash,
    reach(server) {
      const enforced = rulesFor(server).filter(isEnforced)
      const before = fallback.reach(server)
      const isPlain = ({ condition, isWhole }: CompiledRule) => isWhole && condition === null
      if (enforced.some((each) => each.rule.effect === 'deny' && isPlain(each))) return 'none'
      const canHide = enforced.some(({ rule, condition }) => rule.effect === 'deny' && condition === null)
      const allows = enforced.filter(({ rule }) => rule.effect === 'allow')
      if (before === 'all' || allows.some(({ isWhole }) => isWhole)) return canHide ? 'some' : 'all'
      return before === 'some' || allows.length > 0 ? 'some' : 'none'
    },
    decide(item) {
      let decision = known.get(item)
      if (!decision) {
        const matching = rulesFor(item.server.name).filter((each) => each.matches(item))
        decision = decideBy(matching, fallback.decide(item))
        known.set(item, decision)
      }
      return decision
    }
  }
}

/** Outcome of a decision once the arguments are known. */
export interface Judgement {
  readonly isAllowed: boolean
  /** Rule that decided; undefined if the default did. */
  readonly rule: PolicyRule | undefined
}

/** Returns whether a rule applies: a condition that fails is taken against the caller. */
export function applies({ rule, condition }: CompiledRule, test: (condition: Condition) => boolean): boolean {
  if (condition === null) return true
  try {
    return test(condition)
  } catch {
    return rule.effect === 'deny'
  }
}

/** Completes a decision. `test` evaluates a condition with the arguments of the call; it may throw. */
export function judge(decision: Decision, test: (condition: Condition) => boolean): Judgement {
  const { verdict, rule, denies, allows } = decision
  if (verdict !== 'residual') return { isAllowed: verdict === 'yes', rule }
  const deny = denies.find((each) => applies(each, test))
  if (deny) return { isAllowed: false, rule: deny.rule }
  if (allows.length === 0) return { isAllowed: true, rule }
  const allow = allows.find((each) => applies(each, test))
  return { isAllowed: allow !== undefined, rule: (allow ?? allows[0]!).rule }
}
