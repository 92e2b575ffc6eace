import { PRODUCT } from '../domain/product.ts'
import { rowOf, safeRow, type AuditRow } from './audit.ts'
import type { Act, Outcome, Refusal } from './model.ts'
import { createRefusalRates, type Surplus } from './refusal-rates.ts'
import { createRowQueue, type QueueState } from './row-queue.ts'

const BATCH = 500

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

export function createRefusals({ write, onError, now }: RefusalsOptions): Refusals {
  const rates = createRefusalRates(now)
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
  const summarise = ({ address, count }: Surplus) => {
    const act = { actor: ourselves, action: 'request.refused', target: '*', address }
    push(act, 'refused', { count, reason: 'more refusals within the same minute' })
  }
  const settle = () => {
    clearTimeout(minuteTimer)
    minuteTimer = undefined
    for (const surplus of rates.settle()) summarise(surplus)
  }

  /** A gap in a log is in the log. */
  const confess = (action: string, count: number) =>
    queue.insist(full({ actor: ourselves, action, target: '*' }, 'failed', { count }))

  return {
    state: queue,
    record({ reason, endpoint, ...act }) {
      if (isClosed) return
      if (rates.remaining() <= 0) settle()
      minuteTimer ??= setTimeout(settle, rates.remaining()).unref()
      if (rates.admits(act.address)) push(act, 'refused', { reason, endpoint: endpoint ?? null })
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
