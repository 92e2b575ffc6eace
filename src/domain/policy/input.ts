import type { ApprovalSettings, Effect, Mode, PolicyRule, PolicySubjects, PolicyTargets } from './rule.ts'

/** A policy as the REST interface and files write it; absent members have their defaults. */
export interface RuleInput extends ApprovalSettings {
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

/** Members of a policy that only asking effects have. */
export const approvalMembers = ['approvers', 'hold_ms', 'valid_ms', 'uses', 'without_elicitation'] as const

/** Returns the members of an input that only asking effects have; undefined if there are none. */
function approvalOf(input: RuleInput): ApprovalSettings | undefined {
  const given = approvalMembers.filter((key) => input[key] !== undefined).map((key) => [key, input[key]] as const)
  return given.length === 0 ? undefined : (Object.fromEntries(given) as ApprovalSettings)
}

/** Returns the rule of an input, with the defaults of its absent members. */
export const toRule = (name: string, input: RuleInput): PolicyRule => {
  const approval = approvalOf(input)
  return { ...plainRule(name, input), ...(approval && { approval }) }
}

const plainRule = (name: string, input: RuleInput): PolicyRule => ({
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
  const { name, effect, mode, enabled, everyone, subjects, targets, when, requireScopes, reason, approval } = rule
  return {
    ...{ name, effect, mode, enabled },
    ...(everyone && { everyone }),
    ...{ subjects, targets },
    ...(when !== null && { when }),
    ...(requireScopes.length > 0 && { require_scopes: requireScopes }),
    ...(reason !== null && { reason }),
    ...approval
  }
}
