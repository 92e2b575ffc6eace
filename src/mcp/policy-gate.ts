import { randomUUID } from 'node:crypto'
import { isObject } from '../domain/is-object.ts'
import type { Condition, ConditionValues } from '../domain/policy/condition.ts'
import { allowedByDefault, applies, judge, type Decision } from '../domain/policy/permit.ts'
import type { Effect, Mode, PolicyRule } from '../domain/policy/rule.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { createRateLimiter } from '../domain/rates.ts'
import type { Caller } from '../catalog/caller.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { hasDuplicateMembers } from '../json/duplicates.ts'
import { foldKey } from '../protocol/jsonrpc.ts'
import type { Refusal } from '../registry/model/model.ts'

/** Request that a decision is about. */
export interface PolicyRequest {
  readonly caller: Caller
  readonly endpoint: string
  readonly address: string | undefined
  readonly requestId: string | undefined
}

/** Refusal of a call, as the caller gets it. */
export interface PolicyDenial {
  /** Name of the policy that refused the call. */
  readonly policy: string
  /** Id that the audit log has as well. */
  readonly decision: string
  readonly reason: string
}

/** Decides on calls whose items the caller can see. */
export interface PolicyGate {
  /**
   * Returns why a call is refused; undefined if it is allowed. `args`: JSON text of the arguments object; undefined for
   * none.
   */
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
  readonly log: { info(details: object, text: string): void }
}

/** Characters of arguments that a condition with a loop reads; its time is quadratic in them. */
const MAX_LOOP_CHARACTERS = 65_536
/** Lines about policies in mode `observe`, per policy and minute. */
const OBSERVED_LINES = { perKey: 60, inAll: 600 }

const noArguments: ConditionValues['args'] = {}

/** Returns a function that evaluates conditions for a call, and parses its arguments when the first one is evaluated. */
export function conditionTest(caller: Pick<Caller, 'kind' | 'name'>, item: PolicyItem, args: string | undefined) {
  let values: ConditionValues | undefined
  return ({ hasLoop, evaluate }: Condition): boolean => {
    if (hasLoop && (args?.length ?? 0) > MAX_LOOP_CHARACTERS) throw new Error('the arguments are too long for a loop')
    return evaluate((values ??= valuesOf(caller, item, args)))
  }
}

function valuesOf(
  { kind, name }: Pick<Caller, 'kind' | 'name'>,
  { server, name: item }: PolicyItem,
  text: string | undefined
): ConditionValues {
  const given: unknown = text === undefined ? noArguments : JSON.parse(text)
  const isClient = kind === 'client'
  return {
    args: isObject(given) ? given : noArguments,
    user: isClient ? { name: '', role: '' } : { name, role: kind },
    client: isClient ? { id: name, kind: 'static' } : { id: '', kind: '' },
    tool: { server: server.name, name: item },
    now: new Date()
  }
}

const reasonOf = ({ name, reason }: PolicyRule) => reason ?? `The policy "${name}" does not allow this.`

/** Name of an item in audit rows. */
export const auditedName = ({ kind, server, name, alias }: PolicyItem) =>
  kind === 'tool' || kind === 'prompt' ? `${server.name}__${alias}` : name

/** Returns true if the arguments of a call could be read in two ways. */
const isAmbiguous = (args: string | undefined) => args !== undefined && hasDuplicateMembers(args, foldKey)

export function createPolicyGate({ recordRefusal, onDecision, log }: PolicyGateOptions): PolicyGate {
  const lines = createRateLimiter(OBSERVED_LINES)
  const observe = (request: PolicyRequest, item: PolicyItem, { name: policy, effect }: PolicyRule) => {
    onDecision(effect, 'observe')
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
  return {
    denialOf(request, item, decision, args) {
      if (decision === allowedByDefault) return undefined
      const test = conditionTest(request.caller, item, args)
      for (const each of decision.observed) if (applies(each, test)) observe(request, item, each.rule)
      const isOpen = decision.verdict === 'residual'
      if (isOpen && isAmbiguous(args)) {
        const rule = (decision.denies[0] ?? decision.allows[0]!).rule
        onDecision('deny', 'enforce')
        return refuse(request, item, rule, 'A member of the arguments is given more than once.')
      }
      const { isAllowed, rule } = judge(decision, test)
      if (rule) onDecision(isAllowed ? 'allow' : 'deny', 'enforce')
      return isAllowed || !rule ? undefined : refuse(request, item, rule, reasonOf(rule))
    }
  }
}
