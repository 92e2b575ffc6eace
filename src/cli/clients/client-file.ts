import { constants } from 'node:fs'
import { lstat, mkdir, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeAtomically, type FileOwner } from '../io/config-file.ts'
import { EXIT, Failure } from '../io/failure.ts'

/** Maximum size of a client's file in bytes; the largest known ones hold histories of several megabytes. */
const MAX_BYTES = 32 * 1024 * 1024

/** Content and properties of a client's file. */
export interface ClientFile {
  readonly path: string
  readonly bytes: Buffer
  readonly text: string
  /** Permission bits. */
  readonly mode: number
  readonly owner: FileOwner
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

const failure = (path: string, why: string, cause?: unknown) => new Failure(EXIT.usage, `${path}: ${why}`, { cause })

async function readBounded(file: FileHandle, path: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of file.createReadStream({ autoClose: false, end: MAX_BYTES })) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
  }
  if (size > MAX_BYTES) throw failure(path, `it is larger than ${MAX_BYTES / 1024 / 1024} MiB`)
  return Buffer.concat(chunks)
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw failure(path, 'it is not UTF-8 text', cause)
  }
}

async function readOpened(file: FileHandle, path: string): Promise<ClientFile> {
  const status = await file.stat()
  const { mode, uid, gid } = status
  if (!status.isFile()) throw failure(path, 'it is not a regular file')
  const bytes = await readBounded(file, path)
  return { path, bytes, text: decode(bytes, path), mode: mode & 0o777, owner: { uid, gid } }
}

/** Reads a file of at most 32 MiB; undefined if it does not exist. Fails for anything that is not a file of UTF-8 text. */
export async function readClientFile(path: string): Promise<ClientFile | undefined> {
  let file: FileHandle
  try {
    // without waiting for a writer of a named pipe
    file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    if (codeOf(cause) !== 'ENOENT' && codeOf(cause) !== 'ENOTDIR') throw failure(path, 'it cannot be read', cause)
    const isLink = await lstat(path).catch(() => undefined)
    if (isLink) throw failure(path, 'it is a link to a file that does not exist', cause)
    return undefined
  }
  try {
    return await readOpened(file, path)
  } finally {
    await file.close()
  }
}

/** Returns the time of a backup or record as part of a file name, in UTC. */
export const fileStamp = (at: Date): string =>
  at
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')

/** Returns the path of the backup of a file; `count` is above 1 if there are several of the same second. */
export const backupPath = (path: string, at: Date, count: number): string =>
  `${path}.${fileStamp(at)}${count === 1 ? '' : `-${count}`}.bak`

/** Writes the content of a file to the first free name that begins with `path`, with the file's mode and owner. */
export async function backUp({ path, bytes, mode, owner }: ClientFile, at: Date): Promise<string> {
  for (let count = 1; ; count++) {
    const copy = backupPath(path, at, count)
    if (await lstat(copy).catch(() => undefined)) continue
    try {
      await writeAtomically(copy, bytes, mode, owner)
    } catch (cause) {
      throw new Failure(EXIT.failed, `cannot back up ${path}; the file was not changed`, { cause })
    }
    return copy
  }
}

/** Fails if the owner may not write the file: a rename would replace it nevertheless. */
export function checkWritable({ path, mode }: ClientFile): void {
  if ((mode & 0o200) === 0) throw failure(path, 'it is read-only')
}

/**
 * Writes a client's file, or creates it with its folder. Fails if it is read-only, or if it has changed since it was
 * read as `before`.
 */
export async function writeClientFile(
  path: string,
  before: ClientFile | undefined,
  content: string | Uint8Array,
  mode = before?.mode ?? 0o600
): Promise<void> {
  if (before) checkWritable(before)
  const present = await readClientFile(path)
  if (before ? !present?.bytes.equals(before.bytes) : present)
    throw new Failure(EXIT.conflict, `${path}: another program has changed it in the meantime`, {
      hint: 'close the client, then run the command again'
    })
  await mkdir(dirname(path), { recursive: true }).catch((cause: unknown) => {
    throw new Failure(EXIT.failed, `cannot create the folder of ${path}`, { cause })
  })
  await writeAtomically(path, content, mode, before?.owner)
}
