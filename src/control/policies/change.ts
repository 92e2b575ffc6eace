import type { CompileCondition } from '../../domain/policy/condition.ts'
import type { PolicyRule } from '../../domain/policy/rule.ts'
import { notFound } from '../../lib/errors.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { compilePermits, type Permits } from '../../catalog/permits.ts'

/** A change of the policies that is not stored. */
export interface PolicyChange {
  /** Policies to add; each replaces the stored one of its name. */
  readonly with?: readonly PolicyRule[] | undefined
  /** Names of stored policies to remove. */
  readonly without?: readonly string[] | undefined
}

export interface PolicyChangeOptions {
  readonly load: () => Promise<CompileCondition>
  /** Rejects with a 400 AppError if the policy could not be stored. */
  readonly check: (rule: PolicyRule) => Promise<void>
}

/** Returns the permits as they would be after a change. Rejects with AppError: 400, 404 for an unknown name. */
export async function permitsAfter(
  current: Catalog,
  { with: added = [], without: removed = [] }: PolicyChange,
  { load, check }: PolicyChangeOptions
): Promise<Permits> {
  if (added.length === 0 && removed.length === 0) return current.permits
  for (const rule of added) await check(rule)
  const unknown = removed.find((name) => !current.policies.some((policy) => policy.name === name))
  if (unknown !== undefined) throw notFound('policy', unknown)
  const names = new Set([...added.map(({ name }) => name), ...removed])
  const all = [...current.policies.filter(({ name }) => !names.has(name)), ...added]
  const compileCondition = all.some(({ when }) => when !== null) ? await load() : undefined
  const settings = { byDefault: current.permits.byDefault, compileCondition }
  return compilePermits(all, current.groups, settings, current.people)
}
