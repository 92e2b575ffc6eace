import { allServers, parseAllowList } from '../domain/policy/allow-list.ts'
import type { CompileCondition } from '../domain/policy/condition.ts'
import { applies, judge, type Permit } from '../domain/policy/permit.ts'
import type { PolicyRule } from '../domain/policy/rule.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { splitName } from '../domain/names.ts'
import { invalid, notFound } from '../lib/errors.ts'
import { kinds, type Catalog, type Item } from '../catalog/catalog.ts'
import { compilePermits, type Permits } from '../catalog/permits.ts'
import { anyByUri, globalScope, resourceOf, scopeAt } from '../catalog/scope.ts'
import { conditionTest } from '../mcp/policy-gate.ts'
import type { ItemKind } from '../registry/model/model.ts'
import type { EffectiveItem, PolicyDecision } from '../schemas/policy.ts'
import { restName } from './item-records.ts'
import { wholeView } from './rest-view.ts'

/** Caller of a trial: exactly one of the names. `endpoint`: name of a tool group; absent for the global endpoint. */
export interface TrialCaller {
  readonly user?: string | undefined
  readonly client?: string | undefined
  readonly endpoint?: string | undefined
}

/** A call that a trial decides on without making it. */
export interface Trial extends TrialCaller {
  readonly kind: 'tool' | 'prompt' | 'resource'
  /** Qualified name, or URI of a resource. */
  readonly name: string
  readonly args?: Readonly<Record<string, unknown>> | undefined
  /** Policies that are not stored; each replaces the stored one of its name. */
  readonly with?: readonly PolicyRule[] | undefined
}

/** Trial runs of policies (policies.md). Methods reject with AppError: 400, 404 for an unknown caller or group. */
export interface PolicyTrials {
  /** Decides on a call, and tells why. */
  simulate(trial: Trial): Promise<PolicyDecision>
  /** Returns every enabled item of the endpoint with the decision for the caller. */
  effective(caller: TrialCaller): EffectiveItem[]
}

export interface PolicyTrialOptions {
  readonly catalog: () => Catalog
  readonly load: () => Promise<CompileCondition>
  /** Rejects with a 400 AppError if the policy could not be stored. */
  readonly check: (rule: PolicyRule) => Promise<void>
}

/** Returns the caller with the allow list that decides without policies. */
function subjectOf({ principals }: Catalog, { user, client }: TrialCaller) {
  if ((user === undefined) === (client === undefined)) throw invalid('name either a "user" or a "client"')
  const stored = principals
    .map((principal) => principal.stored)
    .find(({ kind, name }) => (kind === 'client' ? name === client : name === user))
  if (!stored) throw user === undefined ? notFound('client', client!) : notFound('user', user)
  const { kind, name } = stored
  return { subject: { kind, name }, allowed: kind === 'client' ? parseAllowList(stored.allowed_servers) : allServers }
}

function checkEndpoint(catalog: Catalog, { endpoint }: TrialCaller): void {
  if (endpoint !== undefined && !catalog.group(endpoint)) throw notFound('tool group', endpoint)
}

/** Returns the item that a name or URI stands for, disabled or not. */
function findItem(catalog: Catalog, { kind, name }: Trial): (PolicyItem & Partial<Pick<Item, 'enabled'>>) | undefined {
  if (kind === 'resource') {
    const item = anyByUri(catalog, 'resource', name)
    const target = item ? undefined : globalScope(catalog).resolve(name)
    return item ?? (target && resourceOf(catalog, target.server.name, target.uri))
  }
  const split = splitName(name)
  return split && catalog.server(split.server)?.find(kind, split.name)
}

