import { credentialOf, type Caller } from '../../catalog/caller.ts'
import type { Catalog, CatalogServer } from '../../catalog/catalog.ts'
import type { ApprovalStatus } from '../../domain/approvals.ts'
import { includesScope, isAdministrator } from '../../domain/access/access.ts'
import { COMMAND_LINE_CLIENT } from '../../domain/product.ts'
import { compileSubjects } from '../../domain/policy/subject.ts'
import { AppError, forbidden, notFound } from '../../lib/errors.ts'
import type { ApprovalWithArguments, StoredApproval } from '../../registry/approvals.ts'
import type { Registry } from '../../registry/registry.ts'
import { shownArguments } from '../../mcp/approvals/shown-arguments.ts'
import type { Approval, ApprovalDecisionInput } from '../../schemas/policy.ts'
import { auditChange } from '../audit-change.ts'

/** A request, in a list perhaps without its arguments. */
type ListedApproval = StoredApproval & Partial<ApprovalWithArguments>

/** Decisions on calls that may run only after a yes (approvals.md). Methods reject with AppError. */
export interface ApprovalDecisions {
  /** Resolves with the requests that the caller may see, the newest first. */
  list(
    caller: Caller,
    filter: { readonly status?: ApprovalStatus | undefined; readonly limit: number }
  ): Promise<Approval[]>
  /** Resolves with the number of requests on which the caller may decide now. */
  countOpen(caller: Caller): Promise<number>
  /** 404 also for a request that the caller may not see. */
  get(caller: Caller, id: string): Promise<Approval>
  /** 403 for a caller who may not decide; 404; 409 for another fingerprint, or a request that is not pending. */
  decide(caller: Caller, id: string, isYes: boolean, input: ApprovalDecisionInput): Promise<Approval>
  /** Begins to end requests whose time is over or whose rule has changed. */
  start(): void
  close(): void
}

export interface ApprovalDecisionsOptions {
  readonly registry: Pick<Registry, 'approvals'>
  readonly catalog: () => Catalog
  /** Returns a function that removes a server's secrets from a text. */
  readonly redactorOf: (server: CatalogServer) => (text: string) => string
  /** Tells the calls of this replica that wait. */
  readonly announce: (id: string) => void
  readonly onChange: () => void
  readonly log: { warn(details: object, text: string): void }
}

const EXPIRE_MS = 5_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const hasEntries = (lists: Readonly<Record<string, readonly string[] | undefined>>) =>
  Object.values(lists).some((list) => list !== undefined && list.length > 0)

/** Returns true if the rule that asked names the caller as an approver; its current revision counts. */
function isApprover({ policies, permits }: Catalog, caller: Caller, { rule }: StoredApproval): boolean {
  const approvers = policies.find(({ name, enabled }) => enabled && name === rule)?.approval?.approvers ?? {}
  return hasEntries({ ...approvers }) && compileSubjects(approvers)(permits.subjectOf(caller))
}

const isSameCredential = (a: Uint8Array | null | undefined, b: Uint8Array | null | undefined) =>
  Buffer.compare(a ?? new Uint8Array(), b ?? new Uint8Array()) === 0

/**
 * Returns true for a token or session of a person who is there, or acts as an administrator. Programs get tokens with
 * fewer rights, to make calls with: they must not decide on any.
 */
function isOfPerson({ kind, scopes, oauthClient }: Caller): boolean {
  if (kind === 'client') return false
  if (oauthClient === undefined) return scopes === undefined || scopes.includes('towpath:admin')
  return oauthClient === COMMAND_LINE_CLIENT && includesScope(scopes ?? [], 'towpath:call')
}

/** Returns true if the request was made with the token or sign-in that the caller uses now. */
const isOwn = (caller: Caller, { callerKey, callerCredential }: StoredApproval) =>
  caller.key === callerKey && isSameCredential(callerCredential, credentialOf(caller))

