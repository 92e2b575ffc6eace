import { allServers } from '../../domain/policy/allow-list.ts'
import { isMet, outlook, verdictOf, type CallFacts, type Decision, type Permit } from '../../domain/policy/permit.ts'
import type { Effect, PolicyRule } from '../../domain/policy/rule.ts'
import type { Subject } from '../../domain/policy/subject.ts'
import type { PolicyItem } from '../../domain/policy/target.ts'
import { splitName } from '../../domain/names.ts'
import { invalid, notFound } from '../../lib/errors.ts'
import { kinds, type Catalog, type Item } from '../../catalog/catalog.ts'
import type { Permits } from '../../catalog/permits.ts'
import { anyByUri } from '../../catalog/item-lookup.ts'
import { resourceOf } from '../../catalog/resource-resolution.ts'
import { globalScope, scopeAt } from '../../catalog/scope.ts'
import { factsOf, judgeCall } from '../../mcp/policy-gate.ts'
import type { ItemKind } from '../../registry/model/model.ts'
import type { EffectiveItem, PolicyDecision } from '../../schemas/policy.ts'
import { restName } from '../item-records.ts'
import { permitsAfter, type PolicyChangeOptions } from './change.ts'
import { createSubjects, type Permitted } from './subjects.ts'
import { wholeView } from '../rest-view.ts'

/**
 * Caller of a trial: exactly one of a user, an MCP client, and a person in some groups who need not exist. `endpoint`:
 * name of a tool group; absent for the global endpoint.
 */
export interface TrialCaller {
  readonly user?: string | undefined
  readonly client?: string | undefined
  /** Groups of the identity provider. */
  readonly groups?: readonly string[] | undefined
  /** `client_id` of the OAuth client through which the person calls. */
  readonly oauth_client?: string | undefined
  readonly endpoint?: string | undefined
}

/** A call that a trial decides on without making it. */
export interface Trial extends TrialCaller {
  readonly kind: 'tool' | 'prompt' | 'resource'
  /** Qualified name, or URI of a resource. */
  readonly name: string
  /** JSON text of the arguments object, as the call would send it. */
  readonly args?: string | undefined
  /** Scopes of the caller's token. */
  readonly scopes?: readonly string[] | undefined
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

export interface PolicyTrialOptions extends PolicyChangeOptions {
  readonly catalog: () => Catalog
}

/** Returns the caller with the allow list that decides without policies. */
function subjectOf(catalog: Catalog, caller: TrialCaller): Permitted {
  const { user, client, groups, oauth_client: oauthClient } = caller
  if ([user, client, groups].filter((each) => each !== undefined).length !== 1)
    throw invalid('name a "user", a "client", or the "groups" of a person')
  if (groups) {
    const teams = catalog.people.teamsOfGroups(groups)
    return { subject: { kind: 'user', name: '', groups, teams, oauthClient }, allowed: allServers }
  }
  const kind = user === undefined ? 'client' : 'user'
  const name = user ?? client!
  const found = createSubjects(catalog).of(kind, name)
  if (!found) throw notFound(kind, name)
  if (kind === 'user') return { ...found, subject: { ...found.subject, oauthClient } }
  if (oauthClient !== undefined) throw invalid('an MCP client does not call through an OAuth client')
  return found
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
  const tool = item.kind === 'tool' ? catalog.server(item.server.name)?.find('tool', item.name) : undefined
  const isServed =
    item.kind === 'tool'
      ? tool !== undefined && scope.includes(tool)
      : scope.wholeServers.some(({ name }) => name === item.server.name)
  return isServed ? undefined : 'group'
}

export function createPolicyTrials(options: PolicyTrialOptions): PolicyTrials {
  const { catalog } = options
  const matchesOf = (permits: Permits, item: PolicyItem, subject: Subject, { test, scopes }: CallFacts) => {
    return permits.policies.matching(subject, item).map((each) => {
      const { name, effect, mode, requireScopes } = each.rule
      let hasFailed = false
      const isTrue = isMet(each, (condition) => {
        try {
          return test(condition)
        } catch (error) {
          hasFailed = true
          throw error
        }
      })
      const condition = each.condition === null ? {} : { condition: hasFailed ? 'error' : isTrue ? 'true' : 'false' }
      const missing = requireScopes.filter((scope) => !scopes.includes(scope))
      const scoped = requireScopes.length === 0 ? {} : { missing_scopes: missing }
      return { policy: name, effect, mode, ...condition, ...scoped } as PolicyDecision['matched'][number]
    })
  }
  return {
    async simulate(trial) {
      const current = catalog()
      const { subject: caller, allowed } = subjectOf(current, trial)
      const subject = { ...caller, scopes: trial.scopes }
      checkEndpoint(current, trial)
      const permits = await permitsAfter(current, { with: trial.with }, options)
      const item = findItem(current, trial)
      if (!item) return { decision: 'deny', default: 'deny', matched: [], hidden_by: 'server' }
      const permit = permits.ofSubject(subject, allowed)
      const byDefault = permits.fallbackOf(subject.kind, allowed).decide(item).verdict === 'yes'
      const args = trial.kind === 'resource' ? undefined : trial.args
      const facts = factsOf(subject, item, args)
      const judgement = judgeCall(permit.decide(item), facts, args)
      const { isAllowed, rule, scopes, ambiguity } = judgement
      const hidden = hiddenBy(current, item, trial.endpoint) ?? (isAllowed ? undefined : rule ? 'policy' : 'default')
      return {
        decision: hidden === undefined ? verdictOf(judgement) : 'deny',
        default: byDefault ? 'allow' : 'deny',
        matched: matchesOf(permits, item, subject, facts),
        ...(hidden && { hidden_by: hidden }),
        ...(rule && { policy: rule.name }),
        ...(ambiguity && hidden === 'policy' && { arguments_refused: ambiguity }),
        ...(scopes && hidden === 'policy' && { scopes })
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

/** Returns what a decision comes to for every call; `conditional` if the call matters. */
function effectiveOf(decided: Decision): Effect | 'conditional' {
  const { verdict, denies, allows } = decided
  if (verdict !== 'residual') return verdict === 'yes' ? 'allow' : 'deny'
  const expected = denies.length + allows.length > 0 ? 'unknown' : outlook(decided, [])
  return expected === 'approve' || expected === 'confirm' ? expected : 'conditional'
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
        const decided = permit.decide(item)
        const decision = effectiveOf(decided)
        const rule = decision === 'approve' || decision === 'confirm' ? decided.asks[0]!.rule : decided.rule
        return { kind, name: restName(view, item), decision, ...(rule && { policy: rule.name }) } as const
      })
  )
}
