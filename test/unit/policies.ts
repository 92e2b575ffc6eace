import type { PolicyRule } from '../../src/domain/policy/rule.ts'
import type { StoredPolicy } from '../../src/registry/model/model.ts'

/** Returns an enabled, enforced rule that allows everything to everybody except for the given members. */
export const policyRule = (name: string, more: Partial<PolicyRule> = {}): PolicyRule => ({
  name,
  enabled: true,
  effect: 'allow',
  mode: 'enforce',
  everyone: true,
  subjects: {},
  targets: {},
  when: null,
  requireScopes: [],
  reason: null,
  ...more
})

/** Returns such a rule as the registry loads it. */
export const storedPolicy = (name: string, more: Partial<PolicyRule> = {}): StoredPolicy => ({
  ...policyRule(name, more),
  position: 1,
  revision: '1'
})
