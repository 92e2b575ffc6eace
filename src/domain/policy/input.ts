import type { Effect, Mode, PolicyRule, PolicySubjects, PolicyTargets } from './rule.ts'

/** A policy as the REST interface and files write it; absent members have their defaults. */
export interface RuleInput {
  readonly effect: Effect
  readonly mode?: Mode | undefined
  readonly enabled?: boolean | undefined
  readonly everyone?: boolean | undefined
  readonly subjects?: PolicySubjects | undefined
  readonly targets?: PolicyTargets | undefined
  readonly when?: string | undefined
  readonly require_scopes?: readonly string[] | undefined
  readonly reason?: string | undefined
}

/** Returns the rule of an input, with the defaults of its absent members. */
export const toRule = (name: string, input: RuleInput): PolicyRule => ({
  name,
  effect: input.effect,
  mode: input.mode ?? 'enforce',
  enabled: input.enabled ?? true,
  everyone: input.everyone ?? false,
  subjects: input.subjects ?? {},
  targets: input.targets ?? {},
  when: input.when ?? null,
  requireScopes: [...new Set(input.require_scopes)],
  reason: input.reason || null
})

/** Returns a rule as it is written, without the members that say nothing. */
export const ruleRecord = (rule: PolicyRule) => {
  const { name, effect, mode, enabled, everyone, subjects, targets, when, requireScopes, reason } = rule
  return {
    ...{ name, effect, mode, enabled },
    ...(everyone && { everyone }),
    ...{ subjects, targets },
    ...(when !== null && { when }),
    ...(requireScopes.length > 0 && { require_scopes: requireScopes }),
    ...(reason !== null && { reason })
  }
}
