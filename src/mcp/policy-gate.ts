import { randomUUID } from 'node:crypto'
import { metadataAddress } from '../domain/access/challenge.ts'
import { isObject } from '../domain/is-object.ts'
import type { ConditionValues } from '../domain/policy/condition.ts'
import {
  applies,
  dependsOnCall,
  judge,
  verdictOf,
  wouldChange,
  type CallFacts,
  type CompiledRule,
  type Decision,
  type Judgement
} from '../domain/policy/permit.ts'
import type { Effect, Mode, PolicyRule } from '../domain/policy/rule.ts'
import type { Subject } from '../domain/policy/subject.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { createRateLimiter } from '../domain/rates.ts'
import type { Caller } from '../catalog/caller.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { ambiguityOf } from '../protocol/ambiguity.ts'
import type { Refusal } from '../registry/model/model.ts'

/** Request that a decision is about. */
export interface PolicyRequest {
  readonly caller: Caller
  readonly endpoint: string
  readonly address: string | undefined
  readonly requestId: string | undefined
}

/** Contents of a challenge with which an OAuth client asks for more scopes. */
export interface StepUp {
  /** Every scope of the call, separated by spaces. */
  readonly scope: string
  /** Address of the metadata of the endpoint. */
  readonly metadata: string
}

/** Refusal of a call, as the caller gets it. */
export interface PolicyDenial {
  /** Name of the policy that refused the call. */
  readonly policy: string
  /** Id that the audit log has as well. */
  readonly decision: string
  readonly reason: string
  /** Scopes with which the call would be allowed, those of the token included; absent if scopes do not help. */
  readonly scopes?: readonly string[] | undefined
  /** Challenge for an OAuth client, which can ask its user for these scopes; absent for all others. */
  readonly challenge?: StepUp | undefined
}

/** Outcome of a call that may not run at once. */
export interface PolicyOutcome {
  readonly denial?: PolicyDenial
  /** Rule whose yes the call needs. */
  readonly ask?: CompiledRule
}

/** Decides on calls whose items the caller can see. */
export interface PolicyGate {
  /**
   * Returns why a call of a tool is refused, or the rule whose yes it needs; undefined if it may run. `args`: JSON text
   * of the arguments object; undefined for none.
   */
  outcomeOf(
    request: PolicyRequest,
    item: PolicyItem,
    decision: Decision,
    args: string | undefined
  ): PolicyOutcome | undefined
  /** Returns why a request for another item is refused; undefined if it is allowed. */
  denialOf(
    request: PolicyRequest,
    item: PolicyItem,
    decision: Decision,
    args: string | undefined
  ): PolicyDenial | undefined
}

export interface PolicyGateOptions {
  readonly recordRefusal: (refusal: Refusal) => void
  readonly onDecision: (effect: Effect, mode: Mode) => void
  /** A rule in mode `observe` applies to a call; `isChanged`: it would have changed the outcome. */
  readonly onObserved: (rule: PolicyRule, isChanged: boolean) => void
  readonly subjectOf: (caller: Caller) => Subject
  /** Public URL of the gateway; undefined where no OAuth client calls. */
  readonly publicUrl: string | undefined
  /** Scopes that a token needs anyway, of which a challenge names all (MCP authorization, Runtime Insufficient Scope Errors). */
  readonly baseScopes: readonly string[]
  readonly log: { info(details: object, text: string): void }
}

/** Lines about policies in mode `observe`, per policy and minute. */
const OBSERVED_LINES = { perKey: 60, inAll: 600 }

const noScopes: readonly string[] = []
const noArguments: ConditionValues['args'] = {}
const nobody: ConditionValues['user'] = { name: '', role: '', groups: [], teams: [] }
const programOf = (oauthClient: string | undefined): ConditionValues['client'] =>
  oauthClient === undefined ? { id: '', kind: '' } : { id: oauthClient, kind: 'oauth' }

/** Returns the facts of a call. Its arguments are parsed when the first condition is evaluated. */
export function factsOf(subject: Subject, item: PolicyItem, args: string | undefined): CallFacts {
  let values: ConditionValues | undefined
  return {
    scopes: subject.scopes ?? noScopes,
    test({ maxCharacters, evaluate }) {
      if ((args?.length ?? 0) > maxCharacters) throw new Error('the arguments are too long for the condition')
      return evaluate((values ??= valuesOf(subject, item, args)))
    }
  }
}

