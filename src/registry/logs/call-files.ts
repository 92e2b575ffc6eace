import { mkdir, open, readdir, stat, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { AppError } from '../../lib/errors.ts'
import { noop } from '../../lib/noop.ts'
import { insertCalls } from './calls.ts'
import { callsOf, type CallLine } from './call-lines.ts'
import { withErrorTranslation } from '../store/failures.ts'
import { hasCode, unlinkIfExists } from '../store/files.ts'
import { createSpaceCheck, MIN_FREE_BYTES } from '../store/free-space.ts'
import type { Db } from '../model/tables.ts'

const CHUNK_BYTES = 262_144
/** Calls that have become rows keep their place in the file: under load it may never be read to its end. */
const FILE_BYTES = 64 * 2 ** 20
/** Free space that calls in files leave to the store, which needs some to make them rows */
const LEFT_BYTES = 3 * MIN_FREE_BYTES
const NEWLINE = 0x0a
const fileName = /^(\d+)\.jsonl$/

interface Line {
  readonly calls: number
  /** Length with its end */
  readonly bytes: number
}

/** File of calls (`CallLine`) */
interface CallFile {
  readonly number: number
  readonly path: string
  /** Lines that this process has added and that are not rows yet */
  readonly lines: Line[]
  /** Length in bytes */
  size: number
  /** Length of the part that has become rows, in bytes */
  position: number
}

export interface CallFileOptions {
  /** Created with mode 0700 if needed */
  readonly folder: string
  /** Number of calls that the log keeps; calls older than these may be deleted before they become rows */
  readonly keep: number
  /** Length in bytes at which a new file is begun */
  readonly fileBytes?: number | undefined
  /** Called once per outage, and for calls that can never become rows */
  onError(error: unknown): void
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
export async function openFiles(db: Db, options: CallFileOptions): Promise<CallFiles> {
  const { folder } = options
  const rows = await db.selectFrom('call_files').selectAll().execute()
  const positions = new Map(rows.map((row) => [Number(row.number), Number(row.position)]))
  const files: CallFile[] = []
  for (const name of await namesIn(folder)) {
    const [, digits] = fileName.exec(name) ?? []
    if (digits === undefined) continue
    const number = Number(digits)
    const path = join(folder, name)
    files.push({ number, path, lines: [], size: (await stat(path)).size, position: positions.get(number) ?? 0 })
  }
  files.sort((a, b) => a.number - b.number)
  // the last process deleted the file, and ended before it deleted this row
  const isDeleted = (number: number) => files.every((file) => file.number !== number)
  for (const number of [...positions.keys()].filter(isDeleted)) await forget(db, number)
  return new CallFiles(db, options, files, files.at(-1)?.number ?? 0)
}

async function forget(db: Db, number: number): Promise<void> {
  await db.deleteFrom('call_files').where('number', '=', String(number)).execute()
}

/** Moves the ids past those of calls that were deleted unread, since `callExpiry` counts calls by their ids. */
async function skipIds(db: Db, count: number): Promise<void> {
  await sql`
    select setval(sequence, nextval(sequence) + ${count} - 1)
    from (select pg_get_serial_sequence('calls', 'id')::regclass as sequence) as ids`.execute(db)
}

/** The files, oldest first. Only one function may run at a time. */
export class CallFiles {
  readonly #db: Db
  readonly #options: CallFileOptions
  readonly #files: CallFile[]
  readonly #requireSpace: () => Promise<void>
  #last: number
  /** Calls that were deleted unread since the last insert */
  #skipped = 0
  /** File to which lines are added: created by this process, and without an incomplete line */
  #current: (CallFile & { readonly handle: FileHandle }) | undefined

  constructor(db: Db, options: CallFileOptions, files: CallFile[], last: number) {
    this.#db = db
    this.#options = options
    this.#files = files
    this.#last = last
    // the folder itself is created with the first file
    this.#requireSpace = createSpaceCheck(dirname(options.folder), LEFT_BYTES)
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

  async add(lines: readonly CallLine[]): Promise<void> {
    await this.#requireSpace()
    const file = await this.#fileForMore()
    const size = lines.reduce((sum, { bytes }) => sum + bytes.length, 0)
    try {
      const { bytesWritten } = await file.handle.writev(lines.map(({ bytes }) => bytes))
      if (bytesWritten < size) throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC', syscall: 'writev' })
    } catch (error) {
      // the calls will be added again: no process may find the part of them that was written
      await file.handle.truncate(file.size).catch(() => this.close().catch(noop))
      throw error
    }
    for (const { calls, bytes } of lines) file.lines.push({ calls, bytes: bytes.length })
    file.size += size
  }

  /** Adds no more to the file that is being written. */
  async close(): Promise<void> {
    const file = this.#current
    this.#current = undefined
    await file?.handle.close()
  }

  async #fileForMore() {
    const { folder, keep, fileBytes = FILE_BYTES } = this.#options
    const current = this.#current
    if (current && current.size < fileBytes && callsOf(current.lines) < keep) return current
    if (current) {
      // older files behind which there are as many calls as the log keeps are deleted unread
      while (this.#files[0] !== current && this.calls - callsOf(this.#files[0]!.lines) >= keep)
        await this.#remove(this.#files[0]!)
      await this.close()
    }
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const number = ++this.#last
    const path = join(folder, `${String(number).padStart(8, '0')}.jsonl`)
    const handle = await open(path, 'ax', 0o600)
    const file = { number, path, handle, lines: [], size: 0, position: 0 }
    this.#files.push(file)
    return (this.#current = file)
  }

  /** Makes the first line rows, if it ends at `end` or before; returns false if there is none. */
  async flushLine(end: Position = this.end): Promise<boolean> {
    const [file] = this.#files
    if (!file || file.number > end.number) return false
    if (file.position >= file.size) {
      await this.#remove(file)
      return true
    }
    if (file.number === end.number && file.position >= end.bytes) return false
    const [next] = file.lines
    // more calls have come since than the log keeps
    if (next && this.calls - next.calls >= this.#options.keep) {
      this.#skipped += next.calls
      advance(file, next.bytes)
    } else await this.#flushFirst(file)
    return true
  }

  async #flushFirst(file: CallFile): Promise<void> {
    const report = (error: unknown) => {
      if (mayPass(error)) throw error
      this.#options.onError(error)
      return undefined
    }
    const line = await readLine(file).catch(report)
    // deleted by somebody, or the process ended while it wrote the line
    if (line === undefined) return this.#giveUp(file)
    const bytes = line.length + 1
    // calls that cannot become rows must not hold up those behind them
    await this.#insert(file.number, file.position + bytes, line.toString()).catch(report)
    advance(file, bytes)
  }

  /** Inserts the rows together with the new position, so that no crash doubles them. */
  #insert(number: number, end: number, line: string): Promise<void> {
    const row = { number: String(number), position: String(end) }
    return withErrorTranslation(() =>
      this.#db.transaction().execute(async (trx) => {
        const moved = await trx
          .insertInto('call_files')
          .values(row)
          .onConflict((conflict) =>
            conflict
              .column('number')
              .doUpdateSet({ position: row.position })
              .where('call_files.position', '<', row.position)
          )
          .returning('number')
          .execute()
        // no row: the line is stored already, and the store stopped before it could say so
        if (moved.length === 0) return
        if (this.#skipped > 0) await skipIds(trx, this.#skipped)
        this.#skipped = 0
        await insertCalls(trx, line)
      })
    )
  }

  /** Reads and adds no more of a file. */
  async #giveUp(file: CallFile): Promise<void> {
    file.position = file.size
    file.lines.length = 0
    if (file === this.#current) await this.close()
  }

  async #remove(file: CallFile): Promise<void> {
    if (file === this.#current) await this.close()
    await unlinkIfExists(file.path)
    this.#skipped += callsOf(file.lines)
    this.#files.splice(this.#files.indexOf(file), 1)
    await forget(this.#db, file.number)
  }
}

/** True for errors of a database that cannot be reached, and of a process without file descriptors. */
const mayPass = (error: unknown) =>
  (error instanceof AppError && error.statusCode === 503) || hasCode(error, 'EMFILE') || hasCode(error, 'ENFILE')

/** Takes note that the next bytes of a file are done with. */
function advance(file: CallFile, bytes: number): void {
  file.position += bytes
  file.lines.shift()
}

/** Returns the first line that has not become rows, without its end; undefined if it has none. */
async function readLine({ path, position, size }: CallFile): Promise<Buffer | undefined> {
  const file = await open(path)
  try {
    const chunks: Buffer[] = []
    for (let at = position; at < size;) {
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
