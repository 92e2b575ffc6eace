import { networkOf } from '../domain/client-address.ts'
import { PRODUCT } from '../domain/product.ts'
import { createRates } from '../domain/rates.ts'
import { rowOf, safeRow, type AuditRow } from './audit.ts'
import type { Act, Actor, Outcome, Refusal } from './model.ts'
import { createRowQueue, type QueueState } from './row-queue.ts'

const BATCH = 500
/** Rows a minute of one unknown caller's address, and of all of them. */
const ANONYMOUS = { perKey: 60, inAll: 600 }
/** Rows a minute of one principal, and of all of them: never shared with those of unknown callers. */
const KNOWN = { perKey: 60, inAll: 3_000 }
/** Rows that may wait while the database is away, for unknown callers: the rest of the queue is for principals. */
const MAX_WAITING_ANONYMOUS = 4_000

const ourselves = { kind: 'system', name: PRODUCT } as const

export interface RefusalsOptions {
  /** Rejects with a 503 AppError while the database is not reachable. */
  write(rows: readonly AuditRow[]): Promise<void>
  /** Told once per outage, and of what can never be written. */
  onError(error: unknown): void
  readonly now?: () => number
}

/** Rows of the audit log that nobody waits for. */
export interface Refusals {
  readonly state: QueueState
  record(refusal: Refusal): void
  /** What the gateway itself could not do; not held to the rates of addresses. */
  fail(action: string, target: string, reason: string): void
  /** Writes a row that could not be written at once. */
  later(row: AuditRow): void
  /** So many rows of a log are missing. */
  confess(action: string, count: number): void
  /** Writes what is queued, for a bounded time. */
  close(): Promise<void>
}

/** A principal as a key of a rate. Names hold no blank. */
const keyOf = ({ kind, name }: Actor) => `${kind} ${name}`
const actorOf = (key: string): Actor => {
  const [kind, name] = key.split(' ') as [Actor['kind'], string]
  return { kind, name }
}

export function createRefusals({ write, onError, now }: RefusalsOptions): Refusals {
  const clock = now ? { now } : {}
  const anonymous = createRates({ ...ANONYMOUS, ...clock })
  const known = createRates({ ...KNOWN, ...clock })
  /** Refusals of unknown callers for whom the queue had no place. */
  let unwritten = 0
  let isClosed = false
  let minuteTimer: NodeJS.Timeout | undefined
  const queue = createRowQueue<AuditRow>({
    write,
    onError,
    onDropped: (count) => confess('audit.dropped', count),
    batch: BATCH
  })

  const full = (act: Act, outcome: Outcome, more: Partial<AuditRow>) => ({
    ...safeRow(rowOf(act, outcome)),
    ...safeRow(more),
    at: new Date()
  })
  const push = (act: Act, outcome: Outcome, more: Partial<AuditRow>) => queue.push(full(act, outcome, more))
  const summarise = (count: number, actor: Actor, address?: string) => {
    const act = { actor, action: 'request.refused', target: '*', address }
    push(act, 'refused', { count, reason: 'more refusals within the same minute' })
  }
  const settle = () => {
    clearTimeout(minuteTimer)
    minuteTimer = undefined
    for (const { key, count } of anonymous.settle()) summarise(count, ourselves, key)
    if (unwritten > 0) summarise(unwritten, ourselves)
    unwritten = 0
    for (const { key, count } of known.settle()) summarise(count, key === undefined ? ourselves : actorOf(key))
  }

  /** Whether a refusal gets a row of its own; one that does not is counted. */
  const admits = ({ actor, address = '' }: Act) => {
    if (actor.kind !== 'anonymous') return known.admits(keyOf(actor))
    if (queue.length < MAX_WAITING_ANONYMOUS) return anonymous.admits(networkOf(address))
    unwritten++
    return false
  }

  /** A gap in a log is in the log. */
  const confess = (action: string, count: number) =>
    queue.insist(full({ actor: ourselves, action, target: '*' }, 'failed', { count }))

  return {
    state: queue,
    record({ reason, endpoint, ...act }) {
      if (isClosed) return
      if (anonymous.remaining() <= 0) settle()
      minuteTimer ??= setTimeout(settle, anonymous.remaining()).unref()
      if (admits(act)) push(act, 'refused', { reason, endpoint: endpoint ?? null })
    },
    fail: (action, target, reason) => push({ actor: ourselves, action, target }, 'failed', { reason }),
    later: queue.insist,
    confess,
    async close() {
      settle()
      isClosed = true
      await queue.close()
    }
  }
}
