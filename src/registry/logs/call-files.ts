import { mkdir, open, readdir, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { createSemaphore } from '../../lib/semaphore.ts'
import { AppError, unavailable } from '../../lib/errors.ts'
import { noop } from '../../lib/noop.ts'
import { insertCalls, recordCalls, type CallRow } from './calls.ts'
import { withErrorTranslation } from '../store/failures.ts'
import { hasCode, unlinkIfExists } from '../store/files.ts'
import type { Db } from '../model/tables.ts'

/** Stores the rows of the call log. All functions reject with a 503 AppError while the database is unreachable. */
export interface CallStore {
  /** Stores rows, all or none; they become rows of `calls` in this order. */
  record(rows: readonly CallRow[]): Promise<void>
  /** Makes the calls that are stored by now rows of `calls`. To be awaited before `calls` is read. */
  settle(): Promise<void>
  /** Number of stored calls that are not rows of `calls` yet; those that an earlier process has left do not count */
  readonly waiting: number
  /** Maximum number of rows to record at once */
  readonly batch: number
  /** Keeps the calls that are not rows yet for the next process. */
  close(): Promise<void>
}

/** Calls that become rows by one statement: it takes the embedded store some 5 ms, for which others wait. */
const STATEMENT_ROWS = 250

/** Stores each call as a row of `calls` at once. */
export const createRowStore = (db: Db): CallStore => ({
  batch: STATEMENT_ROWS,
  record: (rows) => withErrorTranslation(() => recordCalls(db, rows)),
  settle: () => Promise.resolve(),
  waiting: 0,
  close: () => Promise.resolve()
})

/** Calls of one write to a file, which takes a thread of its own and some 100 µs */
const WRITE_ROWS = 1_000
/** Calls of one write from which on they go to a file: some 400 a second. Fewer cost little as rows. */
const LARGE = 100
/** Time without a large write after which calls in files become rows: the processor has time now */
const IDLE_MS = 2_000
const CHUNK_BYTES = 262_144
const NEWLINE = 0x0a
const fileName = /^(\d+)\.jsonl$/

interface Line {
  readonly calls: number
  /** Length with its end */
  readonly bytes: number
}

/** File of calls. Each line is a JSON array of rows. */
interface CallFile {
  readonly number: number
  readonly path: string
  /** Lines that this process has added and that are not rows yet */
  readonly lines: Line[]
  /** Length in bytes */
  size: number
  /** Length of the part that has become rows, in bytes */
  settled: number
}

export interface CallFileOptions {
  /** Created with mode 0700 if needed */
  readonly folder: string
  /** Number of calls that the log keeps; calls older than these may be deleted before they become rows */
  readonly keep: number
  /** Called once per outage, and for calls that can never become rows */
  onError(error: unknown): void
}

/**
 * Stores the calls of the embedded store, which shares the processor with the gateway: a row costs it 25 µs, a line of
 * a file a twentieth of that. Calls of a busy gateway are written to files. They become rows once it is idle or the log
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

  const record = (rows: readonly CallRow[]) =>
    inTurn(async (current) => {
      const isLarge = rows.length >= LARGE
      if (isLarge) lastLarge = performance.now()
      if (!isLarge && current.isEmpty) return recordCalls(db, rows)
      await current.add(rows)
      settleLater()
    })

  const settle = async () => {
    if (files?.isEmpty) return
    const end = await inTurn(async (current) => current.end)
    while (await inTurn((current) => current.settleLine(end)));
  }

  const isBusy = () => performance.now() - lastLarge < IDLE_MS
  const settleWhileIdle = async () => {
    while (!isClosed && !isBusy()) if (!(await inTurn((current) => current.settleLine()))) return
    settleLater()
  }
  const settleLater = () => {
    if (isClosed || timer) return
    timer = setTimeout(() => {
      timer = undefined
      settleWhileIdle().then(
        () => (hasFailed = false),
        (error) => {
          if (!hasFailed) onError(error)
          hasFailed = true
          settleLater()
        }
      )
    }, IDLE_MS).unref()
  }
  // calls of the last process
  settleLater()

  return {
    batch: WRITE_ROWS,
    record,
    settle,
    get waiting() {
      return files?.calls ?? 0
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      await turn.run(async () => files?.close())
    }
  }
}

/** Position behind a line: number of a file, and bytes */
interface Position {
  readonly number: number
  readonly bytes: number
}

/** Returns the names of the files. The folder is created with the first file. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

/** Opens the files that earlier processes have left. */
async function openFiles(db: Db, options: CallFileOptions): Promise<CallFiles> {
  const { folder } = options
  const rows = await db.selectFrom('call_files').selectAll().execute()
  const settled = new Map(rows.map((row) => [Number(row.number), Number(row.settled)]))
  const files: CallFile[] = []
  for (const name of await namesIn(folder)) {
    const [, digits] = fileName.exec(name) ?? []
    if (digits === undefined) continue
    const number = Number(digits)
    const path = join(folder, name)
    files.push({ number, path, lines: [], size: (await stat(path)).size, settled: settled.get(number) ?? 0 })
  }
  files.sort((a, b) => a.number - b.number)
  // the last process has deleted the file, and then ended
  const isDeleted = (number: number) => files.every((file) => file.number !== number)
  for (const number of [...settled.keys()].filter(isDeleted)) await forget(db, number)
  return new CallFiles(db, options, files, files.at(-1)?.number ?? 0)
}

async function forget(db: Db, number: number): Promise<void> {
  await db.deleteFrom('call_files').where('number', '=', String(number)).execute()
}

/** Takes the ids of calls that never become rows: the log keeps as many calls as `keep` by their ids. */
async function skipIds(db: Db, count: number): Promise<void> {
  await sql`
    select setval(sequence, nextval(sequence) + ${count} - 1)
    from (select pg_get_serial_sequence('calls', 'id')::regclass as sequence) as ids`.execute(db)
}

/** The files, oldest first. Only one function may run at a time. */
class CallFiles {
  readonly #db: Db
  readonly #options: CallFileOptions
  readonly #files: CallFile[]
  #last: number
  /** Calls that were deleted unread since the last insert */
  #skipped = 0
  /** File to which lines are added: created by this process, without an incomplete line */
  #current: (CallFile & { readonly handle: FileHandle }) | undefined

  constructor(db: Db, options: CallFileOptions, files: CallFile[], last: number) {
    this.#db = db
    this.#options = options
    this.#files = files
    this.#last = last
  }

  get isEmpty(): boolean {
    return this.#files.length === 0
  }

  /** Number of calls that this process has added and that are not rows yet */
  get calls(): number {
    return this.#files.reduce((sum, { lines }) => sum + callsOf(lines), 0)
  }

  get end(): Position {
    const file = this.#files.at(-1)
    return { number: file?.number ?? 0, bytes: file?.size ?? 0 }
  }

  async add(rows: readonly CallRow[]): Promise<void> {
    const file = await this.#fileForMore()
    const lines: Line[] = []
    const buffers: Buffer[] = []
    for (let at = 0; at < rows.length; at += STATEMENT_ROWS) {
      const part = rows.slice(at, at + STATEMENT_ROWS)
      const line = Buffer.from(`${JSON.stringify(part)}\n`)
      buffers.push(line)
      lines.push({ calls: part.length, bytes: line.length })
    }
    const data = Buffer.concat(buffers)
    try {
      await file.handle.appendFile(data)
    } catch (error) {
      // a part may have been written: nothing is added behind it
      await this.close().catch(noop)
      throw error
    }
    file.lines.push(...lines)
    file.size += data.length
  }

  /** Adds no more to the file that is being written. */
  async close(): Promise<void> {
    const file = this.#current
    this.#current = undefined
    await file?.handle.close()
  }

  async #fileForMore() {
    const { folder, keep } = this.#options
    const current = this.#current
    if (current && callsOf(current.lines) < keep) return current
    if (current) {
      // all older calls are more than the log keeps
      while (this.#files[0] !== current) await this.#remove(this.#files[0]!)
      await this.close()
    }
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const number = ++this.#last
    const path = join(folder, `${String(number).padStart(8, '0')}.jsonl`)
    const handle = await open(path, 'ax', 0o600)
    const file = { number, path, handle, lines: [], size: 0, settled: 0 }
    this.#files.push(file)
    return (this.#current = file)
  }

  /** Makes the first line rows, if it ends at `end` or before; returns false if there is none. */
  async settleLine(end: Position = this.end): Promise<boolean> {
    const [file] = this.#files
    if (!file || file.number > end.number) return false
    if (file.settled >= file.size) {
      await this.#remove(file)
      return true
    }
    if (file.number === end.number && file.settled >= end.bytes) return false
    const [next] = file.lines
    // more calls have come since than the log keeps
    if (next && this.calls - next.calls >= this.#options.keep) {
      this.#skipped += next.calls
      settled(file, next.bytes)
    } else await this.#settleFirst(file)
    return true
  }

  async #settleFirst(file: CallFile): Promise<void> {
    const report = (error: unknown) => {
      if (mayPass(error)) throw error
      this.#options.onError(error)
      return undefined
    }
    const line = await readLine(file).catch(report)
    // deleted by somebody, or the process ended while it wrote the line
    if (line === undefined) return settled(file, file.size - file.settled)
    const bytes = line.length + 1
    // calls that cannot become rows must not hold up those behind them
    await this.#insert(file.number, file.settled + bytes, line.toString()).catch(report)
    settled(file, bytes)
  }

  /** Inserts the rows together with the new position, so that no crash doubles them. */
  #insert(number: number, end: number, line: string): Promise<void> {
    const position = { number: String(number), settled: String(end) }
    return withErrorTranslation(() =>
      this.#db.transaction().execute(async (trx) => {
        const moved = await trx
          .insertInto('call_files')
          .values(position)
          .onConflict((conflict) =>
            conflict
              .column('number')
              .doUpdateSet({ settled: position.settled })
              .where('call_files.settled', '<', position.settled)
          )
          .returning('number')
          .execute()
        // false if the store stopped right after it had stored the line
        if (moved.length === 0) return
        if (this.#skipped > 0) await skipIds(trx, this.#skipped)
        this.#skipped = 0
        await insertCalls(trx, line)
      })
    )
  }

  async #remove(file: CallFile): Promise<void> {
    if (file === this.#current) await this.close()
    this.#skipped += callsOf(file.lines)
    await unlinkIfExists(file.path)
    this.#files.splice(this.#files.indexOf(file), 1)
    await forget(this.#db, file.number)
  }
}

