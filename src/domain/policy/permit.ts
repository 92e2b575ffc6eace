import type { Condition } from './condition.ts'
import { effects, isAsking, type Effect, type PolicyRule } from './rule.ts'
import { looseSkillUri, spellingOf, type PolicyItem, type TargetTest } from './target.ts'

/** A rule that is ready for decisions. */
export interface CompiledRule extends TargetTest {
  readonly rule: PolicyRule
  readonly condition: Condition | null
  /** Hash of the rule and of the groups that it names. */
  readonly contentHash: string
}

/** Decision on an item before its arguments are known. */
export interface Decision {
  /** `residual`: the conditions and scopes of `denies` and `allows` decide. */
  readonly verdict: 'yes' | 'no' | 'residual'
  /** Rule that decided a `yes` or `no`; undefined if the default did. */
  readonly rule: PolicyRule | undefined
  /** Enforced deny rules with a condition or scopes. */
  readonly denies: readonly CompiledRule[]
  /** Enforced rules with a condition or scopes that allow; empty if the item is allowed without them. */
  readonly allows: readonly CompiledRule[]
  /** Enforced rules that let a call run only after a yes; those that ask somebody else come first. */
  readonly asks: readonly CompiledRule[]
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
  asks: none,
  observed: none
}
export const refusedByDefault: Decision = { ...allowedByDefault, verdict: 'no' }

/** Permission of a class of callers. Immutable; shared by all callers to whom the same rules and default apply. */
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

/** Returns true if neither the arguments nor the token of a call matter to the rule. */
export const isPlain = ({ rule, condition }: CompiledRule) => condition === null && rule.requireScopes.length === 0

/**
 * Returns the rules that apply to an item. Where the server may read a URI as that of another resource, what depends on
 * its text counts against the caller: an `allow` does not apply, and a `deny` applies whatever its condition.
 */
function applicable(rules: readonly CompiledRule[], item: PolicyItem): CompiledRule[] {
  const spelling = spellingOf(item)
  if (spelling === 'exact')
    return rules.filter((each) => (each.rule.effect === 'deny' ? each.mayMatch(item) : each.matches(item)))
  const isCertain = spelling === 'loose' && looseSkillUri(item.name) === item.name.toLowerCase()
  return rules.flatMap((each) => {
    const { rule, condition } = each
    if (!isEnforced(each)) return each.matches(item) ? [each] : []
    const keepsCondition = isCertain || condition === null
    if (rule.effect === 'deny') return each.mayMatch(item) ? [keepsCondition ? each : { ...each, condition: null }] : []
    const matches = spelling === 'evasive' ? each.matchesPaths(item) : each.matches(item)
    return matches && keepsCondition ? [each] : []
  })
}

/**
 * Returns true if a rule that asks also allows the item: one that selects by annotations does so only by those of the
 * server itself, and only if they are trusted, as an `allow` does.
 */
function grants(each: CompiledRule, item: PolicyItem): boolean {
  if (Object.values(each.rule.targets.annotations ?? {}).every((hint) => hint === undefined)) return true
  if (item.server.trustsAnnotations !== true) return false
  const { listed, ...own } = item
  return listed === undefined || each.matches(own)
}

/**
 * Decides by these rules, which apply to the item, in any order: a deny wins over an approve, an approve over a confirm,
 * a confirm over an allow, an allow over the default.
 */
