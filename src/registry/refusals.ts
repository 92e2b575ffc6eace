import { PRODUCT } from '../domain/product.ts'
import { escaped } from '../domain/text.ts'
import { AppError } from '../errors.ts'
import { rowOf, type AuditRow } from './audit.ts'
import type { Act, Outcome, Refusal } from './model.ts'
import { createRefusalRates, type Surplus } from './refusal-rates.ts'
import { within } from './within.ts'

const MAX_QUEUED = 10_000
const BATCH = 500
const GATHER_MS = 250
const RETRY_MS = 1_000
const CLOSE_MS = 2_000
/** Texts of a row may come from outside: as long as this, and nothing in them that is not seen. */
const MAX_TEXT = 200

const ourselves = { kind: 'system', name: PRODUCT } as const

export interface RefusalsOptions {
  /** Rejects with a 503 AppError while the database is not reachable. */
  write(rows: readonly AuditRow[]): Promise<void>
  /** Told once per outage, and of what can never be written. */
  onError(error: unknown): void
  readonly now?: () => number
}

/** Rows that nobody waits for: queued and written together, behind the answers. An outage loses at most the queue. */
export interface Refusals {
  record(refusal: Refusal): void
  /** What the gateway itself could not do; not held to the rates of addresses. */
  fail(action: string, target: string, reason: string): void
  /** Writes what is queued, for a bounded time. */
  close(): Promise<void>
}

export function createRefusals({ write, onError, now }: RefusalsOptions): Refusals {
  const rates = createRefusalRates(now)
  const queue: AuditRow[] = []
  let dropped = 0
  let isDown = false
  let isClosed = false
  let running: Promise<void> | undefined
  let flushTimer: NodeJS.Timeout | undefined
  let minuteTimer: NodeJS.Timeout | undefined

  const push = (act: Act, outcome: Outcome, more: Partial<AuditRow>) => {
    if (queue.length >= MAX_QUEUED) {
      dropped++
      return
    }
    queue.push({ ...safe(rowOf(act, outcome)), ...safe(more), at: new Date() })
    schedule(GATHER_MS)
  }
  const summarise = ({ address, count }: Surplus) => {
    const act = { actor: ourselves, action: 'request.refused', target: '*', address }
    push(act, 'refused', { count, reason: 'more refusals within the same minute' })
  }
  const settle = () => {
    clearTimeout(minuteTimer)
    minuteTimer = undefined
    for (const surplus of rates.settle()) summarise(surplus)
  }

  const schedule = (delayMs: number) => {
    if (isClosed || running || flushTimer) return
    flushTimer = setTimeout(flush, delayMs).unref()
  }
  const flush = () => {
    clearTimeout(flushTimer)
    flushTimer = undefined
    running ??= drain().finally(() => {
      running = undefined
      if (queue.length > 0) schedule(RETRY_MS)
    })
  }
  const drain = async () => {
    while (queue.length > 0 && (await writeNext()));
  }
  /** Whether it was written. */
  const writeNext = async (): Promise<boolean> => {
    const batch = queue.slice(0, BATCH)
    try {
      await write(batch)
    } catch (error) {
      if (!isDown) onError(error)
      isDown = true
      const isPassing = error instanceof AppError && error.statusCode === 503
      // what can never be written must not hold up the others
      if (!isPassing) dropped += queue.splice(0, batch.length).length
      return false
    }
    isDown = false
    queue.splice(0, batch.length)
    if (dropped > 0) confess()
    return true
  }
  /** A gap in the log is in the log. */
  const confess = () => {
    const count = dropped
    dropped = 0
    push({ actor: ourselves, action: 'audit.dropped', target: '*' }, 'failed', { count })
  }

  const finish = async () => {
    await running
    await drain()
  }

  return {
    record({ reason, endpoint, ...act }) {
      if (isClosed) return
      if (rates.remaining() <= 0) settle()
      minuteTimer ??= setTimeout(settle, rates.remaining()).unref()
      if (rates.admits(act.address)) push(act, 'refused', { reason, endpoint: endpoint ?? null })
    },
    fail: (action, target, reason) => push({ actor: ourselves, action, target }, 'failed', { reason }),
    async close() {
      settle()
      if (dropped > 0) confess()
      isClosed = true
      clearTimeout(flushTimer)
      await within(CLOSE_MS, finish())
    }
  }
}

const safe = <T extends object>(row: T): T =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? escaped(value, MAX_TEXT) : value])
  ) as T
