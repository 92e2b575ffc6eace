import { LRUCache } from 'lru-cache'
import { decidesAlike, outlook, verdictOf, type Decision, type Outlook } from '../../domain/policy/permit.ts'
import type { PolicyRule } from '../../domain/policy/rule.ts'
import type { Subject } from '../../domain/policy/subject.ts'
import type { PolicyItem } from '../../domain/policy/target.ts'
import { MASK } from '../../domain/secrets/secret-parts.ts'
import { AppError } from '../../lib/errors.ts'
import { createTimeSlice } from '../../lib/time-slice.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Permits } from '../../catalog/permits.ts'
import { resourceOf } from '../../catalog/resource-resolution.ts'
import { scopeAt, type Scope } from '../../catalog/scope.ts'
import { groupOf } from '../../catalog/endpoint.ts'
import { factsOf, judgeCall } from '../../mcp/policy-gate.ts'
import { REST_ENDPOINT } from '../../observe/observation.ts'
import type { DecidedCall } from '../../registry/logs/calls.ts'
import type { Registry } from '../../registry/registry.ts'
import type { ChangedCalls, PolicyReplayResult } from '../../schemas/policy.ts'
import { permitsAfter, type PolicyChange, type PolicyChangeOptions } from './change.ts'
import { createSubjects, type Permitted } from './subjects.ts'

/** Limits of one replay; what lies beyond them is not examined, and the result says so. */
export const REPLAY_LIMITS = { calls: 100_000, ms: 10_000, groups: 1_000 } as const
/** Calls read at a time; some of them carry 4 KiB of arguments. */
const PAGE = 500
/** Calls that differ in nothing but their arguments and are decided on together. */
const MAX_KNOWN = 10_000
const DAY_MS = 86_400_000