function valuesOf(
  { kind, name, groups, teams, oauthClient }: Subject,
  { server, name: item }: PolicyItem,
  text: string | undefined
): ConditionValues {
  const given: unknown = text === undefined ? noArguments : JSON.parse(text)
  const isClient = kind === 'client'
  return {
    args: isObject(given) ? given : noArguments,
    user: isClient ? nobody : { name, role: kind, groups, teams },
    client: isClient ? { id: name, kind: 'static' } : programOf(oauthClient),
    tool: { server: server.name, name: item },
    now: new Date()
  }
}

/** Outcome of a decision on a call with these arguments. */
export interface CallJudgement extends Judgement {
  /** Why the arguments are refused whatever the conditions say: the server might read others than the policy. */
  readonly ambiguity?: string
}

/**
 * Completes a decision with the facts and arguments of a call, for calls as well as for trials and replays. `args`: as
 * for `denialOf`, and those that `facts` test.
 */
export function judgeCall(decision: Decision, facts: CallFacts, args: string | undefined): CallJudgement {
  // a yes is for the arguments that a person was shown, so that asking rules count without a condition as well
  const conditional =
    decision.asks[0] ?? [...decision.denies, ...decision.allows].find(({ condition }) => condition !== null)
  const ambiguity = conditional && args !== undefined ? ambiguityOf(args) : undefined
  if (ambiguity !== undefined) return { isAllowed: false, rule: conditional!.rule, ambiguity }
  return judge(decision, facts)
}

function reasonOf({ name, reason, requireScopes }: PolicyRule, isForScopes: boolean): string {
  if (reason !== null) return reason
  if (!isForScopes) return `The policy "${name}" does not allow this.`
  return `The policy "${name}" requires an access token with: ${requireScopes.join(', ')}.`
}

/** Name of an item in audit rows. */
export const auditedName = ({ kind, server, name, alias }: PolicyItem) =>
  kind === 'tool' || kind === 'prompt' ? `${server.name}__${alias}` : name

export function createPolicyGate({
  recordRefusal,
  onDecision,
  onObserved,
  subjectOf,
  publicUrl,
  baseScopes,
  log
}: PolicyGateOptions): PolicyGate {
  const lines = createRateLimiter(OBSERVED_LINES)
  const observe = (request: PolicyRequest, item: PolicyItem, rule: PolicyRule, judgement: Judgement) => {
    const { name: policy, effect } = rule
    onDecision(effect, 'observe')
    onObserved(rule, wouldChange(effect, verdictOf(judgement), judgement.rule))
    if (lines.remainingMs() <= 0) lines.startWindow()
    if (!lines.admit(policy)) return
    const { caller, requestId } = request
    const details = { policy, effect, caller: caller.name, item: auditedName(item), request_id: requestId }
    log.info(details, 'a call matches a policy in mode "observe"')
  }
  const refuse = (request: PolicyRequest, item: PolicyItem, rule: PolicyRule, reason: string): PolicyDenial => {
    const { caller, endpoint, address, requestId } = request
    const denial = { policy: rule.name, decision: randomUUID(), reason }
    recordRefusal({
      actor: { kind: caller.kind, name: caller.name },
      action: `${item.kind}.refused`,
      target: auditedName(item),
      reason,
      endpoint: groupOf(endpoint) ?? 'global',
      policy: denial.policy,
      decision: denial.decision,
      address,
      requestId
    })
    return denial
  }
  const challengeOf = ({ caller, endpoint }: PolicyRequest, scopes: readonly string[]): StepUp | undefined => {
    if (caller.oauthClient === undefined || publicUrl === undefined) return undefined
    return { scope: [...baseScopes, ...scopes].join(' '), metadata: metadataAddress(publicUrl, endpoint) }
  }
  const outcomeOf: PolicyGate['outcomeOf'] = (request, item, decision, args) => {
    if (decision.verdict === 'yes' && !dependsOnCall(decision)) {
      if (decision.rule) onDecision('allow', 'enforce')
      return undefined
    }
    const facts = factsOf(subjectOf(request.caller), item, args)
    const judgement = judgeCall(decision, facts, args)
    for (const each of decision.observed) if (applies(each, facts)) observe(request, item, each.rule, judgement)
    const { isAllowed, rule, scopes, ambiguity, ask } = judgement
    if (rule) onDecision(verdictOf(judgement), 'enforce')
    if (ask) return { ask }
    if (isAllowed || !rule) return undefined
    const denial = refuse(request, item, rule, ambiguity ?? reasonOf(rule, scopes !== undefined))
    return { denial: { ...denial, scopes, challenge: scopes && challengeOf(request, scopes) } }
  }
  return {
    outcomeOf,
    // rules ask only about tools
    denialOf: (...call) => outcomeOf(...call)?.denial
  }
}
