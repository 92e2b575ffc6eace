import type { RegistryState, StoredPolicy } from '../registry/model/model.ts'
import { buildCatalog, createCatalogCache, type Catalog, type DecryptLocks, type ServingRules } from './catalog.ts'
import { loadConditions, type CompileCondition } from '../domain/policy/condition.ts'
import type { PolicySettings } from './permits.ts'

export interface StateApplierOptions {
  readonly catalog: () => Catalog
  readonly rules: ServingRules
  readonly decryptLocks?: DecryptLocks
  /** Permission of users where no policy decides. */
  readonly policyDefault: PolicySettings['byDefault']
  /** Policies that are not in the registry; each replaces the stored one of its name. */
  readonly filePolicies?: readonly StoredPolicy[] | undefined
  /** Serves the catalog and returns the steps that must follow, the most urgent first. Must not throw. */
  readonly swap: (next: Catalog) => readonly (() => void)[]
  readonly onApplied: (ms: number) => void
  readonly log: { warn(details: object, text: string): void; error(details: object, text: string): void }
}

/** Builds and serves a catalog from each state of the registry. */
export interface StateApplier {
  /** Message for `/ready` if a part of the registry's state is not in effect; else undefined. */
  readonly problem: string | undefined
  /**
   * Applies a state. Never throws, so that a faulty state does not keep later ones from being applied. Returns a promise
   * only the first time that a policy has a condition.
   */
  apply(state: RegistryState): void | Promise<void>
  /** Applies the last state again, because an access token has expired since. */
  reapply(): void
}

const MAX_NAMED = 10

const joinNames = (faults: Catalog['faults']) =>
  faults
    .slice(0, MAX_NAMED)
    .map(({ subject }) => subject)
    .join(', ')

function problemOf({ faults }: Catalog, failures: number): string | undefined {
  if (faults.length > 0) return `the gateway cannot read ${joinNames(faults)}; its log says why`
  return failures > 0 ? 'the last change of the registry is only partly in effect; the log says why' : undefined
}

/** Returns the function that adds the policies of a file to stored ones, and logs which of those it replaces. */
function createPolicyMerge(filePolicies: readonly StoredPolicy[], log: StateApplierOptions['log']) {
  const names = new Set(filePolicies.map(({ name }) => name))
  let logged = ''
  return (stored: readonly StoredPolicy[]): readonly StoredPolicy[] => {
    const replaced = stored.filter(({ name }) => names.has(name)).map(({ name }) => name)
    if (replaced.length > 0 && replaced.join() !== logged) {
      const policies = replaced.slice(0, MAX_NAMED)
      log.warn({ policies, count: replaced.length }, 'stored policies have no effect: the policy file has their names')
    }
    logged = replaced.join()
    return [...filePolicies, ...stored.filter(({ name }) => !names.has(name))]
  }
}

export function createStateApplier(options: StateApplierOptions): StateApplier {
  const { catalog, rules, decryptLocks, policyDefault: byDefault, filePolicies = [], swap, onApplied, log } = options
  const withFile = createPolicyMerge(filePolicies, log)
  const cache = createCatalogCache()
  let problem: string | undefined
  let latest: RegistryState | undefined
  let compileCondition: CompileCondition | undefined

  /** Logs unusable items and faults, once per stored revision. */
  const report = (before: Catalog, { servers, faults }: Catalog) => {
    const known = new Set(before.servers)
    for (const { name, unusable } of servers.filter((server) => !known.has(server))) {
      const items = unusable.slice(0, MAX_NAMED)
      if (items.length > 0) log.warn({ server: name, count: unusable.length, items }, 'stored items cannot be used')
    }
    for (const { subject, error: err } of faults.filter((fault) => !before.faults.includes(fault))) {
      log.error({ err }, `${subject} cannot be read and is not served`)
    }
  }
  const applyNow = (state: RegistryState) => {
    const startedAt = performance.now()
    const before = catalog()
    const next = buildCatalog(state, cache, rules, { byDefault, compileCondition }, decryptLocks)
    let failures = 0
    for (const step of [...swap(next), () => report(before, next)]) {
      try {
        step()
      } catch (err) {
        failures++
        log.error({ err, version: state.version }, 'a change of the registry is only partly in effect')
      }
    }
    problem = problemOf(next, failures)
    onApplied(performance.now() - startedAt)
  }
  const loadAndApply = async (state: RegistryState) => {
    try {
      compileCondition = await loadConditions()
    } catch (err) {
      log.error({ err }, 'the conditions of policies cannot be evaluated')
    }
    applyNow(state)
  }
  return {
    get problem() {
      return problem
    },
    reapply() {
      if (latest) applyNow(latest)
    },
    apply(stored) {
      const state = filePolicies.length === 0 ? stored : { ...stored, policies: withFile(stored.policies) }
      latest = state
      const needsConditions = compileCondition === undefined && state.policies.some(({ when }) => when !== null)
      return needsConditions ? loadAndApply(state) : applyNow(state)
    }
  }
}
