import { createSemaphore } from '../../lib/semaphore.ts'
import { unavailable } from '../../lib/errors.ts'
import { noop } from '../../lib/noop.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import { CallFiles, openFiles, type CallFileOptions } from './call-files.ts'
import { callsOf, rowsOf, type CallLine } from './call-lines.ts'
import { insertCalls } from './calls.ts'
import { withErrorTranslation } from '../store/failures.ts'
import type { Db } from '../model/tables.ts'

/** Stores the calls of the call log. All functions reject with a 503 AppError while the database is unreachable. */
export interface CallStore {
  /** Stores calls, all or none; they become rows of `calls` in this order. */
  record(lines: readonly CallLine[]): Promise<void>
  /** Makes the calls that are stored by now rows of `calls`. To be awaited before `calls` is read. */
  flush(): Promise<void>
  /** Number of stored calls that are not rows of `calls` yet; those that an earlier process has left do not count */
  readonly waiting: number
  /** Maximum number of lines to record at once */
  readonly batch: number
  /** Keeps the calls that are not rows yet for the next process. */
  close(): Promise<void>
}

/** Stores each call as a row of `calls` at once. */
export const createRowStore = (db: Db): CallStore => ({
  batch: 1,
  record: (lines) => withErrorTranslation(() => insertCalls(db, rowsOf(lines))),
  flush: () => Promise.resolve(),
  waiting: 0,
  close: () => Promise.resolve()
})

/** Lines of one write to a file, which takes a thread of its own and some 100 µs */
const WRITE_LINES = 4
/** Calls of one write from which on they go to a file: some 400 a second. Fewer cost little as rows. */
const LARGE = 100
/** Time without a large write after which calls in files become rows: the processor has time now */
const IDLE_MS = 2_000
/** Longest wait for a step that is running when the store closes */
const CLOSE_MS = 1_000

/** True for errors of the file system. */
const isOfFiles = (error: unknown) => (error as { syscall?: unknown } | null)?.syscall !== undefined

/**
 * Stores the calls of the embedded store, which shares the processor with the gateway: a row costs it 25 µs, in
 * a file a tenth of that. Calls of a busy gateway are written to files. They become rows once it is idle or the log
 * is read, and are deleted unread if as many calls as the log keeps have come since.
 */
export function createFileStore(db: Db, options: CallFileOptions): CallStore {
  const { onError } = options
  /** One step at a time, so that rows keep their order. */
  const turn = createSemaphore(1)
  let files: CallFiles | undefined
  let lastLarge = performance.now()
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  /** An outage is reported once. */
  let hasFailed = false

  const inTurn = <T>(step: (files: CallFiles) => Promise<T>) =>
    turn.run(() =>
      withErrorTranslation(async () => step((files ??= await openFiles(db, options)))).catch((error: unknown) => {
        throw isOfFiles(error) ? unavailable('the files of the call log cannot be used') : error
      })
    )

  const record = (lines: readonly CallLine[]) =>
    inTurn(async (current) => {
      const isLarge = callsOf(lines) >= LARGE
      if (isLarge) lastLarge = performance.now()
      if (!isLarge && current.isEmpty) return insertCalls(db, rowsOf(lines))
      await current.add(lines)
      flushLater()
    })

  const flush = async () => {
    if (files?.isEmpty) return
    const end = await inTurn(async (current) => current.end)
    while (await inTurn((current) => current.flushLine(end)));
  }

  const isBusy = () => performance.now() - lastLarge < IDLE_MS
  const flushWhileIdle = async () => {
    while (!isClosed && !isBusy()) if (!(await inTurn((current) => current.flushLine()))) return
    flushLater()
  }
  const flushLater = () => {
    if (isClosed || timer) return
    timer = setTimeout(() => {
      timer = undefined
      flushWhileIdle().then(
        () => (hasFailed = false),
        (error) => {
          if (!hasFailed) onError(error)
          hasFailed = true
          flushLater()
        }
      )
    }, IDLE_MS).unref()
  }
  // calls of the last process
  flushLater()

  return {
    batch: WRITE_LINES,
    record,
    flush,
    get waiting() {
      return files?.calls ?? 0
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      await withTimeout(CLOSE_MS, turn.run(async () => files?.close()).catch(noop))
    }
  }
}