/** True for errors of a database that cannot be reached, and of a process without file descriptors. */
const mayPass = (error: unknown) =>
  (error instanceof AppError && error.statusCode === 503) || hasCode(error, 'EMFILE') || hasCode(error, 'ENFILE')

const isOfFiles = (error: unknown) => (error as { syscall?: unknown } | null)?.syscall !== undefined

const callsOf = (lines: readonly Line[]) => lines.reduce((sum, { calls }) => sum + calls, 0)

/** Takes note that the next bytes of a file are done with. */
function settled(file: CallFile, bytes: number): void {
  file.settled += bytes
  file.lines.shift()
}

/** Returns the first line that has not become rows, without its end; undefined if it has none. */
async function readLine({ path, settled, size }: CallFile): Promise<Buffer | undefined> {
  const file = await open(path)
  try {
    const chunks: Buffer[] = []
    for (let at = settled; at < size;) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, Math.min(CHUNK_BYTES, size - at), at)
      const chunk = buffer.subarray(0, bytesRead)
      const end = chunk.indexOf(NEWLINE)
      chunks.push(end === -1 ? chunk : chunk.subarray(0, end))
      if (end !== -1) return Buffer.concat(chunks)
      if (bytesRead === 0) return undefined
      at += bytesRead
    }
    return undefined
  } finally {
    await file.close()
  }
}
