import { isLike } from '../domain/policy/glob.ts'
import type { PolicyRule } from '../domain/policy/rule.ts'
import { AppError } from '../lib/errors.ts'

/**
 * Throws a 409 AppError if an enabled `deny` policy names a tool group or team: without it the policy would deny less.
 * `listOf`: returns the list in which a policy names it.
 */
export function refuseIfDenied(
  policies: readonly PolicyRule[],
  kind: 'tool group' | 'team',
  name: string,
  listOf: (rule: PolicyRule) => readonly string[] | undefined
): void {
  const naming = policies.filter(
    (rule) => rule.enabled && rule.effect === 'deny' && listOf(rule)?.some((glob) => isLike(name, glob))
  )
  if (naming.length === 0) return
  const names = naming.map((rule) => `"${rule.name}"`).join(', ')
  throw new AppError(409, `${kind} "${name}" is named by policies that deny: ${names}; change or disable them first`)
}
