import { LRUCache } from 'lru-cache'
import { noServers } from '../domain/policy/allow-list.ts'
import type { CompileCondition } from '../domain/policy/condition.ts'
import type { Permit } from '../domain/policy/permit.ts'
import { compilePolicies, type PolicySet } from '../domain/policy/policy-set.ts'
import type { PolicyRule } from '../domain/policy/rule.ts'
import type { Subject } from '../domain/policy/subject.ts'
import type { StoredPolicy } from '../registry/model/model.ts'
import type { Caller } from './caller.ts'
import type { CatalogGroup, Fault } from './catalog.ts'

/** How policies are applied, beside their contents. */
export interface PolicySettings {
  /** Permission of users where no policy decides. */
  readonly byDefault: 'allow' | 'deny'
  /** Undefined until a policy with a condition was stored. */
  readonly compileCondition: CompileCondition | undefined
}

/** Permits of all callers. */
export interface Permits {
  /** Permission of users where no policy decides. */
  readonly byDefault: PolicySettings['byDefault']
  readonly policies: PolicySet
  /** Key that differs if some caller's permit may differ for a reason other than the allow list. */
  readonly contentHash: string
  /** Policies whose conditions cannot be compiled; such a policy refuses what it can. */
  readonly faults: readonly Fault[]
  of(caller: Caller): Permit
  /** Returns the permit where no policy decides. */
  fallbackOf(kind: Caller['kind'], allowList: Permit): Permit
  /** Returns the permit of a caller that need not exist. `allowList`: permit of an MCP client without policies. */
  ofSubject(subject: Subject, allowList: Permit): Permit
}

/** Permits kept beside those that callers hold: classes of callers who share them. */
const MAX_CLASSES = 1_000

/** Creates the permits for compiled policies. A caller without applicable rules gets the fallback itself. */
export function createPermits(policies: PolicySet, byDefault: PolicySettings['byDefault']): Permits {
  const byCaller = new WeakMap<Caller, Permit>()
  const byClass = new LRUCache<string, Permit>({ max: MAX_CLASSES })
  const fallbackOf = (kind: Caller['kind'], allowed: Permit) =>
    (kind === 'user' || kind === 'auditor') && byDefault === 'deny' ? noServers : allowed
  const ofSubject = (subject: Subject, allowed: Permit) => {
    const fallback = fallbackOf(subject.kind, allowed)
    const indices = policies.classOf(subject)
    const key = `${fallback.contentHash} ${indices.join()}`
    let permit = byClass.get(key)
    if (!permit) byClass.set(key, (permit = policies.permitOf(indices, fallback)))
    return permit
  }
  return {
    byDefault,
    policies,
    contentHash: policies.contentHash,
    faults: policies.faults.map(({ policy, error }) => ({ subject: `policy "${policy}"`, error })),
    fallbackOf,
    ofSubject,
    of(caller) {
      const { kind, name, allowed } = caller
      if (!policies.hasRules || kind === 'development') return fallbackOf(kind, allowed)
      let permit = byCaller.get(caller)
      if (!permit) byCaller.set(caller, (permit = ofSubject({ kind, name }, allowed)))
      return permit
    }
  }
}

/** Compiles policies; `groups` are those that their targets can name. */
export function compilePermits(
  policies: readonly PolicyRule[],
  groups: readonly CatalogGroup[],
  { byDefault, compileCondition }: PolicySettings
): Permits {
  const compiled = compilePolicies(policies, {
    groups: new Map(groups.map((group) => [group.stored.name, group.selections])),
    groupHashes: new Map(groups.map((group) => [group.stored.name, group.contentHash])),
    compileCondition
  })
  return createPermits(compiled, byDefault)
}

/** Builds the permits of each catalog; unchanged policies and groups keep their permits, with all decisions. */
export function createPermitsBuilder() {
  let key: readonly unknown[] = []
  let known: Permits | undefined
  return (stored: readonly StoredPolicy[], groups: readonly CatalogGroup[], settings: PolicySettings): Permits => {
    const enabled = stored.filter((policy) => policy.enabled)
    const named = enabled.some(({ targets }) => targets.groups?.length) ? groups : []
    const next = [settings.byDefault, settings.compileCondition, ...enabled, null, ...named]
    if (known && next.length === key.length && next.every((part, i) => part === key[i])) return known
    key = next
    known = compilePermits(enabled, named, settings)
    return known
  }
}