export function createApprovalDecisions({
  registry,
  catalog,
  redactorOf,
  announce,
  onChange,
  log
}: ApprovalDecisionsOptions): ApprovalDecisions {
  const { approvals } = registry
  let timer: NodeJS.Timeout | undefined
  let hasFailed = false
  const mayDecide = (caller: Caller, approval: StoredApproval): boolean => {
    // development mode has one caller: whoever opens the dashboard
    if (caller.kind === 'development') return true
    if (!isOfPerson(caller) || isOwn(caller, approval)) return false
    return isAdministrator(caller) || isApprover(catalog(), caller, approval)
  }
  const maySee = (caller: Caller, approval: StoredApproval) =>
    isAdministrator(caller) ||
    caller.kind === 'development' ||
    caller.kind === 'auditor' ||
    (caller.kind === approval.callerKind && caller.name === approval.caller) ||
    mayDecide(caller, approval)
  const toRecord = (caller: Caller, { args, secretArguments, ...approval }: ListedApproval): Approval => {
    const server = catalog().server(approval.server)
    const { decidedBy, decidedAt, reason } = approval
    const canDecide = mayDecide(caller, approval)
    const isReadable = caller.kind !== 'auditor' || canDecide
    return {
      id: approval.id,
      at: approval.at.toISOString(),
      expires_at: approval.expiresAt.toISOString(),
      status: approval.status,
      rule: approval.rule,
      caller_kind: approval.callerKind,
      caller: approval.caller,
      endpoint: approval.endpoint,
      server: approval.server,
      tool: approval.item,
      ...(isReadable &&
        args !== undefined && {
          arguments: shownArguments(args, server ? redactorOf(server) : (text) => text, secretArguments)
        }),
      fingerprint: approval.digest.toString('hex'),
      definition: approval.definition,
      can_decide: approval.status === 'pending' && canDecide,
      ...(decidedBy !== null && { decided_by: decidedBy }),
      ...(decidedAt !== null && { decided_at: decidedAt.toISOString() }),
      ...(reason !== null && { reason })
    }
  }
  const find = async (caller: Caller, id: string): Promise<ApprovalWithArguments> => {
    const found = UUID.test(id) ? await approvals.get(id) : undefined
    if (!found || !maySee(caller, found)) throw notFound('approval', id)
    return found
  }
  let isIdle = false
  const expire = async () => {
    const { asking } = catalog().permits.policies
    // without such policies, and once nothing is left of earlier ones, nothing is spent
    if (isIdle && asking.size === 0) return
    try {
      const { ended, open } = await approvals.expire(asking)
      isIdle = asking.size === 0 && open === 0
      for (const id of ended) announce(id)
      if (ended.length > 0) onChange()
      hasFailed = false
    } catch (err) {
      // an expected failure of the database needs no stack
      if (!hasFailed)
        log.warn(err instanceof AppError ? { reason: err.message } : { err }, 'requests for approval cannot be ended')
      hasFailed = true
    }
  }
  return {
    async list(caller, { status, limit }) {
      const isSeen = (each: StoredApproval) => maySee(caller, each)
      return (await approvals.list({ status, limit, isSeen })).map((each) => toRecord(caller, each))
    },
    async countOpen(caller) {
      if (catalog().permits.policies.asking.size === 0) return 0
      return (await approvals.pending()).filter((each) => mayDecide(caller, each)).length
    },
    get: async (caller, id) => toRecord(caller, await find(caller, id)),
    async decide(caller, id, isYes, { fingerprint, reason }) {
      const found = await find(caller, id)
      if (isOwn(caller, found) && caller.kind !== 'development')
        throw forbidden('a call cannot be decided on with the access token that made it')
      if (!mayDecide(caller, found))
        throw forbidden('only administrators and the approvers of the policy decide on this call')
      const current = catalog().permits.policies.asking.get(found.rule)
      if (current !== found.ruleHash) throw new AppError(409, 'the policy that asked has changed; make the call again')
      const verb = isYes ? 'approve' : 'deny'
      const change = auditChange(caller, `approval.${verb}`, `${found.server}__${found.item}`)
      const digest = Buffer.from(fingerprint, 'hex')
      const decided = await approvals.decide(change, { id, digest, isYes, reason: reason || null })
      announce(id)
      onChange()
      return toRecord(caller, { ...decided, args: found.args, secretArguments: found.secretArguments })
    },
    start() {
      timer ??= setInterval(() => void expire(), EXPIRE_MS).unref()
    },
    close: () => clearInterval(timer)
  }
}
