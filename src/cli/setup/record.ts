import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { FILE_CLIENTS } from '../../domain/clients/clients.ts'
import { fileStamp } from '../clients/client-file.ts'
import { stateFolder } from '../clients/paths.ts'
import { writePrivateFile } from '../io/config-file.ts'
import { usage } from '../io/failure.ts'
import type { CliIo } from '../io/io.ts'

const SavedFile = Type.Object({
  client: Type.Union(FILE_CLIENTS.map((name) => Type.Literal(name))),
  path: Type.String(),
  language: Type.Union([Type.Literal('json'), Type.Literal('toml'), Type.Literal('yaml')]),
  mode: Type.Integer(),
  before: Type.Optional(Type.String({ description: 'SHA-256 of the content before, in hex; absent for a new file' })),
  after: Type.String({ description: 'SHA-256 of the content that set-up writes, in hex' }),
  removed: Type.Array(Type.Array(Type.String()), { description: 'Paths of the members that set-up removes' }),
  added: Type.Array(Type.Array(Type.String()), { description: 'Paths of the members that set-up adds' })
})
export type SavedFile = Static<typeof SavedFile>

const SetupRecord = Type.Object({
  version: Type.Literal(1),
  at: Type.String(),
  registry: Type.String(),
  servers: Type.Array(Type.Object({ name: Type.String(), identity: Type.String({ description: 'SHA-256 in hex' }) })),
  files: Type.Array(SavedFile)
})
/** Changes of one set-up, written before the first of them is made. */
export type SetupRecord = Static<typeof SetupRecord>

export const hashOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

const folderOf = (io: CliIo) => join(stateFolder(io), 'setup')

/** Returns the path of a new record. */
export const recordPath = (io: CliIo, at: Date): string => join(folderOf(io), `${fileStamp(at)}-${at.getTime()}.json`)

export async function writeRecord(path: string, record: SetupRecord): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  await writePrivateFile(path, JSON.stringify(record, null, 2))
}

/** Returns the newest record with its path; undefined if there is none. */
export async function lastRecord(io: CliIo): Promise<{ path: string; record: SetupRecord } | undefined> {
  const names = await readdir(folderOf(io)).catch(() => [])
  const name = names
    .filter((each) => each.endsWith('.json'))
    .toSorted()
    .at(-1)
  if (name === undefined) return undefined
  const path = join(folderOf(io), name)
  let record: unknown
  try {
    record = JSON.parse(await readFile(path, 'utf8'))
  } catch {
    record = undefined
  }
  if (!Value.Check(SetupRecord, record)) throw usage(`${path} is not the record of a set-up`)
  return { path, record }
}

export const removeRecord = (path: string): Promise<void> => rm(path, { force: true })