/** Returns the reason beside policies that keeps the item from every caller of the endpoint. */
function hiddenBy(catalog: Catalog, item: PolicyItem & Partial<Pick<Item, 'enabled'>>, endpoint: string | undefined) {
  if (item.enabled === false) return 'switch'
  if (endpoint === undefined) return undefined
  const scope = scopeAt(catalog, endpoint)
  const isServed =
    item.kind === 'tool'
      ? scope.find('tool', scope.isBare ? item.alias : `${item.server.name}__${item.alias}`) !== undefined
      : scope.wholeServers.some(({ name }) => name === item.server.name)
  return isServed ? undefined : 'group'
}

export function createPolicyTrials({ catalog, load, check }: PolicyTrialOptions): PolicyTrials {
  const permitsWith = async (current: Catalog, rules: readonly PolicyRule[]): Promise<Permits> => {
    if (rules.length === 0) return current.permits
    for (const rule of rules) await check(rule)
    const names = new Set(rules.map(({ name }) => name))
    const all = [...current.policies.filter(({ name }) => !names.has(name)), ...rules]
    const compileCondition = all.some(({ when }) => when !== null) ? await load() : undefined
    return compilePermits(all, current.groups, { byDefault: current.permits.byDefault, compileCondition })
  }
  const matchesOf = (
    permits: Permits,
    trial: Trial,
    item: PolicyItem,
    subject: ReturnType<typeof subjectOf>['subject']
  ) => {
    const test = conditionTest(subject, item, JSON.stringify(trial.args ?? {}))
    return permits.policies.matching(subject, item).map((each) => {
      const { name, effect, mode } = each.rule
      let hasFailed = false
      const isMet = applies(each, (condition) => {
        try {
          return test(condition)
        } catch (error) {
          hasFailed = true
          throw error
        }
      })
      const condition = each.condition === null ? {} : { condition: hasFailed ? 'error' : isMet ? 'true' : 'false' }
      return { policy: name, effect, mode, ...condition } as PolicyDecision['matched'][number]
    })
  }
  return {
    async simulate(trial) {
      const current = catalog()
      const { subject, allowed } = subjectOf(current, trial)
      checkEndpoint(current, trial)
      const permits = await permitsWith(current, trial.with ?? [])
      const item = findItem(current, trial)
      if (!item) return { decision: 'deny', default: 'deny', matched: [], hidden_by: 'server' }
      const permit = permits.ofSubject(subject, allowed)
      const byDefault = permits.fallbackOf(subject.kind, allowed).decide(item).verdict === 'yes'
      const { isAllowed, rule } = judge(
        permit.decide(item),
        conditionTest(subject, item, JSON.stringify(trial.args ?? {}))
      )
      const hidden = hiddenBy(current, item, trial.endpoint) ?? (isAllowed ? undefined : rule ? 'policy' : 'default')
      return {
        decision: hidden === undefined ? 'allow' : 'deny',
        default: byDefault ? 'allow' : 'deny',
        matched: matchesOf(permits, trial, item, subject),
        ...(hidden && { hidden_by: hidden }),
        ...(rule && { policy: rule.name })
      }
    },

    effective(caller) {
      const current = catalog()
      const { subject, allowed } = subjectOf(current, caller)
      checkEndpoint(current, caller)
      const permit = current.permits.ofSubject(subject, allowed)
      const scope = scopeAt(current, caller.endpoint)
      return kinds.flatMap((kind) => itemsOf(scope.servers, kind, scope.includes, permit, current))
    }
  }
}

function itemsOf(
  servers: Catalog['servers'],
  kind: ItemKind,
  includes: (item: Item) => boolean,
  permit: Permit,
  catalog: Catalog
): EffectiveItem[] {
  const view = wholeView(catalog)
  return servers.flatMap((server) =>
    server
      .items(kind)
      .filter(includes)
      .map((item) => {
        const { verdict, rule } = permit.decide(item)
        const decision = verdict === 'yes' ? 'allow' : verdict === 'no' ? 'deny' : 'conditional'
        return { kind, name: restName(view, item), decision, ...(rule && { policy: rule.name }) } as const
      })
  )
}
