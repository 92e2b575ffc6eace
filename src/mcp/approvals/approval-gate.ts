import { randomUUID } from 'node:crypto'
import { credentialOf, type Caller } from '../../catalog/caller.ts'
import type { Item } from '../../catalog/catalog.ts'
import { APPROVAL_LIMITS } from '../../domain/approvals.ts'
import type { LockedSecrets } from '../../domain/secrets/locked-secrets.ts'
import type { CompiledRule } from '../../domain/policy/permit.ts'
import { approvalDefaults } from '../../domain/policy/rule.ts'
import { AppError } from '../../lib/errors.ts'
import type { ApprovalRequest, Approvals, StoredApproval } from '../../registry/approvals.ts'
import { definitionOf, digestOf } from './call-digest.ts'

/** A call of a tool that may run only after a yes. */
export interface Ask {
  readonly rule: CompiledRule
  readonly item: Item
  /** JSON text of the arguments object as it will be sent; undefined for none. */
  readonly args: string | undefined
  /** Arguments that the endpoint's group locks to secrets; absent if there are none. */
  readonly secrets?: LockedSecrets | undefined
}

/** Request whose call a rule asks about. */
export interface AskingRequest {
  readonly caller: Caller
  readonly endpoint: string
  readonly address: string | undefined
  readonly requestId: string | undefined
}

/** Answer of the gate: run the call now, or tell the caller why not. */
export type GateAnswer =
  | { readonly kind: 'run' }
  | { readonly kind: 'pending'; readonly approval: StoredApproval }
  | {
      readonly kind: 'refused'
      readonly text: string
      readonly approval?: StoredApproval
      /** True if nothing is known about the call, because the database cannot be asked. */
      readonly isTransient?: boolean
    }

/** Lets calls run for which somebody has said yes (approvals.md). */
export interface ApprovalGate {
  /**
   * Uses a yes for the call, or asks for one. `task`: facts with which the gateway makes the call itself after a yes.
   * Rejects never because of the database.
   */
  admit(request: AskingRequest, ask: Ask, task?: object): Promise<GateAnswer>
}

export interface ApprovalGateOptions {
  readonly store: Pick<Approvals, 'use' | 'request'>
  /** Called for each new request; must neither throw nor block. */
  readonly onRequest: (approval: StoredApproval, ask: Ask) => void
  /** Called when a yes was used. */
  readonly onUse: () => void
}

/** Returns the settings of a rule that asks, with the defaults of absent members. */
export function settingsOf({ rule: { approval = {} } }: CompiledRule) {
  const { hold_ms, valid_ms, uses, without_elicitation } = approval
  return {
    holdMs: hold_ms ?? approvalDefaults.hold_ms,
    validMs: valid_ms ?? approvalDefaults.valid_ms,
    uses: uses ?? approvalDefaults.uses,
    withoutElicitation: without_elicitation ?? approvalDefaults.without_elicitation
  }
}

/** Returns what a rule does for a client that cannot ask its user. */
const effectOf = (ask: CompiledRule) => (ask.rule.effect === 'confirm' ? settingsOf(ask).withoutElicitation : 'approve')

export const TOO_LONG = 'not run: the arguments are too long for a person to decide on'

/** True for arguments that are neither stored nor compared: putting a megabyte in order holds the event loop. */
export const areTooLong = ({ args = '' }: Ask): boolean => Buffer.byteLength(args) > APPROVAL_LIMITS.argumentBytes

const limitTexts = {
  caller: `not run: too many are waiting (at most ${APPROVAL_LIMITS.pendingPerCaller} of one caller)`,
  gateway: `not run: too many are waiting (at most ${APPROVAL_LIMITS.pending})`
} as const

/** Returns the text for the caller whose call was denied. */
export const denialText = ({ reason, decidedBy }: StoredApproval) =>
  reason ? `not run: denied: ${reason}` : `not run: denied by ${decidedBy ?? 'an approver'}`

function requestOf(
  { caller, endpoint, address, requestId }: AskingRequest,
  ask: Ask,
  task: object | undefined
): ApprovalRequest {
  const { rule, item, args = '{}' } = ask
  const { validMs, uses } = settingsOf(rule)
  return {
    id: randomUUID(),
    rule: rule.rule.name,
    ruleHash: rule.contentHash,
    actor: { kind: caller.kind, name: caller.name },
    callerKey: caller.key,
    callerCredential: credentialOf(caller),
    endpoint,
    server: item.server.name,
    item: item.alias,
    digest: digestOf({ caller, endpoint, item, args }),
    definition: definitionOf(item),
    args,
    secretArguments: ask.secrets?.names ?? [],
    ...{ validMs, uses, task, address, requestId }
  }
}

export function createApprovalGate({ store, onRequest, onUse }: ApprovalGateOptions): ApprovalGate {
  const admit = async (request: ApprovalRequest, ask: Ask): Promise<GateAnswer> => {
    if (await store.use(request)) {
      onUse()
      return { kind: 'run' }
    }
    const found = await store.request(request)
    if (typeof found === 'string') return { kind: 'refused', text: limitTexts[found] }
    const { approval, isNew } = found
    if (isNew) onRequest(approval, ask)
    if (approval.status === 'denied') return { kind: 'refused', text: denialText(approval), approval }
    return { kind: 'pending', approval }
  }
  return {
    async admit(from, ask, task) {
      const effect = effectOf(ask.rule)
      if (effect === 'allow') return { kind: 'run' }
      if (effect === 'deny')
        return { kind: 'refused', text: 'not run: the client cannot ask its user to confirm the call' }
      if (areTooLong(ask)) return { kind: 'refused', text: TOO_LONG }
      try {
        return await admit(requestOf(from, ask, task), ask)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { kind: 'refused', text: 'not run: the call cannot be approved now', isTransient: true }
      }
    }
  }
}