/** A change of the policies, and the time whose calls are decided on with it. */
export interface Replay extends PolicyChange {
  /** ISO times; absent: the last 24 hours. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Decides on logged calls as if they were repeated, before and after a change of the policies. */
export interface PolicyReplays {
  /** Rejects with AppError: 400, 404 for a policy to remove that does not exist, 429 while another replay runs. */
  replay(replay: Replay): Promise<PolicyReplayResult>
}

export interface PolicyReplayOptions extends PolicyChangeOptions {
  readonly catalog: () => Catalog
  readonly calls: Pick<Registry['calls'], 'decided'>
  readonly now?: () => number
  readonly limits?: { readonly calls: number; readonly ms: number; readonly groups: number }
}

/** Item that a call names at its endpoint, with the decision; undefined if there is none by that name. */
type Met = { readonly item: PolicyItem; readonly decision: Decision } | undefined

/** Calls that differ in nothing but their arguments. */
interface Repeated {
  readonly subject: Subject
  readonly before: Met
  readonly after: Met
  /** Rule that hides the item after the change. */
  readonly hiding: PolicyRule | undefined
}

/** Finds an item as a call at this endpoint does. */
function meet(scope: Scope, { kind, server, item: name }: DecidedCall): Met {
  if (name === null) return undefined
  const listed = kind === 'resource' ? undefined : findListed(scope, kind === 'tool' ? 'tool' : 'prompt', server, name)
  if (listed) return { item: listed, decision: scope.decide(listed) }
  if (kind === 'tool' || kind === 'prompt') return undefined
  const target = server === null ? scope.resolve(name) : scope.resolveAt(server, name)
  if (!target) return undefined
  const template = kind === 'completion' ? target.server.find('template', target.uri) : undefined
  const item = template ?? resourceOf(scope.catalog, target.server.name, target.uri)
  return { item, decision: scope.decide(item) }
}

function findListed(scope: Scope, kind: 'tool' | 'prompt', server: string | null, name: string) {
  if (server === null) return scope.find(kind, name)
  const item = scope.catalog.server(server)?.find(kind, name)
  return item && scope.includes(item) ? item : undefined
}

/** Returns the logged arguments as they were sent; undefined if they were not recorded, cut, or had secrets. */
function argumentsOf({ kind, arguments: text }: DecidedCall): string | undefined {
  if (kind === 'resource') return '{}'
  if (kind === 'completion' || text === null || text.includes(MASK)) return undefined
  try {
    JSON.parse(text)
    return text
  } catch {
    return undefined
  }
}

interface Outcome {
  readonly verdict: Outlook
  readonly rule: PolicyRule | undefined
}

function outcomeOf({ subject }: Repeated, met: Met, args: string | undefined): Outcome {
  if (!met) return { verdict: 'deny', rule: undefined }
  const { decision, item } = met
  if (decision.verdict !== 'residual' || args !== undefined) {
    const judgement = judgeCall(decision, factsOf(subject, item, args), args)
    return { verdict: verdictOf(judgement), rule: judgement.rule }
  }
  const [rule] = [...decision.denies, ...decision.asks, ...decision.allows]
  return { verdict: outlook(decision, subject.scopes ?? []), rule: rule?.rule }
}

const changes = {
  allow: 'allowed',
  deny: 'denied',
  confirm: 'confirm',
  approve: 'approve',
  unknown: 'unknown'
} as const satisfies Record<Outlook, ChangedCalls['change']>

/** Returns what a change does to a call; undefined if nothing. */
function changeOf(repeated: Repeated, call: DecidedCall) {
  const { before, after } = repeated
  if (before && after && decidesAlike(before.decision, after.decision)) return undefined
  if (!before && !after) return undefined
  const args = argumentsOf(call)
  const [was, is] = [before, after].map((met) => outcomeOf(repeated, met, args)) as [Outcome, Outcome]
  if (was.verdict === is.verdict && was.verdict !== 'unknown') return undefined
  const change = was.verdict === 'unknown' ? 'unknown' : changes[is.verdict]
  return { change, policy: (is.rule ?? repeated.hiding ?? was.rule)?.name } as const
}

/** Returns the function that finds what a call meets before and after; undefined if its caller is gone. */
function createRepeater(catalog: Catalog, before: Permits, after: Permits) {
  const subjects = createSubjects(catalog)
  const known = new LRUCache<string, { readonly repeated: Repeated | undefined }>({ max: MAX_KNOWN })
  const scopeOf = (permits: Permits, { subject, allowed }: Permitted, endpoint: string) =>
    scopeAt(catalog, endpoint === REST_ENDPOINT ? undefined : groupOf(endpoint), permits.ofSubject(subject, allowed))
  const find = (call: DecidedCall): Repeated | undefined => {
    const found = subjects.of(call.caller_kind === 'client' ? 'client' : 'user', call.caller)
    if (!found) return undefined
    const { oauth_client: oauthClient, scopes } = call
    const subject = { ...found.subject, oauthClient: oauthClient ?? undefined, scopes: scopes?.split(' ') }
    const caller = { subject, allowed: found.allowed }
    const [was, is] = [before, after].map((permits) => meet(scopeOf(permits, caller, call.endpoint), call))
    const hiding = was && !is ? after.ofSubject(subject, caller.allowed).decide(was.item).rule : undefined
    return { subject, before: was, after: is, hiding }
  }
  return (call: DecidedCall): Repeated | undefined => {
    const { caller_kind, caller, oauth_client, scopes, endpoint, kind, server, item } = call
    const key = JSON.stringify([caller_kind, caller, oauth_client, scopes, endpoint, kind, server, item])
    let entry = known.get(key)
    if (!entry) known.set(key, (entry = { repeated: find(call) }))
    return entry.repeated
  }
}

/** Collects changed calls that differ in nothing but their arguments. */
function createGroups(maxGroups: number) {
  const groups = new Map<string, ChangedCalls & { calls: number }>()
  const counts = { denied: 0, confirm: 0, approve: 0, allowed: 0, unknown: 0 }
  let isCut = false
  return {
    add(call: DecidedCall, { change, policy }: NonNullable<ReturnType<typeof changeOf>>) {
      counts[change]++
      const { id, at, kind, caller_kind, caller, endpoint, ...optional } = call
      const { server, item, oauth_client, scopes } = optional
      const key = JSON.stringify([
        change,
        policy,
        caller_kind,
        caller,
        oauth_client,
        scopes,
        endpoint,
        kind,
        server,
        item
      ])
      const known = groups.get(key)
      if (known) return void known.calls++
      if (groups.size >= maxGroups) return void (isCut = true)
      groups.set(key, {
        ...{ change, caller_kind, caller, endpoint, kind, calls: 1, last_id: id, last_at: at.toISOString() },
        ...(policy !== undefined && { policy }),
        ...(oauth_client !== null && { oauth_client }),
        ...(scopes !== null && { scopes }),
        ...(server !== null && { server }),
        ...(item !== null && { item })
      })
    },
    result: () => ({
      ...counts,
      changes: [...groups.values()].toSorted((a, b) => b.calls - a.calls),
      changes_cut: isCut
    })
  }
}

/** Creates replays of one gateway: one at a time. */
export function createPolicyReplays(options: PolicyReplayOptions): PolicyReplays {
  const { catalog, calls, now = Date.now, limits = REPLAY_LIMITS } = options
  let isRunning = false

  const run = async (replay: Replay): Promise<PolicyReplayResult> => {
    const began = performance.now()
    const to = replay.to === undefined ? now() : Date.parse(replay.to)
    const from = replay.from === undefined ? to - DAY_MS : Date.parse(replay.from)
    const current = catalog()
    const repeat = createRepeater(current, current.permits, await permitsAfter(current, replay, options))
    const groups = createGroups(limits.groups)
    const slice = createTimeSlice()
    let [examined, gone, oldest] = [0, 0, to]
    let before: string | undefined
    let isComplete = false
    const isOver = () => examined >= limits.calls || performance.now() - began > limits.ms
    while (!isComplete && !isOver()) {
      const page = await calls.decided(before, PAGE)
      for (const call of page) {
        if (slice.isOver) await slice.next()
        const at = call.at.getTime()
        if (at < from || at >= to) continue
        examined++
        oldest = Math.min(oldest, at)
        const repeated = repeat(call)
        if (!repeated) gone++
        const change = repeated && changeOf(repeated, call)
        if (change) groups.add(call, change)
      }
      before = page.at(-1)?.id
      // a call that took long is logged after calls that began later
      isComplete = page.length < PAGE || page.every(({ at }) => at.getTime() < from)
    }
    return {
      from: new Date(isComplete ? from : oldest).toISOString(),
      to: new Date(to).toISOString(),
      complete: isComplete,
      calls: examined,
      callers_gone: gone,
      ...groups.result()
    }
  }
  return {
    async replay(replay) {
      if (isRunning) throw new AppError(429, 'another replay is running', { retryAfter: 5 })
      isRunning = true
      try {
        return await run(replay)
      } finally {
        isRunning = false
      }
    }
  }
}