function decideBy(rules: readonly CompiledRule[], byDefault: Decision, item: PolicyItem): Decision {
  if (rules.length === 0) return byDefault
  const observed = rules.filter((each) => !isEnforced(each))
  const enforced = rules.filter(isEnforced)
  const denies = enforced.filter(({ rule }) => rule.effect === 'deny')
  const deny = denies.find(isPlain)
  const refused: Decision = { verdict: 'no', rule: deny?.rule, denies: none, allows: none, asks: none, observed }
  if (deny) return refused
  const asks = [
    ...enforced.filter(({ rule }) => rule.effect === 'approve'),
    ...enforced.filter(({ rule }) => rule.effect === 'confirm')
  ]
  const allows = enforced.filter(
    (each) => each.rule.effect === 'allow' || (isAsking(each.rule.effect) && grants(each, item))
  )
  const allow = allows.find(isPlain)
  const isAllowed = allow !== undefined || byDefault.verdict === 'yes'
  const open = isAllowed ? none : allows
  if (open.length === 0 && !isAllowed) return refused
  const isDecided = denies.length + open.length + asks.length === 0
  return { verdict: isDecided ? 'yes' : 'residual', rule: allow?.rule, denies, allows: open, asks, observed }
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
      const hiding = enforced.filter((each) => each.rule.effect === 'deny' && isPlain(each))
      if (hiding.some(({ isWhole }) => isWhole)) return 'none'
      const canHide = hiding.length > 0
      const allows = enforced.filter(({ rule }) => rule.effect !== 'deny')
      if (before === 'all' || allows.some(({ isWhole }) => isWhole)) return canHide ? 'some' : 'all'
      return before === 'some' || allows.length > 0 ? 'some' : 'none'
    },
    decide(item) {
      let decision = known.get(item)
      if (!decision) {
        decision = decideBy(applicable(rulesFor(item.server.name), item), fallback.decide(item), item)
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
  /** All scopes that the rules require for a refused call that they would allow; absent if scopes do not help. */
  readonly scopes?: readonly string[]
  /** Rule whose yes an allowed call needs; absent if it may run at once. */
  readonly ask?: CompiledRule
}

/** Returns true if the arguments of a call, or the scopes of its token, matter to a decision. */
export const dependsOnCall = ({ verdict, observed }: Decision): boolean => verdict === 'residual' || observed.length > 0

/** Facts about a call on which rules depend. */
export interface CallFacts {
  /** Evaluates a condition with the arguments of the call; may throw. */
  readonly test: (condition: Condition) => boolean
  /** Scopes of the caller's token. */
  readonly scopes: readonly string[]
}

/** Returns whether the condition of a rule is true; `onError`: value of one that fails. */
function isMetOr({ condition }: CompiledRule, test: CallFacts['test'], onError: boolean): boolean {
  if (condition === null) return true
  try {
    return test(condition)
  } catch {
    return onError
  }
}

/** Returns whether the condition of a rule is true: one that fails is taken against the caller. */
export const isMet = (each: CompiledRule, test: CallFacts['test']): boolean =>
  isMetOr(each, test, each.rule.effect !== 'allow')

const missingScopes = ({ rule }: CompiledRule, scopes: readonly string[]) =>
  rule.requireScopes.filter((scope) => !scopes.includes(scope))

/** Returns whether a rule applies to a call: scopes that it requires spare a `deny`, and are needed for an `allow`. */
export function applies(each: CompiledRule, { test, scopes }: CallFacts): boolean {
  if (!isMet(each, test)) return false
  if (each.rule.requireScopes.length === 0) return true
  return (missingScopes(each, scopes).length === 0) === (each.rule.effect !== 'deny')
}

/** Returns the rule for which the token lacks the fewest scopes. */
const nearest = (rules: readonly CompiledRule[], scopes: readonly string[]): CompiledRule | undefined =>
  rules.toSorted((a, b) => missingScopes(a, scopes).length - missingScopes(b, scopes).length)[0]

/** Completes a decision with the facts of a call. */
export function judge(decision: Decision, { test, scopes }: CallFacts): Judgement {
  const { verdict, rule, denies, allows, asks } = decision
  if (verdict !== 'residual') return { isAllowed: verdict === 'yes', rule }
  const matching = denies.filter((each) => isMet(each, test))
  const deny = matching.find((each) => each.rule.requireScopes.length === 0)
  if (deny) return { isAllowed: false, rule: deny.rule }
  const allow = nearest(
    allows.filter((each) => isMetOr(each, test, false)),
    scopes
  )
  if (allows.length > 0 && !allow) return { isAllowed: false, rule: allows[0]!.rule }
  const needed = allow ? [...matching, allow] : matching
  const refusing = needed.find((each) => missingScopes(each, scopes).length > 0)
  if (!refusing) {
    const ask = asks.find((each) => isMet(each, test))
    return ask ? { isAllowed: true, rule: ask.rule, ask } : { isAllowed: true, rule: allow?.rule ?? rule }
  }
  const required = needed.flatMap((each) => each.rule.requireScopes)
  return { isAllowed: false, rule: refusing.rule, scopes: [...new Set(required)] }
}

/** Result of a decision: an effect, as a call meets it. */
export type Verdict = Effect

/** Returns what a judgement means for the call. */
export const verdictOf = ({ isAllowed, ask }: Judgement): Verdict =>
  isAllowed ? (ask?.rule.effect ?? 'allow') : 'deny'

/**
 * Returns true if an observed rule that applies to a call would have changed its outcome, were it enforced. `rule`: the
 * rule that decided.
 */
export function wouldChange(observed: Effect, verdict: Verdict, rule: PolicyRule | undefined): boolean {
  if (observed === 'deny') return verdict !== 'deny'
  // a rule that asks also allows, and nothing lifts an enforced deny
  if (verdict === 'deny') return rule?.effect !== 'deny'
  return observed === 'approve' ? verdict !== 'approve' : observed === 'confirm' && verdict === 'allow'
}

/** Outcome of a decision as far as it is known without the arguments of the call. */
export type Outlook = Verdict | 'unknown'

/** Returns what a decision comes to if every condition may be true or false. `scopes`: those of the caller's token. */
export function outlook(decision: Decision, scopes: readonly string[]): Outlook {
  const { denies, allows, asks } = decision
  // no condition is shared by two rules: each is its rule's own
  const effectOf = new Map([...denies, ...allows, ...asks].map(({ condition, rule }) => [condition, rule.effect]))
  const verdicts = new Set<Verdict>()
  for (let trueEffects = 0; trueEffects < 1 << effects.length; trueEffects++) {
    const test = (condition: Condition) => ((trueEffects >> effects.indexOf(effectOf.get(condition)!)) & 1) === 1
    verdicts.add(verdictOf(judge(decision, { test, scopes })))
  }
  const [verdict] = verdicts
  return verdicts.size === 1 ? verdict! : 'unknown'
}

const contentsOf = (rules: readonly CompiledRule[]) =>
  rules
    .map(({ rule: { effect, when, requireScopes, approval } }) =>
      JSON.stringify([effect, when, requireScopes, approval])
    )
    .toSorted()
    .join()

/** Returns true if two decisions come to the same for every call. */
export const decidesAlike = (a: Decision, b: Decision): boolean =>
  a.verdict === b.verdict &&
  contentsOf(a.denies) === contentsOf(b.denies) &&
  contentsOf(a.allows) === contentsOf(b.allows) &&
  contentsOf(a.asks) === contentsOf(b.asks)
