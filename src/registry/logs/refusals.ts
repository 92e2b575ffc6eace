import { networkOf } from '../../domain/network/client-address.ts'
import { PRODUCT } from '../../domain/product.ts'
import { createRateLimiter } from '../../domain/rates.ts'
import { toAuditRow, safeRow, type AuditRow } from './audit.ts'
import type { AuditedAction, Actor, Outcome, Refusal } from '../model/model.ts'
import { createArrayBacklog } from './backlog.ts'
import { createRowQueue, type QueueState } from './row-queue.ts'

const BATCH_SIZE = 500
/** Rows per minute for one address of unauthenticated callers, and for all of them */
const ANONYMOUS_LIMITS = { perKey: 60, inAll: 600 }
/** Rows per minute for one principal, and for all of them; separate from the limits of unauthenticated callers */
const PRINCIPAL_LIMITS = { perKey: 60, inAll: 3_000 }
/**
 * Rows of unauthenticated callers that may wait while the database is unreachable; the rest of the queue is reserved
 * for principals
 */
const MAX_WAITING_ANONYMOUS = 4_000

const gatewayActor = { kind: 'system', name: PRODUCT } as const

export interface RefusalLogOptions {
  /** Rejects with a 503 AppError while the database is unreachable. */
  write(rows: readonly AuditRow[]): Promise<void>
  /** Called once per outage, and for rows that can never be written */
  onError(error: unknown): void
  readonly now?: () => number
}

/** Queue of audit rows written in the background */
export interface RefusalLog {
  readonly state: QueueState
  record(refusal: Refusal): void
  /** Records a failure of the gateway itself; not rate limited. */
  recordFailure(action: string, target: string, reason: string): void
  /** Queues a row that could not be written immediately. */
  enqueue(row: AuditRow): void
  /** Records that `count` rows of a log were lost. */
  recordDropped(action: string, count: number): void
  /** Writes the queued rows, for a limited time. */
  close(): Promise<void>
}

/** Rate limit key of a principal; names contain no space */
const keyOf = ({ kind, name }: Actor) => `${kind} ${name}`
const actorOf = (key: string): Actor => {
  const [kind, name] = key.split(' ') as [Actor['kind'], string]
  return { kind, name }
}

export function createRefusalLog({ write, onError, now }: RefusalLogOptions): RefusalLog {
  const clock = now ? { now } : {}
  const anonymous = createRateLimiter({ ...ANONYMOUS_LIMITS, ...clock })
  const principals = createRateLimiter({ ...PRINCIPAL_LIMITS, ...clock })
  /** Rejected requests of unauthenticated callers that did not fit into the queue */
  let rejectedByQueue = 0
  let isClosed = false
  let minuteTimer: NodeJS.Timeout | undefined
  const queue = createRowQueue({
    write,
    onError,
    onDropped: (count) => recordDropped('audit.dropped', count),
    backlog: createArrayBacklog<AuditRow>(BATCH_SIZE)
  })

  const toFullRow = (auditedAction: AuditedAction, outcome: Outcome, more: Partial<AuditRow>) => ({
    ...safeRow(toAuditRow(auditedAction, outcome)),
    ...safeRow(more),
    at: new Date()
  })
  const push = (auditedAction: AuditedAction, outcome: Outcome, more: Partial<AuditRow>) =>
    queue.push(toFullRow(auditedAction, outcome, more))
  const summarise = (count: number, actor: Actor, address?: string) => {
    const auditedAction = { actor, action: 'request.refused', target: '*', address }
    push(auditedAction, 'refused', { count, reason: 'more refusals within the same minute' })
  }
  const startMinute = () => {
    clearTimeout(minuteTimer)
    minuteTimer = undefined
    for (const { key, count } of anonymous.startWindow()) summarise(count, gatewayActor, key)
    if (rejectedByQueue > 0) summarise(rejectedByQueue, gatewayActor)
    rejectedByQueue = 0
    for (const { key, count } of principals.startWindow())
      summarise(count, key === undefined ? gatewayActor : actorOf(key))
  }

  /** Returns true if a rejected request gets its own row; otherwise counts it. */
  const admit = ({ actor, address = '' }: AuditedAction) => {
    if (actor.kind !== 'anonymous') return principals.admit(keyOf(actor))
    if (queue.length < MAX_WAITING_ANONYMOUS) return anonymous.admit(networkOf(address))
    rejectedByQueue++
    return false
  }

  /** Writes a row about lost rows, so that gaps of a log are visible in it. */
  const recordDropped = (action: string, count: number) =>
    queue.forcePush(toFullRow({ actor: gatewayActor, action, target: '*' }, 'failed', { count }))

  return {
    state: queue,
    record({ reason, endpoint = null, policy = null, decision = null, ...auditedAction }) {
      if (isClosed) return
      if (anonymous.remainingMs() <= 0) startMinute()
      minuteTimer ??= setTimeout(startMinute, anonymous.remainingMs()).unref()
      if (admit(auditedAction)) push(auditedAction, 'refused', { reason, endpoint, policy, decision })
    },
    recordFailure: (action, target, reason) => push({ actor: gatewayActor, action, target }, 'failed', { reason }),
    enqueue: queue.forcePush,
    recordDropped,
    async close() {
      startMinute()
      isClosed = true
      await queue.close()
    }
  }
}
