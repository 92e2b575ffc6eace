import { AppError } from '../../lib/errors.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import type { Backlog } from './backlog.ts'

const MAX_QUEUED = 10_000
const BATCH_DELAY_MS = 250
const RETRY_MS = 1_000
/** Longest wait for one batch while the queue closes: a slow database gets all rows, one that does not answer none */
const CLOSE_MS = 2_000
/** The wait is counted in timers of this length, so that a process that the machine suspends does not use it up. */
const CLOSE_STEP_MS = 100

export interface RowQueueOptions<Row, Batch> {
  /** Rejects with a 503 AppError while the database is unreachable. */
  write(rows: Batch): Promise<void>
  /** Called once per outage, and for rows that can never be written */
  onError(error: unknown): void
  /** Called with the number of dropped rows, once rows can be written again and before the close */
  onDropped(count: number): void
  /** Keeps the rows until they are written. */
  readonly backlog: Backlog<Row, Batch>
}

/** Row counts of a queue */
export interface QueueState {
  /** Rows waiting to be stored */
  readonly length: number
  /** Rows lost since the start */
  readonly dropped: number
}

/** Queue of rows that are written in batches in the background. An outage loses at most the rows of the queue. */
export interface RowQueue<T> extends QueueState {
  push(row: T): void
  /** Adds a row even if the queue is full, for rows that report lost ones. */
  forcePush(row: T): void
  /** Writes the queued rows as long as the database takes them, and resolves with the number of lost rows. */
  close(): Promise<number>
}

export function createRowQueue<Row, Batch>(options: RowQueueOptions<Row, Batch>): RowQueue<Row> {
  const { write, onError, onDropped, backlog } = options
  let dropped = 0
  /** Dropped rows not yet passed to `onDropped` */
  let unreported = 0
  let isDown = false
  let isClosed = false
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const schedule = (delayMs: number) => {
    if (isClosed || running || timer) return
    timer = setTimeout(flush, delayMs).unref()
  }
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    running ??= drain().finally(() => {
      running = undefined
      if (backlog.length > 0) schedule(RETRY_MS)
    })
  }
  const drain = async () => {
    while (backlog.length > 0 && (await writeNext()));
  }
  /** Writes the next batch and returns true on success. */
  const writeNext = async (): Promise<boolean> => {
    try {
      await write(backlog.oldest())
    } catch (error) {
      const isTemporary = error instanceof AppError && error.statusCode === 503
      if (!isTemporary || !isDown) onError(error)
      isDown = isTemporary
      // Rows that can never be written must not block the others.
      if (!isTemporary) drop(backlog.removeOldest())
      return false
    }
    isDown = false
    backlog.removeOldest()
    reportDropped()
    return true
  }
  const drop = (count: number) => {
    dropped += count
    unreported += count
  }
  const reportDropped = () => {
    if (unreported === 0) return
    const count = unreported
    unreported = 0
    onDropped(count)
  }
  const finish = async () => {
    await running
    await drain()
  }

  const forcePush = (row: Row) => {
    backlog.add(row)
    schedule(BATCH_DELAY_MS)
  }

  return {
    get length() {
      return backlog.length
    },
    get dropped() {
      return dropped
    },
    push(row) {
      if (backlog.length < MAX_QUEUED) forcePush(row)
      else drop(1)
    },
    forcePush,
    async close() {
      reportDropped()
      isClosed = true
      clearTimeout(timer)
      let isFinished = false
      const finished = finish().then(() => (isFinished = true))
      for (let waited = 0; !isFinished && waited < CLOSE_MS; waited += CLOSE_STEP_MS) {
        const before = backlog.length
        await withTimeout(CLOSE_STEP_MS, finished)
        if (backlog.length < before) waited = 0
      }
      return backlog.length + unreported
    }
  }
}
