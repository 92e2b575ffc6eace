import { LRUCache } from 'lru-cache'
import { noServers } from '../domain/policy/allow-list.ts'
import type { CompileCondition } from '../domain/policy/condition.ts'
import type { Permit } from '../domain/policy/permit.ts'
import { compilePolicies, type PolicySet } from '../domain/policy/policy-set.ts'
import type { PolicyRule } from '../domain/policy/rule.ts'
import type { Subject } from '../domain/policy/subject.ts'
import type { StoredPolicy } from '../registry/model/model.ts'
import { principalIdOf, type Caller } from './caller.ts'
import type { CatalogGroup, Fault } from './catalog.ts'
import type { People } from './people.ts'

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
  /** Returns a caller as policies see it, with the current groups and teams. */
  subjectOf(caller: Caller): Subject
  /** Returns the permit where no policy decides. */
  fallbackOf(kind: Caller['kind'], allowList: Permit): Permit
  /** Returns the permit of a caller that need not exist. `allowList`: permit of an MCP client without policies. */
  ofSubject(subject: Subject, allowList: Permit): Permit
}

type Memberships = Pick<People, 'membershipsOf' | 'revision'>

/** Permits kept beside those that callers hold: classes of callers who share them, and people who signed in. */
const MAX_CLASSES = 1_000
const MAX_PEOPLE = 20_000
const USER = 'user:'

/** Permits of classes of callers. A caller without applicable rules gets the fallback itself. */
function createClassPermits(policies: PolicySet, fallbackOf: Permits['fallbackOf']): Permits['ofSubject'] {
  const byClass = new LRUCache<string, Permit>({ max: MAX_CLASSES })
  return (subject, allowed) => {
    const fallback = fallbackOf(subject.kind, allowed)
    const indices = policies.classOf(subject)
    const key = `${fallback.contentHash} ${indices.join()}`
    let permit = byClass.get(key)
    if (!permit) byClass.set(key, (permit = policies.permitOf(indices, fallback)))
    return permit
  }
}

const createFallback =
  (byDefault: PolicySettings['byDefault']): Permits['fallbackOf'] =>
  (kind, allowed) =>
    (kind === 'user' || kind === 'auditor') && byDefault === 'deny' ? noServers : allowed

/** Creates the permits for compiled policies and the people of a catalog. `ofSubject`: permits of the policies' classes. */
function createPermits(
  policies: PolicySet,
  byDefault: PolicySettings['byDefault'],
  ofSubject: Permits['ofSubject'],
  people: Memberships
): Permits {
  const byCaller = new WeakMap<Caller, Permit>()
  // a person with a session in a browser is another object with each request
  let bySignIn: LRUCache<string, Permit> | undefined
  const fallbackOf = createFallback(byDefault)
  const subjectOf = ({ kind, name, key, oauthClient, scopes }: Caller): Subject => {
    const id = principalIdOf(key)
    const { groups, teams } = people.membershipsOf(id.startsWith(USER) ? id.slice(USER.length) : '')
    // whoever uses a gateway in development mode may do everything that no rule forbids
    return { kind: kind === 'development' ? 'admin' : kind, name, groups, teams, oauthClient, scopes }
  }
  const ofPerson = (caller: Caller): Permit => {
    const key = `${caller.kind} ${caller.key}`
    // reserves its memory, which a gateway where nobody signs in need not
    bySignIn ??= new LRUCache({ max: MAX_PEOPLE })
    let permit = bySignIn.get(key)
    if (!permit) bySignIn.set(key, (permit = ofSubject(subjectOf(caller), caller.allowed)))
    return permit
  }
  return {
    byDefault,
    policies,
    contentHash: policies.usesMemberships ? `${policies.contentHash} ${people.revision}` : policies.contentHash,
    faults: policies.faults.map(({ policy, error }) => ({ subject: `policy "${policy}"`, error })),
    fallbackOf,
    ofSubject,
    subjectOf,
    of(caller) {
      const { kind, allowed, signIn } = caller
      if (!policies.hasRules) return fallbackOf(kind, allowed)
      let permit = byCaller.get(caller)
      if (permit) return permit
      permit = signIn && kind !== 'client' ? ofPerson(caller) : ofSubject(subjectOf(caller), allowed)
      byCaller.set(caller, permit)
      return permit
    }
  }
}

/** Compiles policies; `groups` are those that their targets can name. */
function compile(
  policies: readonly PolicyRule[],
  groups: readonly CatalogGroup[],
  compileCondition: PolicySettings['compileCondition']
): PolicySet {
  return compilePolicies(policies, {
    groups: new Map(groups.map((group) => [group.stored.name, group.selections])),
    groupHashes: new Map(groups.map((group) => [group.stored.name, group.contentHash])),
    compileCondition
  })
}

/** Creates permits for policies that are not stored. */
export function compilePermits(
  policies: readonly PolicyRule[],
  groups: readonly CatalogGroup[],
  { byDefault, compileCondition }: PolicySettings,
  people: Memberships
): Permits {
  const compiled = compile(policies, groups, compileCondition)
  return createPermits(compiled, byDefault, createClassPermits(compiled, createFallback(byDefault)), people)
}

/**
 * Builds the permits of each catalog. Unchanged policies and groups keep the permits of their classes, with all
 * decisions; unchanged groups and teams of people keep those of the callers as well.
 */
export function createPermitsBuilder() {
  let key: readonly unknown[] = []
  let compiled: PolicySet | undefined
  let ofSubject: Permits['ofSubject'] | undefined
  let known: Permits | undefined
  let revision = -1
  return (
    stored: readonly StoredPolicy[],
    groups: readonly CatalogGroup[],
    { byDefault, compileCondition }: PolicySettings,
    people: Memberships
  ): Permits => {
    const enabled = stored.filter((policy) => policy.enabled)
    const named = enabled.some(({ targets }) => targets.groups?.length) ? groups : []
    const next = [byDefault, compileCondition, ...enabled, null, ...named]
    const isSame = next.length === key.length && next.every((part, i) => part === key[i])
    if (known && isSame && people.revision === revision) return known
    if (!isSame || !compiled || !ofSubject) {
      compiled = compile(enabled, named, compileCondition)
      ofSubject = createClassPermits(compiled, createFallback(byDefault))
      key = next
    }
    revision = people.revision
    known = createPermits(compiled, byDefault, ofSubject, people)
    return known
  }
}
